//! Models as co-simulation FMUs of FMI 2.0 and 3.0.
//!
//! An FMU is a zip file with a description and a library. One library holds any number of models and speaks both
//! versions of FMI; which of its models an FMU is stands in the description's token. A library is a crate of the type
//! `cdylib` with one line:
//!
//! ```ignore
//! powerbond_export::fmu_library!(powerbond_models::ALL);
//! ```
//!
//! [`Export`] then writes FMUs around it, without a compiler:
//!
//! ```no_run
//! use powerbond_models;
//! use powerbond_export::{Export, FmiVersion, Library};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = powerbond_models::find("quarter-car/wheel").expect("a built-in model");
//! let export = Export::new(model, FmiVersion::Fmi3, &[])?;
//! export.write(&Library::find()?, "wheel.fmu".as_ref())?;
//! # Ok(())
//! # }
//! ```
//!
//! `unsafe` is confined to [`ffi`], where importers call in.

#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

mod archive;
mod description;
mod entry_points;
mod error;
pub mod ffi;
pub mod instance;
pub mod interface;
mod intermediate;
mod snapshot;
mod token;

pub use archive::{Export, Library};
pub use description::{FmiVersion, describe};
pub use error::{ExportError, Refusal};
pub use interface::Interface;
pub use powerbond_models::ModelSpec;
pub use snapshot::Snapshot;

/// What a library of this version has in it.
#[doc(hidden)]
pub const MARK: [u8; MARK_TEXT.len()] = {
    let (mut bytes, mut i) = ([0; MARK_TEXT.len()], 0);
    while i < bytes.len() {
        bytes[i] = MARK_TEXT.as_bytes()[i];
        i += 1;
    }
    bytes
};

const MARK_TEXT: &str = concat!("powerbond library of FMUs ", env!("CARGO_PKG_VERSION"), "\n");
