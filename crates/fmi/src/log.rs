//! What FMUs say while they run: to the user's log, never to stdout, and kept for error messages.

use crate::description::Version;
use crate::status::Status;
use crate::trace::Trace;
use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::{c_char, c_int, c_void};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How many lines an instance may log before the rest is only counted.
const MAX_LINES: u64 = 10_000;

/// How many lines are kept for error messages.
const KEPT: usize = 4;

/// Something that an FMU said.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    /// The instance, as the system names it.
    pub instance: String,
    /// How serious it is.
    pub status: Status,
    /// The FMU's own word for the kind of message.
    pub category: String,
    /// The message.
    pub message: String,
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}, {}]: {}", self.instance, self.status, self.category, self.message)
    }
}

/// Where the lines of FMUs go. Called from whatever thread an FMU logs on.
#[derive(Clone)]
pub struct Log(Arc<dyn Fn(LogLine) + Send + Sync>);

impl Log {
    /// To a function.
    pub fn to(sink: impl Fn(LogLine) + Send + Sync + 'static) -> Self {
        Log(Arc::new(sink))
    }

    /// Nowhere; the last lines still appear in error messages.
    pub fn silent() -> Self {
        Log::to(|_| {})
    }
}

impl Default for Log {
    fn default() -> Self {
        Log::silent()
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

/// What an instance's callbacks need; its address is given to the FMU.
pub(crate) struct Environment {
    instance: String,
    log: Log,
    lines: AtomicU64,
    recent: Mutex<VecDeque<String>>,
    /// Its call that is under way.
    pub trace: Trace,
}

impl Environment {
    pub fn new(instance: &str, version: Version, log: Log) -> Self {
        Environment {
            instance: instance.to_owned(),
            log,
            lines: AtomicU64::new(0),
            recent: Mutex::new(VecDeque::new()),
            trace: Trace::new(instance, version),
        }
    }

    /// Takes the kept lines, as an addition to an error message: empty or `: …`.
    pub fn take_recent(&self) -> String {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<String> = recent.drain(..).collect();
        if lines.is_empty() { String::new() } else { format!(": {}", lines.join(" | ")) }
    }

    pub fn line(&self, status: Status, category: String, message: String) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() == KEPT {
            recent.pop_front();
        }
        recent.push_back(message.trim_end().to_owned());
        drop(recent);
        let instance = || self.instance.clone();
        let number = self.lines.fetch_add(1, Ordering::Relaxed);
        if number < MAX_LINES {
            (self.log.0)(LogLine { instance: instance(), status, category, message });
        } else if number == MAX_LINES {
            let message = format!("more than {MAX_LINES} lines; the rest is skipped");
            let category = "powerbond".to_owned();
            (self.log.0)(LogLine { instance: instance(), status: Status::Warning, category, message });
        }
    }
}

thread_local! {
    /// Whose call is under way: FMI 1 does not hand our environment back.
    static CURRENT: Cell<*const Environment> = const { Cell::new(std::ptr::null()) };
}

/// Runs a call of FMI 1 so that its log lines find their instance.
pub(crate) fn attributed<T>(environment: &Environment, call: impl FnOnce() -> T) -> T {
    let before = CURRENT.replace(environment);
    let result = call();
    CURRENT.set(before);
    result
}

unsafe extern "C" {
    fn powerbond_fmi_copy(out: *mut c_char, size: usize, text: *const c_char);
}

/// A string of an FMU, cut at 2047 bytes; unreadable memory is said to be so.
pub(crate) fn copy_text(text: *const c_char) -> String {
    let mut buffer = [0u8; 2048];
    // Safety: writes at most 2048 bytes with a final zero, and reads `text` only where the kernel says it is readable.
    unsafe { powerbond_fmi_copy(buffer.as_mut_ptr().cast(), buffer.len(), text) };
    let end = buffer.iter().position(|&b| b == 0).unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..end]).into_owned()
}

/// Called by `logger.c` with the finished message.
///
/// Safety: `environment` is what was given to `fmi2Instantiate` (FMI 2.0.5 section 2.1.5: the component environment is
/// handed back unchanged), or null. The environment outlives the instance.
#[unsafe(no_mangle)]
unsafe extern "C" fn powerbond_fmi_log(
    environment: *const c_void,
    _instance: *const c_char,
    status: c_int,
    category: *const c_char,
    message: *const c_char,
) {
    let environment: *const Environment =
        if environment.is_null() { CURRENT.get() } else { environment.cast() };
    // Safety: see above; null only for an FMI 1 line outside any call of ours.
    let Some(environment) = (unsafe { environment.as_ref() }) else { return };
    deliver(environment, status, category, message);
}

/// Copies a line out of an FMU's memory and passes it on. A panic must not run through foreign frames.
pub(crate) fn deliver(
    environment: &Environment,
    status: c_int,
    category: *const c_char,
    message: *const c_char,
) {
    let line = || environment.line(Status::from_code(status), copy_text(category), copy_text(message));
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(line));
}
