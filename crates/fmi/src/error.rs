//! What can be wrong with an FMU, layer by layer; every message names the thing and the cure.

use crate::nearby;
use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Something is wrong with an FMU.
#[derive(Debug, Error)]
#[error("{}: {problem}", file.display())]
pub struct FmuError {
    /// The `.fmu` file or the unpacked folder.
    pub file: PathBuf,
    /// What.
    #[source]
    pub problem: Problem,
}

/// What is wrong, by layer.
#[derive(Debug, Error)]
pub enum Problem {
    /// The zip file or the folder.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The model description.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// The shared library.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// An instance.
    #[error(transparent)]
    Instance(#[from] InstanceError),
}

/// What is wrong with a zip file or a folder.
#[derive(Debug, Error)]
#[allow(missing_docs)] // The fields are what the message prints.
pub enum ArchiveError {
    #[error("it cannot be opened: {error}{hint}")]
    Open { error: std::io::Error, hint: String },
    #[error("it is a device or a pipe; expected a `.fmu` file or its unpacked folder")]
    NoFile,
    #[error("it is not a readable zip file: {0}")]
    NotZip(String),
    #[error("entry `{entry}` cannot be read: {message}. The file may be damaged or cut off")]
    Entry { entry: String, message: String },
    #[error("entry `{entry}` is outside of the archive's folder (zip slip)")]
    Escapes { entry: String },
    #[error("entry `{entry}` is a symbolic link or a special file, which is not supported")]
    Special { entry: String },
    #[error("duplicate entry `{entry}`")]
    Twice { entry: String },
    #[error("it holds {count} entries, more than the limit of {limit}")]
    TooMany { count: usize, limit: usize },
    #[error("entry `{entry}` lies {depth} folders deep, more than the limit of {limit}")]
    TooDeep { entry: String, depth: usize, limit: usize },
    #[error("entry `{entry}` unpacks to more than the limit of {limit} bytes")]
    TooBig { entry: String, limit: u64 },
    #[error("it unpacks to more than the limit of {limit} bytes (reached at entry `{entry}`)")]
    TooBigInAll { entry: String, limit: u64 },
    #[error("entry `{entry}` unpacks to {bytes} bytes, more than {limit} times its packed size")]
    Ratio { entry: String, bytes: u64, limit: u64 },
    #[error("up to entry `{entry}` it unpacks to {bytes} bytes, more than {limit} times its own size")]
    RatioInAll { entry: String, bytes: u64, limit: u64 },
    #[error("missing `{entry}`{}", instead_in(folder))]
    Missing { entry: String, folder: Option<String> },
    #[error("`{}` cannot be written: {error}. Set TMPDIR to a folder with space and execute permission", path.display())]
    Write { path: PathBuf, error: std::io::Error },
}

impl ArchiveError {
    /// The file at `path` cannot be opened.
    pub(crate) fn open(path: &Path) -> impl Fn(std::io::Error) -> ArchiveError {
        move |error| ArchiveError::Open { hint: nearby::hint(path, &error), error }
    }
}

/// What is wrong with an XML file of an FMU, and where.
#[derive(Debug, Error)]
#[error("{file}:{line}: {problem}")]
pub struct DescriptionError {
    /// `modelDescription.xml` or `terminalsAndIcons.xml`.
    pub file: &'static str,
    /// From 1.
    pub line: u32,
    /// What.
    pub problem: DescriptionProblem,
}

/// What is wrong in an XML file of an FMU.
#[derive(Debug, Error, PartialEq)]
#[allow(missing_docs)] // The fields are what the message prints.
pub enum DescriptionProblem {
    #[error("not well-formed XML: {message}")]
    NotXml { message: String },
    #[error("document type declarations are not supported")]
    Dtd,
    #[error("more than {limit} XML nodes")]
    TooManyNodes { limit: u32 },
    #[error("elements are nested more than {limit} deep")]
    TooDeep { limit: usize },
    #[error("an element has more than {limit} attributes")]
    TooManyAttributes { limit: usize },
    #[error("unsupported or invalid encoding; save the file as UTF-8")]
    Encoding,
    #[error("the root element is `{found}`, expected `{expected}`")]
    Root { found: String, expected: &'static str },
    #[error("`{element}` lacks the attribute `{attribute}`")]
    NoAttribute { element: String, attribute: &'static str },
    #[error("missing element `{element}`")]
    NoElement { element: &'static str },
    #[error("fmiVersion is `{version}`; FMI 1.0, 2.0 and 3.0 are supported")]
    Version { version: String },
    #[error("modelIdentifier `{identifier}` is not a file name")]
    Identifier { identifier: String },
    #[error("value reference `{value}` is not a number between 0 and 4294967295")]
    Reference { value: String },
    #[error("`{element}` refers to variable {index}, but there are {count} variables")]
    Index { element: String, index: u64, count: usize },
    #[error("`{element}` refers to value reference {reference}, which no variable has")]
    NoReference { element: String, reference: u64 },
    #[error("duplicate element `{element}`; the first one is in line {first}")]
    Twice { element: String, first: u32 },
    #[error(
        "duplicate variable name `{name}`: {other}, and in line {first} {one}. Which one is meant cannot be told"
    )]
    SameName { name: String, first: u32, one: &'static str, other: &'static str },
    #[error("the start value `{value}` of {what} is not {expected}")]
    Start { what: String, value: String, expected: &'static str },
    #[error("`{name}` has {size} elements and {count} start values; expected as many, or one for all")]
    StartCount { name: String, size: u64, count: usize },
    #[error("a dimension of `{name}` needs either `start`, its length, or `valueReference`; found {found}")]
    Dimension { name: String, found: String },
    #[error("`{name}` has {size} elements, more than the limit of {limit}")]
    ArraySize { name: String, size: u64, limit: u64 },
}

/// Something in an XML file that is not as the standard wants it, but can be lived with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// `modelDescription.xml` or `terminalsAndIcons.xml`.
    pub file: &'static str,
    /// From 1.
    pub line: u32,
    /// One sentence.
    pub text: String,
    /// It may be that something else was meant than what was read: a run says so among its warnings.
    pub is_doubtful: bool,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}

/// What is wrong with the shared library of an FMU.
#[derive(Debug, Error)]
#[allow(missing_docs)] // The fields are what the message prints.
pub enum LibraryError {
    #[error(
        "no co-simulation interface, only {offers}. powerbond runs co-simulation FMUs; export the model again for \
         co-simulation"
    )]
    NotCoSimulation { offers: String },
    #[error("no library for this platform ({wanted}); found {found}")]
    Platform { wanted: String, found: String },
    #[error("missing `{expected}`; the folder holds {found}")]
    Missing { expected: String, found: String },
    #[error("the library `{library}` cannot be loaded: {message}")]
    Load { library: String, message: String },
    #[error("the library `{library}` does not export `{symbol}`, which the standard requires")]
    Symbol { library: String, symbol: String },
}

/// What is wrong with an instance of an FMU.
#[derive(Debug, Error)]
#[allow(missing_docs)] // The fields are what the message prints.
pub enum InstanceError {
    #[error("`{call}` returned no instance of `{name}`{log}{}", why_refused(guid, tool, log))]
    Refused { name: String, call: &'static str, guid: String, tool: Option<String>, log: String },
    #[error(
        "it can be instantiated only once per process, and `{name}` would be a second instance. Run it in a process of \
         its own"
    )]
    OncePerProcess { name: String },
    #[error("no scratch instances are made: {why}")]
    NoScratch { why: String },
    #[error("unknown variable `{name}`{}", did_you_mean(suggestion))]
    NoVariable { name: String, suggestion: Option<String> },
    #[error("`{name}` is {causality}, not a parameter; set it in `start`")]
    NotAParameter { name: String, causality: &'static str },
    #[error("`{name}` cannot be set: it is {reason}")]
    NotSettable { name: String, reason: String },
    #[error("`{name}` is of type {kind}; {value} is not a value of this type")]
    Type { name: String, kind: &'static str, value: String },
    #[error("`{name}` has {expected} element(s), found {found}")]
    Length { name: String, expected: usize, found: usize },
    #[error("`{call}` returned {status} for `{name}`{log}")]
    Status { name: String, call: &'static str, status: String, log: String },
    #[error("the library does not export `{call}`, which {purpose} needs")]
    NoFunction { call: &'static str, purpose: String },
    #[error("{problem}")]
    Text { problem: TextProblem },
}

/// What is wrong with a text that goes to an FMU.
#[derive(Debug, Error)]
#[allow(missing_docs)] // The fields are what the message prints.
pub enum TextProblem {
    #[error("`{text}` contains a null character, which FMI strings do not support")]
    ZeroByte { text: String },
}

/// What to do about an FMU that gives no instance. What it said itself is better than a guess.
fn why_refused(guid: &str, tool: &Option<String>, log: &str) -> String {
    if let Some((_, rest)) = log.split_once("No module named ") {
        let module =
            rest.trim_start_matches(['\'', '"']).split(['\'', '"', ')', '\n']).next().unwrap_or_default();
        return format!(
            ". It runs Python code, and the interpreter that it loads lacks `{module}`: put the folder of its modules into \
             PYTHONPATH, which `python3 -c \"import sysconfig; print(sysconfig.get_path('purelib'))\"` prints"
        );
    }
    let tool = tool.as_ref().map_or(String::new(), |tool| format!(". It needs the tool that made it{tool}"));
    if log.is_empty() {
        format!(
            ". Often the library does not belong to this model description (guid `{guid}`) or a resource or licence is \
             missing{tool}"
        )
    } else if ["guid", "token"].iter().any(|word| log.to_ascii_lowercase().contains(word)) {
        format!(". The library does not belong to this model description, which says `{guid}`{tool}")
    } else {
        tool
    }
}

fn instead_in(folder: &Option<String>) -> String {
    folder.as_ref().map_or(String::new(), |folder| {
        format!(", only one in `{folder}/`: the content of that folder belongs to the top of the archive, not the folder itself")
    })
}

fn did_you_mean(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map_or(String::new(), |s| format!(". Did you mean `{s}`?"))
}

#[cfg(test)]
mod tests {
    use super::why_refused;

    #[test]
    fn what_an_fmu_says_is_better_than_a_guess() {
        let tool = Some(": PythonFMU 0.7.0".to_owned());
        assert!(
            why_refused("{1}", &tool, "")
                .ends_with("missing. It needs the tool that made it: PythonFMU 0.7.0")
        );
        assert!(why_refused("{1}", &None, "").contains("(guid `{1}`)"));
        assert_eq!(why_refused("{1}", &None, ": no licence"), "");
        assert!(why_refused("{1}", &None, ": Wrong GUID").ends_with("which says `{1}`"));
        let log = ": findClass\nModuleNotFoundError(\"No module named 'numpy'\")";
        assert!(why_refused("{1}", &tool, log).contains("the interpreter that it loads lacks `numpy`: put"));
    }
}
