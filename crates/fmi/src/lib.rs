//! Co-simulation FMUs of FMI 1.0, 2.0 and 3.0 as subsystems of powerbond.
//!
//! ```no_run
//! use powerbond_fmi::{Fmu, Options};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let fmu = Fmu::open("wheel.fmu")?;
//! println!("{} has {} variables", fmu.description().model_name, fmu.description().variables.len());
//! let options = Options { parameters: vec![("mass".to_owned(), 40.0.into())], ..Options::default() };
//! let wheel = fmu.instantiate("wheel", &options)?;
//! # Ok(())
//! # }
//! ```
//!
//! An FMU is other people's native code in a zip file. Files are checked before they are written or believed
//! ([`archive`], [`description`]); what its library does once it is loaded is beyond this crate. This is the only crate
//! with `unsafe` code, and only where a function of an FMU is called or calls back.

#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

pub mod archive;
mod calls;
pub mod description;
mod elf;
pub mod error;
mod fmi1;
mod fmi2;
mod fmi3;
mod fmu;
mod folder;
mod instance;
mod library;
mod lifecycle;
mod loaded;
mod log;
mod machine;
pub mod nearby;
mod numbers;
mod packets;
mod perturb;
mod ports;
mod preload;
pub mod printed;
pub mod probe;
pub mod curvature;
pub mod process;
mod reread;
mod returning;
mod rounding;
mod settings;
mod snapshot;
mod start;
mod status;
mod stepping;
pub mod scratch;
pub mod surroundings;
pub mod trace;
mod transfer;
mod value;

pub use archive::{Archive, Limits, Unpacked};
pub use error::FmuError;
pub use fmu::{Contents, Fmu, Logging, Options};
pub use folder::{PrivateFolder, sweep_stale};
pub use instance::FmuSubsystem;
pub use library::FOLDERS as PLATFORM;
pub use log::{Log, LogLine, copy_to as copy_log_to, printable};
pub use ports::unlike;
pub use reread::Reread;
pub use status::Status;
pub use value::Value;
