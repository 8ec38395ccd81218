//! Rows of tables in the black box, until they are in their files.

use crate::black_box::{BlackBox, TableHead};
use powerbond::Error;
use powerbond::table::{Backup, Backups, FieldKind, Format, recover};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Words of a ring. Tables hand their rows to the system when they have about 1 MB of them.
const RING: usize = 2 << 17;
/// Rows of a ring at least.
const MIN_ROWS: usize = 4;

/// Gives every table of a run a ring.
pub(crate) struct Rings {
    pub black_box: BlackBox,
}

impl Rings {
    /// The place of a table: that of an earlier run with the same file, or a new one.
    fn place(&self, file: &Path) -> Option<&'static TableHead> {
        let mut heads = self.black_box.0.tables.iter();
        heads.find(|head| self.black_box.path(&head.file).is_none_or(|known| known == file))
    }
}

impl Backups for Rings {
    fn folder(&self, folder: &Path) {
        // FMUs may go to another folder; the supervisor stays.
        self.black_box.set_folder(&std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()));
    }

    fn table(&self, file: &Path, format: Format, kinds: &[FieldKind], bytes: u64) -> Option<Box<dyn Backup>> {
        let file = std::path::absolute(file).ok()?;
        let head = self.place(&file)?;
        let columns = kinds.len().max(1);
        let capacity = (RING / columns).max(MIN_ROWS);
        let number = Format::ALL.iter().position(|f| *f == format)? as u32 + 1;
        // While it is set up there is no such table.
        head.format.store(0, Ordering::Release);
        if head.columns.load(Ordering::Relaxed) != columns as u64 {
            let words = (capacity + 1).checked_mul(columns)?;
            head.data.store(self.black_box.take(words)? as u64, Ordering::Relaxed);
        }
        if !self.black_box.write(&head.file, file.as_os_str().as_encoded_bytes()) {
            return None;
        }
        head.columns.store(columns as u64, Ordering::Relaxed);
        head.capacity.store(capacity as u64, Ordering::Relaxed);
        head.rows.store(0, Ordering::Relaxed);
        head.current.store(0, Ordering::Relaxed);
        head.written[0][0].store(bytes, Ordering::Relaxed);
        head.written[0][1].store(0, Ordering::Relaxed);
        let words = self.black_box.words(head.data.load(Ordering::Relaxed), (capacity + 1) * columns);
        // The kinds of its columns come first.
        let (first, words) = words.split_at_checked(columns)?;
        for (word, kind) in first.iter().zip(kinds) {
            let number = FieldKind::ALL.iter().position(|k| k == kind).unwrap_or(0);
            word.store(number as u64, Ordering::Relaxed);
        }
        head.format.store(number, Ordering::Release);
        Some(Box::new(Ring { head, words, columns, capacity: capacity as u64, rows: 0, in_file: 0 }))
    }
}

struct Ring {
    head: &'static TableHead,
    words: &'static [AtomicU64],
    columns: usize,
    capacity: u64,
    rows: u64,
    in_file: u64,
}

impl Backup for Ring {
    fn row(&mut self, values: &[f64]) -> bool {
        let start = (self.rows % self.capacity) as usize * self.columns;
        let place = &self.words[start..start + self.columns];
        place.iter().zip(values).for_each(|(word, x)| word.store(x.to_bits(), Ordering::Relaxed));
        self.rows += 1;
        self.head.rows.store(self.rows, Ordering::Release);
        self.rows - self.in_file < self.capacity
    }

    fn written(&mut self, bytes: u64) {
        // The pair that does not hold is written, and then holds: both numbers change at once.
        let next = 1 - self.head.current.load(Ordering::Relaxed).min(1);
        let pair = &self.head.written[next as usize];
        pair[0].store(bytes, Ordering::Relaxed);
        pair[1].store(self.rows, Ordering::Relaxed);
        self.head.current.store(next, Ordering::Release);
        self.in_file = self.rows;
    }
}

/// Puts the rows of a worker that died into their files.
pub(crate) fn recover_all(black_box: &BlackBox) -> Result<(), Error> {
    let tables = black_box.0.tables.iter();
    tables.map(|head| recover_table(black_box, head)).fold(Ok(()), Result::and)
}

fn recover_table(black_box: &BlackBox, head: &TableHead) -> Result<(), Error> {
    let number = head.format.load(Ordering::Acquire) as usize;
    let Some(&format) = number.checked_sub(1).and_then(|i| Format::ALL.get(i)) else { return Ok(()) };
    let Some(file) = black_box.path(&head.file) else { return Ok(()) };
    // The worker makes Parquet of the stream when it is complete, and removes it.
    if !file.exists() {
        return Ok(());
    }
    let columns = head.columns.load(Ordering::Relaxed) as usize;
    let capacity = head.capacity.load(Ordering::Relaxed).max(1);
    let words = black_box.words(head.data.load(Ordering::Relaxed), columns * (capacity as usize + 1));
    let Some((kinds, words)) = words.split_at_checked(columns) else { return Ok(()) };
    let kind = |w: &AtomicU64| FieldKind::ALL.get(w.load(Ordering::Relaxed) as usize).copied();
    let kinds = kinds.iter().map(|w| kind(w).unwrap_or_default()).collect();
    let current = head.current.load(Ordering::Acquire).min(1) as usize;
    let [bytes, in_file] = [0, 1].map(|i| head.written[current][i].load(Ordering::Relaxed));
    let total = head.rows.load(Ordering::Acquire);
    let first = in_file.max(total.saturating_sub(capacity));
    let row = |n: u64| {
        let start = (n % capacity) as usize * columns;
        let words = words.get(start..start + columns).unwrap_or(&[]);
        words.iter().map(|w| f64::from_bits(w.load(Ordering::Relaxed))).collect::<Vec<f64>>()
    };
    let rows: Vec<Vec<f64>> = (first..total).map(row).collect();
    recover(&file, format, bytes, kinds, rows.iter().map(Vec::as_slice))
}
