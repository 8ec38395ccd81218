//! x
use powerbond::Error;
#[derive(clap::Args)]
pub struct Arguments {}
pub fn main(_: &Arguments) -> Result<std::process::ExitCode, Error> { Ok(std::process::ExitCode::SUCCESS) }
