//! A table of any size row by row, for whoever reads several at once: a thread reads ahead, a few blocks far.

use super::{Visit, scan};
use crate::Error;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Numbers of a block.
const BLOCK: usize = 1 << 15;
/// Blocks that wait to be looked at.
const AHEAD: usize = 4;

enum Part {
    Header(Vec<String>),
    Rows(Vec<f64>),
    /// What is to be known of what was read, or why it could not be.
    End(Result<Option<String>, Error>),
}

/// Rows of a table, one after the other; in memory are some of them.
pub struct Stream {
    /// The names of the columns.
    pub header: Vec<String>,
    /// What is to be known of what was read, once all rows were: some that were cut and left out.
    pub note: Option<String>,
    parts: Receiver<Part>,
    block: Vec<f64>,
    next: usize,
}

/// Sends what a reader sees. When nobody listens any more it looks on in silence.
struct Ahead {
    parts: SyncSender<Part>,
    block: Vec<f64>,
}

impl Visit for Ahead {
    fn header(&mut self, names: Vec<String>) -> bool {
        self.parts.send(Part::Header(names)).is_ok()
    }

    fn row(&mut self, row: &[f64]) {
        self.block.extend_from_slice(row);
        if self.block.len() >= BLOCK {
            let _ =
                self.parts.send(Part::Rows(std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK))));
        }
    }
}

impl Stream {
    /// Opens a table of any format.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let (sender, parts) = sync_channel(AHEAD);
        let file: PathBuf = path.to_owned();
        let read = move || {
            let mut ahead = Ahead { parts: sender, block: Vec::with_capacity(BLOCK) };
            let end = scan(&file, &mut ahead);
            let _ = ahead.parts.send(Part::Rows(ahead.block));
            let _ = ahead.parts.send(Part::End(end));
        };
        let thread = std::thread::Builder::new().name("table".to_owned()).spawn(read);
        thread.map_err(|e| Error::input(None, format!("cannot read {}: {e}", path.display())))?;
        let mut stream = Stream { header: Vec::new(), note: None, parts, block: Vec::new(), next: 0 };
        while stream.header.is_empty() && !stream.more()? {}
        Ok(stream)
    }

    /// Waits for the next part; whether that was the last one.
    fn more(&mut self) -> Result<bool, Error> {
        match self.parts.recv() {
            Ok(Part::Header(names)) => self.header = names,
            Ok(Part::Rows(block)) => (self.block, self.next) = (block, 0),
            Ok(Part::End(end)) => {
                self.note = end?;
                return Ok(true);
            }
            Err(_) => return Ok(true),
        }
        Ok(false)
    }

    /// The next row; none after the last one.
    pub fn row(&mut self) -> Result<Option<&[f64]>, Error> {
        while self.next == self.block.len() {
            if self.more()? {
                return Ok(None);
            }
        }
        let from = self.next;
        self.next += self.header.len();
        Ok(Some(&self.block[from..self.next]))
    }
}
