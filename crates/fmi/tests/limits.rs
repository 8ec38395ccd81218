//! Both limits at an event of an FMI 3 FMU: a step ends before it, `update` handles it.

mod common;

use common::{begin, instance, parameters};
use powerbond_core::subsystem::radau::RadauSubstep;
use powerbond_core::subsystem::{Binding, Inputs, Setup, Span, StepEvent, Subsystem};
use powerbond_fmi::{Fmu, FmuSubsystem, Options, Reread, Value};

const OUTPUTS: [&str; 5] = ["x", "y", "z", "alarms", "visits"];

/// `latch3` with `events`: x = t, y = x + level, z = 2 u; the level rises by 10 · order at each alarm, the first at 0.5 s.
fn latch(more: &[(&str, Value)]) -> FmuSubsystem {
    let mut s = instance("latch3", &Options { events: true, ..parameters(more) });
    begin(&mut s, &["u", "order"], &OUTPUTS, &[0.0, 1.0]).unwrap();
    s
}

#[track_caller]
fn advance(s: &mut dyn Subsystem, (from, to): (f64, f64), u: &[f64]) -> ([f64; 5], StepEvent, Option<f64>) {
    let mut y = [0.0; 5];
    let span = Span { start: from, end: to, h: to - from };
    let advance = s.advance(span, Inputs::constant(u), &mut y).unwrap();
    assert_eq!(advance.reached, to);
    (y, advance.event, advance.next_event)
}

#[track_caller]
fn update(s: &mut dyn Subsystem, u: &[f64]) -> [f64; 5] {
    let mut y = [0.0; 5];
    s.update(Inputs::constant(u), &mut y).unwrap();
    y
}

#[test]
fn a_step_ends_before_the_event_and_update_goes_past_it() {
    for silent in [false, true] {
        let mut s = latch(&[("silent", silent.into())]);
        assert_eq!(s.next_event(), Some(0.5));
        let (y, event, next) = advance(&mut s, (0.0, 0.25), &[1.0, 1.0]);
        assert_eq!((y, event, next), ([0.25, 0.25, 2.0, 0.0, 0.0], StepEvent::None, Some(0.5)));
        let (y, event, next) = advance(&mut s, (0.25, 0.5), &[1.0, 1.0]);
        assert_eq!((y, event, next), ([0.5, 0.5, 2.0, 0.0, 0.0], StepEvent::Pending, None));
        assert_eq!(s.next_event(), None);
        assert_eq!(update(&mut s, &[1.0, 1.0]), [0.5, 10.5, 2.0, 1.0, 1.0]);
        assert_eq!(s.next_event(), Some(1.0));
        let (y, event, next) = advance(&mut s, (0.5, 0.75), &[1.0, 1.0]);
        assert_eq!((y, event, next), ([0.75, 10.75, 2.0, 1.0, 1.0], StepEvent::None, Some(1.0)));
    }
}

/// Continuous and discrete inputs have their limits from the right in the event: the level rises by the new order.
#[test]
fn inputs_of_all_kinds_take_their_right_limits_in_the_event() {
    let mut s = latch(&[]);
    advance(&mut s, (0.0, 0.5), &[1.0, 1.0]);
    assert_eq!(update(&mut s, &[4.0, 3.0]), [0.5, 30.5, 8.0, 1.0, 1.0]);
}

/// As in a chain or a loop of subsystems: the neighbour's right limit comes after ours. The FMU stays in event mode meanwhile: it is
/// one visit, the last number.
#[test]
fn updates_may_be_repeated_at_one_instant() {
    let mut s = latch(&[]);
    advance(&mut s, (0.0, 0.5), &[1.0, 1.0]);
    assert_eq!(update(&mut s, &[2.0, 1.0]), [0.5, 10.5, 4.0, 1.0, 1.0]);
    assert_eq!(update(&mut s, &[3.0, 1.0]), [0.5, 10.5, 6.0, 1.0, 1.0]);
    assert_eq!(s.next_event(), Some(1.0));
    let (y, event, _) = advance(&mut s, (0.5, 1.0), &[3.0, 1.0]);
    assert_eq!((y, event), ([1.0, 11.0, 6.0, 1.0, 1.0], StepEvent::Pending));
}

#[test]
fn an_update_without_an_event_takes_new_inputs() {
    let mut s = latch(&[]);
    advance(&mut s, (0.0, 0.25), &[1.0, 1.0]);
    assert_eq!(update(&mut s, &[5.0, 2.0]), [0.25, 0.25, 10.0, 0.0, 1.0]);
    assert_eq!(s.next_event(), Some(0.5));
    assert_eq!(advance(&mut s, (0.25, 0.5), &[5.0, 2.0]).1, StepEvent::Pending);
}

#[test]
fn a_pending_event_is_handled_by_the_next_step_at_the_latest() {
    let mut s = latch(&[]);
    advance(&mut s, (0.0, 0.5), &[1.0, 1.0]);
    let (y, event, next) = advance(&mut s, (0.5, 0.75), &[2.0, 2.0]);
    assert_eq!((y, event, next), ([0.75, 20.75, 4.0, 1.0, 1.0], StepEvent::None, Some(1.0)));
}

#[test]
fn a_state_knows_whether_an_event_is_pending() {
    let check = |save_while_pending: bool, update_before: bool| {
        let mut s = latch(&[]);
        if !save_while_pending {
            s.save().unwrap();
        }
        assert_eq!(advance(&mut s, (0.0, 0.5), &[1.0, 1.0]).1, StepEvent::Pending);
        if save_while_pending {
            s.save().unwrap();
        }
        if update_before {
            update(&mut s, &[1.0, 7.0]);
        }
        s.restore().unwrap();
        if !save_while_pending {
            // The rejected step met the event, the shorter one does not.
            let (y, event, next) = advance(&mut s, (0.0, 0.25), &[1.0, 1.0]);
            assert_eq!((y[1], y[3], event, next), (0.25, 0.0, StepEvent::None, Some(0.5)));
            assert_eq!(advance(&mut s, (0.25, 0.5), &[1.0, 1.0]).1, StepEvent::Pending);
        }
        assert_eq!(s.next_event(), None);
        assert_eq!(update(&mut s, &[1.0, 1.0])[..4], [0.5, 10.5, 2.0, 1.0]);
        assert_eq!(s.next_event(), Some(1.0));
        assert_eq!(advance(&mut s, (0.5, 0.75), &[1.0, 1.0]).0[..4], [0.75, 10.75, 2.0, 1.0]);
    };
    for save_while_pending in [false, true] {
        for update_before in [false, true] {
            check(save_while_pending, update_before);
        }
    }
}

/// The step after the event is discarded and tried again with half its length from the kept state, in which the event is pending.
#[test]
fn a_discarded_step_handles_the_event_before_it_again() {
    for keeps in [true, false] {
        let mut s = latch(&[("longest", 0.25.into()), ("first", 0.25.into())]);
        advance(&mut s, (0.0, 0.25), &[1.0, 1.0]);
        if keeps {
            s.save().unwrap();
        }
        let mut y = [0.0; 5];
        let advance = s.advance(Span::new(0.25, 0.375), Inputs::constant(&[1.0, 1.0]), &mut y).unwrap();
        // An engine that goes back is given the half that worked, another one the whole step.
        let reached = if keeps { 0.25 + 0.1875 } else { 0.625 };
        assert_eq!((advance.reached, y[1], y[3]), (reached, reached + 10.0, 1.0));
        assert_eq!((advance.event, s.interrupted_steps()), (StepEvent::Handled, 1));
    }
}

/// Saved after the event: going back there does not bring it back.
#[test]
fn a_handled_event_stays_handled() {
    let mut s = latch(&[]);
    advance(&mut s, (0.0, 0.5), &[1.0, 1.0]);
    update(&mut s, &[1.0, 1.0]);
    s.save().unwrap();
    advance(&mut s, (0.5, 1.0), &[1.0, 1.0]);
    s.restore().unwrap();
    let (y, event, next) = advance(&mut s, (0.5, 0.75), &[1.0, 1.0]);
    assert_eq!((y[3], event, next), (1.0, StepEvent::None, Some(1.0)));
}

/// An announced time that no step ends at is past at the end of the step: there it is handled.
#[test]
fn an_event_that_was_passed_is_pending_at_the_end_of_the_step() {
    let mut s = latch(&[("silent", true.into())]);
    assert_eq!(advance(&mut s, (0.0, 0.75), &[1.0, 1.0]).1, StepEvent::Pending);
    assert_eq!(update(&mut s, &[1.0, 1.0])[..4], [0.75, 10.75, 2.0, 1.0]);
}

#[test]
fn parts_of_a_step_handle_the_events_between_them() {
    let path = common::fmu("latch3");
    let options = Options { events: true, sub_steps: 4, ..parameters(&[("period", 0.25.into())]) };
    let mut s = Fmu::open(path).unwrap().instantiate("t", &options).unwrap();
    begin(&mut s, &["u", "order"], &OUTPUTS, &[0.0, 1.0]).unwrap();
    let mut y = [0.0; 5];
    let (value, slope, curvature) = ([0.0, 1.0], [1.0, 0.0], []);
    let u = Inputs { value: &value, slope: &slope, curvature: &curvature };
    // Alarms at 0.5, 0.75 and 1.0 s: two between parts, one at the end.
    let crossed = s.advance(Span::new(0.0, 1.0), u, &mut y).unwrap();
    assert_eq!((crossed.event, y[1], y[3]), (StepEvent::Pending, 21.0, 2.0));
    assert_eq!(update(&mut s, &[1.0, 1.0])[1..4], [31.0, 2.0, 3.0]);
    let crossed = s.advance(Span::new(1.0, 0.5), u, &mut y).unwrap();
    assert_eq!((crossed.event, y[3]), (StepEvent::Pending, 4.0));
    // One between parts only.
    s.update(u, &mut y).unwrap();
    let crossed = s.advance(Span::new(1.5, 0.4), u, &mut y).unwrap();
    assert_eq!((crossed.event, y[3]), (StepEvent::Handled, 6.0));
}

/// The first of the two sub-steps ends at an alarm, which the second one handles: nothing is left to be done.
#[test]
fn an_event_between_two_sub_steps_is_over_at_the_end() {
    let check = |first: f64, wanted: StepEvent, alarms: f64| {
        let options = Options { events: true, ..parameters(&[("first", first.into())]) };
        let mut s = RadauSubstep::new(Box::new(instance("latch3", &options)), 2);
        begin(&mut s, &["u", "order"], &OUTPUTS, &[0.0, 1.0]).unwrap();
        let mut y = [0.0; 5];
        let u = Inputs { value: &[0.0, 1.0], slope: &[1.0, 0.0], curvature: &[] };
        let found = s.advance(Span::new(0.0, 0.25), u, &mut y).unwrap();
        assert_eq!((found.event, y[3]), (wanted, alarms), "first alarm at {first} s");
    };
    // The last sub-step is a third of the step.
    check(0.25 - 0.25 / 3.0, StepEvent::Handled, 1.0);
    check(0.25, StepEvent::Pending, 0.0);
    check(0.5, StepEvent::None, 0.0);
}

/// Without event mode there is one limit only: `update` is `evaluate`.
#[test]
fn without_event_mode_update_is_evaluate() {
    for name in ["integrator2", "integrator3"] {
        let mut s = instance(name, &Options::default());
        begin(&mut s, &["u"], &["x", "y"], &[1.0]).unwrap();
        let (mut y, mut again) = ([0.0; 2], [0.0; 2]);
        s.advance(Span::new(0.0, 0.5), Inputs::constant(&[1.0]), &mut y).unwrap();
        s.update(Inputs::constant(&[4.0]), &mut y).unwrap();
        s.evaluate(Inputs::constant(&[4.0]), &mut again).unwrap();
        assert_eq!((y, again), ([0.5, 2.5], [0.5, 2.5]), "{name}");
    }
}

/// z follows u in event mode only. While an event is pending that would handle it: the left limit stays as it is.
#[test]
fn outputs_are_read_again_through_event_mode_where_nothing_else_helps() {
    let mut s = latch(&[]);
    let mut y = [0.0; 5];
    advance(&mut s, (0.0, 0.25), &[1.0, 1.0]);
    s.evaluate(Inputs::constant(&[2.0, 1.0]), &mut y).unwrap();
    assert_eq!(y, [0.25, 0.25, 2.0, 0.0, 0.0]);
    s.set_reread(Reread::EventMode);
    assert!(s.info().capabilities.can_refresh);
    s.evaluate(Inputs::constant(&[2.0, 1.0]), &mut y).unwrap();
    assert_eq!(y, [0.25, 0.25, 4.0, 0.0, 1.0]);
    assert_eq!(s.next_event(), Some(0.5));
    advance(&mut s, (0.25, 0.5), &[1.0, 1.0]);
    // Nor does a discrete input that changes handle it; it waits.
    s.evaluate(Inputs::constant(&[3.0, 2.0]), &mut y).unwrap();
    assert_eq!(y, [0.5, 0.5, 2.0, 0.0, 1.0]);
    assert_eq!(update(&mut s, &[3.0, 2.0]), [0.5, 20.5, 6.0, 1.0, 2.0]);
}

#[test]
fn a_scratch_instance_is_like_the_first_and_leaves_no_trace_in_it() {
    let mut s = latch(&[("first", 0.25.into())]);
    s.set_reread(Reread::EventMode);
    advance(&mut s, (0.0, 0.125), &[1.0, 1.0]);
    let mut other = s.scratch().expect("another instance");
    assert_eq!(other.info().capabilities, s.info().capabilities);
    begin(other.as_mut(), &["u", "order"], &OUTPUTS, &[0.0, 1.0]).unwrap();
    assert_eq!(advance(other.as_mut(), (0.0, 0.25), &[9.0, 1.0]).1, StepEvent::Pending);
    assert_eq!(update(other.as_mut(), &[9.0, 1.0]), [0.25, 10.25, 18.0, 1.0, 1.0]);
    assert_eq!(advance(&mut s, (0.125, 0.25), &[1.0, 1.0]).0, [0.25, 0.25, 2.0, 0.0, 0.0]);
    drop(s);
    assert_eq!(advance(other.as_mut(), (0.25, 0.5), &[9.0, 1.0]).0, [0.5, 10.5, 18.0, 1.0, 1.0]);
}

#[test]
fn an_fmu_for_one_instance_has_no_scratch() {
    let path = common::fmu_with("latch3", |xml| {
        xml.replace("hasEventMode", "canBeInstantiatedOnlyOncePerProcess=\"true\" hasEventMode")
    });
    let mut s = Fmu::open(path).unwrap().instantiate("only", &Options::default()).unwrap();
    assert!(s.scratch().is_none());
    s.bind(&Binding::default()).unwrap();
    s.enter(&Setup { start: 0.0, stop: 1.0 }).unwrap();
}

/// Steps on a grid of 0.1 s that are cut at announced times, as the engine makes them. Alarms that fall on the grid but for round-off
/// and alarms between its points: each counts once and none is late. `timer3` takes its times seriously to the last bit
/// (`time >= next`) and adds its period up. Sub-steps handle what is between them by themselves.
#[test]
fn alarms_are_not_lost_to_round_off() {
    const STOP: f64 = 20.05;
    let check = |silent: bool, first: f64, sub_steps: u32| {
        let given = [("silent", silent.into()), ("first", first.into()), ("period", first.into())];
        let options = Options { events: true, ..parameters(&given) };
        let mut s = instance("timer3", &options);
        let find = |name: &str| s.info().find(name).unwrap();
        let outputs = ["x", "at", "events"].map(find).to_vec();
        s.bind(&Binding { outputs, ..Binding::default() }).unwrap();
        s.enter(&Setup { start: 0.0, stop: STOP }).unwrap();
        let (none, mut y) = (Inputs::constant(&[]), [0.0; 3]);
        s.evaluate(none, &mut y).unwrap();
        s.start().unwrap();
        let slack = powerbond_core::time::resolution(0.0, STOP);
        let (mut t, mut n, mut shortest) = (0.0, 1, 1.0f64);
        let mut next = s.next_event();
        while t < STOP {
            let grid = (0.1 * f64::from(n)).min(STOP);
            let end = next.filter(|&next| next < grid - slack).unwrap_or(grid);
            n += i32::from(end == grid);
            shortest = shortest.min(end - t);
            let span = Span { start: t, end, h: end - t };
            let mut event = StepEvent::None;
            for k in 0..sub_steps {
                let advance = s.advance(span.part(k, sub_steps), none, &mut y).unwrap();
                (event, next) = (advance.event, advance.next_event);
            }
            if event == StepEvent::Pending {
                s.update(none, &mut y).unwrap();
                next = s.next_event();
            }
            t = end;
        }
        let wanted = (STOP / first).floor();
        assert_eq!(y[2], wanted, "silent = {silent}, first = {first}");
        assert!((y[1] - wanted * first).abs() < 1e-11, "the last alarm at {}", y[1]);
        assert!(shortest > 1e-4, "a step of {shortest} s");
    };
    for silent in [false, true] {
        check(silent, 0.1, 1);
        check(silent, 0.063, 1);
        check(silent, 0.063, 10);
        check(silent, 0.1, 4);
    }
}
