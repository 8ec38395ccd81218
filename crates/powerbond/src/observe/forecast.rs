//! What a run will have come to if it goes on like this: time, steps, rows and bytes, and a word in time if that is too much.

use super::stride::Stride;
use crate::assemble::{Assembled, in_words, round_down};
use crate::catalogue::estimators::DEFAULT_TOLERANCE;
use crate::number::{count, duration, short, size};
use powerbond_core::step::StepView;
use std::time::Instant;

/// Hears a warning while the run goes on.
pub type Foreseen = Box<dyn FnOnce(&str) + Send>;

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reach {
    /// Wall-clock time since its start, in s.
    pub seconds: f64,
    /// Where it is, in s.
    pub time: f64,
    /// Accepted steps.
    pub steps: u64,
    /// Rows of results.
    pub rows: u64,
    /// Bytes of all tables.
    pub bytes: u64,
}

/// What a run will have come to at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Wall-clock time that is left, in s.
    pub left: f64,
    /// Wall-clock time in all, in s.
    pub seconds: f64,
    /// Steps in all.
    pub steps: f64,
    /// Rows of results in all.
    pub rows: f64,
    /// Bytes of all tables.
    pub bytes: f64,
}

/// Looks ahead. The pace is that of the last half of the wall-clock time or more, as the first steps of a run are short.
#[derive(Clone, Copy, Debug)]
pub struct Forecast {
    stop: f64,
    marks: [Reach; 2],
}

impl Forecast {
    /// Of a run from `start` to `stop`, in s.
    pub fn new(start: f64, stop: f64) -> Self {
        Forecast { stop, marks: [Reach { time: start, ..Reach::default() }; 2] }
    }

    /// What is to be expected now; nothing if time does not advance.
    pub fn at(&mut self, now: Reach) -> Option<Expected> {
        let [old, new] = self.marks;
        if now.seconds >= 2.0 * new.seconds && now.seconds > 0.0 {
            self.marks = [new, now];
        }
        let ahead = (self.stop - now.time) / (now.time - old.time);
        let total = |now: f64, old: f64| now + ahead * (now - old);
        let known = ahead.is_finite() && ahead >= 0.0 && now.seconds > old.seconds;
        known.then(|| Expected {
            left: ahead * (now.seconds - old.seconds),
            seconds: total(now.seconds, old.seconds),
            steps: total(now.steps as f64, old.steps as f64),
            rows: total(now.rows as f64, old.rows as f64),
            bytes: total(now.bytes as f64, old.bytes as f64),
        })
    }
}

/// A run that takes this long, or this much, is told of: an hour, 1 GB.
const LONG: f64 = 3600.0;
const LARGE: f64 = 1e9;
/// What is proposed instead: a minute, 100 MB.
const SHORT: f64 = 60.0;
const SMALL: f64 = 1e8;
/// The first look ahead, in s of wall-clock time; each further one after twice the time.
const FIRST: f64 = 1.0;
/// Fewer steps than this tell no pace.
const ENOUGH: u64 = 100;
/// With holds of order 2 the number of steps goes with the tolerance to the power -1/3.
const ORDER: f64 = 3.0;
/// Rows that are enough for a plot.
const ROWS: f64 = 10_000.0;

/// Watches a run, and says once and early that it will take hours or gigabytes.
pub struct Foresight {
    stride: Stride,
    begun: Instant,
    /// None while nobody runs it to its end.
    forecast: Option<Forecast>,
    span: f64,
    next: f64,
    /// The last look expected too much, too.
    before: bool,
    remedy: Remedy,
    say: Option<Foreseen>,
    said: Option<String>,
    was_heard: bool,
}

/// What makes a run shorter.
#[derive(Clone, Default)]
struct Remedy {
    chosen: Vec<String>,
    tolerance: Option<f64>,
    every_step: bool,
    paced: bool,
}

impl Foresight {
    /// Of a run whose results have an interval or not, and which may be paced to wall-clock time. `say` hears of it.
    pub fn new(assembled: &Assembled, interval: Option<f64>, paced: bool, say: Option<Foreseen>) -> Self {
        let remedy = Remedy {
            chosen: assembled.chosen.clone(),
            tolerance: assembled.method.jump_tolerance(),
            every_step: interval.is_none(),
            paced,
        };
        Foresight {
            stride: Stride::new(),
            begun: Instant::now(),
            forecast: None,
            span: assembled.stop - assembled.start,
            next: FIRST,
            before: false,
            remedy,
            say,
            said: None,
            was_heard: false,
        }
    }

    /// From now on the run goes on by itself to its end.
    pub fn begin(&mut self, t: f64, stop: f64) {
        (self.begun, self.forecast) = (Instant::now(), Some(Forecast::new(t, stop)));
        self.stride = Stride::new();
    }

    /// At the end of a step; `size` is rows of results and bytes of all tables.
    #[inline]
    pub fn at_step(&mut self, step: &StepView<'_>, number: u64, size: impl FnOnce() -> (u64, u64)) {
        if self.forecast.is_none() || self.said.is_some() {
            return;
        }
        if let Some(now) = self.stride.at_step() {
            let seconds = (now - self.begun).as_secs_f64();
            if seconds >= self.next && number >= ENOUGH {
                let (rows, bytes) = size();
                self.look(Reach { seconds, time: step.span.end, steps: number, rows, bytes });
            }
        }
    }

    #[cold]
    fn look(&mut self, now: Reach) {
        self.next = 2.0 * now.seconds;
        let expected = self.forecast.as_mut().and_then(|forecast| forecast.at(now));
        let too_much = |e: &Expected| (e.seconds >= LONG && !self.remedy.paced) || e.bytes >= LARGE;
        let found = expected.filter(too_much);
        // Twice: a slow start, such as the first steps after a discontinuity, is none of a long run.
        if let (Some(expected), true) = (found, self.before) {
            let text = self.remedy.text(&expected, self.span);
            if let Some(say) = self.say.take() {
                say(&text);
                self.was_heard = true;
            }
            self.said = Some(text);
        }
        self.before = found.is_some();
    }

    /// What it said, and whether anybody heard it.
    pub fn said(&self) -> Option<(&str, bool)> {
        self.said.as_deref().map(|text| (text, self.was_heard))
    }
}

impl Remedy {
    fn text(&self, e: &Expected, span: f64) -> String {
        let mut ways = Vec::new();
        let over = if self.paced { e.bytes / SMALL } else { (e.seconds / SHORT).max(e.bytes / SMALL) };
        let reachable = self.tolerance.map(|now| 2.0 * now * over.powf(ORDER));
        match (self.chosen.as_slice(), self.tolerance, reachable) {
            ([], Some(now), Some(next)) if now < DEFAULT_TOLERANCE => {
                let next = round_down(next.min(DEFAULT_TOLERANCE));
                let share = (now / next).powf(1.0 / ORDER);
                ways.push(format!(
                    "the tolerance {now:e} is out of reach then; `--tolerance {next:e}` would take about {}",
                    duration(share * e.seconds)
                ));
            }
            ([], ..) => {}
            (chosen, ..) => {
                ways.push(format!(
                    "leave out {}: the default method chooses longer steps",
                    chosen.join(" and ")
                ));
            }
        }
        if self.every_step && e.bytes >= SMALL {
            let interval = round_down(span / ROWS);
            ways.push(format!("`--output-interval {}` writes {:.0} rows", short(interval), span / interval));
        }
        if ways.is_empty() {
            ways.push("Ctrl-C stops the run, and keeps its rows".to_owned());
        }
        let large = if e.bytes > 0.0 {
            format!(", {} rows, {}", count(e.rows), size(e.bytes))
        } else {
            String::new()
        };
        format!(
            "at the pace so far the run takes {} and {} steps{large}: {}",
            duration(e.seconds),
            count(e.steps),
            in_words(ways)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 steps in the first second, for a thousandth of the run, then 100 times the pace: by hand.
    #[test]
    fn the_pace_is_that_of_the_last_half() {
        let mut forecast = Forecast::new(0.0, 1000.0);
        let at = |seconds: f64, time: f64, steps: u64| Reach {
            seconds,
            time,
            steps,
            rows: steps,
            bytes: 100 * steps,
        };
        let first = forecast.at(at(1.0, 1.0, 1000)).unwrap();
        assert_eq!((first.left, first.steps), (999.0, 1e6));
        let second = forecast.at(at(2.0, 101.0, 2000)).unwrap();
        // Since 0 s: the first mark was at 1 s, and is the older one from now on.
        assert!((second.left - 899.0 * 2.0 / 101.0).abs() < 1e-9, "{second:?}");
        let third = forecast.at(at(3.0, 201.0, 3000)).unwrap();
        assert!((third.left - 799.0 * 2.0 / 200.0).abs() < 1e-9, "{third:?}");
        assert!((third.bytes - 100.0 * (3000.0 + 799.0 * 10.0)).abs() < 1e-6, "{third:?}");
        assert_eq!(forecast.at(at(4.0, 1.0, 3000)), None);
    }

    #[test]
    fn a_tolerance_that_is_out_of_reach_is_told_with_one_that_is_not() {
        let remedy = Remedy { tolerance: Some(1e-12), every_step: true, ..Remedy::default() };
        let expected = Expected { left: 0.0, seconds: 36_000.0, steps: 2.4e7, rows: 2.4e7, bytes: 4e9 };
        // 600 times too long: 1e-12 · 600³ = 2.2e-4, twice that to be on the safe side; (1e-12/2e-4)^(1/3) · 36000 s = 62 s.
        let text = remedy.text(&expected, 40.0);
        assert!(text.contains("takes 10 h and 24.0 million steps, 24.0 million rows, 4.0 GB"), "{text}");
        assert!(
            text.contains(
                "the tolerance 1e-12 is out of reach then; `--tolerance 2e-4` would take about 62 s"
            ),
            "{text}"
        );
        assert!(text.contains("`--output-interval 0.002` writes 20000 rows"), "{text}");
        let remedy = Remedy { chosen: vec!["`step`".to_owned()], ..Remedy::default() };
        assert!(remedy.text(&expected, 40.0).contains("leave out `step`: the default"));
    }
}
