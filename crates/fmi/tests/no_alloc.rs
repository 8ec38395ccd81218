//! Steps of an FMU allocate nothing.

mod common;

use common::{begin, instance};
use powerbond_core::subsystem::{Inputs, Span, StepEvent, Subsystem};
use powerbond_fmi::{Options, Reread};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// Safety: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // Safety: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // Safety: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn check(name: &str, options: &Options, inputs: &[&str], outputs: &[&str], keeps: bool) {
    let mut s = instance(name, options);
    let value = vec![0.5; inputs.len()];
    let mut y = begin(&mut s, inputs, outputs, &value).unwrap();
    let slope = vec![0.1; inputs.len()];
    let before = COUNT.get();
    for n in 0..1000 {
        let span = Span::new(f64::from(n) * 1e-3, 1e-3);
        if keeps {
            s.save().unwrap();
            s.advance(span, Inputs::constant(&value), &mut y).unwrap();
            s.restore().unwrap();
        }
        let u = if n % 2 == 0 {
            Inputs::constant(&value)
        } else {
            Inputs { value: &value, slope: &slope, curvature: &slope }
        };
        s.advance(span, u, &mut y).unwrap();
        s.evaluate(Inputs::constant(&value), &mut y).unwrap();
    }
    assert_eq!(COUNT.get() - before, 0, "{name}");
}

#[test]
fn steps_allocate_nothing() {
    check("integrator2", &Options::default(), &["u"], &["x", "y"], true);
    check("integrator3", &Options::default(), &["u"], &["x", "y", "direction"], true);
    check("integrator3", &Options { sub_steps: 4, ..Options::default() }, &["u"], &["x"], false);
    check("types2", &Options::default(), &["real_in", "int_in", "bool_in"], &["real_out", "gear_out"], false);
    check("types3", &Options::default(), &["a[2]", "int8_in"], &["twice[1]", "b[2,2]", "uint64_out"], false);
    check("slave1", &Options::default(), &["u"], &["x", "steps"], false);
}

/// Nor do events: an alarm at the end of every second step, handled by `update` or by the next step, and re-reading in event mode.
#[test]
fn events_allocate_nothing() {
    let period = (1.0 / 64.0).into();
    let given = vec![("first".to_owned(), 0.0.into()), ("period".to_owned(), period)];
    let mut s = instance("latch3", &Options { events: true, parameters: given, ..Options::default() });
    s.set_reread(Reread::EventMode);
    let u = Inputs::constant(&[0.5, 1.0]);
    let mut y = begin(&mut s, &["u", "order"], &["y", "z", "alarms"], u.value).unwrap();
    s.save().unwrap();
    let before = COUNT.get();
    let mut pending = 0;
    for n in 0..1000 {
        s.save().unwrap();
        let advance = s.advance(Span::new(f64::from(n) / 128.0, 1.0 / 128.0), u, &mut y).unwrap();
        s.evaluate(u, &mut y).unwrap();
        pending += u32::from(advance.event == StepEvent::Pending);
        if n % 3 == 0 {
            s.update(u, &mut y).unwrap();
        }
    }
    assert_eq!((COUNT.get() - before, pending), (0, 500));
}

/// Texts and binaries are read into and set from buffers that are kept.
#[test]
fn texts_and_binaries_allocate_nothing_once_their_buffers_are_there() {
    for name in ["words2", "words3"] {
        let mut s = instance(name, &Options::default());
        begin(&mut s, &[], &["number"], &[]).unwrap();
        let packet = |name: &str| s.packets().iter().position(|p| p.name == name).unwrap();
        let (heard, said) = (packet("heard"), packet("said"));
        let mut bytes = Vec::with_capacity(64);
        let mut pass = |s: &mut powerbond_fmi::FmuSubsystem| {
            bytes.clear();
            s.read_packet(said, &mut bytes).unwrap();
            s.write_packet(heard, &bytes).unwrap();
        };
        pass(&mut s);
        let before = COUNT.get();
        (0..100).for_each(|_| pass(&mut s));
        assert_eq!(COUNT.get() - before, 0, "{name}");
    }
}
