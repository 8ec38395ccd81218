//! When a run starts and stops, and in what steps.

use super::Coupled;
use crate::Error;
use crate::catalogue::controllers::{Controller, Fixed};
use crate::catalogue::{self, Chosen, is_discrete, never_ends};
use crate::number::short;
use crate::source::{At, Place};
use crate::system::{MAX_RATE, MadeOf, System};
use powerbond_core::network::{NameIndex, Names, Network};
use powerbond_core::subsystem::whole_steps::WholeSteps;

/// More rows than this are a slip, not a wish.
const MAX_ROWS: f64 = 1e9;

/// When a run starts and stops, and its constant or first step, in s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Experiment {
    pub start: f64,
    pub stop: f64,
    pub step: f64,
}

impl Experiment {
    /// Of a system, checked.
    pub fn of(system: &System) -> Result<Self, Error> {
        let s = &system.simulation;
        let start = s.start.value;
        let by_default = At::default(start + DEFAULT_DURATION);
        let Some(stop) = s.stop.as_ref().or(system.is_fmu_alone().then_some(&by_default)) else {
            let message = match &system.made_of {
                MadeOf::Structure(_) => {
                    "missing stop time; give `--end-time`, or set it in the file: `stopTime` of `DefaultExperiment` in SSP, `EndTime` \
                     in OSP"
                }
                _ if system.source().is_some() => {
                    "missing stop time; set `stop` in `[simulation]` or give `--end-time`"
                }
                _ => "missing stop time; set it with `stop`",
            };
            return Err(Error::input(system.source().map(|source| source.place(0)), message));
        };
        for time in [&s.start, stop] {
            if !time.value.is_finite() {
                return Err(Error::input(
                    time.place(),
                    format!("time {} s; expected a finite number", time.value),
                ));
            }
        }
        let duration = stop.value - start;
        if duration <= 0.0 || !duration.is_finite() {
            // An option is younger than the file: it is what the user has to look at.
            let option = [stop, &s.start].into_iter().find(|t| matches!(t.place(), Some(Place::Option(_))));
            let message = format!(
                "start {} s, stop {} s; the stop must be after the start",
                short(start),
                short(stop.value)
            );
            return Err(Error::input(option.unwrap_or(stop).place(), message));
        }
        let check = |name: &str, value: &At<f64>| {
            let fail = |message: String| Err(Error::input(value.place(), message));
            let (x, run) = (value.value, short(duration));
            if x.is_nan() || x <= 0.0 {
                fail(format!("{name} is {x} s; expected a number above 0"))
            } else if x > duration * (1.0 + 1e-9) {
                fail(format!("{name} is {} s, longer than the run of {run} s", short(x)))
            } else if never_ends(start, duration, x) {
                fail(format!("{name} is {} s, too small for a run of {run} s", short(x)))
            } else {
                Ok(x)
            }
        };
        match &s.output_interval {
            None if s.land_on_output.value => {
                let message = "`output = \"land\"` needs an `output_interval`";
                return Err(Error::input(s.land_on_output.place(), message));
            }
            None => {}
            Some(interval) => {
                let rows = duration / check("the output interval", interval)?;
                if rows > MAX_ROWS {
                    let message = format!(
                        "the output interval is {} s: {rows:.0e} rows in a run of {} s",
                        short(interval.value),
                        short(duration)
                    );
                    return Err(Error::input(interval.place(), message));
                }
            }
        }
        // What an FMU proposes may be longer than a short run.
        let proposed = s.step.as_ref().filter(|step| system.is_fmu_alone() && step.place().is_none());
        let step = match proposed.filter(|step| step.value > duration) {
            Some(_) => stop.with(duration),
            None => s.step.clone().unwrap_or(stop.with(duration / DEFAULT_STEPS)),
        };
        Ok(Experiment { start, stop: stop.value, step: check("the step", &step)? })
    }

    /// What should be known before the run, since it is a default.
    pub fn notes(&self, system: &System) -> Vec<String> {
        let mut notes = Vec::new();
        if system.simulation.stop.is_none() {
            notes.push(format!(
                "the FMU has no default stop time: the run ends at {} s; set another with `--end-time`",
                short(self.stop)
            ));
        }
        let (steps, chosen) = (self.duration() / self.step, system.simulation.step.as_ref());
        if steps > MANY_STEPS && system.is_fmu_alone() && chosen.is_none_or(|step| step.place().is_none()) {
            notes.push(format!(
                "the FMU proposes a step of {} s: {steps:.0e} steps, which may take hours; set another with `--step-size`",
                short(self.step)
            ));
        }
        notes.extend(system.own_step().and_then(|own| self.note_on("the FMU", own)));
        notes
    }

    /// What should be known of coupled subsystems: own steps so small that the run takes long, whatever the step size.
    pub fn notes_on_members(&self, system: &System, network: &Network, names: &Names) -> Vec<String> {
        if system.is_fmu_alone() {
            return Vec::new();
        }
        let members = network.members.iter().zip(&names.subsystems);
        members
            .filter_map(|(m, name)| self.note_on(&format!("`{name}`"), m.capabilities.fixed_step?))
            .collect()
    }

    /// What should be known of a subsystem that steps by `own` s.
    fn note_on(&self, who: &str, own: f64) -> Option<String> {
        let many = |step: f64| self.duration() / step > MANY_STEPS;
        (many(own) && !many(self.step)).then(|| {
            format!(
                "{who} has a fixed internal step of {} s: {:.0e} internal steps in this run, which may take hours",
                short(own),
                self.duration() / own
            )
        })
    }

    /// Its length, in s.
    pub fn duration(&self) -> f64 {
        self.stop - self.start
    }
}

impl Coupled<'_> {
    /// Sub-steps of each subsystem in a macro step.
    pub(super) fn rates(&self) -> Result<Vec<u32>, Error> {
        let (names, macro_step) = (&self.names, self.experiment.step);
        let mut rates = vec![1; names.subsystems.len()];
        let places: NameIndex<&str> = names.subsystems.iter().map(String::as_str).collect();
        for spec in &self.system.subsystems {
            let Some(s) = places.place(spec.name.value.as_str()) else { continue };
            if let Some(rate) = &spec.rate {
                rates[s] = rate.value;
            }
            if let Some(step) = &spec.step {
                let ratio = macro_step / step.value;
                let whole = ratio.round();
                if !((1.0..=f64::from(MAX_RATE)).contains(&whole) && (ratio / whole - 1.0).abs() < 1e-6) {
                    let cure = if step.value <= 0.0 {
                        "Expected a number above 0".to_owned()
                    } else if ratio < 1.0 {
                        "It cannot be longer".to_owned()
                    } else if whole > f64::from(MAX_RATE) {
                        format!("At most {MAX_RATE} sub-steps per macro step are supported")
                    } else {
                        let nearest = |n: f64| short(macro_step / n);
                        format!(
                            "The nearest are {} s and {} s",
                            nearest(ratio.floor()),
                            nearest(ratio.floor() + 1.0)
                        )
                    };
                    return Err(Error::input(
                        step.place(),
                        format!(
                            "the step of `{}`, {} s, is not an integer fraction of the macro step {} s. {cure}",
                            spec.name.value,
                            short(step.value),
                            short(macro_step)
                        ),
                    ));
                }
                rates[s] = whole as u32;
            }
        }
        Ok(rates)
    }

    /// Says that the first step is longer or shorter than what the controller may take.
    pub(super) fn warn_of_first_step(&mut self) {
        let step = self.experiment.step;
        let clamps = self.system.method.controller.clamps(step);
        if let (Some(at), Some((bound, limit))) = (&self.system.simulation.step, clamps) {
            let place = at.prefix();
            self.warnings.push(format!(
                "{place}the first step size, {} s, is outside `{bound}`; the run starts with {} s",
                short(step),
                short(limit)
            ));
        }
    }

    /// Where the step size varies, a subsystem that takes one length only crosses each step in several of that length.
    pub(super) fn step_in_multiples(&mut self, rates: &[u32]) -> Result<(), Error> {
        let given = self.system.simulation.step.as_ref().map(|at| at.value);
        let Coupled { network, names, system, .. } = self;
        let mut members = Vec::with_capacity(network.members.len());
        for (s, member) in std::mem::take(&mut network.members).into_iter().enumerate() {
            if !member.capabilities.constant_step {
                members.push(member);
                continue;
            }
            let own = member.capabilities.fixed_step.or(given.map(|step| step / f64::from(rates[s])));
            let Some(own) = own else {
                return Err(Error::input(
                    system.method.controller.written.entry.clone(),
                    format!(
                        "`{}` supports one step size only (canHandleVariableCommunicationStepSize is false), but \
                         controller `{}` varies it. Set `step` in `[simulation]`: all steps are then multiples of it. Or \
                         use `controller = \"fixed\"`, or `options = {{ any_step_size = true }}` to ignore the flag",
                        names.subsystems[s],
                        system.method.controller.name()
                    ),
                ));
            };
            let n = member.inputs.len();
            members.push(member.wrapped(|simulator| Box::new(WholeSteps::new(simulator, n, own))));
        }
        network.members = members;
        Ok(())
    }

    /// Subsystems that step in multiples of their own step need a macro step that fits: what all steps have to be multiples of. Where
    /// a subsystem takes one length only, that is the step itself.
    pub(super) fn own_steps(&self, rates: &[u32], step: f64, adaptive: bool) -> Result<Option<f64>, Error> {
        let (network, names) = (&self.network, &self.names);
        let own = |s: usize| network.members[s].capabilities.fixed_step.map(|own| own * f64::from(rates[s]));
        let multiple =
            |x: f64, of: f64| (x / of).round() >= 1.0 && (x / of / (x / of).round() - 1.0).abs() < 1e-6;
        let members = 0..network.members.len();
        let longest = members.clone().filter_map(|s| Some((own(s)?, s))).max_by(|a, b| a.0.total_cmp(&b.0));
        let place = self.system.simulation.step.as_ref().and_then(At::place);
        if let Some((quantum, of)) = longest.filter(|_| adaptive) {
            return match members.clone().find(|&s| own(s).is_some_and(|o| !multiple(quantum, o))) {
                Some(other) => Err(Error::input(
                    place,
                    format!(
                        "`{}` and `{}` have fixed internal steps of {} s and {} s without a common multiple in \
                         range: set a constant step that is a multiple of both",
                        names.subsystems[of],
                        names.subsystems[other],
                        short(quantum),
                        short(own(other).unwrap_or(quantum))
                    ),
                )),
                None => Ok(Some(quantum)),
            };
        }
        for s in members {
            let Some(own) = own(s).filter(|&own| !multiple(step, own)) else { continue };
            return Err(Error::input(
                place,
                format!(
                    "`{}` has a fixed internal step of {} s: set a constant step of, for example, {} s",
                    names.subsystems[s],
                    short(own / f64::from(rates[s])),
                    short(own * (step / own).floor().max(1.0))
                ),
            ));
        }
        // What a constant step is cut at has to fit, too.
        let rigid = network.members.iter().any(|m| m.capabilities.constant_step);
        Ok(if rigid { Some(step) } else { longest.map(|(own, _)| own).filter(|_| !adaptive) })
    }

    /// The controller that the system can be run with, and the constant or first step; a note where that is not the wanted one.
    pub(super) fn steering(&mut self) -> (Chosen<Controller>, f64) {
        let (network, names, step) = (&self.network, &self.names, self.experiment.step);
        let wanted = &self.system.method.controller;
        if !self.system.method.is_steered_by_jumps() || wanted.is_constant() {
            let given = self.system.simulation.step.is_some();
            let first = wanted.value.first_step(self.experiment.duration()).filter(|_| !given);
            return (wanted.clone(), first.unwrap_or(step));
        }
        let exchanged = |i: usize| network.wiring.is_coupled(i) && !is_discrete(network, i);
        let why = if !(0..network.n_inputs).any(exchanged) {
            "no numbers are exchanged between subsystems, so there is no coupling error".to_owned()
        } else if let Some(s) = network.members.iter().position(|m| m.capabilities.constant_step) {
            format!("`{}` supports one step size only", names.subsystems[s])
        } else {
            // The scales of inputs are not known yet: a longer first step would be as wrong as it likes, and nothing would show it.
            let own = catalogue::estimators::FIRST_STEP * self.experiment.duration();
            let given = self.system.simulation.step.as_ref().map(|at| at.value);
            return (wanted.clone(), given.map_or(own, |given| own.min(given)));
        };
        // This step is a default: it may as well be a multiple of what a subsystem steps in.
        let step = if self.system.simulation.step.is_none() { whole_steps(network, step) } else { step };
        self.warnings.push(format!(
            "{why}: the step is constant, {} s; set another with `step` in `[simulation]`",
            short(step)
        ));
        (Fixed.into(), step)
    }
}

/// The length of a run of an FMU that proposes none, in s: as the FMI standards have it for tools that know no better, and as FMPy does.
const DEFAULT_DURATION: f64 = 1.0;

/// More steps than this take longer than a user waits without a word: 10 s at a microsecond each, and few FMUs are as fast.
const MANY_STEPS: f64 = 1e7;

/// Steps of a run with a default constant step.
pub(super) const DEFAULT_STEPS: f64 = 1000.0;

/// The constant step of a run of `duration` without a step of its own.
pub(super) fn default_step(network: &Network, duration: f64) -> f64 {
    let longest =
        network.members.iter().filter_map(|m| m.capabilities.max_step).fold(f64::INFINITY, f64::min);
    whole_steps(network, longest.min(duration / DEFAULT_STEPS))
}

/// A step that is a multiple of what a subsystem steps in, at most `step` if that is possible.
fn whole_steps(network: &Network, step: f64) -> f64 {
    let own = network.members.iter().filter_map(|m| m.capabilities.fixed_step).fold(0.0, f64::max);
    if own > 0.0 { own * (step / own).floor().max(1.0) } else { step }
}
