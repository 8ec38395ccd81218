//! What was meant by a verb that does not exist.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::path::Path;

/// Verbs of other tools, and ours.
const OTHERS: [(&str, &str); 14] = [
    ("simulate", "run"),
    ("sim", "run"),
    ("start", "run"),
    ("execute", "run"),
    ("exec", "run"),
    ("verify", "run --verify"),
    ("show", "inspect"),
    ("describe", "inspect"),
    ("lint", "check"),
    ("plot", "report"),
    ("diff", "compare"),
    ("optimize", "tune"),
    ("benchmark", "bench"),
    ("list", "methods"),
];

/// Puts a tip into an error about an unknown verb: the verb of ours for that of another tool, the nearest one for a typing error, and
/// `run` for a file. FMUs that are named after a first one are meant to be coupled.
pub fn add(mut error: clap::Error) -> clap::Error {
    if let (ErrorKind::UnknownArgument, Some(ContextValue::String(typed))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
        && Path::new(typed).extension().is_some_and(|e| e.eq_ignore_ascii_case("fmu"))
    {
        let tip = "to couple FMUs, write a system file: 'powerbond new first.fmu second.fmu'".to_owned();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return error;
    }
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand).cloned() else {
        return error;
    };
    if Path::new(&typed).exists() {
        let tip = format!("to run it, type 'powerbond run {typed}'");
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return error;
    }
    let ours = OTHERS.iter().find(|(theirs, _)| typed.eq_ignore_ascii_case(theirs)).map(|(_, ours)| *ours);
    let command = crate::Arguments::command();
    let nearest = || {
        let verbs = command.get_subcommands().flat_map(clap::Command::get_name_and_visible_aliases);
        powerbond::core::suggest::closest(&typed, verbs)
    };
    if let Some(verb) = ours.or_else(nearest) {
        let verbs = ContextValue::Strings(vec![verb.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, verbs);
    }
    error
}
