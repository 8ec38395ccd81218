//! Suggestions in structures of other tools: in our annotation of SSP, as `powerBond` of connections in OSP.

use super::bonds::BondSuggestion;
use super::write::bond_text;
use crate::Error;
use crate::error::Place;
use crate::picture::xml as escaped;
use crate::source::Source;
use crate::source::xml::{Node, Text, child, elements, list, name};
use crate::system::{Connection, OSP_ROOT, SSP_FILE, SSP_SETTINGS, System};
use powerbond_core::network::VariableName;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

/// Adds bonds to the structure that `system` was read from, and reads the result before it takes the place of the file. The answer is what
/// was left out, in words.
pub fn write_to_structure(
    system: &System,
    source: &Source,
    bonds: &[BondSuggestion],
) -> Result<Vec<String>, Error> {
    let failure = |message: &str| {
        let place = Place::Option(source.path().display().to_string());
        Error::input(Some(place), format!("{message}. Add what `powerbond bonds` prints by hand"))
    };
    let archive = source.path().parent().filter(|parent| parent.is_file());
    let on_disk = match archive {
        None => std::fs::read(source.path()),
        Some(archive) => in_archive(archive, source.path()),
    };
    let on_disk = on_disk.map_err(|e| Error::output(source.path(), &e))?;
    if on_disk.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&on_disk) != source.text.as_bytes() {
        return Err(failure("the file is not written in UTF-8, or uses a prefix that it does not declare"));
    }
    let text = Text::of(source.path(), source.text.as_bytes())?;
    let document = text.parse()?;
    let root = document.root_element();
    let (new, wanted, left_out) = match name(root) == OSP_ROOT {
        true => in_connections(system, source, bonds),
        false => {
            let wanted = bonds.iter().filter(|bond| bond.certain).count();
            let lines: String = bonds.iter().map(|bond| format!("\n{}", bond_text(bond))).collect();
            (in_annotation(&text.source().text, root, &lines), wanted, Vec::new())
        }
    };
    let Some(new) = new else { return Err(failure("the settings in it are in several pieces")) };
    if new == source.text {
        return Ok(left_out);
    }
    let target = archive.unwrap_or(source.path());
    let part = part_of(target);
    let written = match archive {
        None => std::fs::write(&part, &new),
        Some(archive) => repack(archive, &part, source.path(), &new),
    };
    let done = written.map_err(|e| Error::output(&part, &e)).and_then(|()| {
        let inside = source.path().file_name().filter(|_| archive.is_some()).unwrap_or_default();
        let again = match inside == SSP_FILE || inside.is_empty() {
            true => System::load(&part),
            false => System::load(part.join(inside)),
        };
        let valid = again.and_then(|again| {
            again.validate()?;
            Ok(again.bonds.len() == system.bonds.len() + wanted)
        });
        match valid {
            Ok(true) => std::fs::rename(&part, target).map_err(|e| Error::output(target, &e)),
            Ok(false) => Err(failure("bonds cannot be added to this file")),
            Err(error) => Err(failure(&format!(
                "bonds cannot be added to this file, as it would not be valid any more ({error})"
            ))),
        }
    });
    if done.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    done.map(|()| left_out)
}

/// The new file, until it takes the place of the old one: beside it, as paths in it are relative.
fn part_of(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".part");
    path.with_file_name(name)
}

/// A structure in an archive, by the path that it has in messages.
fn in_archive(archive: &Path, path: &Path) -> io::Result<Vec<u8>> {
    let mut zip = ZipArchive::new(File::open(archive)?)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut bytes = Vec::new();
    io::copy(&mut zip.by_name(&name)?, &mut bytes)?;
    Ok(bytes)
}

/// The archive with another text in the place of a structure; everything else is copied as it is.
fn repack(archive: &Path, to: &Path, path: &Path, text: &str) -> io::Result<()> {
    let mut old = ZipArchive::new(File::open(archive)?)?;
    let mut new = ZipWriter::new(File::create(to)?);
    let changed = path.file_name().unwrap_or_default().to_string_lossy();
    for entry in 0..old.len() {
        let file = old.by_index_raw(entry)?;
        if file.name()? == changed {
            drop(file);
            new.start_file(&*changed, SimpleFileOptions::default())?;
            new.write_all(text.as_bytes())?;
        } else {
            new.raw_copy_file(file)?;
        }
    }
    new.finish()?.sync_all()
}

/// With `lines` at the end of our settings, or as our settings where there are none; none if they are in several pieces.
fn in_annotation(text: &str, root: Node<'_, '_>, lines: &str) -> Option<String> {
    let is_ours = |n: &Node<'_, '_>| n.attribute("type").map(str::trim) == Some(SSP_SETTINGS);
    let holders = [child(root, "DefaultExperiment"), Some(root), child(root, "System")];
    let found = holders.into_iter().flatten().flat_map(|n| list(n, "Annotations")).find(is_ours);
    let insert = |at: usize, what: &str| format!("{}{what}{}", &text[..at], &text[at..]);
    if let Some(annotation) = found {
        let holder = elements(annotation).next().unwrap_or(annotation);
        let mut texts = holder.children().filter_map(|n| n.text().filter(|_| n.is_text()));
        let (Some(piece), None) = (texts.next(), texts.next()) else { return None };
        let start = (piece.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
        // A text with entities is no piece of the file.
        let end = Some(start.wrapping_add(piece.len())).filter(|end| text.get(start..*end) == Some(piece))?;
        let is_verbatim = text[..start].ends_with("<![CDATA[");
        return Some(insert(end, &if is_verbatim { lines.to_owned() } else { escaped(lines) }));
    }
    let common = "http://ssp-standard.org/SSP1/SystemStructureCommon";
    let annotation = format!(
        "  <ssc:Annotation xmlns:ssc=\"{common}\" type=\"{SSP_SETTINGS}\">\n      <powerbond:Settings xmlns:powerbond=\"{SSP_SETTINGS}\">\
         <![CDATA[{}]]></powerbond:Settings>\n    </ssc:Annotation>\n  ",
        lines.replace("]]>", "]]]]><![CDATA[>")
    );
    // The last thing in the root is `Annotations`, and nothing but its end follows.
    let end = text.rfind("</")?;
    if child(root, "Annotations").is_some() {
        return Some(insert(text[..end].rfind("</")?, &annotation));
    }
    let tag = &text[end + 2..];
    let prefix = tag
        .split_once(':')
        .filter(|(prefix, _)| !prefix.contains('>'))
        .map(|(prefix, _)| format!("{prefix}:"));
    let list = prefix.unwrap_or_default() + "Annotations";
    Some(insert(end, &format!("  <{list}>\n  {annotation}</{list}>\n")))
}

/// Bonds that belong to the same connections.
struct Together<'a> {
    bonds: Vec<&'a BondSuggestion>,
    inputs: BTreeSet<&'a VariableName>,
    /// The bytes of the connections.
    places: BTreeSet<usize>,
}

impl Together<'_> {
    /// Of the only bond, or what the names of all of them begin with.
    fn name(&self) -> String {
        let first = self.bonds[0].name.as_str();
        let is_common = |end: &usize| self.bonds.iter().all(|bond| bond.name.starts_with(&first[..*end]));
        let ends = first.char_indices().map(|(at, c)| at + c.len_utf8());
        let common = ends.take_while(is_common).last().map_or("", |end| &first[..end]);
        let plain = if self.bonds.len() > 1 { common.trim_end_matches(['_', '-']) } else { common };
        if plain.is_empty() { first } else { plain }.to_owned()
    }
}

/// With `powerBond` at the connections of every bond that OSP can say, how many those are, and the others.
fn in_connections(
    system: &System,
    source: &Source,
    bonds: &[BondSuggestion],
) -> (Option<String>, usize, Vec<String>) {
    let fed: BTreeMap<&VariableName, &Connection> =
        system.connections.iter().map(|c| (&c.to.value, c)).collect();
    // By the byte of the element that makes the connection.
    let mut made: BTreeMap<usize, Vec<&VariableName>> = BTreeMap::new();
    for connection in &system.connections {
        made.entry(connection.to.offset().unwrap_or(0)).or_default().push(&connection.to.value);
    }
    let mut left_out = Vec::new();
    let unsaid = |bond: &BondSuggestion| {
        format!(
            "`{}`: OSP knows bonds of two simulators whose variables or groups are connected as they are",
            bond.name
        )
    };
    let mut said: Vec<Together<'_>> = Vec::new();
    for bond in bonds {
        let [first, second] = &bond.ports;
        let inputs: BTreeSet<&VariableName> = first.inputs.iter().chain(&second.inputs).collect();
        let pairs = first.inputs.iter().chain(&second.inputs);
        let plain = pairs.zip(second.outputs.iter().chain(&first.outputs)).all(|(input, output)| {
            let plain = |c: &&&Connection| {
                matches!(&c.from[..], [(from, gain)] if from.value == *output && *gain == 1.0)
                    && c.offset == 0.0
            };
            fed.get(input)
                .filter(plain)
                .is_some_and(|c| source.text[c.to.offset().unwrap_or(0)..].starts_with("Variable"))
        });
        if !bond.certain {
            left_out.push(format!("`{}`, which is uncertain", bond.name));
        } else if !plain || first.ratio != 1.0 || second.ratio != 1.0 {
            left_out.push(unsaid(bond));
        } else {
            let places: BTreeSet<usize> =
                inputs.iter().filter_map(|input| fed.get(input)?.to.offset()).collect();
            let mut new = Together { bonds: vec![bond], inputs, places };
            // Where a connection of groups belongs to several, they are one bond of vectors.
            let (same, others): (Vec<_>, Vec<_>) =
                said.into_iter().partition(|other| !other.places.is_disjoint(&new.places));
            said = others;
            for other in same {
                new.bonds.splice(0..0, other.bonds);
                new.inputs.extend(other.inputs);
                new.places.extend(other.places);
            }
            said.push(new);
        }
    }
    // A group becomes part of the bond with all of its variables.
    let (whole, parts): (Vec<_>, Vec<_>) = said.into_iter().partition(|together| {
        together.places.iter().flat_map(|place| &made[place]).all(|input| together.inputs.contains(input))
    });
    left_out.extend(parts.iter().flat_map(|together| &together.bonds).map(|bond| unsaid(bond)));
    let wanted = whole.len();
    let mut named: BTreeMap<usize, String> = BTreeMap::new();
    for together in whole {
        let name = together.name();
        named.extend(together.places.into_iter().map(|place| (place, name.clone())));
    }
    let mut text = source.text.clone();
    for (place, bond) in named.into_iter().rev() {
        let end =
            text[place..].find(|c: char| !c.is_alphanumeric()).map_or(text.len(), |length| place + length);
        text.insert_str(end, &format!(" powerBond=\"{}\"", escaped(&bond)));
    }
    (Some(text), wanted, left_out)
}
