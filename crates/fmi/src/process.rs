//! The process belongs to the user of powerbond: FMUs are code in it, and some of them end it, move it to another folder
//! or leave threads behind.

use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The exit code of a process that a model ended.
pub const ENDED_BY_A_MODEL: u8 = 5;

/// How long the thread that writes rows needs for those that it has: it looks after them at least once a second.
const ROWS_REACH_THE_DISK: Duration = Duration::from_millis(1200);

static LEAVING: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    fn atexit(handler: extern "C" fn()) -> c_int;
    fn _exit(code: c_int) -> !;
    fn powerbond_fmi_flush();
}

/// From now on the process ends with [`leave`] only: a model that calls `exit` ends it, too, but not with its own exit
/// code, which may be 0 as if all were well. For programs that do nothing but run models; not for libraries.
pub fn guard() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Safety: C11 7.22.4.2 lets a function without arguments be registered at any time; this one does not unwind.
        unsafe { atexit(ended) };
    });
}

/// Called by `exit`, on the thread that called it, while all others still run.
extern "C" fn ended() {
    if LEAVING.load(Ordering::Relaxed) {
        return;
    }
    let message = "error: an FMU called `exit` and ended the process. Results until then are on disk; `-v` shows the \
                   log messages of FMUs\n";
    let _ = std::io::Write::write_all(&mut std::io::stderr(), message.as_bytes());
    std::thread::sleep(ROWS_REACH_THE_DISK);
    // Safety: ends the process at once; there is no caller to return to.
    unsafe { _exit(ENDED_BY_A_MODEL.into()) }
}

/// Ends the process without the last words of foreign libraries: handlers that FMUs registered, and the ends of libraries
/// that they brought along, crash or hang often enough, and would change the exit code of a run that is long over.
pub fn leave(code: u8) -> ! {
    LEAVING.store(true, Ordering::Relaxed);
    // Safety: C11 7.21.5.2 and POSIX: writes what the streams of the C library still hold, then ends the process.
    unsafe {
        powerbond_fmi_flush();
        _exit(code.into())
    }
}

/// The threads of the process, where the system tells.
pub(crate) struct Threads(Vec<PathBuf>);

impl Threads {
    /// Those that run now.
    pub fn now() -> Self {
        let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        Threads(tasks.map(|task| task.path()).collect())
    }

    /// Whether any of those that run now was not there then.
    pub fn have_more(&self) -> bool {
        Threads::now().0.iter().any(|task| !self.0.contains(task))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn new_threads_are_seen() {
        let before = Threads::now();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || wait.recv());
        assert!(before.have_more());
        drop(go);
        let _ = thread.join();
    }
}
