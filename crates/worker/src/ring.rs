//! Lines in memory that processes share: the last ones outlive the process that wrote them.

use std::sync::atomic::{AtomicU64, Ordering};

/// Room for the last lines, in words of 8 bytes. Only what is used takes memory.
#[repr(C)]
pub(crate) struct Ring<const WORDS: usize> {
    /// Bytes so far.
    bytes: AtomicU64,
    /// So many of them were told of.
    told: AtomicU64,
    words: [AtomicU64; WORDS],
}

impl<const WORDS: usize> Ring<WORDS> {
    /// Adds a line; the oldest are lost when there is no more room. One thread at a time.
    pub fn add(&self, line: &str) {
        let mut at = self.bytes.load(Ordering::Relaxed);
        for &byte in line.as_bytes().iter().chain(b"\n") {
            let (word, shift) = (&self.words[(at as usize / 8) % WORDS], 8 * (at % 8));
            let others = word.load(Ordering::Relaxed) & !(0xFF << shift);
            word.store(others | u64::from(byte) << shift, Ordering::Relaxed);
            at += 1;
        }
        self.bytes.store(at, Ordering::Release);
    }

    /// The lines that are there; the first one says so if there were more.
    pub fn lines(&self) -> Vec<String> {
        self.lines_from(0)
    }

    /// Those of them that nobody was told of.
    pub fn untold(&self) -> Vec<String> {
        self.lines_from(self.told.load(Ordering::Relaxed))
    }

    /// All that is there was told of.
    pub fn tell(&self) {
        self.told.store(self.bytes.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// No line any more.
    pub fn clear(&self) {
        [&self.bytes, &self.told].iter().for_each(|n| n.store(0, Ordering::Relaxed));
    }

    fn lines_from(&self, from: u64) -> Vec<String> {
        let end = self.bytes.load(Ordering::Acquire);
        let kept = end.saturating_sub(8 * WORDS as u64);
        let start = kept.max(from.min(end));
        let byte = |at: u64| {
            let word = self.words[(at as usize / 8) % WORDS].load(Ordering::Relaxed);
            (word >> (8 * (at % 8))) as u8
        };
        let bytes: Vec<u8> = (start..end).map(byte).collect();
        let text = String::from_utf8_lossy(&bytes);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if kept > from
            && let Some(first) = lines.first_mut()
        {
            *first = "(earlier lines are lost)".to_owned();
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_told_of_once() {
        let ring = Ring::<4> {
            bytes: AtomicU64::new(0),
            told: AtomicU64::new(0),
            words: [const { AtomicU64::new(0) }; 4],
        };
        assert_eq!(ring.lines(), [""; 0]);
        ring.add("one");
        ring.tell();
        ring.add("größer");
        assert_eq!(
            (ring.lines(), ring.untold()),
            (vec!["one".into(), "größer".into()], vec!["größer".into()])
        );
        (0..5).for_each(|n| ring.add(&format!("line {n}")));
        let last = ["(earlier lines are lost)", "line 1", "line 2", "line 3", "line 4"];
        assert_eq!(
            (ring.lines().as_slice(), ring.untold().as_slice()),
            (&last.map(String::from)[..], &last.map(String::from)[..])
        );
        ring.clear();
        assert_eq!(ring.lines(), [""; 0]);
    }
}
