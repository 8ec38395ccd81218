//! The `.fmu` file: a description and a library in a zip.

use crate::description::{FmiVersion, describe, model_identifier};
use crate::error::{ExportError, Refusal};
use crate::interface::Interface;
use crate::token::LONGEST;
use powerbond_models::{ModelSpec, ParameterValue};
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// The library that all FMUs carry.
#[derive(Debug)]
pub struct Library {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Library {
    /// The library of the built-in models, which is built with the command and lies beside it.
    pub fn find() -> Result<Self, ExportError> {
        Library::named("powerbond_models_fmu")
    }

    /// The library that is built of the crate `name` and lies beside the running program: `libname.so`.
    pub fn named(name: &str) -> Result<Self, ExportError> {
        let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        let name = format!("{prefix}{name}{suffix}");
        let command = std::env::current_exe().and_then(|p| p.canonicalize());
        let folder = command.ok().and_then(|p| p.parent().map(Path::to_owned)).unwrap_or_default();
        // In cargo's folders the newest one is in `deps`; an installation has it beside the command or in `lib`.
        let places = ["deps", "../deps", "", "../lib/powerbond", "../lib"];
        let tried: Vec<PathBuf> = places.iter().map(|place| folder.join(place).join(&name)).collect();
        match tried.iter().find(|path| path.is_file()) {
            Some(path) => Library::at(path),
            None => Err(ExportError::NoLibrary { name, tried: tried[2..].to_vec() }),
        }
    }

    /// The library at `path`; refused if it is none of this version.
    pub fn at(path: &Path) -> Result<Self, ExportError> {
        let bytes = std::fs::read(path)
            .map_err(|error| ExportError::Read { path: path.to_owned(), reason: error.to_string() })?;
        Library::of(bytes, path)
    }

    /// The library whose bytes a program carries in itself; `path` names it in messages. Refused if it is none of this version.
    pub fn of(bytes: Vec<u8>, path: &Path) -> Result<Self, ExportError> {
        let contains = |mark: &[u8]| bytes.windows(mark.len()).any(|window| window == mark);
        if !contains(&crate::MARK) {
            let stem = &crate::MARK[..crate::MARK.iter().rposition(|&b| b == b' ').unwrap_or(0)];
            let found = if contains(stem) { "it is of another version" } else { "it is another library" };
            let expected = env!("CARGO_PKG_VERSION");
            return Err(ExportError::WrongLibrary {
                path: path.to_owned(),
                expected,
                found: found.to_owned(),
            });
        }
        Ok(Library { path: path.to_owned(), bytes })
    }

    /// Where it was found: the program itself, if that carries it.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A model that is to become an FMU.
pub struct Export {
    interface: Interface,
    version: FmiVersion,
}

impl Export {
    /// `model` with start values for its parameters; what is not given keeps its default. `input_derivatives`,
    /// `refresh` and `restore` decide what the FMU declares to be able to do; all others stay parameters of the FMU.
    pub fn new(
        model: &'static ModelSpec,
        version: FmiVersion,
        given: &[(String, ParameterValue)],
    ) -> Result<Self, ExportError> {
        match Interface::new(model, given) {
            Ok((interface, _)) => {
                let length = interface.token().len();
                if length > LONGEST {
                    return Err(ExportError::TooManySettings { length, longest: LONGEST });
                }
                Ok(Export { interface, version })
            }
            Err(Refusal::Parameter(error)) => Err(error.into()),
            Err(other) => Err(ExportError::Model { model: model.name, reason: other.to_string() }),
        }
    }

    /// What the FMU looks like from outside.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// A name for the file: `quarter_car_wheel.fmu`.
    pub fn file_name(&self) -> String {
        format!("{}.fmu", model_identifier(&self.interface))
    }

    /// The FMU as bytes; the same every time.
    pub fn bytes(&self, library: &Library) -> Result<Vec<u8>, ExportError> {
        let fail = |error: std::io::Error| ExportError::Pack { reason: error.to_string() };
        let zip_fail = |error: zip::result::ZipError| fail(error.into());
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default());
        let identifier = model_identifier(&self.interface);
        let binary =
            format!("binaries/{}/{identifier}{}", platform(self.version), std::env::consts::DLL_SUFFIX);
        let description = describe(&self.interface, self.version);
        let files: [(&str, &[u8], u32); 2] =
            [("modelDescription.xml", description.as_bytes(), 0o644), (&binary, &library.bytes, 0o755)];
        for (name, bytes, mode) in files {
            zip.start_file(name, options.unix_permissions(mode)).map_err(zip_fail)?;
            zip.write_all(bytes).map_err(fail)?;
        }
        Ok(zip.finish().map_err(zip_fail)?.into_inner())
    }

    /// Writes the FMU to `path` at once: a file that was there before is replaced when the new one is complete.
    pub fn write(&self, library: &Library, path: &Path) -> Result<u64, ExportError> {
        let bytes = self.bytes(library)?;
        let fail = |error: std::io::Error| ExportError::Write { path: path.to_owned(), reason: error };
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".tmp");
        let draft = path.with_file_name(name);
        let written = std::fs::write(&draft, &bytes).and_then(|()| std::fs::rename(&draft, path));
        written.map_err(|error| {
            // It may never have come to be; what counts is the first error.
            let _absent = std::fs::remove_file(&draft);
            fail(error)
        })?;
        Ok(bytes.len() as u64)
    }
}

/// The folder of the library: FMI 2.0.5 section 2.3, FMI 3.0.2 "platform tuple".
fn platform(version: FmiVersion) -> String {
    use std::env::consts::{ARCH, OS};
    let system = if OS == "macos" { "darwin" } else { OS };
    match (version, ARCH, system) {
        (FmiVersion::Fmi2, "x86_64", "linux") => "linux64".to_owned(),
        (FmiVersion::Fmi2, "x86_64", "windows") => "win64".to_owned(),
        (FmiVersion::Fmi2, "x86_64", "darwin") => "darwin64".to_owned(),
        _ => format!("{ARCH}-{system}"),
    }
}
