//! What a run made again in finer steps says about its error.

use crate::system::Verify;
use serde::Serialize;

/// The table of recorded variables of the finest run: `finer.csv` and its like.
pub const FINER: &str = "finer";

/// Why a run is not verified as long as its finer run goes on, or if that took its process along.
pub(super) const FINER_DID_NOT_END: &str = "the run with smaller steps did not come to its end";

/// What verifying a run came to.
#[derive(Clone, Debug, Serialize)]
pub struct Verification {
    /// `halves` or `quarters`: how the steps of the run were divided.
    pub by: &'static str,
    /// The largest error of an output: rms over the standard deviation. None if it could not be verified.
    pub error: Option<f64>,
    /// The error is not likely to be smaller.
    pub low: Option<f64>,
    /// The error is not likely to be larger.
    pub high: Option<f64>,
    /// 95 % of the errors of the finest run are smaller than this.
    pub finer: Option<f64>,
    /// The output with that error.
    pub worst: Option<String>,
    /// Every output that moves.
    pub outputs: Vec<OutputError>,
    /// Outputs that stand still: they have no relative error.
    pub constant: Vec<String>,
    /// Steps of the finer runs.
    pub steps: u64,
    /// Time of the finer runs, in s.
    pub seconds: f64,
    /// Why it could not be verified.
    pub failure: Option<String>,
    /// Why there was a third run that was not asked for.
    pub third: Option<String>,
    /// Where an error was asked for: every tolerance that was tried, and what it gave.
    pub rounds: Vec<Round>,
}

/// A run with one tolerance on the way to an error that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Round {
    /// Of the default method.
    pub tolerance: f64,
    /// What came of it; none if it could not be verified.
    pub error: Option<f64>,
    /// Steps of the run.
    pub steps: u64,
}

/// The error of an output over its standard deviation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutputError {
    /// Its name.
    pub name: String,
    /// D: rms of the difference to the run in halves, over the standard deviation of the latter.
    pub difference: f64,
    /// The error of the run.
    pub error: f64,
    /// It is not likely to be smaller.
    pub low: f64,
    /// It is not likely to be larger.
    pub high: f64,
    /// Order of convergence, of a run in quarters.
    pub order: Option<f64>,
    /// Noise in it, over its standard deviation: both runs have it, and the error holds it.
    pub noise: f64,
}

/// Error of a run over its difference to the same steps in halves, and its bar: chosen on random systems with adaptive steps
/// and accurate, Euler, symplectic and second-order members; docs/run.md says what they mean.
const ERROR: f64 = 1.5;
const LOW: f64 = 0.7;
const HIGH: f64 = 2.2;
/// 95 % of the errors of the run in halves are smaller than this share of the difference.
const FINER_SHARE: f64 = 1.05;
/// Orders of convergence that are believed, if they are near an integer; others have another cause.
const ORDERS: [f64; 2] = [0.5, 4.0];
const NEAR: f64 = 0.25;
/// Squares that cancel to less than this share of `whole²` tell nothing: the error may be that large.
const UNTOLD: f64 = 0.1;
/// Runs converge if halving once more changes less than this share of what halving did before, which is an order of a quarter. Else one
/// of the three may still have gone its own way: the one in halves, if the other two are nearer to each other than this share.
const SETTLED: f64 = 0.84;
const ODD_ONE_OUT: f64 = 0.5;
/// The bar around an error by its order, and around one without.
const AROUND: [f64; 2] = [0.75, 1.3];
const AROUND_UNORDERED: [f64; 2] = [0.6, 2.0];
/// The error over the difference to a run in quarters, with an order of one at least, and the bar around it from an order of ½ on.
const ERROR_OF_TWO: f64 = 1.2;
const AROUND_TWO: [f64; 2] = [0.75, 2.0];

impl OutputError {
    /// By halves: `error = 1.5 D`, between `0.7 D` and `2.2 D`.
    pub fn by_halves(name: String, difference: f64) -> Self {
        let d = difference;
        OutputError {
            name,
            difference,
            error: ERROR * d,
            low: LOW * d,
            high: HIGH * d,
            order: None,
            noise: 0.0,
        }
    }

    /// With noise that is `found` over the standard deviation, by which differences cannot tell its error: `found` is one to three
    /// times its rms.
    pub fn with_noise(self, found: f64) -> Self {
        if !(found > 0.0 && found.is_finite()) {
            return self;
        }
        OutputError {
            error: self.error.hypot(0.5 * found),
            high: self.high.hypot(found),
            low: self.low.max(found / 3.0),
            noise: found,
            ..self
        }
    }

    /// By quarters, of the differences of the run to that in halves, of that to the one in quarters (`next`), and of the first to the last
    /// (`whole`): with `p = log2(D/next)`, `error = D/(1 - 2^-p)` if p is an order.
    ///
    /// If it is none, errors of the three runs have nothing to do with each other, and their squares add up to those of the
    /// differences: `error² = (D² + whole² - next²)/2`, as clocks are compared that have no better one beside them. That of the run in quarters
    /// is `last² = (whole² + next² - D²)/2`, and `whole ± last` bounds the first. If the run in halves alone is far off, squares tell nothing, and
    /// `whole` does.
    pub fn by_quarters(name: String, difference: f64, next: f64, whole: f64) -> Self {
        let plain = OutputError::by_halves(name, difference);
        if difference == 0.0 || !difference.is_finite() || !next.is_finite() || !whole.is_finite() {
            return plain;
        }
        let found = (difference / next).log2();
        let order = found.clamp(ORDERS[0], ORDERS[1]);
        let (error, [low, high]) = if found == order && (order - order.round()).abs() <= NEAR {
            let error = difference / (1.0 - (-order).exp2());
            (error, AROUND.map(|share| share * error))
        } else if whole <= ODD_ONE_OUT * difference.min(next) {
            (ERROR_OF_TWO * whole, AROUND_TWO.map(|share| share * whole))
        } else {
            let [d, n, w] = [difference, next, whole].map(|x| x * x);
            let [first, last] =
                [0.5 * (d + w - n), 0.5 * (w + n - d)].map(|square| square.max(UNTOLD * w).sqrt());
            let (least, most) = ((whole - last).max(0.0), whole + last);
            let [low, high] = AROUND_UNORDERED;
            (first.clamp(least, most), [low * least, high * most])
        };
        OutputError { error, low, high, order: Some(found), ..plain }
    }
}

/// Whether three runs tell an error at all, by the differences of the run to that in halves, of that to the one in quarters (`next`), and of
/// the first to the last (`whole`). If halving does not bring runs together, as in an algebraic loop that cannot be solved, each of them
/// goes its own way and what lies between them is nobody's error.
pub(crate) fn converges(difference: f64, next: f64, whole: f64) -> bool {
    let is_finite = (difference + next).is_finite();
    is_finite && (next <= SETTLED * difference || whole <= ODD_ONE_OUT * difference.min(next))
}

impl Verification {
    /// Of the outputs that moved, and of those that stood still.
    pub fn of(by: Verify, outputs: Vec<OutputError>, constant: Vec<String>) -> Self {
        let rank = |x: &OutputError| if x.error.is_nan() { f64::INFINITY } else { x.error };
        let worst = outputs.iter().max_by(|a, b| rank(a).total_cmp(&rank(b)));
        let finer = |worst: &OutputError| match worst.order {
            // What is left after two halvings.
            Some(p) => worst.error * (-2.0 * p.clamp(ORDERS[0], ORDERS[1])).exp2() * AROUND[1] + worst.noise,
            None => FINER_SHARE * worst.difference + worst.noise,
        };
        Verification {
            by: by.text(),
            error: Some(worst.map_or(0.0, rank)),
            low: Some(worst.map_or(0.0, |w| w.low)),
            high: Some(worst.map_or(0.0, |w| w.high)),
            finer: Some(worst.map_or(0.0, finer)),
            worst: worst.map(|w| w.name.clone()),
            outputs,
            constant,
            steps: 0,
            seconds: 0.0,
            failure: None,
            third: None,
            rounds: Vec::new(),
        }
    }

    /// It is not done yet.
    pub fn open(by: Verify) -> Self {
        Verification::failed(by, FINER_DID_NOT_END.to_owned())
    }

    /// It could not be done.
    pub fn failed(by: Verify, why: String) -> Self {
        Verification {
            error: None,
            low: None,
            high: None,
            finer: None,
            failure: Some(why),
            ..Verification::of(by, Vec::new(), Vec::new())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A method of order p with error c h^p: D = c h^p (1 - 2^-p), and the next difference is 2^-p of it.
    #[test]
    fn quarters_give_the_error_of_a_method_with_an_order() {
        for p in [1.0_f64, 2.0, 3.0] {
            let error = 0.01;
            let d = error * (1.0 - (-p).exp2());
            let next = d * (-p).exp2();
            let found = OutputError::by_quarters("y".to_owned(), d, next, d + next);
            assert!((found.error / error - 1.0).abs() < 1e-12 && (found.order.unwrap() - p).abs() < 1e-12);
            assert!(found.low < error && error < found.high);
            let halves = OutputError::by_halves("y".to_owned(), d);
            assert!(halves.low <= error && error <= halves.high, "order {p}: {halves:?}");
        }
    }

    /// Errors of 0.02, 0.03 and 0.04 that have nothing to do with each other: squares of differences are 0.0013, 0.0025 and 0.002.
    #[test]
    fn runs_that_do_not_converge_tell_their_errors_by_all_three_differences() {
        let [d, next, whole] = [0.0013, 0.0025, 0.002].map(f64::sqrt);
        let found = OutputError::by_quarters("y".to_owned(), d, next, whole);
        assert!((found.error - 0.02).abs() < 1e-12, "{found:?}");
        assert!(found.low < 0.02 && found.high > 0.02, "{found:?}");
        assert_eq!(OutputError::by_quarters("y".to_owned(), 0.0, 0.0, 0.0).error, 0.0);
    }

    /// Only the run in halves is wrong, by 0.1 for a moment.
    #[test]
    fn a_run_in_halves_that_went_wrong_is_not_the_error_of_the_run() {
        let found = OutputError::by_quarters("y".to_owned(), 0.1, 0.1, 1e-4);
        assert!(found.error <= 2e-4 && found.high < 1e-3, "{found:?}");
    }

    /// An order of ½, as the lowest there is; halves that are alone off; runs that differ by as much again and again; one that explodes.
    #[test]
    fn runs_that_do_not_come_together_tell_nothing() {
        assert!(converges(1.0, 0.5_f64.sqrt(), 1.7));
        assert!(converges(0.1, 0.1, 1e-4));
        assert!(!converges(0.1, 0.11, 0.08));
        assert!(!converges(1.0, 1e9, 1e9));
        assert!(!converges(1.0, f64::NAN, f64::NAN) && !converges(f64::INFINITY, f64::NAN, 0.1));
    }

    /// Two runs with the same noise differ by what the noise did to others only.
    #[test]
    fn noise_is_part_of_the_error_though_both_runs_have_it() {
        let quiet = OutputError::by_halves("y".to_owned(), 1e-6);
        let noisy = quiet.clone().with_noise(2e-4);
        assert!(noisy.low <= 1e-4 && (noisy.error - 1e-4).abs() < 1e-6 && noisy.high >= 1e-4, "{noisy:?}");
        assert_eq!(quiet.clone().with_noise(0.0), quiet);
    }

    #[test]
    fn an_error_that_is_no_number_is_the_worst() {
        let outputs = vec![
            OutputError::by_halves("a".to_owned(), 1.0),
            OutputError::by_halves("b".to_owned(), f64::NAN),
        ];
        let found = Verification::of(Verify::Halves, outputs, Vec::new());
        assert_eq!((found.error, found.worst.as_deref()), (Some(f64::INFINITY), Some("b")));
    }
}
