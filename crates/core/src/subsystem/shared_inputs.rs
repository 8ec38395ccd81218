//! An input that several connections feed, taken apart: each of them has an input of its own, and the subsystem gets the sum.

use crate::subsystem::{
    Advance, Binding, Causality, FeedThrough, Info, Inputs, Packet, Setup, Span, StateSnapshot, Subsystem,
    SubsystemError, Variable,
};

/// A subsystem some of whose inputs are sums of shares. Shares are variables after all others; the input itself becomes a local
/// variable, which can be recorded.
pub struct SharedInputs {
    inner: Box<dyn Subsystem>,
    info: Info,
    shares: Vec<Share>,
    /// How many variables the inner one has.
    variables: usize,
    /// The place of each bound input among those of the inner one.
    place: Vec<usize>,
    /// The place of each bound gain among those of the inner one.
    gain: Vec<usize>,
    value: Vec<f64>,
    slope: Vec<f64>,
    curvature: Vec<f64>,
    gains: Vec<f64>,
}

/// A share of an input.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The input, an index into the variables of the subsystem.
    pub input: usize,
    /// The name of the share.
    pub name: String,
}

impl SharedInputs {
    /// Takes inputs of `inner` apart; an input that is not an input of it stays as it is.
    pub fn new(inner: Box<dyn Subsystem>, shares: Vec<Share>) -> Self {
        let mut info = inner.info().clone();
        let variables = info.variables.len();
        for share in &shares {
            let Some(whole) = info.variables.get(share.input) else { continue };
            // The bounds are those of the sum.
            let part = Variable {
                name: share.name.clone(),
                causality: Causality::Input,
                start: 0.0,
                min: f64::NEG_INFINITY,
                max: f64::INFINITY,
                settable: false,
                ..whole.clone()
            };
            info.variables.push(part);
        }
        for share in &shares {
            if let Some(whole) = info.variables.get_mut(share.input) {
                whole.causality = Causality::Local;
                whole.settable = false;
            }
        }
        if let FeedThrough::Declared(pairs) = &mut info.feed_through {
            let of_shares = shares.iter().enumerate().flat_map(|(k, share)| {
                let fed = pairs.iter().filter(move |pair| pair.1 == share.input);
                fed.map(move |pair| (pair.0, variables + k))
            });
            let mut all: Vec<(usize, usize)> = of_shares.collect();
            let whole = |pair: &(usize, usize)| !shares.iter().any(|share| share.input == pair.1);
            all.extend(pairs.iter().copied().filter(whole));
            all.sort_unstable();
            *pairs = all;
        }
        SharedInputs {
            inner,
            info,
            shares,
            variables,
            place: Vec::new(),
            gain: Vec::new(),
            value: Vec::new(),
            slope: Vec::new(),
            curvature: Vec::new(),
            gains: Vec::new(),
        }
    }

    /// The variable of the inner subsystem that a variable belongs to.
    fn inner_variable(&self, v: usize) -> usize {
        v.checked_sub(self.variables).and_then(|k| self.shares.get(k)).map_or(v, |share| share.input)
    }

    /// Sums shares; says whether there are slopes and curvatures.
    fn sum(&mut self, u: Inputs<'_>) {
        for (sums, list) in
            [(&mut self.value, u.value), (&mut self.slope, u.slope), (&mut self.curvature, u.curvature)]
        {
            sums.fill(0.0);
            list.iter().zip(&self.place).for_each(|(x, &place)| sums[place] += x);
        }
    }
}

/// The place of `item` in `list`, where it is added if it is missing.
fn place_of<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|x| *x == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

/// What the inner subsystem is given, after [`SharedInputs::sum`].
macro_rules! given {
    ($self:ident, $u:ident) => {
        Inputs {
            value: &$self.value,
            slope: if $u.slope.is_empty() { &[] } else { &$self.slope },
            curvature: if $u.curvature.is_empty() { &[] } else { &$self.curvature },
        }
    };
}

impl Subsystem for SharedInputs {
    fn info(&self) -> &Info {
        &self.info
    }

    fn bind(&mut self, binding: &Binding) -> Result<(), SubsystemError> {
        let (mut inputs, mut pairs) = (Vec::new(), Vec::new());
        let place = |v: &usize| place_of(&mut inputs, self.inner_variable(*v));
        let place: Vec<usize> = binding.inputs.iter().map(place).collect();
        let gain = |&(o, i): &(usize, usize)| place_of(&mut pairs, (o, place[i]));
        self.gain = binding.feed_through.iter().map(gain).collect();
        self.gains = vec![0.0; pairs.len()];
        self.place = place;
        for list in [&mut self.value, &mut self.slope, &mut self.curvature] {
            *list = vec![0.0; inputs.len()];
        }
        let (outputs, probes) = (binding.outputs.clone(), binding.probes.clone());
        self.inner.bind(&Binding { inputs, outputs, probes, feed_through: pairs })
    }

    fn enter(&mut self, setup: &Setup) -> Result<(), SubsystemError> {
        self.inner.enter(setup)
    }

    fn evaluate(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.sum(u);
        self.inner.evaluate(given!(self, u), y)
    }

    fn update(&mut self, u: Inputs<'_>, y: &mut [f64]) -> Result<(), SubsystemError> {
        self.sum(u);
        self.inner.update(given!(self, u), y)
    }

    fn start(&mut self) -> Result<(), SubsystemError> {
        self.inner.start()
    }

    fn next_event(&self) -> Option<f64> {
        self.inner.next_event()
    }

    fn advance(&mut self, span: Span, u: Inputs<'_>, y: &mut [f64]) -> Result<Advance, SubsystemError> {
        self.sum(u);
        self.inner.advance(span, given!(self, u), y)
    }

    fn feed_through(&mut self, d: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner.feed_through(&mut self.gains)?;
        d.iter_mut().zip(&self.gain).for_each(|(d, &place)| *d = self.gains[place]);
        Ok(())
    }

    fn set(&mut self, variable: usize, value: f64) -> Result<(), SubsystemError> {
        self.inner.set(variable, value)
    }

    fn output_derivatives(&mut self, dy: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner.output_derivatives(dy)
    }

    fn probe(&mut self, z: &mut [f64]) -> Result<(), SubsystemError> {
        self.inner.probe(z)
    }

    fn save(&mut self) -> Result<(), SubsystemError> {
        self.inner.save()
    }

    fn restore(&mut self) -> Result<(), SubsystemError> {
        self.inner.restore()
    }

    fn save_second(&mut self) -> Result<(), SubsystemError> {
        self.inner.save_second()
    }

    fn restore_second(&mut self) -> Result<(), SubsystemError> {
        self.inner.restore_second()
    }

    fn scratch(&self) -> Option<Box<dyn Subsystem>> {
        let inner = self.inner.scratch()?;
        Some(Box::new(SharedInputs::new(inner, self.shares.clone())))
    }

    fn state(&mut self, visit: &mut dyn FnMut(&mut f64)) -> Result<(), SubsystemError> {
        self.inner.state(visit)
    }

    fn snapshot(&mut self) -> Result<StateSnapshot, SubsystemError> {
        self.inner.snapshot()
    }

    fn load_snapshot(&mut self, snapshot: &StateSnapshot) -> Result<(), SubsystemError> {
        self.inner.load_snapshot(snapshot)
    }

    fn can_snapshot(&mut self) -> bool {
        self.inner.can_snapshot()
    }

    fn packets(&self) -> &[Packet] {
        self.inner.packets()
    }

    fn read_packet(&mut self, packet: usize, bytes: &mut Vec<u8>) -> Result<(), SubsystemError> {
        self.inner.read_packet(packet, bytes)
    }

    fn write_packet(&mut self, packet: usize, bytes: &[u8]) -> Result<(), SubsystemError> {
        self.inner.write_packet(packet, bytes)
    }

    fn finish(&mut self) -> Result<(), SubsystemError> {
        self.inner.finish()
    }
}
