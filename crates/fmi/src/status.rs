//! The status that every function of an FMU returns.

use crate::description::Version;
use std::ffi::c_int;
use std::fmt;
use std::time::{Duration, Instant};

/// What a call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All went well.
    Ok,
    /// Went well, but the model has something to say.
    Warning,
    /// Not done, or only a part of it.
    Discard,
    /// Failed; the instance can be reset or freed.
    Error,
    /// Failed; no instance of this FMU may be called any more.
    Fatal,
    /// Still at work in the background.
    Pending,
    /// The library lacks the function.
    Missing,
    /// Not called: the standard forbids it in the state of the instance.
    NotAllowed,
    /// Nothing that the standard knows.
    Illegal(c_int),
}

/// Stands for the status of a function that the library lacks.
pub(crate) const MISSING: c_int = c_int::MIN;

/// Stands for the status of a call that was not made, since the state of the instance forbids it.
pub(crate) const NOT_ALLOWED: c_int = c_int::MIN + 1;

/// Stands for a step that went well, but with more to be told than that.
pub(crate) const EVENTFUL: c_int = c_int::MAX;

/// All went well.
pub(crate) const OK: c_int = 0;

/// Still at work in the background.
pub(crate) const PENDING: c_int = 5;

/// How long a step in the background may take.
const MAX_WAIT: Duration = Duration::from_secs(600);

/// Asks with `poll`, which writes the status of the step, until it is another than pending: at once at first, then every
/// millisecond. A step that takes too long stays pending.
pub(crate) fn wait_for(mut poll: impl FnMut(&mut c_int) -> c_int) -> c_int {
    let begun = Instant::now();
    let mut asked = 0u32;
    loop {
        let mut status = PENDING;
        let code = poll(&mut status);
        match Status::from_code(code) {
            Status::Ok | Status::Warning => {}
            // It does not tell, so that nobody will know when the step ends.
            Status::Discard => return PENDING,
            _ => return code,
        }
        if status != PENDING || begun.elapsed() > MAX_WAIT {
            return status;
        }
        asked += 1;
        if asked < 100 {
            std::thread::yield_now();
        } else {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Status {
    /// From the number that a function returned.
    pub fn from_code(code: c_int) -> Self {
        match code {
            OK => Status::Ok,
            1 => Status::Warning,
            2 => Status::Discard,
            3 => Status::Error,
            4 => Status::Fatal,
            PENDING => Status::Pending,
            MISSING => Status::Missing,
            NOT_ALLOWED => Status::NotAllowed,
            other => Status::Illegal(other),
        }
    }

    /// From its name in the log.
    pub(crate) fn read(name: &str) -> Self {
        let all = (0..=PENDING).chain([MISSING, NOT_ALLOWED]).map(Status::from_code);
        all.into_iter().find(|status| status.to_string() == name).unwrap_or(Status::Illegal(PENDING + 1))
    }

    /// As the standard of this version names it.
    pub fn name(self, version: Version) -> String {
        let prefix = match version {
            Version::Fmi1 => "fmi",
            Version::Fmi2 => "fmi2",
            Version::Fmi3 => "fmi3",
        };
        match self {
            Status::Missing => "no status: the library does not export it".to_owned(),
            Status::NotAllowed => "no status: it is not allowed".to_owned(),
            Status::Illegal(code) => format!("the invalid status {code}"),
            // FMI 3 has no steps in the background.
            Status::Pending if version == Version::Fmi3 => format!("the invalid status {PENDING}"),
            known => format!("{prefix}{known}"),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Status::Ok => "OK",
            Status::Warning => "Warning",
            Status::Discard => "Discard",
            Status::Error => "Error",
            Status::Fatal => "Fatal",
            Status::Pending => "Pending",
            Status::Missing => "Missing",
            Status::NotAllowed => "NotAllowed",
            Status::Illegal(_) => "Illegal",
        })
    }
}
