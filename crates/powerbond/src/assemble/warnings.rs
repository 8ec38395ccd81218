//! What should be known before a run is trusted, in words.

use super::Assembled;
use crate::number::short;
use powerbond_core::feed_through::AlgebraicLoop;
use powerbond_core::network::Names;
use powerbond_core::run::Engine;

impl Assembled {
    /// What is only known after a run.
    pub fn late_warnings(&self) -> Vec<String> {
        let shares = self.engine.shares_of_identified_use().into_iter().filter(|(_, share)| *share < 0.5);
        let warning = |(s, share): (usize, f64)| {
            format!(
                "the feed-through of `{}` was identified in {:.0} % of the steps only; in the others the correction \
                 ignored it. Constant steps with a zero-order hold and varying gains prevent identification; if the \
                 subsystem provides ∂y/∂u or supports refresh, use feed_through = \"model\"",
                self.names.subsystems[s],
                100.0 * share
            )
        };
        let ended = self.engine.terminated().map(|(s, t)| {
            let (name, now) = (&self.names.subsystems[s], self.engine.time());
            let at = if t > now { format!("; the last row is at {} s", short(now)) } else { String::new() };
            format!("`{name}` ended the simulation at {} s, before its stop time{at}", short(t))
        });
        shares.map(warning).chain(ended).collect()
    }
}

/// Input, output, input, … of a loop, in the direction in which values travel.
pub(crate) fn loop_path(found: &AlgebraicLoop, names: &Names) -> Vec<String> {
    let step = |&(input, output): &(usize, usize)| {
        [names.inputs[input].to_string(), names.outputs[output].to_string()]
    };
    found.path.iter().flat_map(step).collect()
}

/// A loop in one line, back to where it began.
pub(crate) fn loop_text(found: &AlgebraicLoop, names: &Names) -> String {
    let path = loop_path(found, names);
    let first = path.first().cloned().unwrap_or_default();
    path.iter().cloned().chain([first]).collect::<Vec<_>>().join(" → ")
}

/// What the engine cannot do on this system, known before the run.
pub(crate) fn engine_warnings(engine: &Engine, names: &Names) -> Vec<String> {
    let name = |s: usize| &names.subsystems[s];
    // A loop needs an output of it that goes somewhere and comes back.
    let network = engine.network();
    let is_coupled = |s: &&usize| network.members[**s].inputs.clone().any(|u| network.wiring.is_coupled(u));
    let unknown = engine.structure().unknown.iter().filter(is_coupled).map(|&s| {
        format!(
            "the direct feed-through of `{}` is unknown: algebraic loops through it are not detected. Declare it \
             with `feed_through = [[\"output\", \"input\"], …]`, or set `feed_through = \"probe\"`",
            name(s)
        )
    });
    let loops = engine.unsolved_loops().iter().map(|found| {
        let network = engine.network();
        let unable = |&&i: &&usize| !network.members[network.owner_of_input[i]].capabilities.can_refresh;
        let who = found.inputs.iter().find(unable).map_or("a subsystem", |&i| name(network.owner_of_input[i]));
        format!(
            "algebraic loop `{}`: solved at the start, but not during the run, because outputs of `{who}` cannot be \
             evaluated without a step. Every exchange lags one step behind, which is stable for small loop gains \
             only; `powerbond check` prints the gain",
            loop_text(found, names)
        )
    });
    let deaf = engine.deaf_to_events().iter().map(|&s| {
        format!(
            "`{}` has direct feed-through, but its outputs cannot be evaluated without a step: after a discontinuity \
             of its inputs they lag one step behind",
            name(s)
        )
    });
    let moved = engine.moved_jumps().iter().map(|moved| {
        let what = moved.input.map_or("an event of the scenario".to_owned(), |i| {
            format!("the discontinuity of `{}`", names.inputs[i])
        });
        format!(
            "{what} at {} s is moved to {} s: a subsystem takes steps of one size only, or multiples of one",
            short(moved.from),
            short(moved.to)
        )
    });
    let statistics = engine.statistics();
    let refused = statistics.refused.iter().map(|(s, error)| {
        format!(
            "`{}`: saving its state failed ({error}); steps that could not have been rolled back, whatever their errors: {}",
            name(*s),
            statistics.unsaved
        )
    });
    unknown.chain(loops).chain(deaf).chain(moved).chain(early_end(engine)).chain(refused).collect()
}

/// Steps that are multiples of something may not fit into the run.
fn early_end(engine: &Engine) -> Option<String> {
    let (end, stop) = (engine.planned_end(), engine.settings().stop);
    // A multiple of a step may be a last bit off the number that people expect.
    let end_text = short(format!("{end:.12e}").parse().unwrap_or(end));
    (end < stop).then(|| {
        format!(
            "the run ends at {} s instead of {} s: a subsystem takes steps of one size only, or multiples of one",
            end_text,
            short(stop)
        )
    })
}
