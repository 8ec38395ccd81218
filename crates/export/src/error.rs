//! Why an FMU could not be written, and why a call on one is refused.

use powerbond_core::subsystem::SubsystemError;
use powerbond_models::ParameterError;
use std::path::PathBuf;

/// Why an FMU could not be written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The fields are what the message prints.
pub enum ExportError {
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    #[error(
        "missing library of the models, {name}; searched at {}. Build it with `cargo build --release` and put it in \
         the folder of the command, or give `--library`",
        list(.tried)
    )]
    NoLibrary { name: String, tried: Vec<PathBuf> },
    #[error("cannot read {}: {reason}", path.display())]
    Read { path: PathBuf, reason: String },
    #[error(
        "{} is not a library of models of powerbond {expected}: {found}. Build it together with the command",
        path.display()
    )]
    WrongLibrary { path: PathBuf, expected: &'static str, found: String },
    #[error("model `{model}` cannot be exported: {reason}")]
    Model { model: &'static str, reason: String },
    #[error(
        "too many start values: the token would have {length} characters, and some tools support at most {longest}. \
         Set some of them in the importer"
    )]
    TooManySettings { length: usize, longest: usize },
    #[error("cannot pack the FMU: {reason}")]
    Pack { reason: String },
    #[error("cannot write {}: {reason}", path.display())]
    Write { path: PathBuf, reason: std::io::Error },
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
    paths.join(", ")
}

/// Why a call on an instance is refused; the importer reads it in its log.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // The fields are what the message prints.
pub enum Refusal {
    #[error("unknown token `{token}`: {reason}")]
    Token { token: String, reason: String },
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    #[error(transparent)]
    Model(#[from] SubsystemError),
    #[error("unknown value reference {reference} of a {wanted}")]
    Reference { reference: u32, wanted: &'static str },
    #[error("`{name}` cannot be set{when}")]
    NotSettable { name: String, when: &'static str },
    #[error("{length} values, expected {wanted}")]
    Length { length: usize, wanted: usize },
    #[error(
        "input derivatives of order {order} of `{name}` are not supported; the highest order is {highest}"
    )]
    Order { name: String, order: i32, highest: u8 },
    #[error("not allowed in this state: {now}")]
    Phase { now: &'static str },
    #[error("a step of {h} s from t = {t} s is not possible: the current time is {time} s")]
    Step { t: f64, h: f64, time: f64 },
    #[error(
        "with these parameters `{output}` has direct feed-through from `{input}`, which the model description does \
         not declare; export the model with them (`powerbond export --set …`)"
    )]
    FeedThrough { output: String, input: String },
    #[error("directional derivatives are supported for outputs with respect to inputs only; {known}")]
    Derivative { known: &'static str },
    #[error("not a serialized state of this model: {reason}")]
    State { reason: &'static str },
    #[error("this FMU does not support {what}")]
    Unsupported { what: &'static str },
    #[error("internal error of the model: {message}")]
    Panic { message: String },
}
