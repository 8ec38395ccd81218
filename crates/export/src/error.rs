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
        "the library of the models, {name}, is missing: it was looked for at {}. It is built with powerbond (`cargo build \
         --release`) and belongs beside the command; `--library` names another place",
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
        "too many start values: the token that names them would have {length} characters, and some tools stop at {longest}. Set \
         some of them in the tool that runs the FMU"
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
    #[error("the token `{token}` is not one of this library: {reason}")]
    Token { token: String, reason: String },
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    #[error(transparent)]
    Model(#[from] SubsystemError),
    #[error("there is no {wanted} with the value reference {reference}")]
    Reference { reference: u32, wanted: &'static str },
    #[error("`{name}` cannot be set {when}")]
    NotSettable { name: String, when: &'static str },
    #[error("{length} values for {wanted} variables")]
    Length { length: usize, wanted: usize },
    #[error("derivatives of order {order} of `{name}` are not followed; the highest order is {highest}")]
    Order { name: String, order: i32, highest: u8 },
    #[error("it is not allowed now: {now}")]
    Phase { now: &'static str },
    #[error("a step of {h} s from t = {t} s is impossible: it stands at t = {time} s")]
    Step { t: f64, h: f64, time: f64 },
    #[error(
        "with these parameters `{output}` depends on `{input}` at once, which the description denies; export the model with them \
         (`powerbond export --set …`)"
    )]
    FeedThrough { output: String, input: String },
    #[error("derivatives are known of outputs by inputs only, and of this model {known}")]
    Derivative { known: &'static str },
    #[error("the bytes are no state of this model: {reason}")]
    State { reason: &'static str },
    #[error("this FMU has no {what}")]
    Unsupported { what: &'static str },
    #[error("a bug of the model: {message}")]
    Panic { message: String },
}
