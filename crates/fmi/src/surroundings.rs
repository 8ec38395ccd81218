//! What FMUs share with each other and with the program around them: working folder, locale, handlers of signals, permissions, files. Some
//! change it, and their neighbours would see it.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Something that an FMU changed for everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Another working folder; restored.
    Folder,
    /// Another locale; restored.
    Locale,
    /// Handlers of signals that ask a program to do something; restored.
    Signals,
    /// Handlers of faults. They stay: runtimes such as Java's, which some FMUs bring along, live on them.
    Faults,
    /// Signals are blocked; restored.
    Blocked,
    /// Another mask of permissions of new files; restored.
    Permissions,
    /// Files of ours are closed.
    Closed,
    /// Files may not grow any more.
    FileSize,
}

impl Change {
    /// Whether results cannot be written after it.
    pub fn takes_files(self) -> bool {
        matches!(self, Change::Closed | Change::FileSize)
    }
}

/// What somebody did: "changes …".
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Change::Folder => "changes the working directory of the process; restored",
            Change::Locale => {
                "changes the locale of the process, and with it how others write numbers; restored"
            }
            Change::Signals => "changes what signals do to the process; restored",
            Change::Faults => {
                "handles faults such as SIGSEGV by itself, which is left alone: a crash, also of another FMU, may be \
                 hidden or hang; `--call-timeout` ends that"
            }
            Change::Blocked => "blocks signals; restored",
            Change::Permissions => "changes the permissions of new files (umask); restored",
            Change::Closed => "closes files of the process that are not its own",
            Change::FileSize => "limits the size of files of the process",
        })
    }
}

/// Runs `call`, restores what it changed, and says what that was.
///
/// Where several such calls overlap, on several threads, it is unknown whose change it is: nothing is said or done.
pub fn guard<T>(call: impl FnOnce() -> T) -> (T, Vec<Change>) {
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    static ACTIVE: AtomicUsize = AtomicUsize::new(0);
    let number = BEGUN.fetch_add(1, Ordering::SeqCst);
    let first = ACTIVE.fetch_add(1, Ordering::SeqCst) == 0;
    let before = Surroundings::now();
    let result = call();
    ACTIVE.fetch_sub(1, Ordering::SeqCst);
    let alone = first && BEGUN.load(Ordering::SeqCst) == number + 1;
    (result, if alone { before.restore() } else { Vec::new() })
}

#[cfg(unix)]
pub use unix::{Protected, Surroundings, protect};

#[cfg(not(unix))]
pub use other::{Protected, Surroundings, protect};

#[cfg(unix)]
mod unix {
    use super::Change;
    use std::ffi::{CStr, c_char, c_int};
    use std::fs::File;
    use std::mem::MaybeUninit;
    use std::os::fd::{AsRawFd, RawFd};
    use std::sync::{Mutex, PoisonError};

    /// Signals with which others talk to the process. Those that programs use for themselves, timers and runtimes among them, are left
    /// alone.
    const SIGNALS: [c_int; 7] = [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGPIPE,
        libc::SIGTERM,
        libc::SIGCHLD,
        libc::SIGXFSZ,
    ];

    /// Signals of faults of the process itself.
    const FAULTS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];

    /// Longer names of folders and locales are not looked after.
    const FOLDER: usize = 4096;
    const LOCALE: usize = 512;

    /// How things are at a moment. Nothing is allocated: this is also asked for around the first steps.
    pub struct Surroundings {
        folder: [u8; FOLDER],
        locale: [u8; LOCALE],
        signals: [libc::sigaction; SIGNALS.len()],
        faults: [libc::sigaction; FAULTS.len()],
        blocked: libc::sigset_t,
        permissions: libc::mode_t,
        file_size: libc::rlimit,
    }

    impl Surroundings {
        /// Now.
        pub fn now() -> Self {
            Surroundings {
                folder: folder(),
                locale: locale(),
                signals: SIGNALS.map(handler),
                faults: FAULTS.map(handler),
                blocked: blocked(),
                permissions: permissions(),
                file_size: file_size(),
            }
        }

        /// Restores what is not as it was, and says what that is.
        pub fn restore(&self) -> Vec<Change> {
            let mut changes = Vec::new();
            // Safety, of all that follows: what is set was given by the same function before, and lives during the call.
            if self.folder[0] != 0 && folder() != self.folder {
                unsafe { libc::chdir(self.folder.as_ptr().cast()) };
                changes.push(Change::Folder);
            }
            if self.locale[0] != 0 && locale() != self.locale {
                unsafe { libc::setlocale(libc::LC_ALL, self.locale.as_ptr().cast()) };
                changes.push(Change::Locale);
            }
            let mut signals = false;
            for (&signal, before) in SIGNALS.iter().zip(&self.signals) {
                if !same(&handler(signal), before) {
                    unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
                    signals = true;
                }
            }
            if signals {
                changes.push(Change::Signals);
            }
            if FAULTS.iter().zip(&self.faults).any(|(&signal, before)| !same(&handler(signal), before)) {
                changes.push(Change::Faults);
            }
            let now = blocked();
            if SIGNALS.iter().chain(&FAULTS).any(|&s| is_in(&now, s) != is_in(&self.blocked, s)) {
                unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.blocked, std::ptr::null_mut()) };
                changes.push(Change::Blocked);
            }
            if permissions() != self.permissions {
                unsafe { libc::umask(self.permissions) };
                changes.push(Change::Permissions);
            }
            if file_size().rlim_cur < self.file_size.rlim_cur {
                // An upper limit cannot be raised again by everybody.
                unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &self.file_size) };
                changes.push(Change::FileSize);
            }
            if !all_open() {
                changes.push(Change::Closed);
            }
            changes
        }
    }

    fn folder() -> [u8; FOLDER] {
        let mut name = [0; FOLDER];
        // Safety: writes at most so many bytes, with a final zero.
        if unsafe { libc::getcwd(name.as_mut_ptr().cast(), FOLDER) }.is_null() {
            name[0] = 0;
        }
        name
    }

    fn locale() -> [u8; LOCALE] {
        let mut name = [0; LOCALE];
        // Safety: without a name it only tells; the text is valid until the locale changes.
        let text: *const c_char = unsafe { libc::setlocale(libc::LC_ALL, std::ptr::null()) };
        if !text.is_null() {
            // Safety: as above.
            let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
            if bytes.len() < LOCALE {
                name[..bytes.len()].copy_from_slice(bytes);
            }
        }
        name
    }

    fn handler(signal: c_int) -> libc::sigaction {
        let mut action = MaybeUninit::zeroed();
        // Safety: without a new action it only tells; zeros are a valid action where it fails.
        unsafe {
            libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
            action.assume_init()
        }
    }

    /// Whether signals have the same effect: the C library marks handlers that it sets, also where it puts the default one back, as
    /// `system` does.
    fn same(a: &libc::sigaction, b: &libc::sigaction) -> bool {
        /// `SA_RESTORER` of Linux.
        const MARK: c_int = 0x0400_0000;
        a.sa_sigaction == b.sa_sigaction && (a.sa_flags ^ b.sa_flags) & !MARK == 0
    }

    fn blocked() -> libc::sigset_t {
        let mut set = MaybeUninit::zeroed();
        // Safety: without a new set it only tells; zeros are the empty set where it fails.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::null(), set.as_mut_ptr());
            set.assume_init()
        }
    }

    /// It can only be read by setting it; meanwhile new files are the user's alone.
    fn permissions() -> libc::mode_t {
        // Safety: always succeeds.
        unsafe {
            let mask = libc::umask(0o077);
            libc::umask(mask);
            mask
        }
    }

    fn is_in(set: &libc::sigset_t, signal: c_int) -> bool {
        // Safety: a set and a signal that there is.
        unsafe { libc::sigismember(set, signal) == 1 }
    }

    fn file_size() -> libc::rlimit {
        let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        // Safety: writes the limit.
        unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) };
        limit
    }

    /// A descriptor, and the device and the number of the file behind it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Known {
        fd: RawFd,
        file: Option<(libc::dev_t, libc::ino_t)>,
    }

    impl Known {
        fn now(fd: RawFd) -> Self {
            let mut status = MaybeUninit::<libc::stat>::zeroed();
            // Safety: writes the status of a file; zeros are one, too.
            let known = unsafe { libc::fstat(fd, status.as_mut_ptr()) } == 0;
            // Safety: as above.
            let status = unsafe { status.assume_init() };
            Known { fd, file: known.then_some((status.st_dev, status.st_ino)) }
        }
    }

    static OURS: Mutex<Vec<Known>> = Mutex::new(Vec::new());

    fn ours() -> std::sync::MutexGuard<'static, Vec<Known>> {
        OURS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file that nobody else may close, as long as this lives; it must live no longer than the file.
    #[derive(Debug)]
    pub struct Protected(Known);

    /// An FMU that closes this file is found out, and one that puts another file in its place.
    pub fn protect(file: &File) -> Protected {
        let known = Known::now(file.as_raw_fd());
        ours().push(known);
        Protected(known)
    }

    impl Protected {
        /// Whether the descriptor still leads to the same file.
        pub fn is_intact(&self) -> bool {
            Known::now(self.0.fd) == self.0
        }
    }

    impl Drop for Protected {
        fn drop(&mut self) {
            let mut ours = ours();
            if let Some(i) = ours.iter().position(|known| *known == self.0) {
                ours.swap_remove(i);
            }
        }
    }

    /// Whether all files of ours are open, and are those that they were.
    fn all_open() -> bool {
        // Those that are not are told of once.
        let mut ours = ours();
        let before = ours.len();
        ours.retain(|known| Known::now(known.fd) == *known);
        ours.len() == before
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use crate::surroundings::guard;

        /// One test: what it changes belongs to the whole process.
        #[test]
        fn what_a_call_changes_for_everybody_is_restored_and_told() {
            let folder = std::env::current_dir().unwrap();
            let (value, changes) = guard(|| 7);
            assert_eq!((value, changes), (7, vec![]));
            let ((), changes) = guard(|| std::env::set_current_dir("/").unwrap());
            assert_eq!((changes, std::env::current_dir().unwrap()), (vec![Change::Folder], folder));
            // It is ignored where the tests go on without a terminal.
            let before = handler(libc::SIGHUP).sa_sigaction;
            let another = if before == libc::SIG_IGN { libc::SIG_DFL } else { libc::SIG_IGN };
            // Safety: a handler of the system's own, and no signal comes.
            let ((), changes) = guard(|| unsafe {
                libc::signal(libc::SIGHUP, another);
            });
            assert_eq!(changes, [Change::Signals]);
            assert_eq!(handler(libc::SIGHUP).sa_sigaction, before);
            // Safety: a valid set.
            let ((), changes) = guard(|| unsafe {
                let mut set = blocked();
                libc::sigaddset(&mut set, libc::SIGTERM);
                libc::pthread_sigmask(libc::SIG_SETMASK, &set, std::ptr::null_mut());
            });
            assert_eq!(changes, [Change::Blocked]);
            // What another program is started with is put back by the C library itself.
            let status = |command: &CStr| unsafe { libc::system(command.as_ptr()) };
            assert_eq!(guard(|| status(c"true")), (0, vec![]));
            assert_eq!(guard(|| ()).1, []);
        }
    }
}

#[cfg(not(unix))]
mod other {
    use super::Change;
    use std::fs::File;
    use std::path::PathBuf;

    /// How things are at a moment: only the working folder is looked after on this system.
    pub struct Surroundings(Option<PathBuf>);

    impl Surroundings {
        /// Now.
        pub fn now() -> Self {
            Surroundings(std::env::current_dir().ok())
        }

        /// Restores what is not as it was, and says what that is.
        pub fn restore(&self) -> Vec<Change> {
            match &self.0 {
                Some(folder) if std::env::current_dir().ok().as_ref() != Some(folder) => {
                    let back = std::env::set_current_dir(folder).is_ok();
                    back.then_some(Change::Folder).into_iter().collect()
                }
                _ => Vec::new(),
            }
        }
    }

    /// A file that nobody else may close: not looked after on this system.
    #[derive(Debug)]
    pub struct Protected;

    /// An FMU that closes this file is found out: not on this system.
    pub fn protect(_file: &File) -> Protected {
        Protected
    }

    impl Protected {
        /// Not looked after on this system.
        pub fn is_intact(&self) -> bool {
            true
        }
    }
}
