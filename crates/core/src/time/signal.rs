//! External inputs: what is known of an input before the run starts.

use crate::time::aligned;

/// An input as a function of time.
pub enum Signal {
    /// Always the same.
    Constant(f64),
    /// `from` before `time`, `to` from `time` on.
    Step {
        /// When it jumps, in seconds.
        time: f64,
        /// Before.
        from: f64,
        /// From then on.
        to: f64,
    },
    /// `from` until `start`, `to` from `end` on, a straight line between.
    Ramp {
        /// When it starts to move, in seconds.
        start: f64,
        /// When it stops.
        end: f64,
        /// Before.
        from: f64,
        /// After.
        to: f64,
    },
    /// `offset + amplitude·sin(2π·frequency·t + phase)`.
    Sine {
        /// Peak value.
        amplitude: f64,
        /// In hertz.
        frequency: f64,
        /// In radians.
        phase: f64,
        /// Mean value.
        offset: f64,
    },
    /// Samples at increasing times; constant beyond both ends. Two rows at one time are a jump.
    Table {
        /// In seconds, not decreasing.
        times: Vec<f64>,
        /// One value for each time.
        values: Vec<f64>,
        /// `true`: straight lines between samples; `false`: the last sample holds.
        linear: bool,
    },
    /// Any function; it should be smooth, since its jumps are not known.
    Function(Box<dyn Fn(f64) -> f64 + Send>),
    /// Another signal, changed from some times on.
    Changed {
        /// What it follows where nothing changes it.
        base: Box<Signal>,
        /// Increasing times, in seconds, and what holds from each of them on.
        changes: Vec<(f64, Modifier)>,
    },
}

/// What becomes of a value that something else gives.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Modifier {
    /// It stays as it is.
    #[default]
    None,
    /// It is replaced.
    Override(f64),
    /// This is added to it.
    Bias(f64),
}

impl Modifier {
    /// What becomes of `value`.
    pub fn apply(self, value: f64) -> f64 {
        match self {
            Modifier::None => value,
            Modifier::Override(instead) => instead,
            Modifier::Bias(more) => value + more,
        }
    }
}

impl std::fmt::Debug for Signal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Signal::Constant(value) => write!(f, "Constant({value})"),
            Signal::Step { time, from, to } => write!(f, "Step({from} to {to} at {time} s)"),
            Signal::Ramp { start, end, from, to } => write!(f, "Ramp({from} to {to}, {start} to {end} s)"),
            Signal::Sine { amplitude, frequency, .. } => write!(f, "Sine({amplitude}, {frequency} Hz)"),
            Signal::Table { times, .. } => write!(f, "Table({} rows)", times.len()),
            Signal::Function(_) => f.write_str("Function"),
            Signal::Changed { base, changes } => write!(f, "Changed({base:?}, {} times)", changes.len()),
        }
    }
}

impl Signal {
    /// The value at `t`; at a jump the value after it.
    pub fn at(&self, t: f64) -> f64 {
        match self {
            Signal::Constant(value) => *value,
            Signal::Step { time, from, to } => {
                if t < *time {
                    *from
                } else {
                    *to
                }
            }
            Signal::Ramp { start, end, from, to } => {
                if t < *start {
                    *from
                } else if t >= *end {
                    *to
                } else {
                    from + (to - from) * (t - start) / (end - start)
                }
            }
            Signal::Sine { amplitude, frequency, phase, offset } => {
                offset + amplitude * (std::f64::consts::TAU * frequency * t + phase).sin()
            }
            Signal::Table { times, values, linear } => table(times, values, *linear, t),
            Signal::Function(f) => f(t),
            Signal::Changed { base, changes } => {
                modifier(changes, changes.partition_point(|&(time, _)| time <= t)).apply(base.at(t))
            }
        }
    }

    /// The limit from the left at `t`: what an input that is followed up to `t` ends with.
    pub fn before(&self, t: f64) -> f64 {
        match self {
            Signal::Step { time, from, .. } if t == *time => *from,
            Signal::Ramp { start, end, from, .. } if start == end && t == *start => *from,
            Signal::Table { times, values, linear } => {
                let after = times.partition_point(|&x| x < t);
                if after == 0 || times.get(after) != Some(&t) {
                    return table(times, values, *linear, t);
                }
                if *linear { values[after] } else { values[after - 1] }
            }
            Signal::Changed { base, changes } => {
                modifier(changes, changes.partition_point(|&(time, _)| time < t)).apply(base.before(t))
            }
            _ => self.at(t),
        }
    }

    /// Moves the times that it is made of to those of `others`, increasing, that are no further away than `resolution`.
    pub(crate) fn align(&mut self, others: &[f64], resolution: f64) {
        let align = |t: &mut f64| *t = aligned(*t, others, resolution);
        match self {
            Signal::Step { time, .. } => align(time),
            Signal::Ramp { start, end, .. } => {
                align(start);
                align(end);
            }
            Signal::Table { times, .. } => times.iter_mut().for_each(align),
            Signal::Changed { base, changes } => {
                base.align(others, resolution);
                changes.iter_mut().for_each(|(time, _)| align(time));
            }
            Signal::Constant(_) | Signal::Sine { .. } | Signal::Function(_) => {}
        }
    }

    /// Lets the jump at `from` come at `to`, which is later.
    pub(crate) fn move_jump(&mut self, from: f64, to: f64) {
        match self {
            Signal::Step { time, .. } if *time == from => *time = to,
            Signal::Ramp { start, end, .. } if *start == from && start == end => (*start, *end) = (to, to),
            Signal::Table { times, .. } => {
                let moved = times.iter_mut().filter(|t| (from..to).contains(*t));
                moved.for_each(|t| *t = to);
            }
            Signal::Changed { base, changes } => {
                base.move_jump(from, to);
                changes.iter_mut().filter(|(time, _)| *time == from).for_each(|(time, _)| *time = to);
            }
            _ => {}
        }
    }

    /// Where it jumps: the engine steps exactly to these times.
    pub fn jumps(&self) -> Vec<f64> {
        match self {
            Signal::Step { time, from, to } if from != to => vec![*time],
            Signal::Ramp { start, end, from, to } if from != to && start == end => vec![*start],
            Signal::Table { times, values, linear } => {
                let jumps = |i: &usize| values[*i] != values[i - 1] && (!linear || times[*i] == times[i - 1]);
                (1..times.len()).filter(jumps).map(|i| times[i]).collect()
            }
            Signal::Changed { base, changes } => {
                base.jumps().into_iter().chain(changes.iter().map(|&(time, _)| time)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Where it bends, and by how much its slope changes there, per second: ends of ramps, samples of linear tables.
    pub fn bends(&self) -> Vec<(f64, f64)> {
        match self {
            Signal::Ramp { start, end, from, to } if start < end && from != to => {
                let slope = (to - from) / (end - start);
                vec![(*start, slope), (*end, -slope)]
            }
            Signal::Table { times, values, linear: true } => {
                let lines = (1..times.len()).filter(|&i| times[i] > times[i - 1]);
                let slope = |i: usize| (values[i] - values[i - 1]) / (times[i] - times[i - 1]);
                let mut before = 0.0;
                let mut bends: Vec<(f64, f64)> = Vec::new();
                for i in lines {
                    bends.push((times[i - 1], slope(i) - before));
                    before = slope(i);
                }
                bends.extend(times.last().map(|&t| (t, -before)));
                bends.retain(|(_, change)| *change != 0.0);
                bends
            }
            Signal::Changed { base, .. } => base.bends(),
            _ => Vec::new(),
        }
    }

    /// The difference of its largest and its smallest value, where bends are told; 0 for all other signals.
    pub fn range(&self) -> f64 {
        match self {
            Signal::Ramp { from, to, .. } => (to - from).abs(),
            Signal::Table { values, .. } => {
                let (low, high) = values
                    .iter()
                    .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)));
                high - low
            }
            Signal::Changed { base, .. } => base.range(),
            _ => 0.0,
        }
    }
}

/// What holds after `count` changes.
fn modifier(changes: &[(f64, Modifier)], count: usize) -> Modifier {
    count.checked_sub(1).map_or(Modifier::None, |last| changes[last].1)
}

fn table(times: &[f64], values: &[f64], linear: bool, t: f64) -> f64 {
    let after = times.partition_point(|&x| x <= t);
    if after == 0 {
        return values[0];
    }
    if after == times.len() || !linear {
        return values[after - 1];
    }
    let (a, b) = (times[after - 1], times[after]);
    values[after - 1] + (values[after] - values[after - 1]) * (t - a) / (b - a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_interpolate_hold_and_jump() {
        let times = vec![0.0, 1.0, 1.0, 2.0];
        let values = vec![0.0, 1.0, 5.0, 7.0];
        let line = Signal::Table { times: times.clone(), values: values.clone(), linear: true };
        assert_eq!(
            [line.at(-1.0), line.at(0.5), line.at(1.0), line.at(1.5), line.at(9.0)],
            [0.0, 0.5, 5.0, 6.0, 7.0]
        );
        assert_eq!(line.before(1.0), 1.0);
        assert_eq!(line.jumps(), [1.0]);
        let hold = Signal::Table { times, values, linear: false };
        assert_eq!([hold.at(0.5), hold.at(1.0), hold.at(1.5)], [0.0, 5.0, 5.0]);
        assert_eq!(hold.before(2.0), 5.0);
    }

    #[test]
    fn changes_go_over_a_signal_until_they_are_taken_back() {
        let base = Box::new(Signal::Ramp { start: 0.0, end: 4.0, from: 0.0, to: 4.0 });
        let changes =
            vec![(1.0, Modifier::Override(9.0)), (2.0, Modifier::Bias(-1.0)), (3.0, Modifier::None)];
        let changed = Signal::Changed { base, changes };
        assert_eq!([0.5, 1.0, 1.5, 2.5, 3.5].map(|t| changed.at(t)), [0.5, 9.0, 9.0, 1.5, 3.5]);
        assert_eq!([1.0, 2.0, 3.0].map(|t| changed.before(t)), [1.0, 9.0, 2.0]);
        assert_eq!(changed.jumps(), [1.0, 2.0, 3.0]);
        assert_eq!(changed.bends(), [(0.0, 1.0), (4.0, -1.0)]);
    }

    #[test]
    fn a_step_is_right_continuous() {
        let step = Signal::Step { time: 0.5, from: 1.0, to: 2.0 };
        assert_eq!([step.at(0.49), step.before(0.5), step.at(0.5)], [1.0, 1.0, 2.0]);
        assert_eq!(step.jumps(), [0.5]);
    }

    #[test]
    fn a_ramp_and_a_table_of_the_same_shape_bend_alike() {
        let ramp = Signal::Ramp { start: 1.0, end: 3.0, from: 2.0, to: 6.0 };
        let (times, values) = (vec![0.0, 1.0, 3.0, 9.0], vec![2.0, 2.0, 6.0, 6.0]);
        let table = Signal::Table { times, values, linear: true };
        assert_eq!(ramp.bends(), [(1.0, 2.0), (3.0, -2.0)]);
        assert_eq!((ramp.bends(), ramp.range(), ramp.jumps()), (table.bends(), table.range(), table.jumps()));
    }
}
