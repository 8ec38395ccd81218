//! Consistent initial values: outputs and inputs along the feed-through graph, algebraic loops by Newton's method.

use crate::error::RunError;
use crate::feed_through::Structure;
use crate::network::{Network, graph};
use crate::subsystem::{Inputs, Span, SubsystemError};

/// How initial values are solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Initial {
    /// `|u - L y| ≤ tolerance · (1 + |u|)` for every input of a loop; Newton's method goes on while it gains.
    pub tolerance: f64,
    /// Newton steps of a loop.
    pub iterations: usize,
    /// Passes of the fixed-point iteration where Newton's method fails.
    pub passes: usize,
}

impl Default for Initial {
    fn default() -> Self {
        Initial { tolerance: 1e-11, iterations: 50, passes: 200 }
    }
}

/// Makes `y` consistent with `u = L y` at the start of `at`; externals and start values are set here.
///
/// Inputs are taken in the order of the feed-through graph; a loop is solved by Newton's method, with ∂y/∂u from the
/// subsystem where it gives it, else by differences; if that fails, by fixed-point iteration. What is left open by
/// subsystems of unknown feed-through is settled by passes over the whole system and, where these do not settle,
/// solved as if everything unknown fed everything through.
pub(crate) fn solve(
    network: &mut Network,
    rules: &Initial,
    at: Span,
    allow_nonfinite: bool,
    y: &mut [f64],
) -> Result<Vec<f64>, RunError> {
    let mut u = network.input_start.clone();
    network.externals_at(at.start, &mut u);
    let structure = Structure::of(network);
    let stale = vec![true; network.members.len()];
    let solved = vec![false; u.len()];
    let mut solver = Solver { network, rules, at, allow_nonfinite, u, y, stale, solved };
    solver.along(&structure)?;
    if solver.passes(&structure.order, 2)?.is_none() {
        return Ok(solver.u);
    }
    if structure.unknown.is_empty() {
        // Only round-off can be left where everything is known.
        return match solver.passes(&structure.order, rules.passes)? {
            None => Ok(solver.u),
            Some((input, change)) => {
                Err(RunError::InitialLoop { inputs: vec![input], change, passes: rules.passes })
            }
        };
    }
    let possible = Structure::with_possible(solver.network, true);
    solver.along(&possible)?;
    match solver.passes(&possible.order, rules.passes)? {
        None => Ok(solver.u),
        Some((input, change)) => {
            let component = possible.components.iter().find(|c| c.contains(&input));
            let inputs = component.cloned().unwrap_or_else(|| vec![input]);
            Err(RunError::InitialLoop { inputs, change, passes: rules.passes })
        }
    }
}

struct Solver<'a> {
    network: &'a mut Network,
    rules: &'a Initial,
    at: Span,
    allow_nonfinite: bool,
    u: Vec<f64>,
    y: &'a mut [f64],
    /// Members whose outputs do not belong to their inputs yet.
    stale: Vec<bool>,
    /// Inputs of loops that have been solved: another pass would only blow their round-off up.
    solved: Vec<bool>,
}

impl Solver<'_> {
    /// Every component of the graph in its order.
    fn along(&mut self, structure: &Structure) -> Result<(), RunError> {
        for component in &structure.components {
            if graph::is_loop(component, &structure.edges) {
                self.solve_loop(component)?;
                component.iter().for_each(|&i| self.solved[i] = true);
            } else if self.network.wiring.is_coupled(component[0]) {
                let value = self.fed(component[0])?;
                self.set(component[0], value);
            }
        }
        (0..self.network.members.len()).try_for_each(|s| self.evaluate(s))
    }

    /// Passes over all members until no input changes; else the one that changes most, and by how much.
    fn passes(&mut self, order: &[usize], limit: usize) -> Result<Option<(usize, f64)>, RunError> {
        let mut worst = None;
        for _ in 0..limit {
            worst = None;
            for &s in order {
                for i in self.network.members[s].inputs.clone() {
                    if !self.network.wiring.is_coupled(i) {
                        continue;
                    }
                    let value = self.fed(i)?;
                    let change = (value - self.u[i]).abs() / (1.0 + value.abs());
                    let change = if change.is_nan() { f64::INFINITY } else { change };
                    if change > self.rules.tolerance && worst.is_none_or(|(_, w)| change > w) {
                        worst = Some((i, change));
                    }
                    if !(self.solved[i] && change <= self.rules.tolerance) {
                        self.set(i, value);
                    }
                }
                self.evaluate(s)?;
            }
            if worst.is_none() {
                break;
            }
        }
        Ok(worst)
    }

    fn set(&mut self, input: usize, value: f64) {
        if self.u[input].to_bits() != value.to_bits() {
            self.u[input] = value;
            self.stale[self.network.owner_of_input[input]] = true;
        }
    }

    /// `(L y)` of an input, sources evaluated where they are stale.
    fn fed(&mut self, input: usize) -> Result<f64, RunError> {
        let sources: Vec<usize> =
            self.network.wiring.sources(input).map(|(o, _)| self.network.owner_of_output[o]).collect();
        sources.into_iter().try_for_each(|s| self.evaluate(s))?;
        Ok(self.network.wiring.row(input, self.y))
    }

    fn evaluate(&mut self, s: usize) -> Result<(), RunError> {
        if !self.stale[s] {
            return Ok(());
        }
        let span = self.at;
        self.try_evaluate(s).map_err(|error| RunError::Subsystem {
            member: s,
            phase: "initialization",
            span,
            error,
        })?;
        let outputs = self.network.members[s].outputs.clone();
        let y = &self.y[outputs.clone()];
        if !self.allow_nonfinite && !y.iter().all(|v| v.is_finite()) {
            return Err(crate::step::non_finite(y, outputs.start, span));
        }
        Ok(())
    }

    fn try_evaluate(&mut self, s: usize) -> Result<(), SubsystemError> {
        let member = &mut self.network.members[s];
        let u = Inputs::constant(&self.u[member.inputs.clone()]);
        member.simulator.evaluate(u, &mut self.y[member.outputs.clone()])?;
        self.stale[s] = false;
        Ok(())
    }

    /// The residual `u - L y` of a loop's inputs; infinite where the models cannot be evaluated.
    fn residual(&mut self, inputs: &[usize], r: &mut [f64]) -> f64 {
        let mut norm = 0.0f64;
        for (r, &i) in r.iter_mut().zip(inputs) {
            let sources: Vec<usize> =
                self.network.wiring.sources(i).map(|(o, _)| self.network.owner_of_output[o]).collect();
            if sources.into_iter().any(|s| self.stale[s] && self.try_evaluate(s).is_err()) {
                return f64::INFINITY;
            }
            *r = self.u[i] - self.network.wiring.row(i, self.y);
            let e = r.abs() / (1.0 + self.u[i].abs());
            norm = if e.is_nan() { f64::INFINITY } else { norm.max(e) };
        }
        norm
    }

    fn solve_loop(&mut self, inputs: &[usize]) -> Result<(), RunError> {
        let start: Vec<f64> = inputs.iter().map(|&i| self.u[i]).collect();
        if self.newton(inputs) {
            return Ok(());
        }
        inputs.iter().zip(&start).for_each(|(&i, &value)| self.set(i, value));
        let mut change = f64::INFINITY;
        for _ in 0..self.rules.passes {
            change = 0.0;
            for &i in inputs {
                let value = self.fed(i)?;
                let e = (value - self.u[i]).abs() / (1.0 + value.abs());
                change = if e.is_nan() { f64::INFINITY } else { change.max(e) };
                self.set(i, value);
            }
            if change <= self.rules.tolerance {
                return Ok(());
            }
        }
        Err(RunError::InitialLoop { inputs: inputs.to_vec(), change, passes: self.rules.passes })
    }

    /// Newton's method with step halving; true if it converged.
    fn newton(&mut self, inputs: &[usize]) -> bool {
        let n = inputs.len();
        let (mut r, mut tried) = (vec![0.0; n], vec![0.0; n]);
        let mut system = vec![0.0; n * (n + 1)];
        let mut norm = self.residual(inputs, &mut r);
        for _ in 0..self.rules.iterations {
            if norm == 0.0 || !norm.is_finite() {
                break;
            }
            if !self.jacobian(inputs, &r, &mut system) || !crate::numerics::solve(&mut system, n) {
                break;
            }
            let from: Vec<f64> = inputs.iter().map(|&i| self.u[i]).collect();
            let mut share = 1.0;
            loop {
                for (k, &i) in inputs.iter().enumerate() {
                    self.set(i, from[k] - share * system[k * (n + 1) + n]);
                }
                let next = self.residual(inputs, &mut tried);
                if next < norm {
                    norm = next;
                    std::mem::swap(&mut r, &mut tried);
                    break;
                }
                share *= 0.5;
                if share < 1e-3 {
                    inputs.iter().zip(&from).for_each(|(&i, &value)| self.set(i, value));
                    return self.residual(inputs, &mut r) <= self.rules.tolerance;
                }
            }
        }
        norm <= self.rules.tolerance
    }

    /// `[∂r/∂u | r]` of a loop by rows.
    fn jacobian(&mut self, inputs: &[usize], r: &[f64], system: &mut [f64]) -> bool {
        let (n, w) = (inputs.len(), inputs.len() + 1);
        system.fill(0.0);
        for k in 0..n {
            system[k * w + k] = 1.0;
            system[k * w + n] = r[k];
        }
        let mut given = Vec::new();
        let mut owners: Vec<usize> = inputs.iter().map(|&i| self.network.owner_of_input[i]).collect();
        owners.sort_unstable();
        owners.dedup();
        for s in owners {
            let columns: Vec<usize> =
                (0..n).filter(|&k| self.network.owner_of_input[inputs[k]] == s).collect();
            let member = &mut self.network.members[s];
            given.resize(member.feed_through.len(), 0.0);
            let knows = member.capabilities.feed_through_values && !member.feed_through.is_empty();
            if knows && member.simulator.feed_through(&mut given).is_ok() {
                for (pair, d) in member.feed_through.clone().zip(&given) {
                    let (output, input) = self.network.feed_through[pair];
                    let Some(&c) = columns.iter().find(|&&k| inputs[k] == input) else { continue };
                    for (k, &i) in inputs.iter().enumerate() {
                        let fed = self.network.wiring.sources(i).filter(|&(source, _)| source == output);
                        fed.for_each(|(_, gain)| system[k * w + c] -= gain * d);
                    }
                }
            } else if !columns.iter().all(|&c| self.difference(inputs, c, s, system)) {
                return false;
            }
        }
        system.iter().all(|v| v.is_finite())
    }

    /// Column `c` of the Jacobian by a central difference of member `s`.
    fn difference(&mut self, inputs: &[usize], c: usize, s: usize, system: &mut [f64]) -> bool {
        let w = inputs.len() + 1;
        let value = self.u[inputs[c]];
        let step = 6e-6 * (1.0 + value.abs());
        for (moved, share) in [(value + step, 1.0), (value - step, -1.0)] {
            self.u[inputs[c]] = moved;
            let fine = self.try_evaluate(s).is_ok();
            self.u[inputs[c]] = value;
            if !fine {
                return false;
            }
            for (k, &i) in inputs.iter().enumerate() {
                let own = |(o, _): &(usize, f64)| self.network.owner_of_output[*o] == s;
                let sum: f64 = self.network.wiring.sources(i).filter(own).map(|(o, g)| g * self.y[o]).sum();
                system[k * w + c] -= share * sum / (2.0 * step);
            }
        }
        self.try_evaluate(s).is_ok()
    }
}
