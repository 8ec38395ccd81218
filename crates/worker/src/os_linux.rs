//! What is asked of Linux.

use crate::black_box::Layout;
use crate::own::Mailbox;
use rustix::fs::{MemfdFlags, OFlags, fcntl_getfl, fcntl_setfl, ftruncate, memfd_create};
use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use rustix::process::{
    Pid, Signal, getppid, kill_process, kill_process_group, set_child_subreaper,
    set_parent_process_death_signal,
};
use rustix::thread::futex::{self, Timespec};
use std::fs;
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::process::Command;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

pub const SUPPORTED: bool = true;

/// Of memory that processes share.
pub type Descriptor = OwnedFd;

/// The program that runs now, also if its file was replaced.
pub fn this_program() -> Command {
    let mut command = Command::new("/proc/self/exe");
    if let Some(name) = std::env::args_os().next() {
        std::os::unix::process::CommandExt::arg0(&mut command, name);
    }
    command
}

/// What processes share.
///
/// # Safety
///
/// Made of atomics only, for which zeros and whatever another process writes are valid.
pub unsafe trait Shared: Sync {
    /// Its name in the list of open files.
    const NAME: &'static str;
}

// Safety: atomics, in arrays and structures of them.
unsafe impl Shared for Layout {
    const NAME: &'static str = "powerbond";
}

// Safety: atomics, in arrays and structures of them.
unsafe impl Shared for Mailbox {
    const NAME: &'static str = "powerbond-mailbox";
}

/// Shared memory, until this is dropped.
pub struct Mapping<T: Shared>(NonNull<T>);

impl<T: Shared> Mapping<T> {
    /// For as long as the process lives.
    pub fn keep(self) -> &'static T {
        // Safety: mapped, and never unmapped, since this is not dropped.
        unsafe { &*ManuallyDrop::new(self).0.as_ptr() }
    }
}

// Safety: `T` may be used by several threads, and by several processes; the mapping belongs to all threads.
unsafe impl<T: Shared> Send for Mapping<T> {}
// Safety: as above.
unsafe impl<T: Shared> Sync for Mapping<T> {}

impl<T: Shared> Deref for Mapping<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // Safety: mapped as long as this lives.
        unsafe { self.0.as_ref() }
    }
}

impl<T: Shared> Drop for Mapping<T> {
    fn drop(&mut self) {
        // Safety: it was mapped with this size, and nothing borrows it any more.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), size_of::<T>()) };
    }
}

/// New memory, all zero, and the descriptor that a child process inherits.
pub fn create<T: Shared>() -> io::Result<(OwnedFd, Mapping<T>)> {
    let fd = memfd_create(T::NAME, MemfdFlags::empty())?;
    ftruncate(&fd, size_of::<T>() as u64)?;
    let mapping = map(fd.as_fd())?;
    Ok((fd, mapping))
}

/// All zero again. No other process may use it any more.
pub fn clear<T: Shared>(fd: &OwnedFd) -> io::Result<()> {
    ftruncate(fd, 0)?;
    Ok(ftruncate(fd, size_of::<T>() as u64)?)
}

/// Whether processes that are started from now on get a descriptor.
pub fn pass_on(fd: &OwnedFd, passed: bool) -> io::Result<()> {
    let flags = fcntl_getfd(fd)?;
    let flags = if passed { flags - FdFlags::CLOEXEC } else { flags | FdFlags::CLOEXEC };
    Ok(fcntl_setfd(fd, flags)?)
}

/// Numbers in memory, for a process that opens them.
pub struct Published(fs::File);

impl Published {
    /// The number of its descriptor.
    pub fn number(&self) -> RawFd {
        std::os::fd::AsRawFd::as_raw_fd(&self.0)
    }
}

/// Puts columns one after the other into new memory.
pub fn publish<'a>(columns: impl Iterator<Item = &'a [f64]>) -> io::Result<Published> {
    let mut file = fs::File::from(memfd_create("powerbond-results", MemfdFlags::CLOEXEC)?);
    let mut bytes = Vec::with_capacity(1 << 16);
    for part in columns.flat_map(|column| column.chunks(1 << 13)) {
        bytes.clear();
        part.iter().for_each(|x| bytes.extend_from_slice(&x.to_ne_bytes()));
        file.write_all(&bytes)?;
    }
    Ok(Published(file))
}

/// What a child process has published.
pub fn open_of(id: u32, number: RawFd) -> io::Result<fs::File> {
    fs::File::open(format!("/proc/{id}/fd/{number}"))
}

/// Reading from a pipe ends where it would have to wait, from now on.
pub fn never_wait(pipe: &io::PipeReader) -> io::Result<()> {
    Ok(fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?)
}

/// The number of a descriptor.
pub fn number(fd: &OwnedFd) -> RawFd {
    std::os::fd::AsRawFd::as_raw_fd(fd)
}

/// The memory behind a descriptor that the parent process made; the descriptor is closed.
pub fn attach<T: Shared>(number: RawFd) -> io::Result<Mapping<T>> {
    // Safety: borrowed only to ask the kernel whether it is open, which every number may be asked for.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    let flags = fcntl_getfd(borrowed)?;
    let link = fs::read_link(format!("/proc/self/fd/{number}"))?;
    if link.to_string_lossy().split([':', ' ']).nth(1) != Some(T::NAME) {
        return Err(io::Error::other("not a black box"));
    }
    fcntl_setfd(borrowed, flags | FdFlags::CLOEXEC)?;
    // Safety: it is open and was made for this process alone, so that nothing else here owns it.
    let fd = unsafe { OwnedFd::from_raw_fd(number) };
    map(fd.as_fd())
}

fn map<T: Shared>(fd: BorrowedFd<'_>) -> io::Result<Mapping<T>> {
    if fs::metadata(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&fd)))?.len()
        < size_of::<T>() as u64
    {
        return Err(io::Error::other("the black box is too small"));
    }
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // Safety: a new mapping at an address of the kernel's choice replaces nothing. It is as large as `T`, aligned to a page, and
    // unmapped with its owner; what is in it is valid, as `Shared` says.
    let memory = unsafe { mmap(std::ptr::null_mut(), size_of::<T>(), protection, MapFlags::SHARED, fd, 0)? };
    // A copy of this process that an FMU forks and that returns into the engine ends at its first mark: there would be two engines.
    // Safety: the whole mapping just made; this process keeps it.
    unsafe { madvise(memory, size_of::<T>(), Advice::LinuxDontFork)? };
    NonNull::new(memory.cast()).map(Mapping).ok_or_else(|| io::Error::other("mapped at zero"))
}

/// Sleeps while `word` is `value`, but no longer than `limit`; may wake up early.
pub fn sleep_while(word: &AtomicU32, value: u32, limit: Duration) {
    let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
    // Whatever it says, the word is looked at again.
    let _ = futex::wait(word, futex::Flags::empty(), value, Some(&limit));
}

/// Wakes up who sleeps at `word`.
pub fn wake(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::empty(), 1);
}

/// Whether there is such a process, and it has not ended.
pub fn lives(id: u32) -> bool {
    !matches!(state(id), None | Some('Z' | 'X'))
}

/// This process is killed when `parent` dies; false if it is dead already.
pub fn die_with(parent: u32) -> bool {
    let own = || getppid().map(|pid| pid.as_raw_nonzero().get() as u32);
    set_parent_process_death_signal(Some(Signal::KILL)).is_ok() && own() == Some(parent)
}

/// Orphans of children become children of this process, so that [`end_orphans`] finds them.
pub fn adopt_orphans() {
    // Where the kernel refuses, orphans that left their group stay; nothing else depends on it.
    let _ = set_child_subreaper(Some(rustix::process::getpid()));
}

fn pid(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

/// Kills a process group.
pub fn kill_group(leader: u32) {
    if let Some(pid) = pid(leader) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// Kills the children of this process, and theirs when they become ours; a few times, as long as there are any.
pub fn end_orphans() {
    for _ in 0..16 {
        let children = children();
        if children.is_empty() {
            return;
        }
        for child in children.into_iter().filter_map(pid) {
            let _ = kill_process(child, Signal::KILL);
            let _ = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty());
        }
    }
}

fn children() -> Vec<u32> {
    children_of("self")
}

fn children_of(process: &str) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Sends a signal.
pub fn signal(id: u32, number: u8) {
    let named =
        [Signal::INT, Signal::TERM, Signal::HUP].into_iter().find(|s| s.as_raw() == i32::from(number));
    if let (Some(pid), Some(signal)) = (pid(id), named) {
        let _ = kill_process(pid, signal);
    }
}

/// The memory that a process and those that it started allocated and wrote to, in bytes.
pub fn memory(id: u32) -> Option<u64> {
    let (mut all, mut next) = (vec![id], 0);
    while let Some(id) = all.get(next) {
        all.extend(children_of(&id.to_string()));
        next += 1;
    }
    // Those that have ended meanwhile have none.
    let own = memory_of(id)?;
    Some(own + all[1..].iter().filter_map(|id| memory_of(*id)).sum::<u64>())
}

fn memory_of(id: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let kilobytes = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim_start_matches(':').trim().split(' ').next()?.parse::<u64>().ok()
    };
    Some(1024 * (kilobytes("RssAnon")? + kilobytes("VmSwap").unwrap_or(0)))
}

/// Whether a process is stopped by a signal: it will not go on by itself.
pub fn is_stopped(id: u32) -> bool {
    matches!(state(id), Some('T' | 't'))
}

/// The state of a process, as the letter of /proc.
fn state(id: u32) -> Option<char> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name in parentheses may hold anything.
    text.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
}
