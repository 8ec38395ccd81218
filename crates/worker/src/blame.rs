//! How a process ended, and which call was under way, in words.

use powerbond::Failure;
use powerbond::fmi::trace::UnderWay;
use std::process::ExitStatus;

/// Calls that were under way: one of them is to blame.
pub(crate) struct Suspects(pub Vec<UnderWay>);

impl Suspects {
    pub fn text(&self, none: &str) -> String {
        let one = |c: &UnderWay| format!("`{}`: `{}`{}", c.instance, c.call, c.when());
        match self.0.as_slice() {
            [] => none.to_owned(),
            [call] => one(call),
            several => format!("one of {}", several.iter().map(one).collect::<Vec<_>>().join(", ")),
        }
    }

    pub fn blame(&self, failure: Failure) -> Failure {
        match self.0.as_slice() {
            [call] => Failure {
                subsystem: Some(call.instance.clone()),
                call: Some(call.call.to_owned()),
                time: call.time,
                ..failure
            },
            _ => failure,
        }
    }
}

/// How a process ended, in words.
pub(crate) fn how(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let (name, meaning) = match signal {
            1 => ("SIGHUP", "hangup"),
            2 => ("SIGINT", "interrupt"),
            3 => ("SIGQUIT", "quit"),
            4 => ("SIGILL", "illegal instruction"),
            6 => ("SIGABRT", "abort, an uncaught C++ exception, a failed assertion or stack overflow"),
            7 => ("SIGBUS", "bus error"),
            8 => ("SIGFPE", "arithmetic error, or a library that traps floating-point exceptions"),
            9 => ("SIGKILL", "killed from outside, or out of memory"),
            10 => ("SIGUSR1", "a signal for users"),
            11 => ("SIGSEGV", "segmentation fault or stack overflow"),
            12 => ("SIGUSR2", "a signal for users"),
            13 => ("SIGPIPE", "wrote to a closed pipe"),
            14 => ("SIGALRM", "its own alarm clock"),
            15 => ("SIGTERM", "terminated from outside"),
            24 => ("SIGXCPU", "CPU time limit"),
            25 => ("SIGXFSZ", "file size limit"),
            31 => ("SIGSYS", "forbidden system call"),
            _ => return format!("crashed (signal {signal})"),
        };
        return format!("crashed with {name} ({meaning})");
    }
    match status.code() {
        Some(code) => format!("ended the process with exit code {code} (`exit` or `_exit`)"),
        None => "ended the process".to_owned(),
    }
}
