//! Messages through a pair of pipes, as `ssh` carries them: a length, a kind, and what belongs to it.

use std::io::{self, Read, Write};

/// What a relay says first. A shell on the way may print something before it.
pub(crate) const GREETING: &[u8] =
    concat!("\0powerbond relay ", env!("CARGO_PKG_VERSION"), " 1\n").as_bytes();
/// The part of it that all versions have in common.
pub(crate) const MARK: &[u8] = b"\0powerbond relay ";

/// More is not a message of ours: garbage has any length. In bytes.
const LONGEST: usize = 1 << 30;
/// Made room for at once; more only as it comes. In bytes.
const STEP: usize = 1 << 20;

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Nothing: somebody is there. From a relay with the call that is under way.
    Beat = 1,
    /// Is there an FMU with this content?
    Have,
    /// A file of an FMU follows.
    File,
    /// A part of the file.
    Data,
    /// That was the last file.
    End,
    /// For the subsystem.
    Ask,
    /// The subsystem has given its last answer.
    Close,
    /// The FMU is at this path.
    Stored,
    /// The FMU is not there.
    Missing,
    /// It cannot be done: why.
    Refused,
    /// From the subsystem.
    Answer,
    /// The subsystem is gone.
    Lost,
    /// Everything has ended.
    Closed,
}

const ALL: [Kind; 13] = [
    Kind::Beat,
    Kind::Have,
    Kind::File,
    Kind::Data,
    Kind::End,
    Kind::Ask,
    Kind::Close,
    Kind::Stored,
    Kind::Missing,
    Kind::Refused,
    Kind::Answer,
    Kind::Lost,
    Kind::Closed,
];

/// A message as it is sent.
pub(crate) fn frame(kind: Kind, content: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(content.len() + 5);
    frame.extend_from_slice(&(content.len() as u32).to_le_bytes());
    frame.push(kind as u8);
    frame.extend_from_slice(content);
    frame
}

/// Sends a message.
pub(crate) fn send(out: &mut impl Write, kind: Kind, content: &[u8]) -> io::Result<()> {
    out.write_all(&frame(kind, content))?;
    out.flush()
}

/// Waits for a message.
pub(crate) fn receive(from: &mut impl Read) -> io::Result<(Kind, Vec<u8>)> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
    let kind = ALL.iter().find(|kind| **kind as u8 == head[4]).copied();
    let Some(kind) = kind.filter(|_| length <= LONGEST) else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a message of powerbond"));
    };
    let mut content = Vec::new();
    while content.len() < length {
        let begin = content.len();
        content.resize(length.min(begin + STEP), 0);
        from.read_exact(&mut content[begin..])?;
    }
    Ok((kind, content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_and_garbage_does_not() {
        let mut pipe = Vec::new();
        send(&mut pipe, Kind::Ask, b"step").unwrap();
        send(&mut pipe, Kind::Beat, b"").unwrap();
        let mut from = pipe.as_slice();
        assert_eq!(receive(&mut from).unwrap(), (Kind::Ask, b"step".to_vec()));
        assert_eq!(receive(&mut from).unwrap(), (Kind::Beat, Vec::new()));
        assert_eq!(receive(&mut from).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        let garbage = b"Last login: yesterday";
        assert_eq!(receive(&mut garbage.as_slice()).unwrap_err().kind(), io::ErrorKind::InvalidData);
        // A length of nearly everything makes no room for it.
        let long = [255, 255, 255, 63, Kind::Ask as u8, 0];
        assert_eq!(receive(&mut long.as_slice()).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
