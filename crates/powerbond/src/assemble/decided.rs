//! The third stage: what the method does with this system. From it the engine is made.

use super::Assembled;
use super::advice;
use super::coupled::Coupled;
use super::inputs::{followed, twins};
use super::record::{columns, port_names};
use crate::Error;
use crate::catalogue::controllers::Controller;
use crate::catalogue::{self, Chosen, Class, Context, DITHER, Identify, Method, StepCeiling, is_discrete};
use powerbond_core::controller::Fixed;
use powerbond_core::feed_through::identify::Identifier;
use powerbond_core::hold::InputFeed;
use powerbond_core::observe::verdict::{Circumstances, Verdict};
use powerbond_core::run::{Engine, Policies, Settings};
use powerbond_core::sampled::{KnownSamples, SampledOutputs};
use powerbond_core::time::EndRule;

/// Who is held, fed and refreshed how, and in what steps.
pub(super) struct Decided {
    /// Hold order of each input.
    holds: Vec<u8>,
    /// Sub-steps of each member in a macro step.
    pub(super) rates: Vec<u32>,
    pub(super) controller: Chosen<Controller>,
    /// Constant or first step, in s.
    pub(super) step: f64,
    /// All steps are multiples of this, in s.
    quantum: Option<f64>,
    /// Members that are read again after each step.
    refresh: Vec<usize>,
    classes: Vec<Class>,
    feeds: Vec<InputFeed>,
    identifier: Option<Identifier>,
}

impl Coupled<'_> {
    /// Everything that depends on both the method and the system.
    pub fn decide(&mut self) -> Result<Decided, Error> {
        let holds = self.holds()?;
        let rates = self.rates()?;
        self.warn_of_holds(&holds, &rates);
        if self.system.method.slopes.value {
            let warnings = self.slope_warnings(&holds)?;
            self.warnings.extend(warnings);
        }
        self.warn_of_first_step();
        let (controller, step) = self.steering();
        if !controller.is_constant() {
            self.step_in_multiples(&rates)?;
        }
        let quantum = self.own_steps(&rates, step, !controller.is_constant())?;
        let refresh = self.refreshed()?;
        let classes = self.network.members.iter().map(Class::of).collect();
        let wanted = &self.system.method.values_only;
        let feeds = catalogue::feeds(&mut self.network, &self.names, wanted, &refresh)?;
        let identifier = self.identifier(&refresh)?;
        Ok(Decided { holds, rates, controller, step, quantum, refresh, classes, feeds, identifier })
    }

    /// The engine and everything around it.
    pub fn assemble(mut self, decided: Decided) -> Result<Assembled, Error> {
        let adaptive = !decided.controller.is_constant();
        let (policies, estimators, method) = self.policies(&decided)?;
        let Decided { holds, rates, step, quantum, refresh, classes, feeds, .. } = decided;
        let (start, stop) = (self.experiment.start, self.experiment.stop);
        let varies = self.system.method.hold.varies();
        let Coupled { network, names, effects, warnings, .. } = &mut self;
        let verdict = Verdict::new(
            network,
            &Circumstances {
                holds: (0..holds.len()).map(|i| followed(network, &rates, i, holds[i])).collect(),
                corrects: policies.correction.is_some(),
                refresh: refresh.clone(),
                twins: twins(network),
                discrete: (0..holds.len()).map(|i| is_discrete(network, i)).collect(),
                means: feeds.iter().map(|feed| varies && feed.is_mean()).collect(),
                start,
                stop,
            },
        );
        let changes = effects.changes(network, names, warnings);
        let settings = Settings { changes, quantum, refresh: refresh.clone(), ..self.settings() };
        let (columns, rests) = columns(&self.names, self.recorded);
        Ok(Assembled {
            refreshed: refresh,
            ports: port_names(&self.network, &self.names),
            columns,
            rests,
            engine: Engine::new(self.network, policies, settings),
            names: self.names,
            method,
            estimators,
            adaptive,
            timings: self.timings,
            sites: self.sites,
            own: self.own,
            rates,
            start,
            stop,
            step,
            chosen: advice::chosen(self.system),
            warnings: self.warnings,
            notes: self.notes,
            verdict,
            classes,
            feeds,
            log: self.log,
        })
    }

    /// The policies, the names of the estimators among them, and the method with every knob as it is used.
    fn policies(&self, decided: &Decided) -> Result<(Policies, Vec<&'static str>, Method), Error> {
        let Coupled { system, experiment, network, names, .. } = self;
        let bond = |&b: &usize| (system.bonds[b].tolerance, system.bonds[b].energy_scale);
        let mut context = Context {
            network,
            names,
            holds: &decided.holds,
            variable_hold: system.method.hold.varies(),
            feeds: &decided.feeds,
            rates: &decided.rates,
            refresh: &decided.refresh,
            dither: self.dither(decided.identifier.as_ref()),
            schedule: None,
            start: experiment.start,
            duration: experiment.duration(),
            step: decided.step,
            steered_by_jumps: system.method.is_steered_by_jumps(),
            gives_back: system.method.correction.gives_back(),
            has_ceiling: system.method.ceiling == StepCeiling::Motion,
            bonds: names.bond_order.iter().map(bond).collect(),
        };
        let mut method = Method { controller: decided.controller.clone(), ..system.method.clone() };
        let schedule = method.schedule.make(&context)?;
        context.schedule = Some(&schedule);
        let context = &context;
        self.check_rollback()?;
        let (mut estimators, mut labels) = (Vec::new(), Vec::new());
        for chosen in std::iter::once(&mut method.estimator).chain(&mut method.monitors) {
            if let Some(estimator) = chosen.make(context)? {
                estimators.push(estimator);
                labels.push(chosen.name());
            }
        }
        if !method.controller.is_constant() && method.estimator.is_none() {
            return Err(Error::input(
                method.controller.written.entry.clone(),
                format!(
                    "controller `{}` needs an estimator; add `estimator = {{ kind = \"energy\", … }}`, \
                     \"predictor\", \"jump\" or \"richardson\"",
                    method.controller.name()
                ),
            ));
        }
        let place =
            method.samples.place().filter(|_| method.samples.value && method.controller.is_constant());
        if place.is_some() && system.simulation.repeats.is_none() {
            return Err(Error::input(
                place,
                "`samples = true` needs steps that can end at samples, and these are constant; choose a controller",
            ));
        }
        let correction = method.correction.make(context)?;
        let controller = match &system.simulation.repeats {
            // All steps are known: none is chosen, and none is rejected.
            Some(_) => Box::new(Fixed { step: decided.step }),
            None => method.controller.make(context)?,
        };
        let ceiling =
            method.ceiling.make(context, controller.may_reject()).filter(|_| !controller.is_fixed());
        method.dither = context.dither.as_ref().map(|(amplitude, _)| *amplitude);
        // Steps that are repeated end at the samples that the earlier run found.
        let lands = decided.quantum.is_none() && !controller.is_fixed();
        let repeats = decided.quantum.is_none() && system.simulation.repeats.is_some();
        let finds_samples = method.samples.value && (lands || repeats);
        let given: Vec<_> = system.subsystems.iter().map(|spec| spec.sampled).collect();
        let certain = system.simulation.repeats.as_ref().map_or(&[][..], |repeats| &repeats.sampled);
        let known = KnownSamples { given: &given, certain, finds: finds_samples, lands };
        let policies = Policies {
            sampled: SampledOutputs::new(network, experiment.start, &known),
            extrapolation: method.hold.make(context),
            schedule,
            correction,
            estimators,
            ceiling,
            controller,
            identifier: decided.identifier.clone(),
        };
        Ok((policies, labels, method))
    }

    /// The dither of a hold of fixed order: on coupled inputs of identified members that take values only.
    fn dither(&self, identifier: Option<&Identifier>) -> Option<(f64, Vec<bool>)> {
        let (network, method) = (&self.network, &self.system.method);
        let amplitude = method.dither.unwrap_or(DITHER);
        if method.hold.varies() || amplitude == 0.0 || matches!(method.identify, Identify::Off) {
            return None;
        }
        let mut chosen = vec![false; network.n_inputs];
        for s in identifier?.members() {
            let member = &network.members[s];
            let is_fit = |i: &usize| network.wiring.is_coupled(*i) && !is_discrete(network, *i);
            if member.capabilities.input_derivatives == 0 {
                member.inputs.clone().filter(is_fit).for_each(|i| chosen[i] = true);
            }
        }
        chosen.contains(&true).then_some((amplitude, chosen))
    }

    /// What the file alone decides of the engine's settings.
    fn settings(&self) -> Settings {
        let (s, method) = (&self.system.simulation, &self.system.method);
        Settings {
            worker_threads: s.worker_threads,
            end_rule: match s.end {
                EndRule::Exact if method.is_steered_by_jumps() => EndRule::Halved,
                rule => rule,
            },
            land_on: s.output_interval.as_ref().filter(|_| s.land_on_output.value).map(|d| d.value),
            quadrature: method.quadrature,
            initial: s.initial,
            loops: s.loops,
            start_up: method.start_up,
            details: self.system.record.details,
            sample_feed_through: true,
            output_derivatives: method.slopes.value,
            allow_nonfinite: s.allow_nonfinite,
            repeats: s.repeats.as_ref().map(|repeats| repeats.ends.clone()),
            repeated_jumps: s.repeats.as_ref().map_or_else(|| [].into(), |repeats| repeats.jumps.clone()),
            ..Settings::new(self.experiment.start, self.experiment.stop)
        }
    }
}
