//! The papers' tables and figures as data: published beside measured, with the rule that judges each number.
//!
//! Everything here is measured through the public library, as anybody could.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod report;
mod figure;
mod reference;
mod quarter_car;
mod sadjina2017;
mod sadjina2020;
mod force_displacement;
mod rodriguez2022;
pub mod error_study;
mod arnold2013;
mod verdict;
mod default;
mod lab;

pub use figure::Figure;
pub use report::{Beside, Check, Held, Quantity, Report, Row, Source, Verdict};

use figure::Drawing;
use powerbond::{Assembled, Error, System};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// A set of rows from one source.
pub struct Suite {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    rows: fn() -> Vec<Plan>,
    drawings: &'static [Drawing],
    /// Its rows are runs of system files, so that their models can be exchanged.
    pub exchangeable: bool,
}

/// Exchanges the models of a system for others that must behave the same, such as FMUs of them.
pub type Exchange = Box<dyn Fn(System) -> Result<System, Error> + Send + Sync>;

/// What the systems of rows are made of: the built-in models, or what they are exchanged for.
struct Models {
    exchange: Option<Exchange>,
}

impl Models {
    /// Prepares a system file of a row.
    fn assemble(&self, name: &str, text: &str) -> Result<Assembled, Error> {
        self.exchanged(System::parse(name, text)?)?.assemble()
    }

    /// A system with its models exchanged.
    fn exchanged(&self, system: System) -> Result<System, Error> {
        match &self.exchange {
            Some(exchange) => exchange(system),
            None => Ok(system),
        }
    }
}

/// Measures a row.
type Measure = Box<dyn Fn(&Models) -> Result<Vec<Quantity>, Error> + Send + Sync>;

/// A row that is still to be measured.
struct Plan {
    id: String,
    case: String,
    measure: Measure,
}

/// Every suite. A new paper is a file and a line here.
pub const SUITES: &[Suite] = &[
    Suite {
        name: "sadjina2017",
        about: "ECCO on the quarter car: tables III to XII, stability limits and figure 4 (doi 10.1007/s00366-016-0492-8)",
        rows: sadjina2017::rows,
        drawings: sadjina2017::FIGURES,
        exchangeable: true,
    },
    Suite {
        name: "sadjina2020",
        about: "NEPCE and ECCO on the quarter car: tables 4 to 9 (doi 10.1007/s00366-019-00783-4)",
        rows: sadjina2020::rows,
        drawings: sadjina2020::FIGURES,
        exchangeable: true,
    },
    Suite {
        name: "rodriguez2022",
        about: "energy monitoring and correction: oscillators, pendula and the hydraulic crane (Multibody System Dynamics, 2022)",
        rows: rodriguez2022::rows,
        drawings: rodriguez2022::FIGURES,
        exchangeable: true,
    },
    Suite {
        name: "arnold2013",
        about: "error estimates, their orders and step control with rollback on the quarter car (doi 10.2478/meceng-2013-0005)",
        rows: arnold2013::rows,
        drawings: arnold2013::FIGURES,
        exchangeable: false,
    },
    Suite {
        name: "verdict",
        about: "the verdict beside the true error: all benchmark models, random systems, twelve methods, several steps",
        rows: verdict::rows,
        drawings: &[],
        exchangeable: true,
    },
    Suite {
        name: "default",
        about: "the default method: error over tolerance, classes of subsystems, other methods at the same number of steps",
        rows: default::rows,
        drawings: &[],
        exchangeable: true,
    },
    Suite {
        name: "lab",
        about: "error over tolerance, verdict and verify on random systems, also with subsystems that integrate with the step",
        rows: lab::rows,
        drawings: &[],
        exchangeable: true,
    },
];

impl Suite {
    /// Ids of all rows.
    pub fn ids(&self) -> Vec<String> {
        (self.rows)().into_iter().map(|p| p.id).collect()
    }

    /// Ids of all figures that can be drawn.
    pub fn figures(&self) -> Vec<&'static str> {
        self.drawings.iter().map(|d| d.id).collect()
    }

    /// Draws every figure whose id contains `only`, with the models of every system exchanged; `each` gets one as soon as it is
    /// done.
    pub fn draw(
        &self,
        only: Option<&str>,
        exchange: Option<Exchange>,
        mut each: impl FnMut(&Figure) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let models = Models { exchange };
        let chosen: Vec<&Drawing> =
            self.drawings.iter().filter(|d| only.is_none_or(|part| d.id.contains(part))).collect();
        let draw = |drawing: &&Drawing| {
            let mut figure = (drawing.draw)(&models)?;
            (figure.id, figure.suite) = (drawing.id, self.name);
            Ok(figure)
        };
        on_all_cores(&chosen, draw, |figure| each(&figure))
    }

    /// Measures every row whose id contains `only`; `progress` hears of each row as it is done.
    pub fn run(&self, only: Option<&str>, progress: impl FnMut(&Row)) -> Result<Report, Error> {
        self.run_with(only, None, progress)
    }

    /// As [`Suite::run`], with the models of every system exchanged.
    pub fn run_with(
        &self,
        only: Option<&str>,
        exchange: Option<Exchange>,
        mut progress: impl FnMut(&Row),
    ) -> Result<Report, Error> {
        let models = Models { exchange };
        let mut plans = (self.rows)();
        plans.retain(|plan| only.is_none_or(|part| plan.id.contains(part)));
        let measure = |plan: &Plan| {
            let (quantities, failure) = match (plan.measure)(&models) {
                Ok(quantities) => (quantities, None),
                // A run that fails is a row that fails: the others tell the rest.
                Err(error @ (Error::Accuracy(_) | Error::Model(_))) => (Vec::new(), Some(error.to_string())),
                Err(other) => return Err(other),
            };
            Ok(Row { id: plan.id.clone(), case: plan.case.clone(), quantities, failure })
        };
        let mut rows = Vec::new();
        on_all_cores(&plans, measure, |row| {
            progress(&row);
            rows.push(row);
            Ok(())
        })?;
        Ok(Report::new(self.name, rows))
    }
}

/// Does all `jobs`, some at a time, and hands over what they come to in their order, each as soon as those before it are done.
fn on_all_cores<J: Sync, R: Send>(
    jobs: &[J],
    work: impl Fn(&J) -> Result<R, Error> + Sync,
    mut each: impl FnMut(R) -> Result<(), Error>,
) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..cores.min(jobs.len()) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let k = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(k) else { break };
                    // Where an error ended it all, nobody receives any more.
                    if sender.send((k, work(job))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let (mut early, mut wanted) = (BTreeMap::new(), 0);
        for (k, result) in receiver {
            early.insert(k, result);
            while let Some(result) = early.remove(&wanted) {
                each(result?)?;
                wanted += 1;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Shared;
    use std::time::Duration;

    #[test]
    fn results_come_in_order_whichever_job_is_done_first() {
        let jobs: Vec<u64> = (0..40).collect();
        let slow = |k: &u64| {
            thread::sleep(Duration::from_millis(if k.is_multiple_of(7) { 5 } else { 0 }));
            Ok(*k)
        };
        let mut seen = Vec::new();
        on_all_cores(&jobs, slow, |k| {
            seen.push(k);
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, jobs);
    }

    #[test]
    fn the_first_error_in_order_ends_it_whichever_comes_first() {
        let fails = |k: &u64| {
            thread::sleep(Duration::from_millis(if *k == 3 { 20 } else { 0 }));
            if *k < 3 { Ok(*k) } else { Err(Error::input(None, format!("job {k}"))) }
        };
        let mut seen = Vec::new();
        let jobs: Vec<u64> = (0..10).collect();
        let ended = on_all_cores(&jobs, fails, |k| {
            seen.push(k);
            Ok(())
        });
        assert!(ended.unwrap_err().to_string().contains("job 3"));
        assert_eq!(seen, [0, 1, 2]);
    }

    #[test]
    fn what_is_shared_is_made_once_and_tried_again_after_an_error() {
        let (shared, made) = (Shared::default(), AtomicUsize::new(0));
        assert!(shared.get(|| Err::<usize, _>(Error::input(None, "no"))).is_err());
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    shared.get(|| Ok(made.fetch_add(1, Ordering::Relaxed))).map(|k| assert_eq!(*k, 0))
                });
            }
        });
        assert_eq!(made.into_inner(), 1);
    }
}
