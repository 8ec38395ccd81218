//! The side of the process: does one task after the other.

use super::{Ask, Checked, Head, Say, Told, VARIABLE};
use crate::os;
use crate::own::{End, Mailbox, Spin, Workers};
use crate::worker::Worker;
use powerbond::core::observe::Flow;
use powerbond::table::Table;
use powerbond::{Done, Error, Output, Question, Task};
use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Does runs for the process that started this one, until it is told to quit; the exit code.
pub(crate) fn serve() -> u8 {
    let (Some(worker), Some(mailbox)) = (Worker::here(), Mailbox::from_parent(VARIABLE)) else {
        eprintln!("error: this is for powerbond itself: it does runs for the process that started it");
        return 2;
    };
    powerbond::system::install(Workers::default());
    // Where stdout cannot be taken away, what FMUs print is lost: it leads nowhere.
    let _ = powerbond::fmi::printed::divert();
    let line = Arc::new(Mutex::new(Line { mailbox, spin: Spin::new(), bytes: Vec::new() }));
    // Kept until the next task has come: by then somebody else has it open.
    let mut numbers = None;
    loop {
        let asked = line.lock().unwrap_or_else(PoisonError::into_inner).receive();
        numbers.take();
        let said = match asked {
            Some(Ask::Run { task, folder, rows }) => match run(&task, &folder, rows, worker, &line) {
                Ok((told, published)) => {
                    numbers = published;
                    Say::Ended(Box::new(told))
                }
                Err(error) => Say::Failed(error),
            },
            Some(Ask::Check { task, folder }) => match check(&task, &folder) {
                Ok((checked, is_last)) => Say::Checked(checked, is_last),
                Err(error) => Say::Failed(error),
            },
            Some(Ask::Answer { task, question, folder }) => match answer(&task, &question, &folder, worker) {
                Ok((answer, is_last)) => Say::Answered(answer, is_last),
                Err(error) => Say::Failed(error),
            },
            Some(Ask::GoOn(_)) => continue,
            Some(Ask::Quit) => return 0,
            None => return 1,
        };
        line.lock().unwrap_or_else(PoisonError::into_inner).send(&said);
    }
}

/// The way to the process that asks.
struct Line {
    mailbox: &'static Mailbox,
    spin: Spin,
    bytes: Vec<u8>,
}

impl Line {
    fn receive(&mut self) -> Option<Ask> {
        let Line { mailbox, spin, bytes } = self;
        let Ok(()) = mailbox.receive(End::Child, bytes, spin, &mut || Ok::<(), Infallible>(()));
        postcard::from_bytes(bytes).ok()
    }

    fn send(&mut self, say: &Say) {
        // What is said has no maps and no lengths that are not known: it can always be written.
        let bytes = postcard::to_stdvec(say).unwrap_or_default();
        let Ok(()) = self.mailbox.send(End::Child, &bytes, &mut self.spin, &mut || Ok::<(), Infallible>(()));
    }
}

/// Does a task; what it came to, and its numbers.
fn run(
    task: &Task,
    folder: &Path,
    rows: bool,
    mut worker: Worker,
    line: &Arc<Mutex<Line>>,
) -> Result<(Told, Option<os::Published>), Error> {
    go_to(folder)?;
    let mut output = Output::default();
    if rows {
        let (names, each) = (line.clone(), line.clone());
        output.columns = Some(Box::new(move |columns| {
            names.lock().unwrap_or_else(PoisonError::into_inner).send(&Say::Columns(columns));
        }));
        output.rows = Some(Box::new(move |values| {
            let mut line = each.lock().unwrap_or_else(PoisonError::into_inner);
            line.send(&Say::Row(values.to_vec()));
            match line.receive() {
                Some(Ask::GoOn(true)) => Flow::Continue,
                _ => Flow::Stop,
            }
        }));
    }
    let system = task.system()?;
    let Done { table, energy, summary, error, .. } = task.run(output, &mut worker)?;
    let publish = |e: std::io::Error| Error::output(Path::new("memory for results"), &e);
    let tables = [table, energy];
    let columns = || tables.iter().flat_map(|table| &table.columns);
    let published = match columns().all(Vec::is_empty) {
        true => None,
        false => Some(os::publish(columns().map(Vec::as_slice)).map_err(publish)?),
    };
    let told = Told {
        exceeded: summary.exceeded.clone(),
        summary: serde_json::to_string(&summary).map_err(|e| publish(e.into()))?,
        error,
        tables: tables.iter().map(head).collect(),
        descriptor: published.as_ref().map(os::Published::number),
        is_last: system.leaves_traces(),
    };
    Ok((told, published))
}

/// Makes everything that a run needs.
fn check(task: &Task, folder: &Path) -> Result<(Checked, bool), Error> {
    go_to(folder)?;
    let system = task.system()?;
    let assembled = system.assemble()?;
    let columns = assembled.columns.iter().map(|(name, _)| name.to_string()).collect();
    let checked = Checked { start: assembled.start, stop: assembled.stop, columns };
    Ok((checked, system.leaves_traces()))
}

/// Answers a question; whether the next task needs another process.
fn answer(
    task: &Task,
    question: &Question,
    folder: &Path,
    mut worker: Worker,
) -> Result<(Option<String>, bool), Error> {
    go_to(folder)?;
    let system = task.system()?;
    Ok((question.answer(&system, &mut worker)?, system.leaves_traces()))
}

fn go_to(folder: &Path) -> Result<(), Error> {
    std::env::set_current_dir(folder)
        .map_err(|e| Error::input(None, format!("cannot go to the folder {}: {e}", folder.display())))
}

fn head(table: &Table) -> Head {
    Head { names: table.header.clone(), units: table.units.clone(), rows: table.rows() }
}
