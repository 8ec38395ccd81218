//! Systems on which runs are not supervised.

use crate::black_box::Layout;
use crate::own::Mailbox;
use std::io;
use std::process::Command;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

pub const SUPPORTED: bool = false;

/// Stands for the descriptor of memory that cannot be had.
pub enum Never {}

pub type Descriptor = Never;

pub fn this_program() -> Command {
    Command::new(std::env::current_exe().unwrap_or_default())
}

/// What processes would share.
pub trait Shared: 'static {}

impl Shared for Layout {}

impl Shared for Mailbox {}

/// Stands for memory that cannot be had.
pub struct Mapping<T: Shared>(&'static T);

impl<T: Shared> Mapping<T> {
    pub fn keep(self) -> &'static T {
        self.0
    }
}

impl<T: Shared> std::ops::Deref for Mapping<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}

pub fn create<T: Shared>() -> io::Result<(Never, Mapping<T>)> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn number(fd: &Never) -> i32 {
    match *fd {}
}

pub fn clear<T: Shared>(fd: &Never) -> io::Result<()> {
    match *fd {}
}

pub fn pass_on(fd: &Never, _passed: bool) -> io::Result<()> {
    match *fd {}
}

/// Stands for numbers in memory that cannot be had.
pub struct Published(Never);

impl Published {
    pub fn number(&self) -> i32 {
        match self.0 {}
    }
}

pub fn publish<'a>(_columns: impl Iterator<Item = &'a [f64]>) -> io::Result<Published> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn open_of(_id: u32, _number: i32) -> io::Result<std::fs::File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn never_wait(_pipe: &io::PipeReader) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn attach<T: Shared>(_number: i32) -> io::Result<Mapping<T>> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn sleep_while(_word: &AtomicU32, _value: u32, limit: Duration) {
    std::thread::sleep(limit);
}

pub fn wake(_word: &AtomicU32) {}

pub fn lives(_process: u32) -> bool {
    true
}

pub fn die_with(_parent: u32) -> bool {
    false
}

pub fn adopt_orphans() {}

pub fn kill_group(_leader: u32) {}

pub fn end_orphans() {}

pub fn is_stopped(_id: u32) -> bool {
    false
}

pub fn signal(_id: u32, _number: u8) {}

pub fn memory(_id: u32) -> Option<u64> {
    None
}
