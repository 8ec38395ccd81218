//! What a process prints: a pipe whose reading end the process that started it keeps, too. What the other one had no time to read before
//! it crashed is still there.

use crate::os;
use powerbond::fmi::printed;
use std::io::{self, PipeReader, Read};
use std::process::Stdio;

/// Bytes that are read of it: no pipe holds more.
const MOST: u64 = 1 << 20;

/// The reading end.
pub(crate) struct Words(PipeReader);

impl Words {
    /// And the stdout of the process to be started, which calls [`printed::adopt`].
    pub fn new() -> io::Result<(Self, Stdio)> {
        let (reader, writer) = io::pipe()?;
        Ok((Words(reader), writer.into()))
    }

    /// The lines that are left, as they are in a log. The process is gone.
    pub fn rest(&self) -> Vec<String> {
        let mut bytes = Vec::new();
        // It ends where nothing is left, also where a process that an FMU left behind still has the other end.
        if os::never_wait(&self.0).is_ok() {
            let _ = (&self.0).take(MOST).read_to_end(&mut bytes);
        }
        printed::lines_of(&bytes).into_iter().map(|line| format!("{}{line}", printed::PRINTED)).collect()
    }
}

/// Whether a line of a log is the FMU's own, and not what powerbond says about it.
pub(crate) fn is_its_own(line: &str) -> bool {
    line.starts_with(printed::PRINTED) || !line.contains(", powerbond]: ")
}

/// The last of `lines`, as words in a message.
pub(crate) fn last_of(lines: &[&str]) -> Option<String> {
    /// Lines of an FMU that are shown when it crashes.
    const LAST_WORDS: usize = 4;
    let last = &lines[lines.len().saturating_sub(LAST_WORDS)..];
    let words = |line: &&str| line.split_once("]: ").map_or(*line, |(_, words)| words).trim().to_owned();
    (!last.is_empty()).then(|| last.iter().map(words).collect::<Vec<_>>().join(" | "))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn what_nobody_read_is_there_after_the_end() {
        let (words, stdout) = Words::new().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; sleep 100 & printf two; kill -9 $$"]).stdout(stdout);
        let mut process = std::os::unix::process::CommandExt::process_group(&mut command, 0).spawn().unwrap();
        process.wait().unwrap();
        assert_eq!(words.rest(), ["printed: one", "printed: two"]);
        os::kill_group(process.id());
    }
}
