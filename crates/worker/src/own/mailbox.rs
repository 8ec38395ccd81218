//! Messages between two processes through memory that they share: one is under way in each direction, in parts if it is long.

use crate::os;
use crate::ring::Ring;
use powerbond::fmi::trace::Slot;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Words of 8 bytes of one part of a message.
const WORDS: usize = 4096;
/// Instances in one process whose calls are seen: that of the run, scratch ones, and the library while it is loaded.
const SLOTS: usize = 16;
/// Words of 8 bytes for the lines of FMUs in the child.
const LOG: usize = 1 << 13;
/// Between two looks at the other side while it is at work.
const TICK: Duration = Duration::from_millis(10);

/// The memory. Atomics only: both processes may look at any time.
#[repr(C)]
pub struct Mailbox {
    to_child: Side,
    to_parent: Side,
    slots: [Slot; SLOTS],
    /// What FMUs say in the child.
    log: Ring<LOG>,
}

const EMPTY: u32 = 0;
const FULL: u32 = 1;

/// One direction.
#[repr(C, align(128))]
struct Side {
    /// [`EMPTY`] or [`FULL`]; what one of them waits for.
    state: AtomicU32,
    /// Somebody sleeps until the state changes.
    sleeps: AtomicU32,
    /// Another part of the same message follows.
    continues: AtomicU32,
    /// Bytes of this part.
    bytes: AtomicU64,
    words: [AtomicU64; WORDS],
}

/// Whose end of a mailbox it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Parent,
    Child,
}

impl Mailbox {
    /// That of the process that started this one, which is killed when that one dies. `variable` of the environment says where it is:
    /// `<descriptor>:<id of that process>`.
    pub fn from_parent(variable: &str) -> Option<&'static Mailbox> {
        let value = std::env::var(variable).ok()?;
        let (number, parent) = value.split_once(':')?;
        if !os::die_with(parent.parse().ok()?) {
            return None;
        }
        Some(os::attach::<Mailbox>(number.parse().ok()?).ok()?.keep())
    }

    /// Calls of the child.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// What FMUs say in the child; told of with the next answer.
    pub fn log(&self) -> &Ring<LOG> {
        &self.log
    }

    /// Whether the words that only the two processes write hold what they write: an FMU that writes where it should not may hit them.
    pub fn is_intact(&self) -> bool {
        [&self.to_child, &self.to_parent].iter().all(|side| side.state.load(Ordering::Relaxed) <= FULL)
    }

    fn sides(&self, end: End) -> (&Side, &Side) {
        match end {
            End::Parent => (&self.to_child, &self.to_parent),
            End::Child => (&self.to_parent, &self.to_child),
        }
    }

    /// Sends a message. `tick` is asked while the other side takes its time, and may give up.
    pub fn send<E>(
        &self,
        end: End,
        message: &[u8],
        spin: &mut Spin,
        tick: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        let (side, _) = self.sides(end);
        let mut rest = message;
        loop {
            let (part, more) = rest.split_at(rest.len().min(8 * WORDS));
            side.wait_for(EMPTY, spin, tick)?;
            let mut chunks = part.chunks_exact(8);
            for (word, bytes) in side.words.iter().zip(&mut chunks) {
                let mut eight = [0; 8];
                eight.copy_from_slice(bytes);
                word.store(u64::from_le_bytes(eight), Ordering::Relaxed);
            }
            let last = chunks.remainder();
            if !last.is_empty() {
                let mut eight = [0; 8];
                eight[..last.len()].copy_from_slice(last);
                side.words[part.len() / 8].store(u64::from_le_bytes(eight), Ordering::Relaxed);
            }
            side.bytes.store(part.len() as u64, Ordering::Relaxed);
            side.continues.store((!more.is_empty()).into(), Ordering::Relaxed);
            side.set(FULL);
            if more.is_empty() {
                return Ok(());
            }
            rest = more;
        }
    }

    /// Waits for a message, which takes the place of what is in `message`.
    pub fn receive<E>(
        &self,
        end: End,
        message: &mut Vec<u8>,
        spin: &mut Spin,
        tick: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        let (_, side) = self.sides(end);
        message.clear();
        loop {
            side.wait_for(FULL, spin, tick)?;
            // Whatever is written there, no more than there is.
            let bytes = usize::try_from(side.bytes.load(Ordering::Relaxed)).unwrap_or(0).min(8 * WORDS);
            let continues = side.continues.load(Ordering::Relaxed) != 0;
            let begin = message.len();
            for word in &side.words[..bytes.div_ceil(8)] {
                message.extend_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
            }
            message.truncate(begin + bytes);
            side.set(EMPTY);
            if !continues {
                return Ok(());
            }
        }
    }
}

impl Side {
    fn set(&self, state: u32) {
        // Both sides store one of the two words and then look at the other one: at least one of them sees what the other did.
        self.state.store(state, Ordering::SeqCst);
        if self.sleeps.load(Ordering::SeqCst) != 0 {
            os::wake(&self.state);
        }
    }

    fn wait_for<E>(
        &self,
        wanted: u32,
        spin: &mut Spin,
        tick: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        let is_there = || self.state.load(Ordering::Acquire) == wanted;
        // What is there at once says nothing about waiting.
        if is_there() || spin.until(is_there) {
            return Ok(());
        }
        loop {
            self.sleeps.store(1, Ordering::SeqCst);
            if self.state.load(Ordering::SeqCst) != wanted {
                os::sleep_while(&self.state, 1 - wanted, TICK);
            }
            self.sleeps.store(0, Ordering::SeqCst);
            if is_there() {
                return Ok(());
            }
            if let Err(error) = tick() {
                // Its last word may have come just before its end.
                return if is_there() { Ok(()) } else { Err(error) };
            }
        }
    }
}

/// How long to look at a word again and again before sleeping: waking up takes longer than most steps.
///
/// As long as that helps it is [`Spin::MOST`]; in vain (the other side is at work for longer, or has no core) it is half as long the next
/// time, down to [`Spin::LEAST`]. Every [`Spin::RETRY`]th time it is tried in full: two sides that sleep would never find out that both
/// could be quick.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spin {
    budget: Duration,
    most: Duration,
    failed: u32,
}

impl Spin {
    const LEAST: Duration = Duration::from_micros(1);
    const MOST: Duration = Duration::from_micros(200);
    const RETRY: u32 = 16;

    /// With a core for each side; else the other side could not answer meanwhile.
    pub fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let most = if cores > 1 { Self::MOST } else { Duration::ZERO };
        Spin { budget: most, most, failed: 0 }
    }

    fn until(&mut self, is_there: impl Fn() -> bool) -> bool {
        let budget = if self.failed % Self::RETRY == Self::RETRY - 1 { self.most } else { self.budget };
        let mut begun = None;
        loop {
            for _ in 0..16 {
                if is_there() {
                    (self.budget, self.failed) = (self.most, 0);
                    return true;
                }
                std::hint::spin_loop();
            }
            if begun.get_or_insert_with(Instant::now).elapsed() >= budget {
                self.budget = (self.budget / 2).max(Self::LEAST).min(self.most);
                self.failed = self.failed.wrapping_add(1);
                return false;
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::sync::Arc;

    #[test]
    fn messages_of_all_lengths_arrive_in_both_directions() {
        let (_fd, mailbox) = os::create::<Mailbox>().unwrap();
        let mailbox = Arc::new(mailbox);
        let lengths = [0, 1, 7, 8, 9, 1000, 8 * WORDS, 8 * WORDS + 1, 20 * WORDS + 3, 100 * WORDS];
        let wait = &mut || Ok::<(), Infallible>(());
        let echo = {
            let mailbox = mailbox.clone();
            std::thread::spawn(move || {
                let (mut spin, mut message) = (Spin::new(), Vec::new());
                let wait = &mut || Ok::<(), Infallible>(());
                for _ in 0..3 * lengths.len() {
                    let Ok(()) = mailbox.receive(End::Child, &mut message, &mut spin, wait);
                    let Ok(()) = mailbox.send(End::Child, &message, &mut spin, wait);
                }
            })
        };
        let (mut spin, mut back) = (Spin::new(), Vec::new());
        for n in lengths.iter().cycle().take(3 * lengths.len()) {
            let message: Vec<u8> = (0..*n).map(|i| (i * 31 % 251) as u8).collect();
            let Ok(()) = mailbox.send(End::Parent, &message, &mut spin, wait);
            let Ok(()) = mailbox.receive(End::Parent, &mut back, &mut spin, wait);
            assert!(back == message, "{n} bytes");
        }
        echo.join().unwrap();
    }

    #[test]
    fn one_that_waits_in_vain_may_give_up() {
        let (_fd, mailbox) = os::create::<Mailbox>().unwrap();
        let mut ticks = 0;
        let mut tick = || {
            ticks += 1;
            if ticks < 3 { Ok(()) } else { Err("gone") }
        };
        let waited = mailbox.receive(End::Parent, &mut Vec::new(), &mut Spin::new(), &mut tick);
        assert_eq!((waited, ticks), (Err("gone"), 3));
    }
}
