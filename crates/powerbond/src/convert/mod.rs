//! A system in another format: `system.toml`, SSP or OSP. What a format cannot say is told.

mod files;
mod method;
mod osp;
mod settings;
mod ssp;
mod toml;
mod xml;

use crate::Error;
use crate::system::System;
use std::path::Path;

/// A format of systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A system file and its FMUs beside it.
    Toml,
    /// An archive of SSP, FMUs and all.
    Ssp,
    /// A folder of OSP with its FMUs.
    Osp,
}

impl Target {
    /// By the name of what is to be written.
    pub fn of(path: &Path) -> Option<Target> {
        if path.file_name().is_some_and(|name| name == crate::system::OSP_FILE) {
            return Some(Target::Osp);
        }
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "toml" => Some(Target::Toml),
            "ssp" => Some(Target::Ssp),
            _ => None,
        }
    }

    /// Its name in options.
    pub fn name(self) -> &'static str {
        match self {
            Target::Toml => "toml",
            Target::Ssp => "ssp",
            Target::Osp => "osp",
        }
    }
}

/// Writes a system; the answer is what the format cannot say, in lines. FMUs and tables are copied along. All subsystems have to be
/// FMUs, except in a system file.
pub fn convert(system: &System, target: Target, path: &Path) -> Result<Vec<String>, Error> {
    system.validate()?;
    let mut lost = match target {
        Target::Toml => toml::write(system, path),
        Target::Ssp => ssp::write(system, path),
        Target::Osp => osp::write(system, path),
    }?;
    // Parts of nested systems stand side by side in all formats.
    let entrances = system.entrances();
    if let [first, rest @ ..] = &entrances[..] {
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        lost.push(format!("connectors of systems, which stand for what they feed: `{first}`{more}"));
    }
    Ok(lost)
}
