//! Consistent initial values: outputs and inputs along the feed-through graph, algebraic loops by Newton's method.

use crate::error::RunError;
use crate::feed_through::Structure;
use crate::network::Network;
use crate::step::{LoopRules, Moment, OutputsBefore, Plan, PlanOf, Response, Still};
use crate::subsystem::Span;

/// Makes `y` consistent with `u = L y` at the start of `at`; externals and start values are set here. The inputs are returned.
///
/// Inputs are taken in the order of the feed-through graph, loops are solved. What is left open by subsystems of unknown
/// feed-through is settled by passes over the whole system and, where these do not settle, solved as if everything unknown fed
/// everything through.
pub(super) fn solve(
    network: &mut Network,
    rules: LoopRules,
    at: Span,
    allow_nonfinite: bool,
    y: &mut [f64],
) -> Result<Vec<f64>, RunError> {
    let mut u = network.input_start.clone();
    network.externals_at(at.start, &mut u);
    let structure = Structure::of(network);
    let improved = None;
    let (moment, span) = (Moment::Start, at);
    let mut still = Still { network, u: &mut u, y, moment, span, allow_nonfinite, improved };
    along(&mut still, &structure, rules)?;
    if passes(&mut still, &structure, rules, 2)?.is_none() {
        return Ok(u);
    }
    let not_settled = |inputs: Vec<usize>, change: f64| {
        Err(RunError::Loop { inputs, change, passes: rules.passes, span: at })
    };
    if structure.unknown.is_empty() {
        // Only round-off can be left where everything is known.
        return match passes(&mut still, &structure, rules, rules.passes)? {
            None => Ok(u),
            Some((input, change)) => not_settled(vec![input], change),
        };
    }
    let possible = Structure::possible(still.network);
    along(&mut still, &possible, rules)?;
    match passes(&mut still, &possible, rules, rules.passes)? {
        None => Ok(u),
        Some((input, change)) => {
            let component = possible.components.iter().find(|c| c.contains(&input));
            not_settled(component.cloned().unwrap_or_else(|| vec![input]), change)
        }
    }
}

/// Every component of the graph in its order.
fn along(still: &mut Still<'_>, structure: &Structure, rules: LoopRules) -> Result<(), RunError> {
    let of = PlanOf {
        response: &|_| Some(Response::Reread),
        wanted: &|_| true,
        always: &|_| true,
        before: OutputsBefore::Unknown,
    };
    let mut plan = Plan::new(still.network, structure, &of, rules);
    plan.run(still, |_| true)
}

/// Passes over all members until no input changes; else the one that changes most, and by how much, relative to `1 + |u|`.
fn passes(
    still: &mut Still<'_>,
    structure: &Structure,
    rules: LoopRules,
    limit: usize,
) -> Result<Option<(usize, f64)>, RunError> {
    let mut in_loop = vec![false; still.u.len()];
    structure.loops.iter().flat_map(|l| &l.inputs).for_each(|&i| in_loop[i] = true);
    // Loops may be solved to what their members can give.
    let tolerance = |i: usize| if in_loop[i] { rules.tolerance.max(1e-6) } else { rules.tolerance };
    let mut worst = None;
    for _ in 0..limit {
        worst = None;
        for &s in &structure.order {
            let mut changed = false;
            for i in still.network.members[s].inputs.clone() {
                if !still.network.wiring.is_coupled(i) {
                    continue;
                }
                let value = still.network.wiring.row(i, still.y);
                let change = (value - still.u[i]).abs() / (1.0 + value.abs());
                let change = if change.is_nan() { f64::INFINITY } else { change };
                if change > tolerance(i) {
                    if worst.is_none_or(|(_, w)| change > w) {
                        worst = Some((i, change));
                    }
                } else if in_loop[i] {
                    // Another pass would only blow the round-off of a solved loop up.
                    continue;
                }
                changed |= still.u[i].to_bits() != value.to_bits();
                still.u[i] = value;
            }
            if changed {
                still.answer(s, Response::Reread)?;
            }
        }
        if worst.is_none() {
            break;
        }
    }
    Ok(worst)
}
