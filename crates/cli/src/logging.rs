//! The log on stderr: what `-v` or `RUST_LOG` asks for.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

/// Begins to log. `-v` shows what is done and what FMUs say, `-vv` also steps that were not plain ones, `-vvv` all steps;
/// without it `RUST_LOG` decides (`warn`, or `powerbond::fmu=info,powerbond=warn`). Nothing is logged otherwise.
pub fn begin(verbosity: u8) {
    let filter = match verbosity {
        0 => match std::env::var("RUST_LOG") {
            Ok(text) if !text.trim().is_empty() => match text.parse::<Targets>() {
                Ok(filter) => filter,
                Err(error) => {
                    eprintln!(
                        "warning: RUST_LOG=`{text}` is ignored: {error}; expected a level (`info`), or levels of \
                         parts (`powerbond::fmu=debug,powerbond=warn`)"
                    );
                    return;
                }
            },
            _ => return,
        },
        1 => Targets::new().with_default(LevelFilter::INFO),
        2 => Targets::new().with_default(LevelFilter::DEBUG),
        _ => Targets::new().with_default(LevelFilter::TRACE),
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_timer(tracing_subscriber::fmt::time::uptime());
    tracing_subscriber::registry().with(lines.with_filter(filter)).init();
}
