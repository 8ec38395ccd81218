//! Errors of the engine and of its builder know indices; here they get names, and the place in the file.

use super::shares::Shares;
use super::{Assembled, in_words, loop_text};
use crate::Error;
use crate::error::{Collector, Failure};
use crate::source::{At, Place};
use crate::system::{SimulatorSpec, System};
use powerbond_core::error::RunError;
use powerbond_core::estimator::Blame;
use powerbond_core::feed_through::Structure;
use powerbond_core::network::{BuildError, BuildErrors, Problem, Subject, VariableName};
use powerbond_core::subsystem::{Span, SubsystemError};

impl Assembled {
    /// A run-time error in words.
    pub fn explain(&self, error: &RunError) -> Error {
        let names = &self.names;
        let when = |span: &Span| {
            if span.h == 0.0 {
                format!("at t = {} s", span.start)
            } else {
                format!("step from t = {} s by {} s", span.start, span.h)
            }
        };
        match error {
            RunError::Subsystem { member, error: SubsystemError::Lost(lost), .. } => {
                Error::lost(&names.subsystems[*member], lost)
            }
            RunError::Subsystem { member, phase, span, error } => {
                let name = &names.subsystems[*member];
                let doing = match *phase {
                    "step" => when(span),
                    phase if span.h == 0.0 => format!("{phase} {}", when(span)),
                    phase => format!("{phase} in the {}", when(span)),
                };
                let failure = Failure::new(format!("{name}: {doing} failed: {error}"));
                model(failure.of(name).at(span).call(error))
            }
            RunError::NonFinite { output, value, span } => {
                let name = &names.outputs[*output];
                let failure = Failure::new(format!("`{name}` became {value} ({})", when(span)));
                let cure = self.advice_where_not_finite();
                model(failure.of(&name.subsystem).about(name).at(span).cure(cure))
            }
            RunError::NonFiniteRecord { probe, value, span } => {
                let name = &names.probes[*probe];
                let failure = Failure::new(format!("`{name}` became {value} ({})", when(span)));
                let cure = self.advice_where_not_finite();
                model(failure.of(&name.subsystem).about(name).at(span).cure(cure))
            }
            RunError::EarlyReturn { member, span, reached } => {
                let name = &names.subsystems[*member];
                let failure = Failure::new(format!(
                    "{name}: {} returned early at t = {reached} s, and not every subsystem supports rollback",
                    when(span)
                ));
                model(failure.of(name).at(span))
            }
            RunError::NoRestore { member } => Error::input(
                None,
                format!(
                    "{}: the method needs rollback, and the state of this subsystem cannot be saved and restored. \
                     The estimators `energy` and `predictor` do not need it",
                    names.subsystems[*member]
                ),
            ),
            RunError::ForeignSnapshot => Error::input(
                None,
                "the saved state belongs to another run and cannot be restored in this one".to_owned(),
            ),
            RunError::Loop { inputs, change, passes, span } => {
                let structure = Structure::of(self.engine.network());
                let known = structure.loops.iter().find(|l| inputs.iter().all(|i| l.inputs.contains(i)));
                let through = known.map_or_else(
                    || {
                        inputs
                            .iter()
                            .map(|&i| format!("`{}`", names.inputs[i]))
                            .collect::<Vec<_>>()
                            .join(", ")
                    },
                    |found| format!("`{}`", loop_text(found, names)),
                );
                let key = if span.start <= self.start { "initial" } else { "loops" };
                let failure = Failure::new(format!(
                    "the algebraic loop {through} was not solved at t = {} s: after {passes} passes its values still change by \
                     {change:.1e} (relative)",
                    span.end
                ));
                let cure = format!(
                    "Either it has no solution (a loop gain of 1), or it needs better start values or a larger \
                     `{key} = {{ tolerance = … }}` in `[simulation]`"
                );
                accuracy(failure.about(through.trim_matches('`')).at(span).cure(cure))
            }
            RunError::Rejections { span, norm, count, blame, cause } => {
                let what = match blame {
                    Some(Blame::Output(output)) => format!(", most of it from `{}`", names.outputs[*output]),
                    Some(Blame::Input(input)) => format!(", most of it from `{}`", names.inputs[*input]),
                    Some(Blame::Bond(bond)) => format!(", most of it from bond `{}`", names.bonds[*bond]),
                    None => String::new(),
                };
                let cause =
                    cause.as_ref().map_or(String::new(), |cause| format!(". {}", self.explain(cause)));
                let failure = Failure::new(format!(
                    "{} failed {count} time(s); its error norm is still {norm:.4} (1 is the tolerance){what}{cause}",
                    when(span)
                ));
                let failure = match blame {
                    Some(Blame::Output(output)) => failure.about(&names.outputs[*output]),
                    Some(Blame::Input(input)) => failure.about(&names.inputs[*input]),
                    Some(Blame::Bond(bond)) => failure.about(&names.bonds[*bond]),
                    None => failure,
                };
                accuracy(failure.at(span).cure(self.advice_at_floor(blame.as_ref())))
            }
            RunError::Runaway { bond, span, power } => {
                let name = &names.bonds[*bond];
                let failure = Failure::new(format!(
                    "the coupling is unstable: the power of bond `{name}` grows without bound ({power:.3e} W at t = {} s) by \
                     energy that the coupling creates",
                    span.end
                ));
                let ways = self.ways_to_stability().into_iter();
                let ways = ways.chain(self.refresh().map(str::to_owned)).chain(["another split".to_owned()]);
                let cure = capitalized(&in_words(ways));
                accuracy(failure.about(name).at(span).cure(cure))
            }
        }
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

fn model(failure: Failure) -> Error {
    Error::Model(Box::new(failure))
}

fn accuracy(failure: Failure) -> Error {
    Error::Accuracy(Box::new(failure))
}

impl Assembled {
    /// What may help where a value is no number.
    fn advice_where_not_finite(&self) -> String {
        // Where nothing is exchanged, the coupling is not the cause.
        let network = self.engine.network();
        if !(0..network.n_inputs).any(|input| network.wiring.is_coupled(input)) {
            return "`--allow-nonfinite` continues".to_owned();
        }
        let ways = in_words(self.ways_to_stability());
        format!("If the coupling is the cause: {ways}. `--allow-nonfinite` continues")
    }

    /// What may help where no step is short enough.
    fn advice_at_floor(&self, blame: Option<&Blame>) -> String {
        let network = self.engine.network();
        let lags = |o: usize| {
            let s = network.owner_of_output[o];
            let sources = network.members[s].inputs.clone().flat_map(|i| network.wiring.sources(i));
            let mut near = sources.map(|(o, _)| network.owner_of_output[o]).chain([s]);
            near.find(|&s| network.members[s].may_feed_through() && !self.refreshed.contains(&s))
        };
        let blamed = match blame {
            Some(Blame::Output(o)) => lags(*o),
            _ => None,
        };
        match blamed {
            Some(s) => format!(
                "`{}` has direct feed-through and is not refreshed, so its outputs lag one step and this error is of \
                 first order: use {}a larger tolerance, or `at_floor = \"keep\"`",
                self.names.subsystems[s],
                match self.engine.network().members[s].capabilities.can_refresh {
                    true => "`refresh = true` or a higher `hold`; or ",
                    false => "a higher `hold`; or ",
                }
            ),
            None => "A larger tolerance or a smaller `min_step` may help; `at_floor = \"keep\"` accepts and counts \
                     such steps"
                .to_owned(),
        }
    }
}

impl System {
    /// What is wrong with the description, in words and with places.
    pub(super) fn refused(&self, errors: &BuildErrors) -> Error {
        let mut problems = Collector::new();
        errors.0.iter().for_each(|e| problems.add(Error::input(self.place_of(e), self.advise(e))));
        problems.into_error()
    }

    /// An error of the description in words, with what is known of built-in models.
    fn advise(&self, error: &BuildError) -> String {
        let parameter = |name: &VariableName| {
            let spec = self.subsystems.iter().find(|s| s.name.value == name.subsystem)?;
            let SimulatorSpec::Model(model) = &spec.simulator else { return None };
            powerbond_models::find(&model.value)?.all_parameters().find(|p| p.name == name.variable)
        };
        match &error.problem {
            Problem::NoVariable { name, .. } if parameter(name).is_some() => {
                format!("`{name}` is a parameter set in `parameters` and cannot be connected")
            }
            problem => problem.to_string(),
        }
    }

    /// Where the subject of a build error stands.
    fn place_of(&self, error: &BuildError) -> Option<Place> {
        let named = |mut written: Box<dyn Iterator<Item = &At<VariableName>> + '_>| {
            written.find(|name| is_about(&error.problem, &name.value)).and_then(At::place)
        };
        match &error.subject {
            Subject::Subsystem(name) => self.subsystems.iter().find(|s| s.name.value == *name)?.name.place(),
            Subject::Connection(n) => {
                let shares = Shares::of(self).ok()?;
                let c = &self.connections[shares.origin(self, *n)?];
                named(Box::new(c.from.iter().map(|(name, _)| name))).or_else(|| c.to.place())
            }
            Subject::External(n) => self.inputs.get(*n)?.0.place(),
            Subject::Bond(n, None) => self.bonds[*n].name.place(),
            Subject::Bond(n, Some(p)) => {
                let port = &self.bonds[*n].ports[*p];
                named(Box::new(port.inputs.iter().chain(&port.outputs))).or_else(|| port.sign.place())
            }
            Subject::Record(_) => None,
        }
    }
}

/// Whether a problem is about the variable that was written as `name`.
fn is_about(problem: &Problem, name: &VariableName) -> bool {
    match problem {
        Problem::NoSubsystem { name: subsystem, .. } => name.subsystem == *subsystem,
        Problem::NoVariable { name: n, .. } | Problem::WrongCausality { name: n, .. } => n == name,
        Problem::Units { from, .. } | Problem::Turns { from, .. } => from == name,
        Problem::Unfed { input } | Problem::Foreign { input, .. } | Problem::UsedTwice { input, .. } => {
            input == name
        }
        Problem::NotAPower { input, .. } | Problem::SplitPort { input, .. } => input == name,
        _ => false,
    }
}
