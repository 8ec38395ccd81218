//! Commands that load FMUs, in a process of their own: a crash of an FMU is an error of the command, and says who did it.

use crate::progress;
use crate::text;
use powerbond::Error;
use powerbond_worker::{Limits, Listener, Progress, Worker};
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

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
    let streams = [text::stdout()?, Stdio::inherit()];
    match powerbond_worker::attend(crate::words(), streams, Limits::default(), &mut watch) {
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

/// What a command in a worker came to.
pub enum Answer {
    /// What it printed.
    Text(String),
    /// It failed: why.
    Failed(String),
    /// The user stopped it: the exit code.
    Stopped(u8),
}

/// Runs this program with other `words` in a worker, for what it prints; `folder` is for temporary files. With `in_process` there is a
/// process, too, but nobody watches it.
pub fn ask(in_process: bool, words: &[OsString], folder: &Path, limit: Duration) -> Result<Answer, Error> {
    let (out, err) = (folder.join("out"), folder.join("err"));
    let create = |path: &Path| std::fs::File::create(path).map_err(|e| Error::output(path, &e));
    let read = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
    if in_process || !powerbond_worker::is_supported() {
        let mut command = powerbond_worker::this_program();
        command.args(words).arg("--in-process").stdin(Stdio::null());
        let ran = command.output().map_err(|e| Error::output(Path::new("powerbond"), &e))?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        return Ok(match ran.status.code() {
            Some(0) => Answer::Text(text(ran.stdout)),
            Some(code @ 129..) => Answer::Stopped(code as u8),
            _ => Answer::Failed(said(text(ran.stderr))),
        });
    }
    let mut watch = Watch { signal: progress::caught()? };
    let limits = Limits { run: Some(limit), ..Limits::default() };
    let streams = [create(&out)?.into(), create(&err)?.into()];
    let ended = powerbond_worker::attend(words.iter().cloned(), streams, limits, &mut watch);
    Ok(match ended {
        Err(error) => Answer::Failed(format!("cannot start the worker process: {error}")),
        Ok(Err(error @ Error::Deadline(_))) => {
            let error = error.to_string();
            let where_it_was = error.split_once("; ").map_or(String::new(), |(_, rest)| format!(": {rest}"));
            Answer::Failed(format!("it takes longer than {} s{where_it_was}", limit.as_secs()))
        }
        Ok(Err(error)) => Answer::Failed(error.to_string()),
        Ok(Ok(0)) => Answer::Text(read(&out)),
        Ok(Ok(code)) if watch.signal().is_some() => Answer::Stopped(code),
        Ok(Ok(_)) => Answer::Failed(said(read(&err))),
    })
}

/// The first error of what a command said, in one line: it may be wrapped for a terminal, and have lines of its own.
fn said(text: String) -> String {
    let begins = |line: &&str| ["error: ", "warning: ", "note: "].iter().any(|word| line.starts_with(word));
    let mut lines = text.lines().skip_while(|line| !line.starts_with("error: "));
    let Some(first) = lines.next().or(text.lines().next()) else {
        return "it ended without a word".to_owned();
    };
    let rest = lines.take_while(|line| !begins(line)).map(str::trim).filter(|line| !line.is_empty());
    let parts: Vec<&str> = std::iter::once(first.trim_start_matches("error: ")).chain(rest).collect();
    parts.join(" ")
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

#[cfg(test)]
mod tests {
    use super::said;

    /// Of an error that was wrapped at 80 columns, only the name of a temporary file was left.
    #[test]
    fn an_error_is_told_whole() {
        let check = |text: &str, wanted: &str| assert_eq!(said(text.to_owned()), wanted);
        check(
            "warning: a\nerror: trial.toml:5:7:\n  x.fmu: no\nmodule\nerror: b\n",
            "trial.toml:5:7: x.fmu: no module",
        );
        check("error: one\nnote: two\n", "one");
        check("what is this\n", "what is this");
        check("", "it ended without a word");
    }
}
