//! Files that are damaged, hostile or for another machine are refused, and nothing is written outside.

mod common;

use common::{EXTENSION, PLATFORM_2, description, library, zip};
use powerbond_fmi::archive::Limits;
use powerbond_fmi::{Fmu, Options};
use std::io::Write;
use std::path::Path;
use zip::write::SimpleFileOptions;

/// Opening or loading `path` fails with a message that has all these parts.
fn check(path: &Path, wanted: &[&str]) {
    check_with(path, Limits::default(), wanted);
}

fn check_with(path: &Path, limits: Limits, wanted: &[&str]) {
    let error = match Fmu::open_with(path, limits) {
        Ok(fmu) => fmu.instantiate("x", &Options::default()).map(|_| ()).unwrap_err(),
        Err(error) => error,
    };
    let text = error.to_string();
    assert!(text.starts_with(&path.display().to_string()), "{text}");
    for part in wanted {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

fn integrator(extra: &[(&str, &[u8])]) -> std::path::PathBuf {
    let (xml, library) = (description("integrator2"), library("integrator2"));
    let entry = format!("binaries/{PLATFORM_2}/integrator2.{EXTENSION}");
    let mut entries = vec![("modelDescription.xml", xml.as_bytes()), (entry.as_str(), &library[..])];
    entries.extend(extra);
    zip("integrator2.fmu", &entries)
}

#[test]
fn escaping_names_are_refused() {
    for name in ["../evil", "resources/../../evil", "/tmp/evil", "..\\evil", "C:\\evil", "a\\..\\..\\evil"] {
        let path = integrator(&[(name, b"x")]);
        check(&path, &["evil`", "outside of the archive's folder"]);
    }
}

#[test]
#[cfg(unix)]
fn names_that_this_system_allows_are_taken() {
    let path = integrator(&[("resources/2026-01-01T12:00.csv", b"x"), ("~/x", b"x"), ("./a//b", b"x")]);
    Fmu::open(path).unwrap().load().unwrap();
}

#[test]
fn symbolic_links_are_refused() {
    let path = common::scratch().join("link.fmu");
    let mut writer = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    writer.add_symlink("resources/link", "/etc", SimpleFileOptions::default()).unwrap();
    writer.start_file("modelDescription.xml", SimpleFileOptions::default()).unwrap();
    writer.write_all(description("integrator2").as_bytes()).unwrap();
    writer.finish().unwrap();
    check(&path, &["`resources/link` is a symbolic link"]);
}

#[test]
fn bombs_are_refused_by_size_ratio_count_and_depth() {
    let zeros = vec![0; 40 << 20];
    let path = integrator(&[("resources/zeros", &zeros)]);
    check(&path, &["`resources/zeros` unpacks to", "500 times its packed size"]);
    let xml = format!("<a>{}</a>", " ".repeat(40 << 20));
    check(&zip("blank.fmu", &[("modelDescription.xml", xml.as_bytes())]), &["500 times its packed size"]);
    // Each of them is small enough for any ratio, all of them are not.
    let names: Vec<String> = (0..4).map(|n| format!("resources/{n}")).collect();
    let parts: Vec<(&str, &[u8])> = names.iter().map(|n| (n.as_str(), &zeros[..8 << 20])).collect();
    check(&integrator(&parts), &["up to entry `resources/2`", "500 times its own size"]);
    let small = |limits: Limits, wanted: &[&str]| {
        check_with(&integrator(&[("resources/x", &[7; 5000])]), limits, wanted);
    };
    small(Limits { entry_bytes: 1000, ..Limits::default() }, &["more than the limit of 1000 bytes"]);
    small(Limits { total_bytes: 6000, ..Limits::default() }, &["more than the limit of 6000 bytes"]);
    small(Limits { entries: 2, ..Limits::default() }, &["3 entries, more than the limit of 2"]);
    small(Limits { xml_bytes: 100, ..Limits::default() }, &["modelDescription.xml", "100 bytes"]);
    check(&integrator(&[(&"d/".repeat(40), b"")]), &["more than the limit of 32"]);
}

#[test]
fn damaged_files_are_refused() {
    let whole = std::fs::read(integrator(&[])).unwrap();
    for cut in [0, 10, whole.len() / 2, whole.len() - 10] {
        let path = common::scratch().join("cut.fmu");
        std::fs::write(&path, &whole[..cut]).unwrap();
        check(&path, &["not a readable zip file"]);
    }
    let path = common::scratch().join("flipped.fmu");
    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle..middle + 64].iter_mut().for_each(|byte| *byte ^= 0x55);
    std::fs::write(&path, flipped).unwrap();
    check(&path, &["cannot be read", "damaged"]);
    check(Path::new("/nowhere/x.fmu"), &["cannot be opened"]);
}

#[test]
fn no_file_makes_the_reader_panic() {
    let xml = description("types3");
    let whole =
        std::fs::read(zip("x.fmu", &[("modelDescription.xml", xml.as_bytes()), ("resources/a", b"a")]))
            .unwrap();
    let path = common::scratch().join("mutated.fmu");
    for seed in 0..500 {
        std::fs::write(&path, common::mutate(&whole, seed)).unwrap();
        if let Ok(fmu) = Fmu::open(&path) {
            // There is no library in it.
            assert!(fmu.load().is_err());
        }
    }
}

#[test]
fn entries_of_one_name_and_missing_descriptions_are_refused() {
    check(&zip("empty.fmu", &[("readme.txt", b"hello")]), &["missing `modelDescription.xml`"]);
    check(&integrator(&[("resources/a", b"1"), ("resources\\a", b"2")]), &["duplicate entry `resources/a`"]);
    check(
        &integrator(&[("resources/a", b"1"), ("resources/a/b", b"2")]),
        &["duplicate entry `resources/a/b`"],
    );
    // Two entries of the very same name: the reader of zip files shows the last one only, and it was taken without a word.
    let path = integrator(&[("modelDescription.xmk", b"<other/>")]);
    let bytes = std::fs::read(&path).unwrap();
    let other = b"modelDescription.xmk";
    let at: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i..].starts_with(other)).collect();
    let mut twice = bytes.clone();
    at.iter().for_each(|i| twice[i + other.len() - 1] = b'l');
    std::fs::write(&path, twice).unwrap();
    assert_eq!(at.len(), 2);
    check(&path, &["duplicate entry `modelDescription.xml`"]);
    // What comes before the zip file itself does not matter.
    std::fs::write(&path, [b"#!/bin/sh\n", &bytes[..]].concat()).unwrap();
    Fmu::open(&path).unwrap().load().unwrap();
}

#[test]
fn libraries_that_do_not_fit_are_named() {
    let xml = description("integrator2");
    let xml = xml.as_bytes();
    let entry = format!("binaries/{PLATFORM_2}/integrator2.{EXTENSION}");
    let other = format!("binaries/{PLATFORM_2}/another.{EXTENSION}");
    let with = |entries: &[(&str, &[u8])]| {
        let mut all = vec![("modelDescription.xml", xml)];
        all.extend(entries);
        zip("x.fmu", &all)
    };
    check(&with(&[]), &["no library for this platform", PLATFORM_2, "sources only"]);
    check(&with(&[("binaries/plan9/x.so", b"x")]), &[PLATFORM_2, "found plan9"]);
    check(&with(&[(&other, b"x")]), &["integrator2", "the folder holds another"]);
    check(&with(&[(&entry, b"\x7fELF but not really")]), &["`integrator2", "cannot be loaded: "]);
    let library = library("integrator2");
    check(&with(&[(&entry, &library[..library.len() / 2])]), &["cannot be loaded: "]);
    #[cfg(target_os = "linux")]
    {
        // Byte 18 names the processor: 8 is MIPS.
        let foreign = [&library[..18], &[8, 0], &library[20..]].concat();
        check(&with(&[(&entry, &foreign)]), &["for another processor (ELF machine 8)"]);
    }
    // A library of another standard lacks every function.
    check(&with(&[(&entry, &common::library("integrator3"))]), &["does not export `fmi2Instantiate`"]);
}

/// An FMU that needs `libmiddle.so`, which needs `libend.so`; both lie beside it, and nothing tells the loader so.
#[test]
#[cfg(target_os = "linux")]
fn libraries_that_an_fmu_brings_along_are_found() {
    let folder = common::scratch();
    let cc = |arguments: &[&str]| {
        let status = std::process::Command::new("cc").current_dir(&folder).args(arguments).status().unwrap();
        assert!(status.success());
    };
    std::fs::write(folder.join("end.c"), "int end(void) { return 1; }").unwrap();
    std::fs::write(folder.join("middle.c"), "int end(void); int middle(void) { return end(); }").unwrap();
    let shared = ["-shared", "-fPIC", "-Wl,--no-as-needed"];
    cc(&[&shared[..], &["-o", "libend.so", "end.c", "-Wl,-soname,libend.so"]].concat());
    cc(&[&shared[..], &["-o", "libmiddle.so", "middle.c", "-Wl,-soname,libmiddle.so", "-L.", "-lend"]]
        .concat());
    let source = common::sources().join("integrator2.c");
    let source = source.to_str().unwrap();
    cc(&[&shared[..], &["-o", "integrator2.so", source, "-L.", "-lmiddle", "-lm", "-Wl,-rpath-link,."]]
        .concat());
    let read =
        |name: &str| (format!("binaries/{PLATFORM_2}/{name}"), std::fs::read(folder.join(name)).unwrap());
    let parts = ["integrator2.so", "libmiddle.so", "libend.so"].map(read);
    let xml = description("integrator2");
    let with = |count: usize| {
        let parts = parts[..count].iter().map(|(name, bytes)| (name.as_str(), &bytes[..]));
        let entries: Vec<_> =
            std::iter::once(("modelDescription.xml", xml.as_bytes())).chain(parts).collect();
        zip("x.fmu", &entries)
    };
    // In this order: a library that is loaded already is missing nowhere.
    check(&with(1), &["`integrator2.so` cannot be loaded: libmiddle.so: "]);
    check(&with(2), &["`integrator2.so` cannot be loaded: libend.so: "]);
    Fmu::open(with(3)).unwrap().load().unwrap();
}

#[test]
fn other_kinds_of_fmus_are_named() {
    let edited = |from: &str, to: &str| {
        let xml = description("integrator2").replace(from, to);
        zip("x.fmu", &[("modelDescription.xml", xml.as_bytes())])
    };
    check(&edited("CoSimulation", "ModelExchange"), &["no co-simulation interface, only model exchange"]);
    check(
        &edited("fmiVersion=\"2.0\"", "fmiVersion=\"4.0\""),
        &["modelDescription.xml:2", "fmiVersion is `4.0`"],
    );
    for identifier in ["../../evil", "a/b", "x;touch evil", "$(touch evil)", ".hidden", ""] {
        let path = edited("modelIdentifier=\"integrator2\"", &format!("modelIdentifier=\"{identifier}\""));
        check(&path, &["modelDescription.xml:3", "is not a file name"]);
    }
}

#[test]
fn the_unpacked_copy_is_removed_with_the_last_user() {
    let fmu = Fmu::open(integrator(&[])).unwrap();
    let own = || {
        let id = format!("-{}-", std::process::id());
        let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        let names = entries.map(|e| e.file_name().to_string_lossy().into_owned());
        names.filter(|n| n.starts_with("powerbond-fmu-") && n.contains(&id)).collect::<Vec<_>>()
    };
    fmu.load().unwrap();
    let instance = fmu.instantiate("a", &Options::default()).unwrap();
    drop(fmu);
    assert!(!own().is_empty());
    drop(instance);
    // Other tests of this program have their own copies; they come and go.
    for _ in 0..500 {
        if own().is_empty() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("left behind: {:?}", own());
}
