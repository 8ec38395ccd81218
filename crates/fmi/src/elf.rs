//! Whether an ELF file is whole: the loader maps a cut-off one without a word, and the process dies on first touch.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

const LOAD: u32 = 1;

/// What ELF calls the processor that this runs on.
const MACHINE: Option<(u16, &str)> = if cfg!(target_arch = "x86_64") {
    Some((62, "x86_64"))
} else if cfg!(target_arch = "aarch64") {
    Some((183, "aarch64"))
} else {
    None
};

/// What is wrong with the file at `path`, if something is. Files that are no ELF are left to the loader.
pub fn damage(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let mut head = [0u8; 64];
    file.read_exact(&mut head).ok()?;
    // 64-bit little-endian files only: other ones are of no use on the machines that this runs on.
    if head[..6] != *b"\x7fELF\x02\x01" {
        return None;
    }
    let u16_at = |bytes: &[u8], at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let u64_at = |bytes: &[u8], at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        u64::from_le_bytes(word)
    };
    let machine = u16_at(&head, 18);
    if MACHINE.is_some_and(|(own, _)| own != machine) {
        let here = MACHINE.map_or("", |(_, name)| name);
        return Some(format!("it is for another processor (ELF machine {machine}); this one is {here}"));
    }
    let (offset, size, count) = (u64_at(&head, 32), u16_at(&head, 54), u16_at(&head, 56));
    if size < 56 {
        return Some("its program headers are too short".to_owned());
    }
    let mut table = vec![0; usize::from(size) * usize::from(count)];
    if file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(&mut table)).is_err() {
        return Some("it is cut off within its program headers".to_owned());
    }
    for header in table.chunks_exact(usize::from(size)) {
        let kind = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        let end = u64_at(header, 8).saturating_add(u64_at(header, 32));
        if kind == LOAD && end > length {
            return Some(format!("truncated: {length} bytes, expected {end}"));
        }
    }
    None
}
