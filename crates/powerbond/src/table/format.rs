//! Formats of tables on disk: which there are, how files are called, what a file is by its first bytes.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// How tables are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// Text, one line per row.
    #[default]
    Csv,
    /// An Arrow IPC stream.
    Arrow,
    /// Parquet, made of an Arrow IPC stream at the end of the run.
    Parquet,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 3] = [Format::Csv, Format::Arrow, Format::Parquet];

    /// As in `--format`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Arrow => "arrow",
            Format::Parquet => "parquet",
        }
    }

    /// Of its files; `.arrows` is the registered one for streams.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Arrow => "arrows",
            Format::Parquet => "parquet",
        }
    }

    /// The format called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.name() == name)
    }

    /// The format that the extension of a file asks for.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        let asked = |f: &Format| f.extension() == extension || f.name() == extension;
        Self::ALL.into_iter().find(asked)
    }

    /// `results` becomes `results.csv`.
    pub fn file(self, stem: &str) -> String {
        format!("{stem}.{}", self.extension())
    }

    /// Files beside a table that hold its rows until it is done.
    pub fn unfinished(table: &Path) -> Vec<PathBuf> {
        match Self::of(table) {
            Some(Format::Parquet) => {
                [Format::Arrow.extension(), "parquet.part"].map(|e| table.with_extension(e)).into()
            }
            _ => Vec::new(),
        }
    }

    /// This build can write and read it.
    pub fn is_built_in(self) -> bool {
        self == Format::Csv || cfg!(feature = "arrow")
    }

    /// An error if this build cannot write and read it; `what` asked for it.
    pub fn require(self, what: impl std::fmt::Display) -> Result<(), Error> {
        if self.is_built_in() {
            return Ok(());
        }
        let message = format!(
            "{what} needs the feature `arrow`, which is not built in. Build powerbond with `cargo install --path \
             crates/cli --features arrow`, or write CSV"
        );
        Err(Error::input(None, message))
    }

    /// What a file is, by its first bytes; whatever has no mark is taken for text.
    pub fn detect(start: &[u8]) -> Self {
        match start {
            [b'P', b'A', b'R', b'1', ..] => Format::Parquet,
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] | [0xff, 0xff, 0xff, 0xff, ..] => Format::Arrow,
            _ => Format::Csv,
        }
    }
}

/// The table `stem` in a run folder, in whatever format it is; the text one if there is none.
pub fn find(folder: &Path, stem: &str) -> PathBuf {
    let there = |f: &Format| folder.join(f.file(stem)).is_file();
    let order = [Format::Parquet, Format::Arrow, Format::Csv];
    folder.join(order.into_iter().find(there).unwrap_or_default().file(stem))
}
