//! Commands that load FMUs, in a process of their own: a crash of an FMU is an error of the command, and says who did it.

use crate::progress;
use crate::text;
use powerbond::Error;
use powerbond_worker::{Listener, Progress, Worker};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does the work of a command in a worker, unless this is one or it is to be done here.
pub fn main(in_process: bool, work: impl FnOnce() -> Result<u8, Error>) -> Result<u8, Error> {
    if let Some(worker) = Worker::here() {
        let done = work();
        // Errors are said before that: a worker that is done may end at any time.
        let code = done.unwrap_or_else(|error| {
            eprint!("{}", text::error(&error));
            error.exit_code()
        });
        worker.end();
        return Ok(code);
    }
    if in_process || !powerbond_worker::is_supported() {
        return work();
    }
    let mut watch = Watch { signal: progress::caught()? };
    match powerbond_worker::attend(std::env::args_os().skip(1), text::stdout()?, &mut watch) {
        Ok(outcome) => outcome,
        Err(error) => {
            text::say(
                "warning",
                format!("cannot start the worker process: {error}; FMUs run in this process"),
            );
            work()
        }
    }
}

/// The worker shows by itself how far it is.
struct Watch {
    signal: Arc<AtomicUsize>,
}

impl Listener for Watch {
    fn progress(&mut self, _progress: &Progress) {}

    fn say(&mut self, text: &str) {
        eprintln!("{text}");
    }

    fn signal(&self) -> Option<u8> {
        Some(self.signal.load(Ordering::Relaxed) as u8).filter(|&signal| signal != 0)
    }
}
