//! The verdict formula by hand, runaways, and inputs that are held by output derivatives.

mod common;

use common::block::Block;
use common::rows::{Rows, watch};
use common::{Method, bond, engine, engine_with};
use powerbond_core::error::RunError;
use powerbond_core::network::{Network, NetworkBuilder};
use powerbond_core::observe::verdict::{Circumstances, Verdict, VerdictLimits, Word};
use powerbond_core::observe::{Both, NoObserver};
use powerbond_core::run::StartUp;

/// A source `y = f(t)` that feeds an integrator.
fn fed_by(f: fn(f64) -> f64) -> Network {
    NetworkBuilder::new()
        .subsystem("a", Block::source(f).boxed())
        .subsystem("b", Block::integrator().boxed())
        .connect("a.y", "b.u", 1.0)
        .build()
        .expect("a sound pair")
        .0
}

/// A run over the values 0, 1, 3, 2 at 0, 0.5, 1, 1.5 s, held constant or as means.
fn three_steps(as_mean: bool) -> (Verdict, Rows) {
    let network = fed_by(|t| [0.0, 1.0, 3.0, 2.0][(2.0 * t).round() as usize]);
    let run = Circumstances {
        holds: vec![0],
        corrects: false,
        refresh: vec![],
        twins: vec![None],
        discrete: vec![false],
        means: vec![as_mean],
        start: 0.0,
        stop: 1.5,
    };
    let (mut verdict, mut rows) = (Verdict::new(&network, &run), Rows::default());
    let method = Method { step: 0.5, ..Method::default() };
    engine(network, 1.5, &method).run(&mut Both(&mut verdict, &mut rows)).expect("a sound run");
    (verdict, rows)
}

/// `A = (rms(db) + stale)/sd(u) · (1 + swings) · 10^(0.4 (corr − 1))` for a constant hold over the values 0, 1, 3, 2 at 0, 0.5, 1, 1.5 s.
///
/// Held are 0, 1, 3, so that the jumps e are 1, 2, −1 and the mean defects of single steps `held − (old + new)/2` are −0.5, −1, 0.5; of
/// neighbouring steps −0.5 (the first alone), −0.75, −0.25. The values at the ends are 1, 3, 2: mean 2, sd √(2/3).
#[test]
fn the_score_of_three_steps_is_that_of_the_formula() {
    let (verdict, rows) = three_steps(false);
    assert_eq!(rows.steps().map(|r| r.held_end[0]).collect::<Vec<_>>(), [0.0, 1.0, 3.0]);

    let h = 0.5;
    let defect = ((h * (0.25 + 0.5625 + 0.0625)) / 1.5f64).sqrt();
    let spread = (2.0f64 / 3.0).sqrt();
    // The input travels 1 + 2 + 1 in a range of 2, its jump 1 + 3 in a range of 3.
    let swings = ((4.0f64 / 2.0) * (4.0 / 3.0)).sqrt();
    // Σ e e_last = 2 − 2, so no correlation.
    let correlation = 0.0;
    let score = defect / spread * (1.0 + swings) * 10f64.powf(0.4 * (correlation - 1.0));

    let found = verdict.result(&VerdictLimits::default());
    let input = found.inputs[0];
    let check = |what: &str, found: f64, expected: f64| {
        assert!((found - expected).abs() < 1e-12, "{what}: {found} instead of {expected}");
    };
    check("defect", input.defect, defect);
    check("stale", input.stale, 0.0);
    check("spread", input.spread, spread);
    check("swings", input.swings, swings);
    check("correlation", input.correlation, correlation);
    check("rms of jumps", input.jump_rms, 2f64.sqrt());
    check("largest jump", input.jump_max, 2.0);
    check("its time", input.jump_time, 1.0);
    check("alternation", input.alternation, 0.5);
    check("score", found.score, score);
    check("error", found.error(), score / 4.0);
    assert_eq!(
        (found.steps, found.blame, found.word),
        (3, Some(0), Word::Unreliable),
        "three steps say nothing"
    );
    let lenient = VerdictLimits { min_steps: 3, unreliable: score + 1e-9, ..VerdictLimits::default() };
    assert_eq!(verdict.result(&lenient).word, Word::Check);
    let generous = VerdictLimits { min_steps: 3, trustworthy: score + 1e-9, unreliable: 9.0, ..lenient };
    assert_eq!(verdict.result(&generous).word, Word::Trustworthy);
}

/// The same values, held as means: μw = h²/6 (Δu/h − Δu₋/h)/(2h) = (Δu − Δu₋)/12 is 0, 1/12, −3/12, so that db + μw is −1/2, −11/12, 1/4. It
/// travels 19/12 in a range of 14/12, Σ of its products is 11/48, of its squares ½·287/144; and 2 rms(μw) (10 + swings) is added.
#[test]
fn what_a_mean_lacks_is_part_of_the_score() {
    let (verdict, _) = three_steps(true);
    let (defect, lack) = ((0.5 * 0.875 / 1.5f64).sqrt(), (10.0f64 / 432.0).sqrt());
    let (swings, correlation) = ((2.0f64 * 19.0 / 14.0).sqrt(), 66.0 / 287.0);
    let adds_up = defect * (1.0 + swings) * 10f64.powf(0.4 * (correlation - 1.0));
    let score = (adds_up + 2.0 * lack * (10.0 + swings)) / (2.0f64 / 3.0).sqrt();
    let found = verdict.result(&VerdictLimits::default());
    assert!((found.inputs[0].swings - swings).abs() < 1e-12, "{:?}", found.inputs[0]);
    assert!((found.score - score).abs() < 1e-12, "{} instead of {score}", found.score);
}

/// Two integrators with a bond: `v̇ = −f`, `ḟ = k v`. Held with order 0 the amplitude grows by 1 + k h²/2 per step.
fn oscillator(k: f64) -> Network {
    NetworkBuilder::new()
        .subsystem("a", Block::linear(0.0, -1.0, 1.0, 0.0, 1.0).boxed())
        .subsystem("b", Block::linear(0.0, k, 1.0, 0.0, 0.0).boxed())
        .connect("a.y", "b.u", 1.0)
        .connect("b.y", "a.u", 1.0)
        .bond(bond("ab", [("a.u", "a.y", 1.0), ("b.u", "b.y", -1.0)]))
        .build()
        .expect("a sound pair")
        .0
}

/// The power doubles in every step with k h² = 1, in which the coupling makes a good part of it: 40 doublings end the run.
#[test]
fn power_that_runs_away_ends_the_run_if_wanted() {
    let method = Method { step: 0.1, ..Method::default() };
    match engine(oscillator(100.0), 100.0, &method).run(&mut NoObserver) {
        Err(RunError::Runaway { bond, span, power }) => {
            assert_eq!(bond, 0);
            assert!(span.end < 20.0, "{span:?}");
            assert!(power > 2f64.powi(40), "{power}");
        }
        other => panic!("{other:?}"),
    }
    let mut patient = engine_with(oscillator(100.0), 30.0, &method, |s| s.stop_runaway = false);
    patient.run(&mut NoObserver).expect("it goes on");
    // The same oscillator with small steps keeps its power.
    let fine = Method { step: 1e-3, hold: 1, ..Method::default() };
    engine(oscillator(100.0), 20.0, &fine).run(&mut NoObserver).expect("nothing runs away");
}

/// `y = 1 + 2t − 3t²` integrated to 2 s: 2 + 4 − 8. With its derivative a hold of order 2 needs one node of the past, so that only the
/// first step, a line, misses `∫ 3t²` over it, h³; without it order 0 misses h², and order 1 a multiple of h³.
#[test]
fn output_derivatives_take_the_place_of_past_values() {
    let integral = |derivatives: bool, hold: u8| {
        let source =
            Block::source(|t| 1.0 + 2.0 * t - 3.0 * t * t).output_rates(|at, dy| dy[0] = 2.0 - 6.0 * at.t);
        let network = NetworkBuilder::new()
            .subsystem("a", source.boxed())
            .subsystem("b", Block::integrator().boxed())
            .connect("a.y", "b.u", 1.0)
            .record(powerbond_core::network::VariableName::new("b", "x0"))
            .build()
            .expect("a sound pair")
            .0;
        let method = Method { hold, step: 0.125, ..Method::default() };
        let mut engine = engine_with(network, 2.0, &method, |s| {
            (s.output_derivatives, s.start_up) = (derivatives, StartUp::Plain);
        });
        watch(&mut engine).last().probes[0]
    };
    let (h, exact) = (0.125f64, -2.0);
    let check = |what: &str, found: f64, expected: f64| {
        assert!((found - expected).abs() < 1e-12, "{what}: {found} instead of {expected}");
    };
    check("parabolas by derivatives", integral(true, 2), exact + h.powi(3));
    // Every one of 16 steps misses −h³.
    check("lines by derivatives", integral(true, 1), exact + 16.0 * h.powi(3));
    check("constants ask for none", integral(true, 0), integral(false, 0));
    // The first step misses h² − h³, the second −3h · h² + … : a parabola from the third step on is exact.
    let second = |t: f64| t + t * t - t * t * t;
    let (y, slope) = (1.0 + 2.0 * h - 3.0 * h * h, 2.0 - 3.0 * h);
    let expected = h + (h * y + 0.5 * h * h * slope) + (second(2.0) - second(2.0 * h));
    check("parabolas of the past", integral(false, 2), expected);
}
