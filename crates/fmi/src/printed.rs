//! What FMUs print: libraries share the process's stdout, which belongs to the user of powerbond.
//!
//! [`divert`] puts a pipe in the place of stdout and gives the real one back. A thread empties the pipe and keeps what it
//! finds, a bounded number of lines, for the log.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// What such lines begin with beside those that FMUs log.
pub const PRINTED: &str = "printed: ";

/// How many lines are kept; the rest is counted.
const MAX_LINES: usize = 10_000;

/// Longer lines are cut, in bytes.
const MAX_LENGTH: usize = 2048;

/// A line that no FMU prints: everything before it has arrived.
const MARK: &[u8] = b"\x00powerbond\x00";

static LINES: Mutex<Lines> = Mutex::new(Lines::new());
static ARRIVED: Condvar = Condvar::new();

/// Stdout is a pipe that another process can read, too: [`divert`] adopts it.
static IS_HEARD: AtomicBool = AtomicBool::new(false);

/// The process that started this one listens to its stdout: [`divert`] does what [`adopt`] does. No thread is started before that.
pub fn is_heard() {
    IS_HEARD.store(true, Ordering::Relaxed);
}

struct Lines {
    kept: Vec<String>,
    dropped: u64,
    marks: u64,
    diverted: bool,
    /// The writing end of the pipe is closed: an FMU did that.
    ended: bool,
}

impl Lines {
    const fn new() -> Self {
        Lines { kept: Vec::new(), dropped: 0, marks: 0, diverted: false, ended: false }
    }
}

/// Takes stdout away from FMUs for the rest of the process; the file is the real one. Nothing happens a second time, and
/// nothing on systems without pipes in the place of files.
#[cfg(unix)]
pub fn divert() -> std::io::Result<Option<std::fs::File>> {
    use std::os::fd::{AsFd, AsRawFd};
    unsafe extern "C" {
        fn dup2(from: std::ffi::c_int, to: std::ffi::c_int) -> std::ffi::c_int;
    }
    if IS_HEARD.load(Ordering::Relaxed) && adopt().is_ok() {
        return Ok(None);
    }
    if std::mem::replace(&mut lock().diverted, true) {
        return Ok(None);
    }
    let real = std::io::stdout().as_fd().try_clone_to_owned()?;
    let (reader, writer) = std::io::pipe()?;
    // Safety: no FMU is called. Both are open descriptors of ours; stdout is replaced at once, never closed in between.
    if unsafe { dup2(writer.as_raw_fd(), std::io::stdout().as_raw_fd()) } < 0 {
        return Err(std::io::Error::last_os_error());
    }
    listen(reader)?;
    Ok(Some(real.into()))
}

/// As [`divert`], where stdout is a pipe from the start: the process that started this one keeps its reading end, too, and finds in it what
/// was printed just before a crash.
#[cfg(unix)]
pub fn adopt() -> std::io::Result<()> {
    let mut lines = lock();
    if lines.diverted {
        return Ok(());
    }
    let reader = std::fs::File::open("/proc/self/fd/1")?;
    lines.diverted = true;
    drop(lines);
    listen(reader)
}

/// As [`divert`], where the process that started this one listens to stdout: not on this system yet.
#[cfg(not(unix))]
pub fn adopt() -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
fn listen(pipe: impl std::io::Read + std::os::fd::AsRawFd + Send + 'static) -> std::io::Result<()> {
    unsafe extern "C" {
        fn powerbond_fmi_print_lines();
    }
    std::thread::Builder::new().name("printed".to_owned()).spawn(move || read(pipe))?;
    // Safety: no FMU is called, and nothing was printed through the C library yet.
    unsafe { powerbond_fmi_print_lines() };
    Ok(())
}

/// Takes stdout away from FMUs: not on this system yet.
#[cfg(not(unix))]
pub fn divert() -> std::io::Result<Option<std::fs::File>> {
    Ok(None)
}

/// The lines that were printed since the last call, and how many more there were. Nothing without [`divert`].
pub fn take() -> (Vec<String>, u64) {
    wait_for_all();
    let mut lines = lock();
    let dropped = std::mem::take(&mut lines.dropped);
    (std::mem::take(&mut lines.kept), dropped)
}

/// Adds lines that were printed in another process, and how many more there were.
pub fn add(printed: Vec<String>, more: u64) {
    let mut lines = lock();
    let room = MAX_LINES.saturating_sub(lines.kept.len());
    lines.dropped += more + printed.len().saturating_sub(room) as u64;
    lines.kept.extend(printed.into_iter().take(room));
}

fn lock() -> std::sync::MutexGuard<'static, Lines> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until what was printed before is there; not for ever, since an FMU may have closed the pipe.
#[cfg(unix)]
fn wait_for_all() {
    use std::io::Write;
    unsafe extern "C" {
        fn powerbond_fmi_flush();
    }
    let lines = lock();
    if !lines.diverted || lines.ended {
        return;
    }
    let wanted = lines.marks + 1;
    drop(lines);
    // Safety: flushes the streams of the C library, where the words of FMUs wait.
    unsafe { powerbond_fmi_flush() };
    let mut mark = MARK.to_vec();
    mark.push(b'\n');
    // An FMU that does not end its line is helped with one.
    mark.insert(0, b'\n');
    let mut out = std::io::stdout().lock();
    if out.write_all(&mark).and_then(|()| out.flush()).is_ok() {
        let limit = std::time::Duration::from_secs(1);
        let _ = ARRIVED.wait_timeout_while(lock(), limit, |lines| lines.marks < wanted && !lines.ended);
    }
}

#[cfg(not(unix))]
fn wait_for_all() {}

/// What was printed and not read by the process that printed it, line by line; such as [`take`] has it.
pub fn lines_of(bytes: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut cutter = Cutter::default();
    cutter.cut(bytes, |line| lines.extend(line));
    cutter.cut(b"\n", |line| lines.extend(line));
    lines
}

/// Cuts what is printed into lines.
#[derive(Default)]
struct Cutter(Vec<u8>);

impl Cutter {
    /// Gives `keep` every line that has come to its end and is not empty; nothing for a mark.
    fn cut(&mut self, bytes: &[u8], mut keep: impl FnMut(Option<String>)) {
        let Cutter(line) = self;
        for &byte in bytes {
            if byte != b'\n' {
                if line.len() < MAX_LENGTH {
                    line.push(byte);
                }
                continue;
            }
            if line == MARK {
                keep(None);
            } else if !line.is_empty() {
                keep(Some(crate::log::printable(String::from_utf8_lossy(line).trim_end())));
            }
            line.clear();
        }
    }
}

/// Empties the pipe, line by line, until its other end is closed.
///
/// After each silence it waits a moment, in which words of an FMU that crashes right after them are in the pipe and not on their way.
#[cfg(unix)]
fn read(mut pipe: impl std::io::Read + std::os::fd::AsRawFd) {
    const MOMENT: std::time::Duration = std::time::Duration::from_millis(1);
    let (mut chunk, mut cutter) = (vec![0; 1 << 16], Cutter::default());
    loop {
        let mut some = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // Safety: one descriptor, which lives during the call. Where it fails, reading waits.
        unsafe { libc::poll(&mut some, 1, -1) };
        std::thread::sleep(MOMENT);
        loop {
            let Ok(n @ 1..) = pipe.read(&mut chunk) else {
                lock().ended = true;
                return ARRIVED.notify_all();
            };
            cutter.cut(&chunk[..n], keep);
            if n < chunk.len() {
                break;
            }
        }
    }
}

/// Keeps a line, or counts it; without one, a mark has come.
#[cfg(unix)]
fn keep(line: Option<String>) {
    let mut lines = lock();
    match line {
        None => {
            lines.marks += 1;
            ARRIVED.notify_all();
        }
        Some(line) if lines.kept.len() < MAX_LINES => {
            crate::log::keep_copy(&format!("{PRINTED}{line}"));
            lines.kept.push(line);
        }
        Some(_) => lines.dropped += 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_and_give_no_orders() {
        let long = [&[b'x'; 3000][..], b"\n"].concat();
        let bytes = [&b"one\n\ntwo \x1b[2J\r\n"[..], MARK, b"\n", &long, b"no end"].concat();
        assert_eq!(lines_of(&bytes), ["one", "two \\u{1b}[2J", &"x".repeat(2048), "no end"]);
    }
}
