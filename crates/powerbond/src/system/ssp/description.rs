//! `SystemStructure.ssd` (SSP 1.0 and 2.0), with all files that it names, as a tree.

use super::archive;
use super::mapping::{self, Entry};
use super::schema::KNOWN;
use super::settings;
use super::transformation::Transformation;
use super::values::{self, Parameter, is_type, type_named, unit_of};
use crate::Error;
use crate::error::Collector;
use crate::source::xml::{Node, Reader, Text, child, elements, list, name};
use crate::source::{At, Source};
use crate::system::structure::{Folder, Located, decoded, strangers};
use powerbond_core::suggest::hint;
use powerbond_core::units::Unit;
use powerbond_fmi::{Archive, Limits, Unpacked};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the root element.
pub const ROOT: &str = "SystemStructureDescription";
/// The file in an archive that is the system.
pub const FILE: &str = "SystemStructure.ssd";
/// Systems in systems in files in archives: more than any honest one has.
const MAX_DEPTH: usize = 64;
/// Elements of all files together: a file may name others, and systems inside of itself, as often as it likes.
const MOST_ELEMENTS: usize = 100_000;
/// Structures of components, each as often as it is named.
const MOST_FILES: usize = 10_000;
/// What the namespaces of the standard begin with.
const NAMESPACES: &str = "http://ssp-standard.org/SSP1/SystemStructure";

/// A component, a system or a reference to a dictionary.
pub struct Element {
    /// Unique in its system.
    pub name: At<String>,
    /// What it shows to the outside.
    pub connectors: BTreeMap<String, Connector>,
    /// Values for what is in it, those with precedence last.
    pub bindings: Vec<Parameter>,
    /// What it is.
    pub part: Part,
}

/// What an element is.
pub enum Part {
    /// An FMU.
    Fmu {
        /// Its file.
        path: At<PathBuf>,
        /// It runs in a process of its own.
        own_process: bool,
        /// In which steps its author would run it, in s.
        hint: Option<At<f64>>,
    },
    /// A system.
    System(Level),
    /// A view on the dictionary of this name.
    Dictionary(At<String>),
}

/// What is in a system.
#[derive(Default)]
pub struct Level {
    /// Its parts.
    pub elements: Vec<Element>,
    /// What is connected.
    pub wires: Vec<Wire>,
    /// Signals that its parts share.
    pub dictionaries: Vec<Dictionary>,
    /// Names of parts that could not be read, which was told.
    pub unread: HashSet<String>,
}

/// Signals by name.
pub struct Dictionary {
    /// Its name.
    pub name: At<String>,
    /// Its signals.
    pub entries: BTreeMap<String, Connector>,
}

/// Which way values go at a connector, as its owner sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Values enter: an input or a parameter.
    In,
    /// Values leave: an output, or what is calculated.
    Out,
}

impl Flow {
    /// Of the `kind` of a connector; none if it leaves that open.
    fn of(kind: &str) -> Option<Flow> {
        match kind {
            "input" | "parameter" | "structuralParameter" => Some(Flow::In),
            "output" | "calculatedParameter" | "constant" | "local" => Some(Flow::Out),
            _ => None,
        }
    }

    /// As seen from the other side: from inside of a system.
    pub fn reversed(self) -> Flow {
        match self {
            Flow::In => Flow::Out,
            Flow::Out => Flow::In,
        }
    }
}

/// A connector or an entry of a dictionary.
#[derive(Clone)]
pub struct Connector {
    /// Where it stands.
    pub place: At<()>,
    /// Which way values go, if it says so.
    pub flow: Option<Flow>,
    /// What it says that its values are, such as `Real`.
    pub kind: Option<&'static str>,
    /// Its unit, if it says one.
    pub unit: Option<Unit>,
    /// Names and values of the items of its enumeration.
    pub items: Arc<Vec<(String, f64)>>,
}

/// A connection.
pub struct Wire {
    /// Where it stands.
    pub place: At<()>,
    /// From where.
    pub start: End,
    /// To where.
    pub end: End,
    /// What becomes of the value after its unit was converted.
    pub then: Option<Transformation>,
    /// Units are not converted.
    pub suppress_units: bool,
}

/// An end of a connection.
pub struct End {
    /// `None`: the system itself.
    pub element: Option<String>,
    /// The connector.
    pub connector: String,
    /// The element of an array, as in `[2,1]`; empty: all of it.
    pub indices: String,
}

/// A whole file.
pub struct Structure {
    /// Its text.
    pub source: Arc<Source>,
    /// The name that it gives itself.
    pub name: String,
    /// The outermost system.
    pub root: Element,
    /// Start and end, in s.
    pub experiment: [Option<At<f64>>; 2],
    /// The step that another tool's annotation asks for, in s.
    pub step: Option<At<f64>>,
    /// Our settings.
    pub settings: Option<Arc<Source>>,
}

/// Reads structures; goes on after a mistake.
#[derive(Default)]
pub struct Loader {
    /// What was forgiven.
    pub notes: Vec<String>,
    /// What was not.
    pub problems: Collector,
    /// Folders of nested archives that live as long as the system.
    pub keep: Vec<Arc<Unpacked>>,
    /// The only parameter sets that count, by their name; none: all of them.
    pub only: Option<String>,
    /// The names of all parameter sets.
    pub sets: BTreeSet<String>,
    /// The files that are being read, the outermost first.
    open: Vec<PathBuf>,
    /// The systems that components of these files refer to by their `id`, likewise.
    repeated: Vec<(Option<PathBuf>, String)>,
    depth: usize,
    elements: usize,
    files: usize,
}

/// Where the files are that a component has inside of it.
enum Inside {
    /// In an archive.
    Archive(PathBuf),
    /// Beside a structure.
    Folder(Folder),
}

/// What a component is, what is bound inside of it, and where its files are.
type Opened = (Option<Part>, Vec<Parameter>, Option<Inside>);

/// What elements of one file have in common.
struct Context<'a> {
    reader: Reader<'a>,
    folder: &'a Folder,
    units: BTreeMap<String, Unit>,
    enumerations: BTreeMap<String, Arc<Vec<(String, f64)>>>,
}

impl Loader {
    /// Of these parameter sets only those of one name may count.
    pub fn of(only: Option<&str>) -> Self {
        Loader { only: only.map(str::to_owned), ..Loader::default() }
    }

    /// Reads the file at `path`; none after a mistake that left nothing to go on with.
    pub fn read(&mut self, file: &Located, folder: &Folder) -> Result<Option<Structure>, Error> {
        let text = Text::read(&file.path, &file.shown)?;
        self.notes.extend(text.notes.iter().cloned());
        let (reader, document) = (text.reader(), text.parse()?);
        let root = document.root_element();
        reader.expect(root, ROOT)?;
        self.note_namespace(reader, root, "Description");
        self.notes.extend(strangers(reader, root, KNOWN));
        if let Some(version) = root.attribute("version").filter(|v| !matches!(*v, "1.0" | "2.0")) {
            self.notes.push(format!(
                "{}SSP {version}: read as 2.0, the last version that is known here",
                reader.prefix(root)
            ));
        }
        let units = self.problems.keep_or(BTreeMap::new(), values::units(reader, root));
        let mut context = Context { reader, folder, units, enumerations: BTreeMap::new() };
        for node in list(root, "Enumerations") {
            self.enumeration(&mut context, node);
        }
        let Some(system) = child(root, "System") else {
            return reader.fail(root, format!("missing `System` in `{ROOT}`"));
        };
        let Some(element) = self.element(&context, system) else { return Ok(None) };
        let experiment = child(root, "DefaultExperiment");
        let mut time = |attribute| {
            let node = experiment?;
            let found = self.problems.keep(reader.number(node, attribute)).flatten()?;
            Some(reader.at(node, found))
        };
        let times = [time("startTime"), time("stopTime")];
        let annotated = [experiment, Some(root), Some(system)].into_iter().flatten();
        let annotations: Vec<Node<'_, '_>> = annotated.flat_map(|n| list(n, "Annotations")).collect();
        let step =
            annotations.iter().find_map(|n| self.problems.keep(settings::base_step(reader, *n)).flatten());
        let own = annotations.iter().find_map(|n| settings::settings(text.source(), *n));
        let name = root.attribute("name").filter(|name| !name.trim().is_empty());
        let stem = || file.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Some(Structure {
            source: text.source().clone(),
            name: name.map_or_else(stem, str::to_owned),
            root: element,
            experiment: times,
            step,
            settings: own,
        }))
    }

    fn note_namespace(&mut self, reader: Reader<'_>, root: Node<'_, '_>, suffix: &str) {
        let (found, wanted) = (root.tag_name().namespace().unwrap_or(""), format!("{NAMESPACES}{suffix}"));
        if found != wanted {
            self.notes.push(format!(
                "{}the namespace of `{}` is `{found}`; it is read as `{wanted}`",
                reader.prefix(root),
                name(root)
            ));
        }
    }

    fn enumeration(&mut self, context: &mut Context<'_>, node: Node<'_, '_>) {
        let reader = context.reader;
        let Some(of) = self.problems.keep(reader.attribute(node, "name")) else { return };
        let item = |item| {
            Ok((reader.attribute(item, "name")?.to_owned(), reader.number(item, "value")?.unwrap_or(0.0)))
        };
        let items = elements(node).filter(|n| name(*n) == "Item").filter_map(|n| self.problems.keep(item(n)));
        let items = Arc::new(items.collect());
        context.enumerations.insert(of.to_owned(), items);
    }

    /// A component, a system or a reference to a dictionary.
    fn element(&mut self, context: &Context<'_>, node: Node<'_, '_>) -> Option<Element> {
        let reader = context.reader;
        if self.depth >= MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} systems in each other");
            self.problems.keep::<()>(reader.fail(node, message));
            return None;
        }
        self.elements += 1;
        if self.elements > MOST_ELEMENTS {
            if self.elements == MOST_ELEMENTS + 1 {
                let message =
                    format!("more than {MOST_ELEMENTS} elements, with those of all files that are named");
                self.problems.keep::<()>(reader.fail(node, message));
            }
            return None;
        }
        self.depth += 1;
        let element = self.element_at_depth(context, node);
        self.depth -= 1;
        element
    }

    fn element_at_depth(&mut self, context: &Context<'_>, node: Node<'_, '_>) -> Option<Element> {
        let reader = context.reader;
        let own = match node.attribute("name") {
            Some(name) => reader.at(node, name.to_owned()),
            // The outermost system needs no name in files of some tools.
            None if name(node) == "System" => reader.at(node, "system".to_owned()),
            None => self.problems.keep(reader.text(node, "name"))?,
        };
        if own.value.trim_matches(['.', '/']).is_empty() {
            self.problems
                .keep::<()>(reader.fail(node, format!("`{}` is not a valid name of an element", own.value)));
        }
        let mut connectors = BTreeMap::new();
        self.connectors(context, list(node, "Connectors"), "connectors", &mut connectors);
        let (part, mut bindings, inside) = match name(node) {
            "System" => (Some(Part::System(self.level(context, node))), Vec::new(), None),
            "SignalDictionaryReference" => {
                let dictionary = self.problems.keep(reader.text(node, "dictionary"));
                (dictionary.map(Part::Dictionary), Vec::new(), None)
            }
            _ => self.component(context, node, &mut connectors),
        };
        for binding in list(node, "ParameterBindings") {
            let found = self.binding(context, binding, inside.as_ref());
            bindings.extend(self.problems.keep(found).unwrap_or_default());
        }
        Some(Element { name: own, connectors, bindings, part: part? })
    }

    fn connectors<'n, 'i: 'n>(
        &mut self,
        context: &Context<'_>,
        nodes: impl Iterator<Item = Node<'n, 'i>>,
        what: &str,
        connectors: &mut BTreeMap<String, Connector>,
    ) {
        let reader = context.reader;
        for node in nodes {
            let Some(of) = self.problems.keep(reader.attribute(node, "name")) else { continue };
            let typed = elements(node).find(|n| is_type(*n));
            let unit = typed.and_then(|n| unit_of(&context.units, n));
            let items = typed.filter(|n| name(*n) == "Enumeration").and_then(|n| n.attribute("name"));
            let items = items.and_then(|name| context.enumerations.get(name)).cloned().unwrap_or_default();
            let flow = node.attribute("kind").and_then(Flow::of);
            let kind = typed.and_then(|n| type_named(name(n)));
            let connector = Connector { place: reader.at(node, ()), flow, kind, unit, items };
            if connectors.insert(of.to_owned(), connector).is_some() {
                self.problems.keep::<()>(reader.fail(node, format!("two {what} `{of}`")));
            }
        }
    }

    /// What is in a system.
    fn level(&mut self, context: &Context<'_>, node: Node<'_, '_>) -> Level {
        let reader = context.reader;
        let mut level = Level::default();
        let mut names = HashSet::new();
        for node in list(node, "Elements") {
            if !matches!(name(node), "Component" | "System" | "SignalDictionaryReference") {
                self.problems.keep::<()>(reader.fail(node, format!("unknown element `{}`", name(node))));
                continue;
            }
            let Some(element) = self.element(context, node) else {
                level.unread.extend(node.attribute("name").map(str::to_owned));
                continue;
            };
            if !names.insert(element.name.value.clone()) {
                let message = format!("two elements `{}` in one system", element.name.value);
                self.problems.keep::<()>(reader.fail(node, message));
                continue;
            }
            level.elements.push(element);
        }
        for node in list(node, "Connections").filter(|n| name(*n) == "Connection") {
            let wire = self.wire(reader, node);
            level.wires.extend(self.problems.keep(wire));
        }
        for node in list(node, "SignalDictionaries") {
            let dictionary = self.dictionary(context, node);
            level.dictionaries.extend(self.problems.keep(dictionary));
        }
        level
    }

    fn wire(&mut self, reader: Reader<'_>, node: Node<'_, '_>) -> Result<Wire, Error> {
        let mut problems = Collector::new();
        let mut end = |side: &str| {
            let attribute = |name: &str| format!("{side}{name}");
            let element = node.attribute(attribute("Element").as_str()).filter(|name| !name.is_empty());
            let connector = problems.keep(reader.attribute(node, &attribute("Connector")));
            let indices = problems.keep(indices(reader, node, &attribute("Indices")));
            Some(End {
                element: element.map(str::to_owned),
                connector: connector?.to_owned(),
                indices: indices?,
            })
        };
        let ends = (end("start"), end("end"));
        let then = problems.keep(Transformation::read(reader, node)).flatten();
        let suppress_units = problems.keep_or(false, reader.flag(node, "suppressUnitConversion"));
        let wire = match ends {
            (Some(start), Some(end)) => {
                Some(Wire { place: reader.at(node, ()), start, end, then, suppress_units })
            }
            _ => None,
        };
        problems.finish_some(wire)
    }

    /// The text of a file, or what stands inside of `node`: then `None`.
    fn external(
        &mut self,
        context: &Context<'_>,
        node: Node<'_, '_>,
        inside: Option<&Inside>,
    ) -> Result<Option<Text>, Error> {
        let Some(source) = node.attribute("source").filter(|source| !source.is_empty()) else {
            return Ok(None);
        };
        let beside = |folder: &Folder| {
            let file = folder.locate(context.reader, node, source)?;
            Text::read(&file.path, &file.shown).map_err(|e| e.placed(context.reader.at(node, ()).place()))
        };
        let text = match (node.attribute("sourceBase"), inside) {
            (Some("component"), Some(Inside::Archive(archive))) => {
                in_archive(context.reader, node, source, archive)?
            }
            (Some("component"), Some(Inside::Folder(folder))) => beside(folder)?,
            (Some("component"), None) => {
                let message = "`sourceBase=\"component\"`: only components have files inside of them";
                return context.reader.fail(node, message);
            }
            _ => beside(context.folder)?,
        };
        self.notes.extend(text.notes.iter().cloned());
        Ok(Some(text))
    }

    /// What `read` makes of the root of another file, or of the element `root` inside of `node`; none if there is neither.
    fn root<T>(
        &mut self,
        context: &Context<'_>,
        (node, inline): (Node<'_, '_>, Option<Node<'_, '_>>),
        (inside, root, suffix): (Option<&Inside>, &str, &str),
        read: impl Fn(Reader<'_>, Node<'_, '_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        if let Some(text) = self.external(context, node, inside)? {
            let document = text.parse()?;
            self.note_namespace(text.reader(), document.root_element(), suffix);
            self.notes.extend(strangers(text.reader(), document.root_element(), KNOWN));
            return read(text.reader(), document.root_element()).map(Some);
        }
        let Some(found) = inline.into_iter().flat_map(elements).find(|n| name(*n) == root) else {
            return Ok(None);
        };
        self.note_namespace(context.reader, found, suffix);
        read(context.reader, found).map(Some)
    }

    fn binding(
        &mut self,
        context: &Context<'_>,
        node: Node<'_, '_>,
        inside: Option<&Inside>,
    ) -> Result<Vec<Parameter>, Error> {
        let reader = context.reader;
        reader.expect(node, "ParameterBinding")?;
        let kind = node.attribute("type").unwrap_or("application/x-ssp-parameter-set");
        if kind != "application/x-ssp-parameter-set" {
            return reader.fail(node, format!("parameters of type `{kind}` are not supported"));
        }
        let of_set = (inside, values::ROOT, "ParameterValues");
        let named = |reader: Reader<'_>, node: Node<'_, '_>| {
            let name = node.attribute("name").unwrap_or_default().to_owned();
            values::read(reader, node).map(|set| (name, set))
        };
        let set = self.root(context, (node, child(node, "ParameterValues")), of_set, named)?;
        let Some((of, mut set)) = set else {
            return reader.fail(
                node,
                "the binding has neither a `source` nor an `ssv:ParameterSet` inside of `ParameterValues`",
            );
        };
        let is_wanted = self.only.as_ref().is_none_or(|only| *only == of);
        self.sets.insert(of);
        if !is_wanted {
            return Ok(Vec::new());
        }
        if let Some(prefix) = node.attribute("prefix") {
            set.iter_mut().for_each(|parameter| parameter.name.value.insert_str(0, prefix));
        }
        let Some(names) = child(node, "ParameterMapping") else { return Ok(set) };
        let of_mapping = (inside, mapping::ROOT, "ParameterMapping");
        let entries: Option<Vec<Entry>> =
            self.root(context, (names, Some(names)), of_mapping, mapping::read)?;
        let Some(entries) = entries else {
            return reader
                .fail(names, "the mapping has neither a `source` nor an `ssm:ParameterMapping` inside");
        };
        Ok(mapping::apply(&entries, set, &mut self.notes))
    }

    fn dictionary(&mut self, context: &Context<'_>, node: Node<'_, '_>) -> Result<Dictionary, Error> {
        let own = context.reader.text(node, "name")?;
        let mut entries = BTreeMap::new();
        let external = self.external(context, node, None)?;
        match &external {
            Some(text) => {
                let document = text.parse()?;
                self.notes.extend(strangers(text.reader(), document.root_element(), KNOWN));
                self.entries(context.folder, text.reader(), document.root_element(), &mut entries);
            }
            None => match elements(node).find(|n| name(*n) == "SignalDictionary") {
                Some(found) => self.entries(context.folder, context.reader, found, &mut entries),
                None => {
                    let message =
                        "the dictionary has neither a `source` nor an `ssb:SignalDictionary` inside";
                    return context.reader.fail(node, message);
                }
            },
        }
        Ok(Dictionary { name: own, entries })
    }

    fn entries(
        &mut self,
        folder: &Folder,
        reader: Reader<'_>,
        root: Node<'_, '_>,
        entries: &mut BTreeMap<String, Connector>,
    ) {
        self.note_namespace(reader, root, "SignalDictionary");
        let units = self.problems.keep_or(BTreeMap::new(), values::units(reader, root));
        let mut context = Context { reader, folder, units, enumerations: BTreeMap::new() };
        for node in list(root, "Enumerations") {
            self.enumeration(&mut context, node);
        }
        let nodes = elements(root).filter(|n| name(*n) == "DictionaryEntry");
        self.connectors(&context, nodes, "entries", entries);
    }

    /// An FMU or a system in another file, or one of this file by its `id`; of these also what they bind inside.
    fn component(
        &mut self,
        context: &Context<'_>,
        node: Node<'_, '_>,
        connectors: &mut BTreeMap<String, Connector>,
    ) -> Opened {
        if let Some(id) = node.attribute("source").and_then(|source| source.strip_prefix('#')) {
            let found = self.repeated(context, node, id);
            return self.nested_part(found, connectors, None);
        }
        let found = self.component_file(context, node);
        let Some((kind, file, variant)) = self.problems.keep(found) else { return (None, Vec::new(), None) };
        if kind == Kind::Fmu {
            let hint = list(node, "Annotations")
                .find_map(|n| self.problems.keep(settings::step_hint(context.reader, n)).flatten());
            let (inside, path) = (Inside::Archive(file.path.clone()), context.reader.at(node, file.path));
            return (Some(Part::Fmu { path, own_process: file.own_process, hint }), Vec::new(), Some(inside));
        }
        let inside = match kind {
            Kind::Package if !file.path.is_dir() => Inside::Archive(file.path.clone()),
            Kind::Package => Inside::Folder(context.folder.inside(&file)),
            _ => Inside::Folder(context.folder.of(&file)),
        };
        let nested = self.nested(context, node, kind, &file, variant.as_deref());
        let structure = self.problems.keep(nested).flatten();
        if structure.as_ref().is_some_and(|structure| structure.settings.is_some()) {
            let place = context.reader.prefix(node);
            self.notes.push(format!(
                "{place}the settings in {} are not used; those of the outermost file count",
                file.shown.display()
            ));
        }
        self.nested_part(structure.map(|structure| structure.root), connectors, Some(inside))
    }

    /// A system as what a component is, with its connectors beside those that the component lists.
    fn nested_part(
        &mut self,
        system: Option<Element>,
        connectors: &mut BTreeMap<String, Connector>,
        inside: Option<Inside>,
    ) -> Opened {
        let Some(Element { connectors: inner, bindings, part, .. }) = system else {
            return (None, Vec::new(), inside);
        };
        for (name, connector) in inner {
            connectors.entry(name).or_insert(connector);
        }
        (Some(part), bindings, inside)
    }

    /// The system of this file whose `id` a component names as its source.
    fn repeated(&mut self, context: &Context<'_>, node: Node<'_, '_>, id: &str) -> Option<Element> {
        let systems = || node.document().descendants().filter(|n| name(*n) == "System");
        let Some(found) = systems().find(|n| n.attribute("id") == Some(id)) else {
            let hint = hint(id, systems().filter_map(|n| n.attribute("id")));
            let message = format!("`#{id}`: no system of this file has the `id` `{id}`.{hint}");
            self.problems.keep::<()>(context.reader.fail(node, message));
            return None;
        };
        let this = (self.open.last().cloned(), id.to_owned());
        if self.repeated.contains(&this) || node.ancestors().any(|n| n == found) {
            self.problems.keep::<()>(context.reader.fail(node, format!("the system `{id}` contains itself")));
            return None;
        }
        self.repeated.push(this);
        let element = self.element(context, found);
        self.repeated.pop();
        element
    }

    /// What simulates a component, by its type and its content.
    fn component_file(
        &mut self,
        context: &Context<'_>,
        node: Node<'_, '_>,
    ) -> Result<(Kind, Located, Option<String>), Error> {
        let reader = context.reader;
        let of = node.attribute("name").unwrap_or_default();
        let Some(source) = node.attribute("source").filter(|source| !source.is_empty()) else {
            return reader.fail(node, format!("the component `{of}` lacks `source`: nothing simulates it"));
        };
        // `archive.ssp#Name.ssd` is a system in an archive, unless a file is called so.
        let (file, variant) = match (source.rsplit_once('#'), context.folder.locate(reader, node, source)) {
            (Some((address, variant)), Err(_)) => {
                (context.folder.locate(reader, node, address)?, Some(decoded(variant)))
            }
            (_, file) => (file?, None),
        };
        let by_content = Kind::of(&file.path);
        let kind = match node.attribute("type") {
            Some("application/x-ssp-definition") => Kind::Definition,
            Some("application/x-ssp-package") => Kind::Package,
            None | Some("application/x-fmu-sharedlibrary" | "") => by_content,
            Some(other) => {
                return reader.fail(
                    node,
                    format!("`{of}` is a component of type `{other}`; expected an FMU or a system of SSP"),
                );
            }
        };
        match node.attribute("implementation") {
            Some("ModelExchange") if kind == Kind::Fmu => reader.fail(
                node,
                format!("the component `{of}` is to be run as Model Exchange, which is not supported yet; export its FMU for \
                         co-simulation, or set `implementation=\"CoSimulation\"` if it has that interface, too"),
            ),
            Some("ScheduledExecution") if kind == Kind::Fmu => {
                reader.fail(node, format!("the component `{of}` is to be run by Scheduled Execution, which is not supported"))
            }
            _ if variant.is_some() && kind != Kind::Package => {
                reader.fail(node, format!("`{source}`: only an archive of SSP has several systems"))
            }
            _ => Ok((kind, file, variant)),
        }
    }

    fn nested(
        &mut self,
        context: &Context<'_>,
        node: Node<'_, '_>,
        kind: Kind,
        file: &Located,
        variant: Option<&str>,
    ) -> Result<Option<Structure>, Error> {
        let reader = context.reader;
        let place = || reader.at(node, ()).place();
        let (folder, file) = match kind {
            Kind::Package => {
                let folder = if file.path.is_dir() {
                    context.folder.inside(file)
                } else {
                    let opened = archive::open(&file.path, &file.shown).map_err(|e| e.placed(place()))?;
                    self.keep.extend(opened.keep.clone());
                    let path = opened.path;
                    Folder { path: path.clone(), shown: file.shown.clone(), archive: Some(path) }
                };
                let found = super::variant(&file.shown, &folder, variant, &mut Vec::new());
                (folder, found.map_err(|e| e.placed(place()))?)
            }
            _ => (context.folder.of(file), file.clone()),
        };
        let canonical = file.path.canonicalize().unwrap_or_else(|_| file.path.clone());
        if self.open.contains(&canonical) {
            let message = format!("{} contains itself", file.shown.display());
            return reader.fail(node, message);
        }
        self.files += 1;
        if self.files > MOST_FILES {
            // Said once: everything that is named further on is left out.
            self.elements = self.elements.max(MOST_ELEMENTS + 1);
            return reader.fail(node, format!("more than {MOST_FILES} systems in files of their own"));
        }
        self.open.push(canonical);
        let found = self.read(&file, &folder);
        self.open.pop();
        found
    }

    /// Remembers the outermost file, so that nothing nests it again.
    pub fn enter(&mut self, path: &Path) {
        self.open.push(path.canonicalize().unwrap_or_else(|_| path.to_owned()));
    }
}

/// Indices of an element of an array, from 1 on, as they stand behind its name: `[2,1]`.
fn indices(reader: Reader<'_>, node: Node<'_, '_>, attribute: &str) -> Result<String, Error> {
    let Some(text) = node.attribute(attribute) else { return Ok(String::new()) };
    let numbers: Vec<&str> = text.split_whitespace().collect();
    if numbers.is_empty() || numbers.iter().any(|n| !matches!(n.parse::<u64>(), Ok(1..))) {
        let message =
            format!("`{attribute}` is `{text}`; expected indices from 1 on, with spaces between them");
        return reader.fail(node, message);
    }
    Ok(format!("[{}]", numbers.join(",")))
}

/// What a component's file is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An FMU.
    Fmu,
    /// An `.ssd` file.
    Definition,
    /// An `.ssp` archive, or a folder as one.
    Package,
}

impl Kind {
    /// By content.
    pub fn of(path: &Path) -> Kind {
        if path.is_dir() {
            return if path.join(FILE).is_file() { Kind::Package } else { Kind::Fmu };
        }
        if super::is_package(path) {
            return Kind::Package;
        }
        let is_xml = crate::source::xml::root_name(path).is_some_and(|root| root == ROOT);
        if is_xml { Kind::Definition } else { Kind::Fmu }
    }
}

/// A file in the archive of a component.
fn in_archive(reader: Reader<'_>, node: Node<'_, '_>, source: &str, archive: &Path) -> Result<Text, Error> {
    let entry = source.trim().replace('\\', "/");
    let entry = entry.trim_start_matches("./");
    if entry.split('/').any(|part| part == "..") || entry.starts_with('/') {
        return reader.fail(node, format!("`{source}` is outside of the component"));
    }
    let shown = archive.join(entry);
    let fail = |why: String| reader.fail(node, format!("{}: {why}", shown.display()));
    let found = Archive::open(archive, Limits::default()).and_then(|mut archive| archive.xml(entry));
    match found {
        Ok(Some(bytes)) => Text::of(&shown, &bytes),
        Ok(None) => fail("missing file in the component".to_owned()),
        Err(error) => fail(error.to_string()),
    }
}
