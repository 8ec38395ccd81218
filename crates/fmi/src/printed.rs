//! What FMUs print: libraries share the process's stdout, which belongs to the user of powerbond.
//!
//! [`divert`] puts a pipe in the place of stdout and gives the real one back. A thread empties the pipe and keeps what it
//! finds, a bounded number of lines, for the log.

use std::sync::{Condvar, Mutex, PoisonError};

/// How many lines are kept; the rest is counted.
const MAX_LINES: usize = 10_000;

/// Longer lines are cut, in bytes.
#[cfg(unix)]
const MAX_LENGTH: usize = 2048;

/// A line that no FMU prints: everything before it has arrived.
#[cfg(unix)]
const MARK: &[u8] = b"\x00powerbond\x00";

static LINES: Mutex<Lines> = Mutex::new(Lines { kept: Vec::new(), dropped: 0, marks: 0, diverted: false });
static ARRIVED: Condvar = Condvar::new();

struct Lines {
    kept: Vec<String>,
    dropped: u64,
    marks: u64,
    diverted: bool,
}

/// Takes stdout away from FMUs for the rest of the process; the file is the real one. Nothing happens a second time, and
/// nothing on systems without pipes in the place of files.
#[cfg(unix)]
pub fn divert() -> std::io::Result<Option<std::fs::File>> {
    use std::os::fd::{AsFd, AsRawFd};
    unsafe extern "C" {
        fn dup2(from: std::ffi::c_int, to: std::ffi::c_int) -> std::ffi::c_int;
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
    std::thread::Builder::new().name("printed".to_owned()).spawn(move || read(reader))?;
    Ok(Some(real.into()))
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
    if !lines.diverted {
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
        let _ = ARRIVED.wait_timeout_while(lock(), limit, |lines| lines.marks < wanted);
    }
}

#[cfg(not(unix))]
fn wait_for_all() {}

/// Empties the pipe, line by line, until its other end is closed.
#[cfg(unix)]
fn read(mut pipe: std::io::PipeReader) {
    use std::io::Read;
    let (mut chunk, mut line) = ([0; 4096], Vec::new());
    while let Ok(n @ 1..) = pipe.read(&mut chunk) {
        for &byte in &chunk[..n] {
            if byte != b'\n' {
                if line.len() < MAX_LENGTH {
                    line.push(byte);
                }
                continue;
            }
            let mut lines = lock();
            if line == MARK {
                lines.marks += 1;
                ARRIVED.notify_all();
            } else if !line.is_empty() && lines.kept.len() < MAX_LINES {
                lines.kept.push(String::from_utf8_lossy(&line).trim_end().to_owned());
            } else if !line.is_empty() {
                lines.dropped += 1;
            }
            line.clear();
        }
    }
}
