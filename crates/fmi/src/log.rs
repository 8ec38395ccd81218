//! What FMUs say while they run: to the user's log, never to stdout, and kept for error messages.

use crate::description::Version;
use crate::status::Status;
use crate::trace::Trace;
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{c_char, c_int, c_void};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

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
    /// It is not the FMU's own: powerbond says it about the FMU.
    pub is_remark: bool,
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}, {}]: {}", self.instance, self.status, self.category, self.message)
    }
}

impl LogLine {
    /// From what `Display` wrote, for lines that went through a place that keeps texts only.
    pub fn read(text: &str) -> Option<Self> {
        let (instance, rest) = text.split_once(" [")?;
        let (status, rest) = rest.split_once(", ")?;
        let (category, message) = rest.split_once("]: ")?;
        let [instance, category, message] = [instance, category, message].map(str::to_owned);
        Some(LogLine { instance, status: Status::read(status), category, message, is_remark: false })
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

    /// Passes a line on.
    pub fn say(&self, line: LogLine) {
        keep_copy(&line.to_string().replace('\n', " "));
        (self.0)(line);
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

/// What an instance's callbacks need; its address is given to the FMU as something to hand back.
pub(crate) struct Environment {
    instance: String,
    log: Log,
    lines: AtomicU64,
    recent: Mutex<VecDeque<String>>,
    /// What was said about it.
    remarks: Mutex<Vec<String>>,
    /// The functions that returned a warning.
    warned: Mutex<Vec<&'static str>>,
    /// The failed call that put an end to the instance; empty if none did.
    lost: Mutex<String>,
    /// Its call that is under way.
    pub trace: Trace,
}

/// Where every line goes beside its log: a place that outlives the process.
static COPY: OnceLock<Keep> = OnceLock::new();

type Keep = Box<dyn Fn(&str) + Send + Sync>;

/// From now on lines of FMUs are also given to `keep`, as they will be in the log. Only the first call has an effect.
pub fn copy_to(keep: impl Fn(&str) + Send + Sync + 'static) {
    let _ = COPY.set(Box::new(keep));
}

/// Gives a line to where it outlives the process, if there is such a place.
pub(crate) fn keep_copy(line: &str) {
    if let Some(keep) = COPY.get() {
        keep(line);
    }
}

impl Environment {
    pub fn new(instance: &str, version: Version, log: Log) -> Self {
        Environment {
            instance: instance.to_owned(),
            log,
            lines: AtomicU64::new(0),
            recent: Mutex::new(VecDeque::new()),
            remarks: Mutex::new(Vec::new()),
            warned: Mutex::default(),
            lost: Mutex::default(),
            trace: Trace::new(instance, version),
        }
    }

    /// The name of the instance.
    pub fn instance(&self) -> &str {
        &self.instance
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
        self.line_of_another(&self.instance, status, category, message);
    }

    /// Notes that a function returned a warning; whether it is its first one.
    pub fn is_first_warning(&self, call: &'static str) -> bool {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = !warned.contains(&call);
        if is_first {
            warned.push(call);
        }
        is_first
    }

    /// This call put an end to the instance: those that come after it say so.
    pub fn lose(&self, call: String) {
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = call;
    }

    /// What put an end to the instance; empty if nothing did.
    pub fn lost(&self) -> String {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says what the FMU does to others ("changes …"): a line of the log and a warning of the run, once of everything.
    pub fn remark(&self, what: &str) {
        let mut remarks = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
        if remarks.iter().any(|known| known == what) {
            return;
        }
        remarks.push(what.to_owned());
        drop(remarks);
        let (instance, category) = (self.instance.clone(), "powerbond".to_owned());
        let message = what.to_owned();
        self.log.say(LogLine { instance, status: Status::Warning, category, message, is_remark: true });
    }

    /// A line in the log of this instance whose instance is unknown.
    fn line_of_another(&self, instance: &str, status: Status, category: String, message: String) {
        let instance = instance.to_owned();
        let number = self.lines.fetch_add(1, Ordering::Relaxed);
        if number < MAX_LINES {
            self.log.say(LogLine { instance, status, category, message, is_remark: false });
        } else if number == MAX_LINES {
            let message = format!("more than {MAX_LINES} lines; the rest is skipped");
            let category = "powerbond".to_owned();
            self.log.say(LogLine { instance, status: Status::Warning, category, message, is_remark: false });
        }
    }
}

/// Environments whose addresses FMUs have, by address, and how many there were before. What an FMU hands back is looked up here and
/// never followed: FMUs of one exporter call the logger with an environment of `0x1`.
static LIVE: Mutex<(Registry, u64)> = Mutex::new((BTreeMap::new(), 0));

type Registry = BTreeMap<usize, (u64, Arc<Environment>)>;

/// An environment that callbacks find as long as this lives.
pub(crate) struct Live {
    environment: Arc<Environment>,
    kept: bool,
}

impl Live {
    pub fn new(environment: Environment) -> Self {
        let environment = Arc::new(environment);
        let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        live.1 += 1;
        let entry = (live.1, environment.clone());
        live.0.insert(Arc::as_ptr(&environment).addr(), entry);
        Live { environment, kept: false }
    }

    /// What the FMU is given.
    pub fn pointer(&self) -> *mut c_void {
        Arc::as_ptr(&self.environment).cast_mut().cast()
    }

    /// It is found for ever: threads of a lost instance may still log.
    pub fn keep(&mut self) {
        self.kept = true;
    }
}

impl std::ops::Deref for Live {
    type Target = Environment;

    fn deref(&self) -> &Environment {
        &self.environment
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if !self.kept {
            let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
            live.0.remove(&Arc::as_ptr(&self.environment).addr());
        }
    }
}

/// Who speaks: the environment that was handed back, if it is one; else the one whose call is under way, if that is told; else one of
/// an instance of this name. Where there is none, the line goes to the log of the youngest instance, without one of its own.
fn speaker(environment: *const c_void, name: &str) -> Option<(Arc<Environment>, bool)> {
    let live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
    let by_address = |address: usize| live.0.get(&address).map(|(_, e)| e);
    let youngest = |fits: &dyn Fn(&Environment) -> bool| {
        let all = live.0.values().filter(|(_, e)| fits(e));
        all.max_by_key(|(number, _)| *number).map(|(_, e)| e)
    };
    let known = by_address(environment.addr())
        .or_else(|| by_address(CURRENT.get().addr()))
        .or_else(|| youngest(&|e| e.instance == name));
    match known {
        Some(environment) => Some((environment.clone(), true)),
        None => youngest(&|_| true).map(|environment| (environment.clone(), false)),
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

/// A string of an FMU, cut at 2047 bytes and [`printable`]; unreadable memory is said to be so.
pub(crate) fn copy_text(text: *const c_char) -> String {
    let mut buffer = [0u8; 2048];
    // Safety: writes at most 2048 bytes with a final zero, and reads `text` only where the kernel says it is readable.
    unsafe { powerbond_fmi_copy(buffer.as_mut_ptr().cast(), buffer.len(), text) };
    let end = buffer.iter().position(|&b| b == 0).unwrap_or(buffer.len());
    printable(&String::from_utf8_lossy(&buffer[..end]))
}

/// Without characters that a terminal takes as orders: control characters other than line ends and tabs are written as escapes, and
/// so is what turns the direction of writing around.
pub fn printable(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    let harmless = |c: char| (!c.is_control() && !turns(c)) || c == '\n' || c == '\t';
    if text.chars().all(harmless) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if harmless(c) { out.push(c) } else { out.extend(c.escape_unicode()) }
    }
    out
}

/// Called by `logger.c` with the finished message. Nothing of what comes is believed: see [`speaker`] and [`copy_text`].
#[unsafe(no_mangle)]
unsafe extern "C" fn powerbond_fmi_log(
    environment: *const c_void,
    instance: *const c_char,
    status: c_int,
    category: *const c_char,
    message: *const c_char,
) {
    deliver(environment, instance, status, category, message);
}

/// Copies a line out of an FMU's memory and passes it on. A panic must not run through foreign frames.
pub(crate) fn deliver(
    environment: *const c_void,
    instance: *const c_char,
    status: c_int,
    category: *const c_char,
    message: *const c_char,
) {
    let line = || {
        let name = copy_text(instance);
        let Some((speaker, known)) = speaker(environment, &name) else { return };
        let (status, category, message) =
            (Status::from_code(status), copy_text(category), copy_text(message));
        if known {
            speaker.line(status, category, message);
        } else {
            speaker.line_of_another(
                if instance.is_null() { "unknown instance" } else { &name },
                status,
                category,
                message,
            );
        }
    };
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(line));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_orders() {
        let check = |text: &str, wanted: &str| assert_eq!(printable(text), wanted);
        check("plain, größer\n\tnext", "plain, größer\n\tnext");
        check("\u{1b}[2Jgone", "\\u{1b}[2Jgone");
        check("a\u{9b}31mred\r", "a\\u{9b}31mred\\u{d}");
        check("txt.\u{202e}exe", "txt.\\u{202e}exe");
    }

    #[test]
    fn lines_are_read_back() {
        for status in [Status::Ok, Status::Warning, Status::Fatal, Status::Pending, Status::Illegal(6)] {
            let [instance, category, message] = ["plant", "wild, [1]", "x > 0]: no"].map(str::to_owned);
            let line = LogLine { instance, status, category, message, is_remark: false };
            assert_eq!(LogLine::read(&line.to_string()), Some(line));
        }
        assert_eq!(LogLine::read("no line of the log"), None);
    }
}
