//! The methods that `tune` tries. Another one is another entry.

use super::{Curve, Point};

/// What is varied from coarse to fine.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Knob {
    /// The constant step.
    Step,
    /// The tolerance of the energy estimate, so that about as many steps are made as with a constant one.
    Energy,
    /// The tolerance of the predictor estimate, as a share of how far each output moves.
    Predictor(f64),
    /// The tolerance of the whole method: this at the coarsest level, a tenth of it at the next one.
    Tolerance(f64),
}

/// A method.
#[derive(Debug)]
pub struct Candidate {
    /// Its name.
    pub name: &'static str,
    /// Lines of its `[method]`.
    lines: &'static str,
    hold: u8,
    needs_bonds: bool,
    knob: Knob,
}

/// Every method that is tried.
pub const CANDIDATES: &[Candidate] = &[
    Candidate { name: "constant", lines: "hold = 0\n", hold: 0, needs_bonds: false, knob: Knob::Step },
    Candidate {
        name: "constant, hold 1",
        lines: "hold = 1\n",
        hold: 1,
        needs_bonds: false,
        knob: Knob::Step,
    },
    Candidate { name: "ECCO", lines: "hold = 0\n", hold: 0, needs_bonds: true, knob: Knob::Energy },
    Candidate {
        name: "ECCO + NEPCE",
        lines: "hold = 0\ncorrection = { kind = \"nepce\" }\n",
        hold: 0,
        needs_bonds: true,
        knob: Knob::Energy,
    },
    Candidate { name: "ECCO, hold 1", lines: "hold = 1\n", hold: 1, needs_bonds: true, knob: Knob::Energy },
    Candidate {
        name: "NEPCE, hold 1",
        lines: "hold = 1\ncorrection = { kind = \"nepce\" }\n",
        hold: 1,
        needs_bonds: false,
        knob: Knob::Step,
    },
    Candidate {
        name: "NEPCE, hold 1, feed-through",
        lines: "hold = 1\ncorrection = { kind = \"nepce\", feed_through = \"identified\" }\n",
        hold: 1,
        needs_bonds: false,
        knob: Knob::Step,
    },
    Candidate {
        name: "give-back, hold 1",
        lines: "hold = 1\ncorrection = \"give-back\"\n",
        hold: 1,
        needs_bonds: false,
        knob: Knob::Step,
    },
    Candidate {
        name: "predictor, hold 1",
        lines: "hold = 1\n",
        hold: 1,
        needs_bonds: false,
        knob: Knob::Predictor(0.3),
    },
    Candidate {
        name: "energy correction",
        lines: "hold = 0\ncorrection = { kind = \"energy\" }\n",
        hold: 0,
        needs_bonds: true,
        knob: Knob::Step,
    },
    Candidate {
        name: "correction, ν 0.25",
        lines: "hold = 0\ncorrection = { kind = \"energy\", nu = 0.25 }\n",
        hold: 0,
        needs_bonds: true,
        knob: Knob::Step,
    },
    Candidate {
        name: "correction, cap 25 %",
        lines: "hold = 0\ncorrection = { kind = \"energy\", cap = 0.25 }\n",
        hold: 0,
        needs_bonds: true,
        knob: Knob::Step,
    },
    Candidate {
        name: "correction, automatic",
        lines: "hold = 0\nidentify = true\ncorrection = { kind = \"energy\", form = \"auto\" }\n",
        hold: 0,
        needs_bonds: true,
        knob: Knob::Step,
    },
    Candidate {
        name: "auto",
        lines: "kind = \"auto\"\n",
        hold: 2,
        needs_bonds: false,
        knob: Knob::Tolerance(0.1),
    },
];

/// What the runs so far taught.
pub struct Known {
    /// E0, in J.
    pub energy: f64,
    /// Whether there are bonds.
    pub bonds: bool,
    /// Outputs that move, and their standard deviations.
    pub spreads: Vec<(String, f64)>,
    /// Hold, constant step and the residual energy of a step with it, in J.
    pub calibrated: Vec<(u8, f64, f64)>,
}

impl Known {
    /// Keeps the residual energies of runs with constant steps: they say which tolerance gives which step.
    pub(super) fn learn(&mut self, candidate: &Candidate, curve: &Curve) {
        let plain = candidate.knob == Knob::Step && !candidate.lines.contains("correction");
        if let (true, Some(run)) = (plain, curve.runs.iter().rev().find(|run| run.error.is_some())) {
            self.calibrated.push((candidate.hold, run.value, run.residual / run.steps.max(1) as f64));
        }
    }
}

/// A run to be made.
pub struct Plan {
    /// What is varied.
    pub knob: &'static str,
    /// Its value.
    pub value: f64,
    /// Constant or first step, in s.
    pub step: Option<f64>,
    /// `[method]` without its header.
    pub method: String,
}

impl Plan {
    /// `[simulation]` and `[method]` for a system file.
    pub fn block(&self) -> String {
        let step = self.step.map_or(String::new(), |h| format!("[simulation]\nstep = {h:?}\n\n"));
        format!("{step}[method]\n{}", self.method)
    }

    /// A run that could not be assembled.
    pub fn refused(self, level: f64, failure: String) -> Point {
        Point {
            level,
            knob: self.knob,
            value: self.value,
            block: self.block(),
            steps: 0,
            calls: 0,
            seconds: 0.0,
            error: None,
            estimated: None,
            residual: 0.0,
            failure: Some(failure),
        }
    }
}

impl Candidate {
    /// Whether its steps are constant.
    pub fn is_constant(&self) -> bool {
        self.knob == Knob::Step
    }

    /// Why it cannot be run, if it cannot.
    pub fn cannot(&self, known: &Known) -> Option<String> {
        if self.needs_bonds && !known.bonds {
            return Some("needs power bonds; the system has none".to_owned());
        }
        if self.knob == Knob::Energy && known.calibration(self.hold).is_none() {
            return Some(
                "no run with a constant step finished, or no energy is exchanged through bonds".to_owned(),
            );
        }
        None
    }

    /// The run that makes about as many steps as a constant step of `h`; `level` is `h` over the system's own step.
    pub fn plan(&self, known: &Known, h: f64, level: f64, duration: f64) -> Plan {
        let round = |x: f64| format!("{x:.2e}").parse().unwrap_or(x);
        match self.knob {
            Knob::Step => {
                let h = if super::LEVELS.contains(&level) { h } else { round(h) };
                Plan { knob: "step", value: h, step: Some(h), method: self.lines.to_owned() }
            }
            Knob::Tolerance(coarsest) => {
                // A fourth of the level is a tenth of the tolerance.
                let tolerance: f64 = round(coarsest * 10f64.powf((level / super::LEVELS[0]).log(4.0)));
                let method = format!("{}tolerance = {tolerance:e}\n", self.lines);
                Plan { knob: "tolerance", value: tolerance, step: None, method }
            }
            Knob::Predictor(coarsest) => {
                let share: f64 = round(coarsest * 10f64.powf((level / super::LEVELS[0]).log(4.0)));
                let entry =
                    |(name, spread): &(String, f64)| format!("{name:?} = {:e}", round(share * spread));
                let table: Vec<String> = known.spreads.iter().map(entry).collect();
                let (min, max): (f64, f64) = (round(h / 100.0), round((20.0 * h).min(duration / 20.0)));
                let method = format!(
                    "{}estimator = {{ kind = \"predictor\", tolerance = {{ {} }}, rho = 0 }}\n\
                     controller = {{ kind = \"ecco\", min_step = {min:e}, max_step = {max:e} }}\n",
                    self.lines,
                    table.join(", ")
                );
                Plan { knob: "tolerance", value: share, step: Some(round(h / 10.0).max(min)), method }
            }
            Knob::Energy => {
                // The residual energy of a step grows with h^(hold + 2).
                let (step, residual) = known.calibration(self.hold).unwrap_or((h, known.energy));
                let share = residual / known.energy * (h / step).powi(i32::from(self.hold) + 2);
                let (tolerance, scale): (f64, f64) = (round(share), round(known.energy));
                let (min, max): (f64, f64) = (round(h / 100.0), round((20.0 * h).min(duration / 20.0)));
                let method = format!(
                    "{}estimator = {{ kind = \"energy\", tolerance = {tolerance:e}, energy_scale = {scale:?} }}\n\
                     controller = {{ kind = \"ecco\", min_step = {min:e}, max_step = {max:e} }}\n",
                    self.lines
                );
                Plan { knob: "tolerance", value: tolerance, step: Some(round(h / 10.0).max(min)), method }
            }
        }
    }
}

impl Known {
    /// A constant step and the residual energy of a step with it, for a hold; none if nothing is exchanged.
    fn calibration(&self, hold: u8) -> Option<(f64, f64)> {
        let found = self.calibrated.iter().find(|c| c.0 == hold && c.2 > 0.0 && self.energy > 0.0);
        found.map(|&(_, step, residual)| (step, residual))
    }
}
