//! Damaged archives: whatever is in a file, the answer is an FMU or an error, soon, in bounded memory, and nothing is written outside.
//!
//! Descriptions are damaged in `description.rs`. Seeds are fixed: what fails once fails always.

mod common;

use common::{description, mutate, zip};
use powerbond_fmi::archive::{Archive, Limits};
use powerbond_fmi::description::ModelDescription;
use std::panic::catch_unwind;
use std::time::{Duration, Instant};

#[test]
fn damaged_archives_are_read_or_refused() {
    let xml = description("integrator2");
    let entries: &[(&str, &[u8])] = &[
        ("modelDescription.xml", xml.as_bytes()),
        ("binaries/linux64/integrator2.so", b"\x7fELF not really"),
        ("resources/a/b/table.txt", &[b'0'; 5000]),
        ("documentation/index.html", b"<html></html>"),
    ];
    let sound = std::fs::read(zip("sound.fmu", entries)).unwrap();
    let path = std::env::temp_dir().join(format!("powerbond-fuzz-{}.fmu", std::process::id()));
    let limits = Limits { total_bytes: 1 << 24, entry_bytes: 1 << 23, ..Limits::default() };
    let (mut read, mut refused) = (0, 0);
    for seed in 0..3000 {
        let bytes = if seed == 0 { sound.clone() } else { mutate(&sound, seed) };
        std::fs::write(&path, &bytes).unwrap();
        let begun = Instant::now();
        let outcome = catch_unwind(|| {
            let mut archive = Archive::open(&path, limits).ok()?;
            archive.platforms();
            let xml = archive.xml("modelDescription.xml").ok()??;
            let parsed = ModelDescription::parse(&xml).ok();
            let unpacked = archive.unpack().ok()?;
            assert!(unpacked.path().starts_with(std::env::temp_dir()));
            parsed.map(drop)
        });
        match outcome {
            Ok(Some(())) => read += 1,
            Ok(None) => refused += 1,
            Err(_) => panic!("a panic on mutation {seed}"),
        }
        assert!(begun.elapsed() < Duration::from_secs(5), "mutation {seed}: {:?}", begun.elapsed());
    }
    std::fs::remove_file(&path).unwrap();
    assert!(read > 100 && refused > 100, "{read} read, {refused} refused");
}
