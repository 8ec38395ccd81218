//! The `powerbond` command: thin, one file per verb. A program that is the command calls [`main_with`], whatever it is called.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod bench;
mod bonds;
mod check;
mod compare;
mod contain;
mod convert;
mod embedded;
mod examples;
mod export;
mod fmus;
mod here;
mod inspect;
mod layout;
mod live;
mod logging;
mod manual;
mod methods;
mod new;
mod progress;
mod report;
mod run;
mod stability;
mod sweep;
mod terminal;
mod text;
mod tips;
mod tune;

pub use inspect::as_json as inspected;

use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// Co-simulation that measures the energy of the coupling.
///
/// powerbond couples FMUs and models, advances each on its own and measures the power of every bond between
/// them: what does not cancel is energy that the coupling created or lost.
#[derive(Parser)]
#[command(name = "powerbond", version, max_term_width = 80, after_help = AFTER_HELP)]
struct Arguments {
    /// Log progress and messages of FMUs to stderr; -vv adds rejected steps, -vvv all steps (RUST_LOG selects
    /// in detail)
    #[arg(short, long, action = clap::ArgAction::Count, global = true, display_order = 900)]
    verbose: u8,
    /// Run FMUs in this process, as a debugger needs it; a crash then takes everything along
    #[arg(long, global = true, display_order = 901)]
    in_process: bool,
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Start with:  powerbond new --example oscillator
             powerbond run oscillator

Exit codes:
  0 success                  6 deadline exceeded, or hung
  1 internal error           7 no convergence or a limit exceeded
  2 wrong usage              8 output error
  3 invalid input            9 another host was lost
  4 model error             10 runs of a sweep failed
  5 an FMU crashed         129 hangup, 130 Ctrl-C, 143 terminated";

#[derive(Subcommand)]
enum Command {
    /// Run a coupled system and write its results
    #[command(after_help = examples::RUN)]
    Run(Box<run::Arguments>),
    /// Write a first system file from FMUs, or copy an example
    #[command(after_help = examples::NEW)]
    New(new::Arguments),
    /// Show the model description of an FMU
    #[command(visible_alias = "info", after_help = examples::INSPECT)]
    Inspect(inspect::Arguments),
    /// Check a system without running it: structure, algebraic loops, capabilities
    #[command(visible_alias = "validate", after_help = examples::CHECK)]
    Check(check::Arguments),
    /// List the power bonds of a system, and suggest those that it could declare
    #[command(after_help = examples::BONDS)]
    Bonds(bonds::Arguments),
    /// Convert a system between system files, SSP and OSP
    #[command(after_help = examples::CONVERT)]
    Convert(convert::Arguments),
    /// Write an HTML report of one run or several
    #[command(after_help = examples::REPORT)]
    Report(report::Arguments),
    /// Compare two results: error per variable
    #[command(after_help = examples::COMPARE)]
    Compare(compare::Arguments),
    /// Run all methods on a system: error against cost, and a ready `[method]`
    #[command(after_help = examples::TUNE)]
    Tune(tune::Arguments),
    /// Find the largest stable constant step of each method, with a picture of growth over the step
    #[command(after_help = examples::STABILITY)]
    Stability(stability::Arguments),
    /// Run a plan of many runs on all cores, into a Parquet dataset; continue it after a crash
    #[command(after_help = examples::SWEEP)]
    Sweep(sweep::Arguments),
    /// Regenerate the tables and figures of the papers: published beside measured
    #[command(after_help = examples::BENCH)]
    Bench(bench::Arguments),
    /// Export a built-in model as an FMU
    #[command(after_help = examples::EXPORT)]
    Export(export::Arguments),
    /// List the methods, models and their knobs
    #[command(after_help = examples::METHODS)]
    Methods(methods::Arguments),
    /// Print the completions of a shell: verbs, options and file names
    #[command(after_help = examples::COMPLETIONS)]
    Completions(manual::Completions),
    /// Print a page of the manual, or write all of them
    #[command(after_help = examples::MAN)]
    Man(manual::Man),
}

/// What was typed, after the name of the command: a worker is started with the same words.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// What was typed, after the name of the command.
fn words() -> impl Iterator<Item = OsString> {
    WORDS.get().into_iter().flatten().cloned()
}

/// Is the command: `words` are what was typed after its name. The process has to end with the exit code that this returns, by
/// [`leave`](powerbond::fmi::process::leave).
pub fn main_with(words: impl IntoIterator<Item = OsString>) -> u8 {
    // A file that grows over a limit is an error of writing, not the end of the process. Where this fails it ends it, as ever.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
    let words = WORDS.get_or_init(|| words.into_iter().collect());
    if let Some(code) = powerbond_worker::serve(words) {
        return code;
    }
    let typed = std::iter::once(OsString::from("powerbond")).chain(words.iter().cloned());
    let arguments = match Arguments::try_parse_from(typed).map_err(tips::add) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Nobody listens: there is nowhere to say that.
            let _ = error.print();
            return error.exit_code() as u8;
        }
    };
    // A supervisor sees by itself how its worker ends.
    if !powerbond_worker::is_worker() {
        powerbond::fmi::process::guard();
    }
    // A panic is a bug of ours, and told as one by its own message.
    catch_unwind(AssertUnwindSafe(|| run(&arguments))).unwrap_or(1)
}

/// Runs the command; its exit code.
fn run(Arguments { verbose, in_process, command }: &Arguments) -> u8 {
    powerbond::system::install(powerbond_worker::Workers::default());
    logging::begin(*verbose);
    let kept = match command {
        // Keeps it by itself, as that takes a thread and a sandbox is entered before there are any.
        Command::Run(_) => Ok(()),
        _ => text::keep_stdout(),
    };
    let result = kept.and_then(|()| match command {
        Command::Run(arguments) => run::main(arguments, *verbose > 0, *in_process),
        Command::New(arguments) => new::main(arguments, *in_process),
        Command::Inspect(arguments) if arguments.only_reads() => inspect::main(arguments),
        Command::Inspect(arguments) => contain::main(*in_process, || inspect::main(arguments)),
        Command::Check(arguments) => contain::main(*in_process, || check::main(arguments)),
        Command::Bonds(arguments) => contain::main(*in_process, || bonds::main(arguments)),
        Command::Convert(arguments) => convert::main(arguments),
        Command::Report(arguments) => report::main(arguments),
        Command::Compare(arguments) => compare::main(arguments),
        Command::Tune(arguments) => contain::main(*in_process, || tune::main(arguments)),
        Command::Stability(arguments) => contain::main(*in_process, || stability::main(arguments)),
        Command::Sweep(arguments) => sweep::main(arguments, *in_process),
        Command::Bench(arguments) => bench::main(arguments),
        Command::Export(arguments) => export::main(arguments),
        Command::Methods(arguments) => methods::main(arguments),
        Command::Completions(arguments) => manual::completions(arguments),
        Command::Man(arguments) => manual::man(arguments),
    });
    result.unwrap_or_else(|error| {
        eprint!("{}", text::error(&error));
        error.exit_code()
    })
}
