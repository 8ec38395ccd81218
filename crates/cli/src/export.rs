//! `powerbond export`: a built-in model as an FMU.

use crate::text::print;
use powerbond::Error;
use powerbond::models::{self, ParameterValue};
use powerbond_export::{Export, ExportError, FmiVersion, Library};
use std::path::PathBuf;

/// Options of `export`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The model: `powerbond methods` lists them
    model: String,
    /// FMI version
    #[arg(long, value_name = "VERSION", default_value = "2", value_parser = ["2", "3"])]
    fmi: String,
    /// Set a start value: parameter=value (repeatable)
    #[arg(long, value_name = "PARAM=VALUE")]
    set: Vec<String>,
    /// The file to write (default: the name of the model)
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// The library of the models (default: in the folder of this command, else inside it)
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    library: Option<PathBuf>,
    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn main(arguments: &Arguments) -> Result<u8, Error> {
    let name = &arguments.model;
    let Some(model) = models::find(name) else {
        let hint = models::hint(name);
        return Err(Error::input(None, format!("unknown model `{name}`.{hint}")));
    };
    let given = arguments.set.iter().map(|text| assignment(text)).collect::<Result<Vec<_>, _>>()?;
    let (version, words) = match arguments.fmi.as_str() {
        "3" => (FmiVersion::Fmi3, "FMI 3.0"),
        _ => (FmiVersion::Fmi2, "FMI 2.0"),
    };
    let export = Export::new(model, version, &given).map_err(explain)?;
    let library = match &arguments.library {
        Some(path) => Library::at(path),
        None => library(),
    };
    let path = arguments.output.clone().unwrap_or_else(|| PathBuf::from(export.file_name()));
    let bytes = export.write(&library.map_err(explain)?, &path).map_err(explain)?;
    if !arguments.quiet {
        print(&format!(
            "{}: {name} as an FMU of {words} co-simulation, {} kB\n",
            path.display(),
            bytes.div_ceil(1000)
        ))?;
    }
    Ok(0)
}

/// The library of the built-in models: the file that was built with this command, else what a release build has inside.
pub fn library() -> Result<Library, ExportError> {
    match Library::find() {
        Err(ExportError::NoLibrary { .. }) if !EMBEDDED.is_empty() => {
            Library::of(EMBEDDED.to_vec(), &std::env::current_exe().unwrap_or_default())
        }
        found => found,
    }
}

/// The library itself, so that an installed command needs no file beside it; `build.rs` says when and where from.
#[cfg(embedded_models)]
const EMBEDDED: &[u8] = include_bytes!(env!("POWERBOND_MODELS_LIBRARY"));
#[cfg(not(embedded_models))]
const EMBEDDED: &[u8] = &[];

fn assignment(text: &str) -> Result<(String, ParameterValue), Error> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(Error::input(
            None,
            format!("`--set {text}`: expected a parameter and its value, as in `mass=45`"),
        ));
    };
    let value = value.trim();
    let value = value.parse().map_or_else(|_| ParameterValue::Text(value.to_owned()), ParameterValue::Number);
    Ok((name.trim().to_owned(), value))
}

/// An error of the export as one of the command.
pub fn explain(error: ExportError) -> Error {
    match error {
        ExportError::Write { path, reason } => Error::output(&path, &reason),
        other => Error::input(None, other.to_string()),
    }
}
