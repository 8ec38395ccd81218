//! From what a file names to something that steps, here or in another process: a built-in model or an FMU.

use super::elements::gathered;
use super::sources::Sources;
use crate::Error;
use crate::error::Collector;
use crate::source::At;
use crate::system::{
    Declared, Factory, FeedThroughSpec, FmuJob, FmuOptions, Given, Job, Made, Order, SharedFactory,
    SimulatorSpec, Site, SubsystemSpec, System, fmu_error, fmu_problem, make_away, open_fmu,
};
use powerbond_core::subsystem::Subsystem;
use powerbond_core::suggest::hint;
use powerbond_fmi::description::{Causality, ModelDescription};
use powerbond_fmi::{Log, LogLine, Options, Status, Value};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tracing::{debug, error, info, warn};

/// What FMUs said during a run, in the order of saying; bounded.
#[derive(Clone, Debug, Default)]
pub struct SharedLog(Arc<Mutex<Lines>>);

#[derive(Debug, Default)]
struct Lines {
    kept: Vec<String>,
    dropped: u64,
    remarks: Vec<String>,
}

/// How many lines of all FMUs are kept.
const MAX_LINES: usize = 100_000;

impl SharedLog {
    fn sink(&self) -> Log {
        let shared = self.0.clone();
        Log::to(move |line| {
            tell(&line);
            let mut lines = shared.lock().unwrap_or_else(PoisonError::into_inner);
            if line.is_remark {
                lines.remarks.push(format!("`{}` {}", line.instance, line.message));
            }
            if lines.kept.len() < MAX_LINES {
                lines.kept.push(line.to_string());
            } else {
                lines.dropped += 1;
            }
        })
    }

    /// What FMUs did to their neighbours and to the process, in words.
    pub fn remarks(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remarks.clone()
    }

    /// All lines as a text, one per line, and after them what was printed; empty if nothing was said.
    pub fn text(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text: String = lines.kept.iter().map(|l| l.replace('\n', " ") + "\n").collect();
        if lines.dropped > 0 {
            text += &format!("({} more lines)\n", lines.dropped);
        }
        let (printed, more) = powerbond_fmi::printed::take();
        text.extend(printed.into_iter().map(|line| format!("{}{line}\n", powerbond_fmi::printed::PRINTED)));
        if more > 0 {
            text += &format!("({more} more lines were printed)\n");
        }
        text
    }
}

/// Tells the log what an FMU said.
fn tell(line: &LogLine) {
    let LogLine { instance, status, category, message, .. } = line;
    let message = message.trim_end();
    match status {
        Status::Ok | Status::Pending => info!(target: FMU, instance, category, "{message}"),
        Status::Error | Status::Fatal => error!(target: FMU, instance, category, "{message}"),
        _ => warn!(target: FMU, instance, category, "{message}"),
    }
}

/// What FMUs say has a name of its own in the log.
const FMU: &str = "powerbond::fmu";

/// What scratch instances of FMUs may do before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trials {
    /// They are initialized and make a step.
    WithSteps,
    /// They are initialized.
    WithoutSteps,
}

/// Makes the simulator of a subsystem where it is to run.
pub fn make(
    system: &System,
    (spec, site): (&SubsystemSpec, &Site),
    sources: &Sources<'_>,
    trials: Trials,
    log: &SharedLog,
    warnings: &mut Vec<String>,
) -> Result<Box<dyn Subsystem>, Error> {
    let order = Order { name: &spec.name, parameters: &spec.parameters };
    match &spec.simulator {
        SimulatorSpec::Model(name) => {
            let unknown = |hint| {
                // How the Python package names them.
                let message = match name.value.starts_with("python/") {
                    true => {
                        format!("`{}` is written in Python: only its program can run it", spec.name.value)
                    }
                    false => format!("unknown model `{}`.{hint}", name.value),
                };
                Error::input(name.place(), message)
            };
            let factory = system.models.find(&name.value).map_err(unknown)?;
            match site {
                Site::Shared => factory.make(&order),
                site => model_away(system, spec, site, &factory, &name.value, log),
            }
        }
        SimulatorSpec::Own(_) if *site != Site::Shared => Err(only_here(spec)),
        SimulatorSpec::Own(factory) => factory.make(&order),
        SimulatorSpec::Fmu(path, options) => {
            fmu(system, (spec, site), (path, options), sources, trials, log, warnings)
        }
    }
}

fn only_here(spec: &SubsystemSpec) -> Error {
    let message = format!(
        "`{}` is created by the program and runs in its process; other processes know FMUs and built-in models",
        spec.name.value
    );
    Error::input(spec.name.place(), message)
}

/// A built-in model in another process.
fn model_away(
    system: &System,
    spec: &SubsystemSpec,
    site: &Site,
    factory: &SharedFactory,
    name: &str,
    log: &SharedLog,
) -> Result<Box<dyn Subsystem>, Error> {
    if powerbond_models::find(name).is_none() {
        return Err(only_here(spec));
    }
    // Here, too, for the messages about its parameters.
    factory.make(&Order { name: &spec.name, parameters: &spec.parameters })?;
    let parameters = spec.parameters.iter();
    let parameters = parameters.filter_map(|(name, given)| Some((name.value.clone(), given.parameter()?)));
    let job = Job::Model { name: name.to_owned(), parameters: parameters.collect() };
    let made = make_away(system, &spec.name, site, &job, &log.sink());
    let refused = |text| Error::input(spec.name.place(), text);
    Ok(made.map_err(|why| why.map_or_else(|error| error, refused))?.simulator)
}

/// An instance of an FMU; what it lacks of what it declares, and what of it is not used, are warnings.
fn fmu(
    system: &System,
    (spec, site): (&SubsystemSpec, &Site),
    (path, given): (&At<PathBuf>, &FmuOptions),
    sources: &Sources<'_>,
    trials: Trials,
    log: &SharedLog,
    warnings: &mut Vec<String>,
) -> Result<Box<dyn Subsystem>, Error> {
    let fmu = open_fmu(system.folder(), path)?;
    let mut options = Options {
        tolerance: given.tolerance.or(fmu.description().default_experiment.tolerance),
        events: given.events,
        input_derivatives: given.input_derivatives,
        sub_steps: given.sub_steps.unwrap_or(1),
        any_step_size: given.any_step_size,
        whole_steps: given.whole_steps,
        logging: given.logging,
        log_categories: given.log_categories.clone(),
        log: log.sink(),
        ..Options::default()
    };
    let mut problems = Collector::new();
    options.outputs = problems.keep_or(Vec::new(), sources.inside(&spec.name.value, &fmu));
    let set = problems.keep(gathered(fmu.description(), spec.parameters.iter().chain(&spec.start)));
    for (name, given) in set.iter().flatten() {
        let value = problems.keep(fmu_value(fmu.description(), name, given));
        let Some((is_parameter, value)) = value else { continue };
        let list = if is_parameter { &mut options.parameters } else { &mut options.start };
        list.push((name.value.clone(), value));
    }
    problems.finish(())?;
    let name = &spec.name.value;
    let model = &fmu.description().model_name;
    debug!(target: "powerbond::run", subsystem = name, path = %path.value.display(), model, "loading an FMU");
    let steps = trials == Trials::WithSteps;
    let job = FmuJob {
        instance: name.clone(),
        steps,
        declared: match &spec.feed_through {
            None => Declared::No,
            Some(FeedThroughSpec::Pairs(pairs)) if !pairs.value.is_empty() => Declared::Pairs,
            Some(_) => Declared::Something,
        },
        curvature: options.input_derivatives.is_none() && steps && system.method.hold.max() > 1,
        options,
    };
    let Made { mut remarks, failure, simulator } = match site {
        Site::Shared => {
            let Made { remarks, failure, simulator } = job.make(&fmu).map_err(|e| fmu_error(path, &e))?;
            Made { remarks, failure, simulator: simulator as Box<dyn Subsystem> }
        }
        site => {
            let log = job.options.log.clone();
            let job = Job::Fmu { path: fmu.path().to_owned(), job };
            make_away(system, &spec.name, site, &job, &log)
                .map_err(|why| why.map_or_else(|error| error, |text| fmu_problem(path, fmu.path(), &text)))?
        }
    };
    // An FMU alone whose inputs nothing feeds has nothing to refresh.
    let failure = failure.filter(|_| !system.is_fmu_alone() || system.feeds(name));
    remarks.extend(failure.map(|failure| {
        format!("direct feed-through could not be probed ({failure}), so outputs are not refreshed")
    }));
    let remarks = remarks.into_iter().map(|text| format!("{name}: {text}"));
    // What is said of a file is said once, however many instances there are.
    let all = remarks.chain(doubts(&path.value, fmu.description()));
    let new: Vec<String> = all.filter(|text| !warnings.contains(text)).collect();
    warnings.extend(new);
    Ok(simulator)
}

/// What was read of a description as what was probably meant, in lines.
fn doubts(path: &Path, description: &ModelDescription) -> Vec<String> {
    let all: Vec<String> =
        description.findings.iter().filter(|f| f.is_doubtful).map(ToString::to_string).collect();
    let mut lines: Vec<String> = all.iter().take(MOST_DOUBTS).cloned().collect();
    if all.len() > MOST_DOUBTS {
        lines.push(format!("{} more like these; `powerbond inspect` lists them", all.len() - MOST_DOUBTS));
    }
    lines.into_iter().map(|line| format!("{}: {line}", path.display())).collect()
}

/// Doubts about one file that are told.
const MOST_DOUBTS: usize = 5;

/// Whether `name` is a parameter, and the value in its type.
fn fmu_value(
    description: &ModelDescription,
    name: &At<String>,
    given: &Given,
) -> Result<(bool, Value), Error> {
    let Some(v) = description.find(&name.value) else {
        let settable = description.variables.iter().filter(|v| v.causality != Causality::Output);
        let hint = hint(&name.value, settable.map(|v| &*v.name));
        return Err(Error::input(
            name.place(),
            format!("`{}`: unknown variable `{}`.{hint}", description.model_name, name.value),
        ));
    };
    let variable = &description.variables[v];
    let value = match given {
        Given::Typed(text) => Value::parse(text, variable.kind).ok_or_else(|| {
            let message =
                format!("`{text}` is not a value of type {} for `{}`", variable.kind.name(), name.value);
            Error::input(name.place(), message)
        })?,
        other => plain_value(other),
    };
    let definition = description.type_of(variable);
    let fits = |v: &Value| !variable.kind.is_numeric() || v.number(variable.kind, definition).is_some();
    if let Some(unfit) = value.elements().iter().find(|v| !fits(v)) {
        let items: Vec<&str> =
            definition.into_iter().flat_map(|d| &d.items).map(|item| &*item.name).collect();
        let one_of = match unfit {
            Value::Text(text) if !items.is_empty() => format!(".{}", hint(text, items.iter().copied())),
            _ if !items.is_empty() => format!(". There are: {}", items.join(", ")),
            _ => String::new(),
        };
        let message = format!(
            "`{}` is of type {}; {unfit} is not a value of this type{one_of}",
            name.value,
            variable.kind.name()
        );
        return Err(Error::input(name.place(), message));
    }
    Ok((matches!(variable.causality, Causality::Parameter | Causality::StructuralParameter), value))
}

fn plain_value(given: &Given) -> Value {
    match given {
        Given::Number(x) => Value::Real(*x),
        Given::Text(text) | Given::Typed(text) => Value::Text(text.clone()),
        Given::Flag(b) => Value::Boolean(*b),
        Given::List(items) => Value::List(items.iter().map(plain_value).collect()),
    }
}
