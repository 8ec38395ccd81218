//! `powerbond completions` and `powerbond man`: made from the one list of verbs and options.

use crate::embedded;
use crate::text::print;
use clap::CommandFactory;
use clap::builder::PossibleValuesParser;
use powerbond::{Error, models};
use powerbond_bench::SUITES;
use std::path::{Path, PathBuf};

/// Options of `completions`.
#[derive(clap::Args)]
pub struct Completions {
    /// The shell that reads them
    shell: clap_complete::Shell,
}

/// Options of `man`.
#[derive(clap::Args)]
pub struct Man {
    /// The page of this verb (default: that of powerbond itself)
    #[arg(value_name = "VERB")]
    verb: Option<String>,
    /// Write all pages to this folder instead of printing one
    #[arg(long, value_name = "FOLDER", conflicts_with = "verb", value_hint = clap::ValueHint::DirPath)]
    output_dir: Option<PathBuf>,
}

/// Prints a script that completes verbs, options, file names, and the names of what is inside: examples, models, suites.
pub fn completions(arguments: &Completions) -> Result<u8, Error> {
    let mut script = Vec::new();
    let mut command = crate::Arguments::command();
    // Not where options are read: unknown names have better messages there.
    let lists: [(&str, &str, Vec<&'static str>); 3] = [
        ("new", "example", embedded::EXAMPLES.iter().map(|example| example.name).collect()),
        ("export", "model", models::ALL.iter().map(|model| model.name).collect()),
        ("bench", "suite", SUITES.iter().map(|suite| suite.name).chain(["list"]).collect()),
    ];
    for (verb, argument, names) in lists {
        command = command.mut_subcommand(verb, |verb| {
            verb.mut_arg(argument, |argument| argument.value_parser(PossibleValuesParser::new(names)))
        });
    }
    clap_complete::generate(arguments.shell, &mut command, "powerbond", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

/// Prints a page, or writes all of them.
pub fn man(arguments: &Man) -> Result<u8, Error> {
    let mut command = crate::Arguments::command().disable_help_subcommand(true);
    command.build();
    if let Some(folder) = &arguments.output_dir {
        let write = || {
            std::fs::create_dir_all(folder)?;
            clap_mangen::generate_to(command, folder)
        };
        write().map_err(|error| Error::output(folder, &error))?;
        print(&format!("the pages are in {}\n", folder.display()))?;
        return Ok(0);
    }
    let page = match &arguments.verb {
        None => &command,
        Some(verb) => command.find_subcommand(verb).ok_or_else(|| {
            let hint =
                powerbond::core::suggest::hint(verb, command.get_subcommands().map(clap::Command::get_name));
            Error::input(None, format!("unknown verb `{verb}`.{hint}"))
        })?,
    };
    let mut text = Vec::new();
    let rendered = clap_mangen::Man::new(page.clone()).render(&mut text);
    rendered.map_err(|error| Error::output(Path::new("stdout"), &error))?;
    print(&String::from_utf8_lossy(&text))?;
    Ok(0)
}
