//! A subsystem that is whatever a test wants: `ẋ = f(t, x, u, p)`, `y = g(x, u, p)`, events, refusals, early returns.

use powerbond_core::subsystem::{
    Advance, Binding, Capabilities, Causality, FeedThrough, Info, Inputs, Setup, Span, StateSnapshot,
    StepEvent, Subsystem, SubsystemError, Variable,
};
use powerbond_models::variable;
use std::sync::{Arc, Mutex};

/// What `f` and `g` get.
#[derive(Clone, Copy)]
pub struct At<'a> {
    pub t: f64,
    pub x: &'a [f64],
    pub u: &'a [f64],
    pub p: &'a [f64],
}

type Function = Arc<dyn Fn(At<'_>, &mut [f64]) + Send + Sync>;

type Apply = Arc<dyn Fn(&mut [f64], &[f64]) + Send + Sync>;

/// A jump of the state at a known time.
#[derive(Clone)]
pub struct StateJump {
    pub time: f64,
    /// `Handled` or `Pending`.
    pub report: StepEvent,
    /// States, parameters.
    pub apply: Apply,
}

/// A call that a test looks at later.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub name: &'static str,
    /// The end of the step; NaN where no step is made.
    pub t: f64,
    /// Inputs at that time.
    pub u: Vec<f64>,
    /// Slopes of the inputs, if any.
    pub slope: Vec<f64>,
    pub curvature: Vec<f64>,
}

pub type Diary = Arc<Mutex<Vec<Call>>>;

/// What changes as time goes on.
#[derive(Clone, Default)]
struct State {
    t: f64,
    x: Vec<f64>,
    u: Vec<f64>,
    p: Vec<f64>,
    jumped: usize,
    pending: bool,
}

#[derive(Clone)]
pub struct Block {
    info: Info,
    inputs: usize,
    outputs: usize,
    rate: Option<Function>,
    output: Function,
    derivatives: Option<Function>,
    output_rates: Option<Function>,
    jumps: Vec<StateJump>,
    announces: bool,
    stops: Vec<f64>,
    refuses_above: f64,
    diary: Option<Diary>,
    micro: u32,
    start: State,
    now: State,
    saved: State,
    second: State,
    has_second: bool,
    bound_inputs: Vec<usize>,
    bound_outputs: Vec<usize>,
    probes: Vec<usize>,
}

/// `u`, or `u0`, `u1`, … if there are several.
fn named(letter: char, k: usize, n: usize) -> String {
    if n == 1 { letter.to_string() } else { format!("{letter}{k}") }
}

impl Block {
    /// With so many inputs and outputs `y = g`; it can do everything and declares no feed-through.
    pub fn new(
        inputs: usize,
        outputs: usize,
        output: impl Fn(At<'_>, &mut [f64]) + Send + Sync + 'static,
    ) -> Self {
        let plain = |name: String, causality| Variable { unit: None, ..variable(&name, causality, "", "") };
        let mut variables: Vec<Variable> =
            (0..inputs).map(|k| plain(named('u', k, inputs), Causality::Input)).collect();
        variables.extend((0..outputs).map(|k| plain(named('y', k, outputs), Causality::Output)));
        let capabilities = Capabilities {
            can_restore: true,
            can_refresh: true,
            sub_steps: true,
            input_derivatives: 2,
            ..Capabilities::default()
        };
        let info = Info {
            kind: "block".to_owned(),
            variables: variables.into(),
            feed_through: FeedThrough::Declared(Vec::new()),
            capabilities,
        };
        let start = State { u: vec![0.0; inputs], ..State::default() };
        Block {
            info,
            inputs,
            outputs,
            rate: None,
            output: Arc::new(output),
            derivatives: None,
            output_rates: None,
            jumps: Vec::new(),
            announces: false,
            stops: Vec::new(),
            refuses_above: f64::INFINITY,
            diary: None,
            micro: 4,
            now: start.clone(),
            saved: start.clone(),
            second: start.clone(),
            has_second: true,
            start,
            bound_inputs: Vec::new(),
            bound_outputs: Vec::new(),
            probes: Vec::new(),
        }
    }

    /// `y = d u + c x`, `ẋ = b u + a x`, one of each.
    pub fn linear(a: f64, b: f64, c: f64, d: f64, x: f64) -> Self {
        let block = Block::new(1, 1, move |at, y| y[0] = c * at.x[0] + d * at.u[0])
            .rate(&[x], move |at, dx| dx[0] = a * at.x[0] + b * at.u[0]);
        if d == 0.0 { block } else { block.feeding(&[(0, 0)]) }
    }

    /// `y = d u`.
    pub fn gain(d: f64) -> Self {
        Block::new(1, 1, move |at, y| y[0] = d * at.u[0]).feeding(&[(0, 0)])
    }

    /// `y = x`, `ẋ = u`: exact for inputs up to parabolas.
    pub fn integrator() -> Self {
        Block::linear(0.0, 1.0, 1.0, 0.0, 0.0)
    }

    /// No input, `y = f(t)`.
    pub fn source(f: impl Fn(f64) -> f64 + Send + Sync + 'static) -> Self {
        Block::new(0, 1, move |at, y| y[0] = f(at.t))
    }

    /// States and their rates; states can be recorded as `x0`, `x1`, …
    pub fn rate(mut self, x: &[f64], f: impl Fn(At<'_>, &mut [f64]) + Send + Sync + 'static) -> Self {
        self.start.x = x.to_vec();
        self.rate = Some(Arc::new(f));
        let local = |k| Variable { unit: None, ..variable(&format!("x{k}"), Causality::Local, "", "") };
        self.info.variables.extend((0..x.len()).map(local));
        self
    }

    /// A tunable parameter `p`; its index is returned by [`Block::parameter_index`].
    pub fn parameter(mut self, value: f64) -> Self {
        self.start.p.push(value);
        let name = format!("p{}", self.start.p.len() - 1);
        self.info.variables.push(Variable { unit: None, ..variable(&name, Causality::Local, "", "") });
        self
    }

    /// The variable of parameter 0.
    pub fn parameter_index(&self) -> usize {
        self.inputs + self.outputs + self.start.x.len()
    }

    /// Declares `(output, input)` pairs that feed through, counted from 0 each.
    pub fn feeding(mut self, pairs: &[(usize, usize)]) -> Self {
        let list = pairs.iter().map(|&(o, i)| (self.inputs + o, i)).collect();
        self.info.feed_through = FeedThrough::Declared(list);
        self
    }

    /// What it feeds through is unknown.
    pub fn secretive(mut self) -> Self {
        self.info.feed_through = FeedThrough::Unknown;
        self
    }

    /// It gives ∂y/∂u in the order of the declared pairs.
    pub fn derivatives(mut self, d: impl Fn(At<'_>, &mut [f64]) + Send + Sync + 'static) -> Self {
        self.derivatives = Some(Arc::new(d));
        self.info.capabilities.feed_through_values = true;
        self
    }

    /// It gives the time derivatives of its outputs.
    pub fn output_rates(mut self, dy: impl Fn(At<'_>, &mut [f64]) + Send + Sync + 'static) -> Self {
        self.output_rates = Some(Arc::new(dy));
        self.info.capabilities.output_derivatives = 1;
        self
    }

    /// Changes what it can do.
    pub fn able(mut self, change: impl FnOnce(&mut Capabilities)) -> Self {
        change(&mut self.info.capabilities);
        self
    }

    /// Its outputs cannot be read again.
    pub fn deaf(self) -> Self {
        self.able(|c| c.can_refresh = false)
    }

    /// Its state jumps at `time`, which it announces if [`Block::announcing`].
    pub fn jump(
        mut self,
        time: f64,
        report: StepEvent,
        apply: impl Fn(&mut [f64], &[f64]) + Send + Sync + 'static,
    ) -> Self {
        assert_ne!(report, StepEvent::None);
        self.jumps.push(StateJump { time, report, apply: Arc::new(apply) });
        self.able(|c| c.can_update = true)
    }

    /// It tells the time of its next jump.
    pub fn announcing(mut self) -> Self {
        self.announces = true;
        self
    }

    /// It comes back early at these times, once each.
    pub fn stopping(mut self, times: &[f64]) -> Self {
        self.stops = times.to_vec();
        self.able(|c| c.may_return_early = true)
    }

    /// It refuses steps that are longer.
    pub fn refusing_above(mut self, h: f64) -> Self {
        self.refuses_above = h;
        self
    }

    /// It keeps one state only.
    pub fn without_second_slot(mut self) -> Self {
        self.has_second = false;
        self
    }

    /// Every call is written down.
    pub fn with_diary(mut self, diary: &Diary) -> Self {
        self.diary = Some(diary.clone());
        self
    }

    /// How many steps of the classical method of order 4 it makes per step.
    pub fn micro_steps(mut self, n: u32) -> Self {
        self.micro = n;
        self
    }

    pub fn boxed(mut self) -> Box<dyn Subsystem> {
        self.now = self.start.clone();
        Box::new(self)
    }

    fn note(&self, name: &'static str, t: f64, u: Inputs<'_>, tau: f64) {
        if let Some(diary) = &self.diary {
            let call = Call {
                name,
                t,
                u: (0..u.value.len()).map(|i| u.at(i, tau)).collect(),
                slope: u.slope.to_vec(),
                curvature: u.curvature.to_vec(),
            };
            diary.lock().expect("no thread panicked").push(call);
        }
    }

    fn call(&self, f: &Function, t: f64, x: &[f64], u: &[f64], out: &mut [f64]) {
        f(At { t, x, u, p: &self.now.p }, out);
    }

    fn read(&self, y: &mut [f64]) {
        let mut all = vec![0.0; self.outputs];
        self.call(&self.output, self.now.t, &self.now.x, &self.now.u, &mut all);
        y.iter_mut().zip(&self.bound_outputs).for_each(|(y, &o)| *y = all[o]);
    }

    /// Inputs at `tau` after the start of a span.
    fn inputs_at(&self, u: Inputs<'_>, tau: f64) -> Vec<f64> {
        let mut all = self.now.u.clone();
        self.bound_inputs.iter().enumerate().for_each(|(k, &i)| all[i] = u.at(k, tau));
        all
    }

    /// Crosses `h` seconds, `tau` after the start of the span.
    fn cross(&mut self, tau: f64, h: f64, u: Inputs<'_>) {
        let (Some(rate), true) = (&self.rate, h > 0.0) else { return };
        let dt = h / f64::from(self.micro);
        let mut x = self.now.x.clone();
        for k in 0..self.micro {
            let from = tau + f64::from(k) * dt;
            x = runge_kutta(&x, dt, |c, x| {
                let mut dx = vec![0.0; x.len()];
                let t = self.now.t + f64::from(k) * dt + c * dt;
                self.call(rate, t, x, &self.inputs_at(u, from + c * dt), &mut dx);
                dx
            });
        }
        self.now.x = x;
        self.now.t += h;
    }

    /// The next jump of the state.
    fn next_jump(&self) -> Option<&StateJump> {
        self.jumps.get(self.now.jumped)
    }

    fn make_jump(&mut self) {
        if let Some(jump) = self.jumps.get(self.now.jumped).cloned() {
            (jump.apply)(&mut self.now.x, &self.now.p);
            self.now.jumped += 1;
        }
    }
}

/// One step of the classical method of order 4; `f(c, x)` at the fraction c of the step.
pub fn runge_kutta(x: &[f64], h: f64, f: impl Fn(f64, &[f64]) -> Vec<f64>) -> Vec<f64> {
    let plus = |k: &[f64], s: f64| x.iter().zip(k).map(|(x, k)| x + s * k).collect::<Vec<_>>();
    let k1 = f(0.0, x);
    let k2 = f(0.5, &plus(&k1, 0.5 * h));
    let k3 = f(0.5, &plus(&k2, 0.5 * h));
    let k4 = f(1.0, &plus(&k3, h));
    (0..x.len()).map(|i| x[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i])).collect()
}

impl Subsystem for Block {
    fn info(&self) -> &Info {
        &self.info
    }

    fn bind(&mut self, binding: &Binding) -> Result<(), SubsystemError> {
        self.bound_inputs = binding.inputs.clone();
        self.bound_outputs = binding.outputs.iter().map(|&v| v - self.inputs).collect();
        self.probes = binding.probes.clone();
        Ok(())
    }

    fn enter(&mut self, setup: &Setup) -> Result<(), SubsystemError> {
        self.now = State { t: setup.start, ..self.start.clone() };
        Ok(())
    }

    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.note("evaluate", f64::NAN, u, 0.0);
        self.now.u = self.inputs_at(u, 0.0);
        self.read(y);
        Ok(())
    }

    fn update(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.note("update", self.now.t, u, 0.0);
        if std::mem::take(&mut self.now.pending) {
            self.make_jump();
        }
        self.now.u = self.inputs_at(u, 0.0);
        self.read(y);
        Ok(())
    }

    fn next_event(&self) -> Option<f64> {
        self.next_jump().filter(|_| self.announces && !self.now.pending).map(|jump| jump.time)
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        if span.h > self.refuses_above * (1.0 + 1e-9) {
            return Err(SubsystemError::Infeasible { message: format!("{} s is too long", span.h) });
        }
        self.note("advance", span.end, u, span.h);
        self.now.t = span.start;
        if let Some(&stop) = self.stops.iter().find(|t| span.start < **t && **t < span.end - 1e-9 * span.h) {
            return Ok(Advance { reached: stop, event: StepEvent::None, next_event: None });
        }
        let (mut event, mut crossed) = (StepEvent::None, 0.0);
        let tolerance = 1e-9 * span.h;
        while let Some(jump) = self.next_jump().filter(|j| j.time <= span.end + tolerance) {
            let (report, part) = (jump.report, (jump.time - span.start).clamp(crossed, span.h) - crossed);
            self.cross(crossed, part, u);
            crossed += part;
            event = report;
            if report == StepEvent::Pending {
                // It can wait for the end of the step only.
                self.now.pending = true;
                break;
            }
            self.make_jump();
        }
        self.cross(crossed, span.h - crossed, u);
        self.now.t = span.end;
        self.now.u = self.inputs_at(u, span.h);
        self.read(y);
        Ok(Advance { reached: span.end, event, next_event: self.next_event() })
    }

    fn feed_through(&mut self, d: &mut [f64]) -> Result<(), SubsystemError> {
        match &self.derivatives {
            Some(derivatives) => self.call(derivatives, self.now.t, &self.now.x, &self.now.u, d),
            None => return Err(SubsystemError::Unsupported { call: "feed_through" }),
        }
        Ok(())
    }

    fn set(&mut self, variable: usize, value: f64) -> Result<(), SubsystemError> {
        if variable < self.inputs && !self.bound_inputs.contains(&variable) {
            self.now.u[variable] = value;
            return Ok(());
        }
        let first = self.parameter_index();
        match variable.checked_sub(first).and_then(|k| self.now.p.get_mut(k)) {
            Some(p) => *p = value,
            None => return Err(SubsystemError::Unsupported { call: "set" }),
        }
        Ok(())
    }

    fn output_derivatives(&mut self, dy: &mut [f64]) -> Result<(), SubsystemError> {
        match &self.output_rates {
            Some(rates) => self.call(rates, self.now.t, &self.now.x, &self.now.u, dy),
            None => dy.fill(f64::NAN),
        }
        Ok(())
    }

    fn probe(&mut self, z: &mut [f64]) -> Result<(), SubsystemError> {
        let mut y = vec![0.0; self.outputs];
        self.call(&self.output, self.now.t, &self.now.x, &self.now.u, &mut y);
        let all: Vec<f64> =
            [&self.now.u, &y, &self.now.x, &self.now.p].into_iter().flatten().copied().collect();
        z.iter_mut().zip(&self.probes).for_each(|(z, &v)| *z = all[v]);
        Ok(())
    }

    fn save(&mut self) -> Result<(), SubsystemError> {
        self.saved.clone_from(&self.now);
        Ok(())
    }

    fn restore(&mut self) -> Result<(), SubsystemError> {
        self.now.clone_from(&self.saved);
        Ok(())
    }

    fn save_second(&mut self) -> Result<(), SubsystemError> {
        if !self.has_second {
            return Err(SubsystemError::Unsupported { call: "save_second" });
        }
        self.second.clone_from(&self.now);
        Ok(())
    }

    fn restore_second(&mut self) -> Result<(), SubsystemError> {
        self.now.clone_from(&self.second);
        Ok(())
    }

    fn snapshot(&mut self) -> Result<StateSnapshot, SubsystemError> {
        Ok(StateSnapshot::new(self.now.clone()))
    }

    fn load_snapshot(&mut self, snapshot: &StateSnapshot) -> Result<(), SubsystemError> {
        let state = snapshot.get().ok_or(SubsystemError::Unsupported { call: "load_snapshot" })?;
        self.now.clone_from(state);
        // What was saved for a step is worth nothing from here on.
        self.saved.x.fill(f64::NAN);
        Ok(())
    }

    fn can_snapshot(&mut self) -> bool {
        self.info.capabilities.can_restore
    }
}
