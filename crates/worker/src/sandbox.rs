//! A process that writes to some folders only and has no network: Landlock for files, seccomp for sockets.
//!
//! Reading is not restricted, nor are processors and memory. What the process has open stays open.

use std::ffi::{c_int, c_long, c_void};
use std::fs::File;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

/// The first version of Landlock that keeps files from being truncated (Linux 6.2).
const LANDLOCK: c_long = 3;

/// From <linux/landlock.h>: what changes a file or a folder. Reading and executing are left alone.
const WRITE_FILE: u64 = 1 << 1;
const TRUNCATE: u64 = 1 << 14;
/// Removing and making of everything: from REMOVE_DIR to MAKE_SYM, and REFER, linking and renaming between folders.
const ENTRIES: u64 = 0x1FF0 | 1 << 13;

/// TCP ports that are bound and connected to (version 4).
const TCP: u64 = 3;
/// Abstract Unix sockets of others, and signals to others (version 6).
const SCOPES: u64 = 3;

#[repr(C)]
struct Ruleset {
    files: u64,
    network: u64,
    scopes: u64,
}

#[repr(C, packed)]
struct Beneath {
    allowed: u64,
    folder: c_int,
}

/// Whether a process can be put into a sandbox here; if not, why.
pub fn is_possible() -> Result<(), String> {
    if ARCHITECTURE.is_none() {
        return Err("it is not supported on this processor".to_owned());
    }
    match version() {
        Ok(version) if version >= LANDLOCK => Ok(()),
        Ok(_) => Err("the Landlock of this kernel is too old: Linux 6.2 or newer is needed".to_owned()),
        Err(error) => Err(format!("this kernel has no Landlock, or it is switched off ({error})")),
    }
}

/// From now on this process, and what it starts, writes to these folders and files only, and opens no socket. There is no way back.
pub fn enter(writable: &[PathBuf]) -> Result<(), String> {
    is_possible()?;
    // Rules hold for the thread that enters and those that it starts.
    if std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count) != 1 {
        return Err("the process has threads already".to_owned());
    }
    let fail = |what: &str, error: io::Error| format!("{what}: {error}");
    let rules = rules().map_err(|e| fail("cannot make rules", e))?;
    for path in writable {
        allow(&rules, path).map_err(|e| fail(&path.display().to_string(), e))?;
    }
    // Safety: plain numbers; from now on programs that are started gain no rights, which both below ask for.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())
        .and_then(|_| {
            // Safety: a ruleset that is open.
            check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) })
        })
        .and_then(|_| without_sockets())
        .map_err(|e| fail("cannot enter the sandbox", e))
}

fn check(answer: c_long) -> io::Result<c_long> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// The version of Landlock.
fn version() -> io::Result<c_long> {
    // Safety: this combination of arguments asks for the version and does nothing.
    check(unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<c_void>(), 0usize, 1u32)
    })
}

fn rules() -> io::Result<OwnedFd> {
    let version = version()?;
    let ruleset = Ruleset {
        files: WRITE_FILE | TRUNCATE | ENTRIES,
        network: if version >= 4 { TCP } else { 0 },
        scopes: if version >= 6 { SCOPES } else { 0 },
    };
    // Older kernels take as much of it as they know.
    let size = match version {
        ..4 => 8,
        4..6 => 16,
        _ => size_of::<Ruleset>(),
    };
    // Safety: as many bytes of a structure of ours as are said.
    let fd =
        check(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const ruleset, size, 0u32) })?;
    // Safety: a new descriptor, which nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as c_int) })
}

/// Allows everything below a folder, or to write to a file.
fn allow(rules: &OwnedFd, path: &std::path::Path) -> io::Result<()> {
    let file = File::open(path)?;
    let entries = if file.metadata()?.is_dir() { ENTRIES } else { 0 };
    let beneath = Beneath { allowed: WRITE_FILE | TRUNCATE | entries, folder: file.as_raw_fd() };
    const PATH_BENEATH: c_int = 1;
    // Safety: a ruleset and a folder that are open, and a structure of ours.
    let added = unsafe {
        let beneath = &raw const beneath;
        libc::syscall(libc::SYS_landlock_add_rule, rules.as_raw_fd(), PATH_BENEATH, beneath, 0u32)
    };
    check(added).map(drop)
}

/// From <linux/audit.h>.
const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xC000_003E)
} else if cfg!(target_arch = "aarch64") {
    Some(0xC000_00B7)
} else {
    None
};

/// Calls of other architectures, which would pass by the list, have numbers from here on (x32).
const OTHER_CALLS: u32 = 0x4000_0000;

/// `socket` and `io_uring_setup`, which could do the same, answer EACCES, on all threads.
fn without_sockets() -> io::Result<()> {
    let load = |offset: u32| libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: offset };
    let skip = |code: u16, k: u32, jt: u8, jf: u8| libc::sock_filter { code, jt, jf, k };
    let answer = |k: u32| libc::sock_filter { code: 0x06, jt: 0, jf: 0, k };
    const EQUAL: u16 = 0x15;
    const AT_LEAST: u16 = 0x35;
    let mut program = [
        // The architecture, then the number of the call.
        load(4),
        skip(EQUAL, ARCHITECTURE.unwrap_or(0), 0, 5),
        load(0),
        skip(AT_LEAST, OTHER_CALLS, 3, 0),
        skip(EQUAL, libc::SYS_socket as u32, 2, 0),
        skip(EQUAL, libc::SYS_io_uring_setup as u32, 1, 0),
        answer(libc::SECCOMP_RET_ALLOW),
        answer(libc::SECCOMP_RET_ERRNO | libc::EACCES as u32),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // Safety: a program of so many instructions, every jump of which stays inside; the kernel checks and copies it.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            &raw const filter,
        )
    };
    match check(answer)? {
        0 => Ok(()),
        thread => Err(io::Error::other(format!("thread {thread} has a filter of its own"))),
    }
}
