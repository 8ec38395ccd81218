//! Two masses that other papers couple, with the default method: as many steps and the same error as when it was designed.
//!
//! Parameters as published (Glumac and Kovačić; OMSimulator's dual mass oscillator; Inci and Arnold; preCICE's oscillator). Steps and errors are
//! those of the experiment that the method comes from, class A at the tolerance 1e-3; at most 1.2 times as many steps are allowed.
//! The exact motion is that of a linear system of order 4, integrated with a step far smaller than anything that is judged.

use powerbond::core::observe::{Flow, Observer, StepReport};
use powerbond::core::step::StepView;
use powerbond::{Output, Session, System};

/// Mass, stiffness, damping, initial position and velocity.
type Body = [f64; 5];

/// Name, the giver of force, the mass, stiffness and damping between them, stop; steps and error over tolerance of the experiment.
type Case = (&'static str, Body, Body, [f64; 2], f64, u64, f64);

const PRECICE: f64 = 4.0 * std::f64::consts::PI * std::f64::consts::PI;

const CASES: [Case; 8] = [
    ("glumac", [10.0, 1.0, 1.0, 0.1, 0.1], [10.0, 1.0, 2.0, 0.2, 0.1], [1.0, 2.0], 50.0, 174, 0.16),
    ("omsimulator", [1.0, 20.0, 0.3, 0.5, 0.0], [1.0, 10.0, 0.2, 0.0, 0.0], [10.0, 0.5], 10.0, 382, 0.18),
    ("inci-a", [1.0, 1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 0.0], [1.0, 1.0], 5.0, 128, 0.035),
    ("inci-b", [1.0, 1.0, 1.0, 0.0, 0.0], [100.0, 1.0, 1.0, 1.0, 0.0], [100.0, 1.0], 5.0, 298, 0.14),
    ("inci-c", [10.0, 100.0, 1.0, 0.0, 0.0], [10.0, 100.0, 1.0, 1.0, 0.0], [100.0, 1.0], 5.0, 263, 0.23),
    ("inci-d", [1.0, 100.0, 1.0, 1.0, 0.0], [1.0, 100.0, 1.0, 0.0, 1.0], [100.0, 1.0], 12.0, 913, 0.37),
    (
        "precice",
        [1.0, PRECICE, 0.0, 1.0, 0.0],
        [1.0, PRECICE, 0.0, 0.0, 0.0],
        [4.0 * PRECICE, 0.0],
        1.0,
        221,
        0.16,
    ),
    (
        "precice-20-s",
        [1.0, PRECICE, 0.0, 1.0, 0.0],
        [1.0, PRECICE, 0.0, 0.0, 0.0],
        [4.0 * PRECICE, 0.0],
        20.0,
        7319,
        0.68,
    ),
];

fn file(giver: Body, mass: Body, [stiffness, damping]: [f64; 2], stop: f64) -> String {
    let body = |[m, c, d, x, v]: Body| {
        format!(
            "mass = {m:?}, stiffness = {c:?}, damping = {d:?}, initial_position = {x:?}, initial_velocity = {v:?}, \
             integrator = \"accurate\""
        )
    };
    format!(
        "[system]\nname = \"two-masses\"\n[simulation]\nstop = {stop:?}\n[method]\ntolerance = 1e-3\n\
         [subsystems.giver]\nmodel = \"oscillator/force-giver\"\n\
         parameters = {{ {}, coupling_stiffness = {stiffness:?}, coupling_damping = {damping:?} }}\n\
         [subsystems.mass]\nmodel = \"oscillator/mass\"\nparameters = {{ {} }}\n\
         [[connections]]\nfrom = \"mass.position\"\nto = \"giver.position\"\n\
         [[connections]]\nfrom = \"mass.velocity\"\nto = \"giver.velocity\"\n\
         [[connections]]\nfrom = \"giver.force\"\nto = \"mass.force\"\n\
         [bonds.spring]\nports = [\n\
         {{ input = \"mass.force\", output = \"mass.velocity\", sign = -1 }},\n\
         {{ input = \"giver.velocity\", output = \"giver.force\", sign = 1 }} ]\n",
        body(giver),
        body(mass)
    )
}

/// Both bodies as one system, by Runge and Kutta's method of order 4.
struct Exact {
    giver: Body,
    mass: Body,
    between: [f64; 2],
    t: f64,
    x: [f64; 4],
}

impl Exact {
    fn new(giver: Body, mass: Body, between: [f64; 2]) -> Self {
        Exact { giver, mass, between, t: 0.0, x: [giver[3], giver[4], mass[3], mass[4]] }
    }

    fn force(&self, [x1, v1, x2, v2]: [f64; 4]) -> f64 {
        self.between[0] * (x1 - x2) + self.between[1] * (v1 - v2)
    }

    fn rate(&self, x: [f64; 4]) -> [f64; 4] {
        let force = self.force(x);
        let own = |[m, c, d, ..]: Body, x: f64, v: f64, f: f64| (f - c * x - d * v) / m;
        [x[1], own(self.giver, x[0], x[1], -force), x[3], own(self.mass, x[2], x[3], force)]
    }

    /// Position and velocity of the mass, and the force on it.
    fn at(&mut self, t: f64) -> [f64; 3] {
        const LONGEST: f64 = 1e-3;
        let parts = ((t - self.t) / LONGEST).ceil().max(1.0);
        let h = (t - self.t) / parts;
        for _ in 0..parts as usize {
            let along = |k: [f64; 4], h: f64| std::array::from_fn(|i| self.x[i] + h * k[i]);
            let k1 = self.rate(self.x);
            let k2 = self.rate(along(k1, 0.5 * h));
            let k3 = self.rate(along(k2, 0.5 * h));
            let k4 = self.rate(along(k3, h));
            self.x = std::array::from_fn(|i| self.x[i] + h / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]));
        }
        self.t = t;
        [self.x[2], self.x[3], self.force(self.x)]
    }
}

/// Errors of the outputs, weighted with time.
struct Errors {
    exact: Exact,
    /// Places of position, velocity and force among all outputs.
    outputs: [usize; 3],
    time: f64,
    off: [f64; 3],
    mean: [f64; 3],
    m2: [f64; 3],
}

impl Observer for Errors {
    fn accepted(&mut self, step: &StepView<'_>, _: &StepReport<'_>) -> Flow {
        let h = step.span.h;
        self.time += h;
        let exact = self.exact.at(step.span.end);
        for (k, (&o, y)) in self.outputs.iter().zip(exact).enumerate() {
            let off = step.y_fresh[o] - y;
            self.off[k] += h * off * off;
            let off = y - self.mean[k];
            self.mean[k] += h / self.time * off;
            self.m2[k] += h * off * (y - self.mean[k]);
        }
        Flow::Continue
    }
}

#[test]
fn published_two_mass_systems_take_as_many_steps_as_designed() {
    let mut wrong = Vec::new();
    for (name, giver, mass, between, stop, steps, error) in CASES {
        let text = file(giver, mass, between, stop);
        let system = System::parse("two-masses.toml", &text).unwrap();
        let mut session = Session::open(&system, Output::nothing()).unwrap();
        let names: Vec<String> = session.assembled().names.outputs.iter().map(ToString::to_string).collect();
        let place = |wanted: &str| names.iter().position(|name| name == wanted).unwrap();
        let outputs = ["mass.position", "mass.velocity", "giver.force"].map(place);
        let none = [0.0; 3];
        let exact = Exact::new(giver, mass, between);
        let mut errors = Errors { exact, outputs, time: 0.0, off: none, mean: none, m2: none };
        session.run_with(&mut errors).unwrap();
        let made = session.finish().unwrap().summary.steps.accepted;
        let mean: f64 = errors.off.iter().zip(errors.m2).map(|(off, m2)| off / m2).sum::<f64>() / 3.0;
        let found = mean.sqrt() / 1e-3;
        if made > steps * 6 / 5 || !(0.5..1.5).contains(&(found / error)) {
            wrong.push(format!(
                "{name}: {made} steps for {steps}, error over tolerance {found:.3} for {error}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
