//! Memory that supervisor and worker share: what a worker was doing is there after its death.

use crate::ring::Ring;
use powerbond::fmi::trace::{Slot, UnderWay};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Instances whose calls are seen. More than that run, too, but are not named when they fail.
const SLOTS: usize = 4096;
/// Tables of a run.
pub(crate) const TABLES: usize = 4;
/// Words of 8 bytes for texts and rows. Only what is used takes memory.
const WORDS: usize = 8 << 20;

/// Words for the lines that FMUs log: 1 MB.
pub(crate) const LOG: usize = 1 << 17;

/// The memory. Atomics only: both processes may look at any time.
#[repr(C)]
pub struct Layout {
    seal: AtomicU64,
    head: Head,
    pub(crate) tables: [TableHead; TABLES],
    second_seal: AtomicU64,
    slots: [Slot; SLOTS],
    /// Lines that FMUs log.
    log: Ring<LOG>,
    words: [AtomicU64; WORDS],
    /// Where results are, once more and far from the rest.
    folder: SecondCopy,
}

/// A path that is no longer than systems allow, and its length in bytes.
#[repr(C)]
struct SecondCopy {
    bytes: AtomicU64,
    path: [AtomicU8; 4096],
}

/// What nobody changes: an FMU that writes over it has written over more.
const SEAL: u64 = 0x706F_7765_7262_6F6E;

#[repr(C)]
struct Head {
    /// What the supervisor wants: 0 to go on, the number of a signal or [`TIME_IS_UP`] to stop.
    stop: AtomicU32,
    /// How often the worker has said what the run came to.
    reports: AtomicU32,
    code: AtomicU32,
    /// The worker is about to end by itself.
    is_done: AtomicU32,
    /// Runs that have begun: finer ones may follow the first.
    runs: AtomicU32,
    /// Bits of times and of the error norm.
    start: AtomicU64,
    end: AtomicU64,
    time: AtomicU64,
    step_size: AtomicU64,
    norm: AtomicU64,
    steps: AtomicU64,
    /// Words that are in use.
    used: AtomicU64,
    /// Stdout of the worker is a pipe that the supervisor can read, too.
    has_words: AtomicU32,
    /// The supervisor makes the run without scratch instances if one of them ends the worker before it.
    retries: AtomicU32,
    folder: Piece,
    /// What people should know while the run goes on; whole once `notices` is 1.
    notice: Piece,
    notices: AtomicU32,
    out: Piece,
    err: Piece,
}

/// A text in the words.
#[repr(C)]
pub(crate) struct Piece {
    offset: AtomicU64,
    bytes: AtomicU64,
}

/// Rows of a table that are not in its file yet: a ring of `capacity` rows.
#[repr(C)]
pub(crate) struct TableHead {
    pub file: Piece,
    /// 0: there is no such table; else one more than its place in `Format::ALL`.
    pub format: AtomicU32,
    /// Which of `written` holds.
    pub current: AtomicU32,
    pub columns: AtomicU64,
    pub capacity: AtomicU64,
    pub data: AtomicU64,
    /// Rows so far.
    pub rows: AtomicU64,
    /// Bytes of the file and the rows in it.
    pub written: [[AtomicU64; 2]; 2],
}

/// The run took longer than allowed.
pub(crate) const TIME_IS_UP: u32 = 1000;

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Which run it is: finer ones may follow the first.
    pub run: u32,
    /// Where it began, in s.
    pub start: f64,
    /// Where it is to end, in s.
    pub stop: f64,
    /// Where it is, in s.
    pub time: f64,
    /// The last step, in s.
    pub step_size: f64,
    /// The error norm of the last step; 1 is the tolerance.
    pub norm: Option<f64>,
    /// Accepted steps.
    pub steps: u64,
    /// Rows of the largest table, and bytes of all files.
    pub rows: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

/// The shared memory, from either side.
#[derive(Clone, Copy)]
pub struct BlackBox(pub(crate) &'static Layout);

fn load(bits: &AtomicU64) -> f64 {
    f64::from_bits(bits.load(Ordering::Relaxed))
}

fn store(bits: &AtomicU64, x: f64) {
    bits.store(x.to_bits(), Ordering::Relaxed);
}

impl BlackBox {
    /// Calls that are under way, with the places of their instances.
    pub fn calls(&self) -> impl Iterator<Item = (usize, UnderWay)> {
        self.0.slots.iter().enumerate().filter_map(|(i, slot)| Some((i, slot.under_way()?)))
    }

    /// Calls that took files away from the process.
    pub fn accused(&self) -> impl Iterator<Item = UnderWay> {
        self.0.slots.iter().filter_map(Slot::accused)
    }

    pub(crate) fn slots(&self) -> &'static [Slot] {
        &self.0.slots
    }

    /// From now on it is seen whether something is written over it that is not meant for it.
    pub(crate) fn seal(&self) {
        [&self.0.seal, &self.0.second_seal].iter().for_each(|seal| seal.store(SEAL, Ordering::Relaxed));
    }

    /// Whether what is in it can be believed.
    pub(crate) fn is_intact(&self) -> bool {
        [&self.0.seal, &self.0.second_seal].iter().all(|seal| seal.load(Ordering::Relaxed) == SEAL)
    }

    /// How far the run is; nothing before it has begun.
    pub fn progress(&self) -> Option<Progress> {
        let head = &self.0.head;
        let run = head.runs.load(Ordering::Acquire);
        let tables = self.0.tables.iter().filter(|table| table.format.load(Ordering::Relaxed) > 0);
        let (mut rows, mut bytes) = (0, 0);
        for table in tables {
            let current = table.current.load(Ordering::Acquire) as usize % 2;
            rows = table.rows.load(Ordering::Relaxed).max(rows);
            bytes += table.written[current][0].load(Ordering::Relaxed);
        }
        (run > 0).then(|| Progress {
            run,
            start: load(&head.start),
            stop: load(&head.end),
            time: load(&head.time),
            step_size: load(&head.step_size),
            norm: Some(load(&head.norm)).filter(|norm| !norm.is_nan()),
            steps: head.steps.load(Ordering::Relaxed),
            rows,
            bytes,
        })
    }

    pub(crate) fn begin(&self, start: f64, stop: f64) {
        let head = &self.0.head;
        store(&head.start, start);
        store(&head.end, stop);
        store(&head.time, start);
        store(&head.norm, f64::NAN);
        head.steps.store(0, Ordering::Relaxed);
        head.runs.fetch_add(1, Ordering::Release);
    }

    #[inline]
    pub(crate) fn advance(&self, t: f64, h: f64, norm: Option<f64>, steps: u64) {
        let head = &self.0.head;
        store(&head.time, t);
        store(&head.step_size, h);
        store(&head.norm, norm.unwrap_or(f64::NAN));
        head.steps.store(steps, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn wanted_stop(&self) -> u32 {
        self.0.head.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn ask_to_stop(&self, why: u32) {
        self.0.head.stop.store(why, Ordering::Relaxed);
    }

    /// Where results are written, once that is known.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        self.path(&self.0.head.folder)
    }

    pub(crate) fn set_folder(&self, folder: &std::path::Path) {
        let bytes = folder.as_os_str().as_encoded_bytes();
        self.write(&self.0.head.folder, bytes);
        let copy = &self.0.folder;
        if bytes.len() <= copy.path.len() {
            copy.path.iter().zip(bytes).for_each(|(to, byte)| to.store(*byte, Ordering::Relaxed));
            copy.bytes.store(bytes.len() as u64, Ordering::Release);
        }
    }

    /// As [`BlackBox::folder`], from the second copy: the first one cannot be believed.
    pub(crate) fn second_folder(&self) -> Option<PathBuf> {
        let copy = &self.0.folder;
        let bytes = usize::try_from(copy.bytes.load(Ordering::Acquire)).ok()?;
        path_of(copy.path.get(..bytes)?.iter().map(|byte| byte.load(Ordering::Relaxed)).collect())
    }

    /// What people should know while the run goes on, once it was said.
    pub(crate) fn notice(&self) -> Option<String> {
        let head = &self.0.head;
        let said = head.notices.load(Ordering::Acquire) > 0;
        said.then(|| String::from_utf8_lossy(&self.read(&head.notice)).into_owned())
    }

    pub(crate) fn set_notice(&self, text: &str) {
        self.write(&self.0.head.notice, text.as_bytes());
        self.0.head.notices.store(1, Ordering::Release);
    }

    /// What the worker said last: exit code, text for stdout, text for stderr.
    pub(crate) fn report(&self) -> Option<(u8, String, String)> {
        let head = &self.0.head;
        (head.reports.load(Ordering::Acquire) > 0).then(|| {
            let text = |piece: &Piece| String::from_utf8_lossy(&self.read(piece)).into_owned();
            (head.code.load(Ordering::Relaxed) as u8, text(&head.out), text(&head.err))
        })
    }

    /// False if there was no room for all of it.
    pub(crate) fn set_report(&self, code: u8, out: &str, err: &str) -> bool {
        let head = &self.0.head;
        let fits = self.write(&head.out, out.as_bytes()) && self.write(&head.err, err.as_bytes());
        head.code.store(code.into(), Ordering::Relaxed);
        head.reports.fetch_add(1, Ordering::Release);
        fits
    }

    /// Whether the supervisor can read what is printed, too.
    pub(crate) fn has_words(&self) -> bool {
        self.0.head.has_words.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn set_words(&self) {
        self.0.head.has_words.store(1, Ordering::Relaxed);
    }

    pub(crate) fn set_retries(&self) {
        self.0.head.retries.store(1, Ordering::Relaxed);
    }

    /// Whether a scratch instance may still end the worker without ending the run: it has not begun, and somebody makes it all the same.
    pub(crate) fn may_retry(&self) -> bool {
        let retries = self.0.head.retries.load(Ordering::Relaxed) != 0;
        retries && self.folder().is_none() && self.progress().is_none()
    }

    /// Lines of FMUs; one thread at a time adds some.
    pub(crate) fn log(&self) -> &'static Ring<LOG> {
        &self.0.log
    }

    pub(crate) fn is_done(&self) -> bool {
        self.0.head.is_done.load(Ordering::Acquire) != 0
    }

    pub(crate) fn set_done(&self) {
        self.0.head.is_done.store(1, Ordering::Release);
    }

    /// For another run of the same worker, which has none under way.
    pub(crate) fn renew(&self) {
        let head = &self.0.head;
        for number in [&head.stop, &head.reports, &head.code, &head.is_done, &head.runs, &head.notices] {
            number.store(0, Ordering::Relaxed);
        }
        head.used.store(0, Ordering::Relaxed);
        self.0.log.clear();
    }

    /// Takes words; nothing if there are not so many left.
    pub(crate) fn take(&self, words: usize) -> Option<usize> {
        let used = &self.0.head.used;
        let more = |used: u64| used.checked_add(words as u64).filter(|&end| end <= WORDS as u64);
        used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|start| start as usize)
    }

    /// The words from `offset` on; none where a damaged offset points outside.
    pub(crate) fn words(&self, offset: u64, n: usize) -> &'static [AtomicU64] {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        self.0.words.get(start..start.saturating_add(n)).unwrap_or(&[])
    }

    pub(crate) fn write(&self, piece: &Piece, text: &[u8]) -> bool {
        let Some(start) = self.take(text.len().div_ceil(8)) else { return false };
        for (word, bytes) in self.0.words[start..].iter().zip(text.chunks(8)) {
            let mut eight = [0; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(eight), Ordering::Relaxed);
        }
        piece.offset.store(start as u64, Ordering::Relaxed);
        piece.bytes.store(text.len() as u64, Ordering::Release);
        true
    }

    fn read(&self, piece: &Piece) -> Vec<u8> {
        let bytes = usize::try_from(piece.bytes.load(Ordering::Acquire)).unwrap_or(0).min(8 * WORDS);
        let words = self.words(piece.offset.load(Ordering::Relaxed), bytes.div_ceil(8));
        let mut text: Vec<u8> = words.iter().flat_map(|w| w.load(Ordering::Relaxed).to_le_bytes()).collect();
        text.truncate(bytes);
        text
    }

    pub(crate) fn path(&self, piece: &Piece) -> Option<PathBuf> {
        path_of(self.read(piece))
    }
}

/// None where there is none.
fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    if bytes.is_empty() {
        return None;
    }
    #[cfg(unix)]
    let path: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes);
    #[cfg(not(unix))]
    let path: std::ffi::OsString = String::from_utf8_lossy(&bytes).into_owned().into();
    Some(path.into())
}
