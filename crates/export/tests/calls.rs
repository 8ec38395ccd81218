//! The functions of both standards, called as C would call them: order, refusals, states as bytes, nothing allocated.

use powerbond_core::subsystem::{
    Advance, Binding, Capabilities, FeedThrough, Info, Inputs, Setup, Span, Subsystem, SubsystemError,
};
use powerbond_export::ffi::fmi3::IntermediateUpdate;
use powerbond_export::ffi::{self, Handle, State};
use powerbond_export::{FmiVersion, Interface, describe};
use powerbond_models::{self, ALL, ModelSpec};
use powerbond_models_fmu::{fmi2, fmi3};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

// SAFETY: every call goes to the system's allocator unchanged; counting touches a plain thread-local number.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const OK: c_int = 0;
const ERROR: c_int = 3;

unsafe extern "C" fn log(
    _environment: *mut c_void,
    status: c_int,
    category: *const c_char,
    text: *const c_char,
) {
    // SAFETY: both are strings of the library's (FMI 3.0.2, fmi3LogMessageCallback).
    let [category, text] =
        [category, text].map(|t| unsafe { CStr::from_ptr(t) }.to_string_lossy().into_owned());
    LOG.with_borrow_mut(|log| log.push(format!("{status} {category} {text}")));
}

fn logged() -> String {
    LOG.with_borrow_mut(std::mem::take).join("\n")
}

fn token(model: &str) -> CString {
    let spec = powerbond_models::find(model).expect("a built-in model");
    CString::new(Interface::new(spec, &[]).expect("defaults").0.token()).expect("no zero byte")
}

fn instance3(token: &CStr) -> Handle {
    asking_instance3(token, &[], null_mut(), None)
}

/// An instance that may ask for `inputs` inside steps.
fn asking_instance3(
    token: &CStr,
    inputs: &[u32],
    environment: *mut c_void,
    update: Option<IntermediateUpdate>,
) -> Handle {
    // SAFETY: strings and references outlive the call, the environment the instance (FMI 3.0.2,
    // fmi3InstantiateCoSimulation).
    unsafe {
        fmi3::fmi3InstantiateCoSimulation(
            c"x".as_ptr(),
            token.as_ptr(),
            null(),
            0,
            0,
            0,
            0,
            inputs.as_ptr(),
            inputs.len(),
            environment,
            Some(log),
            update,
        )
    }
}

fn instance2(token: &CStr, kind: c_int) -> Handle {
    // SAFETY: strings outlive the call; without callbacks nothing is logged (FMI 2.0.5 section 2.1.5).
    unsafe { fmi2::fmi2Instantiate(c"x".as_ptr(), kind, token.as_ptr(), null(), null(), 0, 0) }
}

/// FMI 3 without its noise; every call is on an instance that lives (FMI 3.0.2, fmi3Instantiate…, fmi3FreeInstance).
struct Fmi3(Handle);

impl Fmi3 {
    fn new(model: &str) -> Self {
        let handle = instance3(&token(model));
        assert!(!handle.is_null(), "{}", logged());
        Fmi3(handle)
    }

    fn begin(&self) -> c_int {
        // SAFETY: see above.
        unsafe {
            match fmi3::fmi3EnterInitializationMode(self.0, 0, 0.0, 0.0, 0, 0.0) {
                OK => fmi3::fmi3ExitInitializationMode(self.0),
                other => other,
            }
        }
    }

    fn set(&self, reference: u32, x: f64) -> c_int {
        // SAFETY: see above; one reference, one value.
        unsafe { fmi3::fmi3SetFloat64(self.0, &reference, 1, &x, 1) }
    }

    fn get(&self, reference: u32) -> f64 {
        let mut x = f64::NAN;
        // SAFETY: see above; one reference, one value.
        assert_eq!(unsafe { fmi3::fmi3GetFloat64(self.0, &reference, 1, &mut x, 1) }, OK, "{}", logged());
        x
    }

    fn step(&self, t: f64, h: f64) -> c_int {
        let (mut event, mut end, mut early, mut reached) = (9, 9, 9, f64::NAN);
        // SAFETY: see above; four places for results.
        let code =
            unsafe { fmi3::fmi3DoStep(self.0, t, h, 1, &mut event, &mut end, &mut early, &mut reached) };
        if code == OK {
            assert_eq!((event, end, early, reached), (0, 0, 0, t + h));
        }
        code
    }
}

impl Drop for Fmi3 {
    fn drop(&mut self) {
        // SAFETY: see above; freed once.
        unsafe { fmi3::fmi3FreeInstance(self.0) }
    }
}

// `quarter-car/chassis`: 1 force, 2 velocity, 3 position, 4 mass, 5 micro_steps, 6 integrator.
const CHASSIS: &str = "quarter-car/chassis";

#[test]
fn a_wrong_token_is_refused_with_a_reason() {
    let right = token(CHASSIS);
    let wrong =
        CString::new(right.to_str().expect("ASCII").replace("chassis", "wheel")).expect("no zero byte");
    for token in [c"", c"{8c4e810f-3df3-4a00-8276-176fa3c9f9e0}", &wrong] {
        assert!(instance3(token).is_null());
        let log = logged();
        assert!(log.starts_with("3 logStatusError fmi3InstantiateCoSimulation: unknown token"), "{log}");
        assert!(instance2(token, 1).is_null());
    }
    // Model exchange.
    assert!(instance2(&right, 0).is_null());
    for handle in [instance2(&right, 1), instance3(&right)] {
        assert!(!handle.is_null());
        // SAFETY: made above, freed once; both versions free alike.
        unsafe { fmi2::fmi2FreeInstance(handle) };
    }
}

#[test]
fn calls_out_of_order_are_refused_and_harmless() {
    let x = Fmi3::new(CHASSIS);
    assert_eq!(x.step(0.0, 0.1), ERROR);
    assert!(logged().contains("fmi3DoStep: not allowed in this state: the instance is not initialized"));
    assert_eq!(
        (x.set(4, 0.0), x.set(4, f64::NAN), x.set(2, 1.0), x.set(99, 1.0)),
        (ERROR, ERROR, ERROR, ERROR)
    );
    let log = logged();
    for part in [
        "`mass` is 0; expected a number above 0",
        "a finite number",
        "`velocity` cannot be set",
        "reference 99",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }
    assert_eq!((x.set(4, 2.0), x.begin(), x.set(1, 3.0), x.step(0.0, 0.5)), (OK, OK, OK, OK), "{}", logged());
    assert_eq!((x.get(0), x.get(1), x.get(2), x.get(4)), (0.5, 3.0, 0.75, 2.0));
    assert_eq!(x.set(4, 3.0), ERROR);
    assert!(logged().contains("`mass` cannot be set after initialization"));
    for (t, h) in [(0.5, 0.0), (0.5, -0.1), (0.5, f64::NAN), (0.9, 0.1), (f64::NAN, 0.1)] {
        assert_eq!(x.step(t, h), ERROR, "{t} {h}");
    }
    assert_eq!((x.step(0.5, 0.5), x.get(2)), (OK, 1.5));
    // SAFETY: the instance lives; null is a value that importers pass by mistake.
    unsafe {
        assert_eq!(fmi3::fmi3EnterEventMode(x.0), ERROR);
        assert_eq!(
            fmi3::fmi3DoStep(null_mut(), 0.0, 0.1, 1, null_mut(), null_mut(), null_mut(), null_mut()),
            ERROR
        );
        assert_eq!(fmi3::fmi3GetFloat64(x.0, null(), 0, null_mut(), 0), OK);
        assert_eq!(fmi3::fmi3GetFloat64(x.0, &1, 1, null_mut(), 0), ERROR);
        assert_eq!(fmi3::fmi3SetFMUState(x.0, null_mut()), ERROR);
        assert_eq!(fmi3::fmi3Terminate(x.0), OK);
        assert_eq!(x.step(1.0, 0.5), ERROR);
        assert_eq!((x.get(2), fmi3::fmi3Reset(x.0)), (1.5, OK));
    }
    assert_eq!((x.get(2), x.get(4), x.get(1)), (0.0, 400.0, 0.0));
    assert_eq!((x.begin(), x.step(0.0, 0.1)), (OK, OK));
}

/// Importers differ in when they set parameters: libcosim does so in initialization mode.
#[test]
fn parameters_may_change_in_initialization_mode() {
    let x = Fmi3::new("oscillator/mass");
    let velocity = 8; // 1 force, 2 position, 3 velocity, 4 energy, 5 mass, 6 stiffness, 7 damping, 8 initial_position …
    // SAFETY: the instance lives.
    unsafe { assert_eq!(fmi3::fmi3EnterInitializationMode(x.0, 0, 0.0, 0.0, 0, 0.0), OK) };
    assert_eq!((x.get(2), x.set(velocity, 0.25), x.get(2)), (0.0, OK, 0.25));
    // SAFETY: the instance lives.
    unsafe { assert_eq!(fmi3::fmi3ExitInitializationMode(x.0), OK) };
    assert_eq!(x.get(2), 0.25);
}

#[test]
fn counts_and_choices_have_their_types() {
    let x = Fmi3::new(CHASSIS);
    let (mut count, mut choice) = (0, null());
    let text = |pointer: *const c_char| {
        // SAFETY: a string of the library's, valid until the next call (FMI 3.0.2, fmi3GetString).
        unsafe { CStr::from_ptr(pointer) }.to_str().expect("ASCII").to_owned()
    };
    // SAFETY: the instance lives; one reference, one value.
    unsafe {
        assert_eq!(fmi3::fmi3SetInt32(x.0, &5, 1, &7, 1), OK);
        assert_eq!(fmi3::fmi3GetInt32(x.0, &5, 1, &mut count, 1), OK);
        assert_eq!(fmi3::fmi3GetString(x.0, &6, 1, &mut choice, 1), OK);
        assert_eq!((count, text(choice)), (7, "euler".to_owned()));
        assert_eq!(fmi3::fmi3SetString(x.0, &6, 1, &c"accurate".as_ptr(), 1), OK);
        assert_eq!(fmi3::fmi3GetString(x.0, &6, 1, &mut choice, 1), OK);
        assert_eq!(text(choice), "accurate");
        assert_eq!(fmi3::fmi3SetInt32(x.0, &5, 1, &0, 1), ERROR);
        assert_eq!(fmi3::fmi3SetString(x.0, &6, 1, &c"exact".as_ptr(), 1), ERROR);
        assert!(logged().contains("`integrator` is \"exact\"; expected one of \"euler\", \"accurate\""));
        assert_eq!(fmi3::fmi3SetInt32(x.0, &6, 1, &1, 1), ERROR);
        assert_eq!(fmi3::fmi3SetString(x.0, &5, 1, &c"7".as_ptr(), 1), ERROR);
        assert_eq!(fmi3::fmi3GetInt32(x.0, &5, 1, &mut count, 0), ERROR);
        let y = instance2(&token(CHASSIS), 1);
        assert_eq!(fmi2::fmi2SetInteger(y, &5, 1, &7), OK);
        assert_eq!(fmi2::fmi2GetInteger(y, &5, 1, &mut count), OK);
        assert_eq!(fmi2::fmi2SetString(y, &6, 1, &c"accurate".as_ptr()), OK);
        assert_eq!(fmi2::fmi2GetString(y, &6, 1, &mut choice), OK);
        assert_eq!((count, text(choice)), (7, "accurate".to_owned()));
        assert_eq!(fmi2::fmi2GetBoolean(y, &5, 1, null_mut()), ERROR);
        fmi2::fmi2FreeInstance(y);
    }
}

/// A state as bytes goes from one instance to another, parameters included; damaged bytes are refused.
#[test]
fn states_travel_as_bytes() {
    for spec in ALL {
        let (a, b) = (Fmi3::new(spec.name), Fmi3::new(spec.name));
        let interface = Interface::new(spec, &[]).expect("defaults").0;
        let mass = interface.slots.len() - spec.parameters.len();
        assert_eq!((a.set(mass as u32, 1.5), a.begin(), b.begin()), (OK, OK, OK), "{}", logged());
        for n in 0..5 {
            assert_eq!(a.step(f64::from(n) * 1e-3, 1e-3), OK, "{}", logged());
        }
        let (mut state, mut other): (State, State) = (null_mut(), null_mut());
        let mut length = 0;
        // SAFETY: both instances live; states are freed once; the buffer is as long as the FMU said.
        unsafe {
            assert_eq!(fmi3::fmi3GetFMUState(a.0, &mut state), OK, "{}", logged());
            assert_eq!(fmi3::fmi3SerializedFMUStateSize(a.0, state, &mut length), OK);
            let mut bytes = vec![0u8; length];
            assert_eq!(fmi3::fmi3SerializeFMUState(a.0, state, bytes.as_mut_ptr(), length), OK);
            assert_eq!(
                fmi3::fmi3DeserializeFMUState(b.0, bytes.as_ptr(), length, &mut other),
                OK,
                "{}",
                logged()
            );
            assert_eq!(fmi3::fmi3SetFMUState(b.0, other), OK, "{}", logged());
            for n in 5..10 {
                assert_eq!((a.step(f64::from(n) * 1e-3, 1e-3), b.step(f64::from(n) * 1e-3, 1e-3)), (OK, OK));
                for reference in 0..interface.info.variables.len() as u32 {
                    assert_eq!(a.get(reference).to_bits(), b.get(reference).to_bits(), "{}", spec.name);
                }
            }
            let mut damaged: State = null_mut();
            for place in [0, 8, 16, 24, length] {
                let mut bad = bytes.clone();
                if place == length {
                    bad.truncate(length - 8)
                } else {
                    bad[place] ^= 0x55
                }
                assert_eq!(fmi3::fmi3DeserializeFMUState(b.0, bad.as_ptr(), bad.len(), &mut damaged), ERROR);
                assert!(damaged.is_null());
            }
            assert_eq!(fmi3::fmi3FreeFMUState(a.0, &mut state), OK);
            assert_eq!(fmi3::fmi3FreeFMUState(b.0, &mut other), OK);
            assert!(state.is_null() && other.is_null());
            assert_eq!(fmi3::fmi3FreeFMUState(a.0, &mut state), OK);
        }
    }
}

/// Inputs, step, outputs, locals, derivatives, and a state into a place that exists.
#[test]
fn a_step_allocates_nothing() {
    for spec in ALL {
        let x = Fmi3::new(spec.name);
        let interface = Interface::new(spec, &[]).expect("defaults").0;
        let of = |list: &[usize]| -> Vec<u32> { list.iter().map(|&v| interface.reference(v)).collect() };
        let (inputs, outputs) = (of(&interface.binding.inputs), of(&interface.binding.outputs));
        let all: Vec<u32> = (0..interface.info.variables.len() as u32).collect();
        let mut values = vec![0.0; all.len()];
        assert_eq!(x.begin(), OK);
        let mut state: State = null_mut();
        // SAFETY: the instance lives; arrays are as long as the numbers say.
        unsafe {
            assert_eq!(fmi3::fmi3GetFMUState(x.0, &mut state), OK);
            let before = COUNT.get();
            for n in 0..100 {
                let (u, y) = (inputs.len(), outputs.len());
                assert_eq!(fmi3::fmi3GetFloat64(x.0, inputs.as_ptr(), u, values.as_mut_ptr(), u), OK);
                assert_eq!(fmi3::fmi3SetFloat64(x.0, inputs.as_ptr(), u, values.as_ptr(), u), OK);
                assert_eq!(x.step(f64::from(n) * 1e-4, 1e-4), OK);
                assert_eq!(fmi3::fmi3GetFloat64(x.0, outputs.as_ptr(), y, values.as_mut_ptr(), y), OK);
                let length = all.len();
                assert_eq!(fmi3::fmi3GetFloat64(x.0, all.as_ptr(), length, values.as_mut_ptr(), length), OK);
                let (unknown, known) = (outputs.as_ptr(), inputs.as_ptr());
                let mut d = 0.0;
                let code = fmi3::fmi3GetDirectionalDerivative(x.0, unknown, 1, known, 1, &1.0, 1, &mut d, 1);
                assert_eq!(code, OK);
                assert_eq!(fmi3::fmi3GetFMUState(x.0, &mut state), OK);
                assert_eq!(fmi3::fmi3SetFMUState(x.0, state), OK);
            }
            assert_eq!(COUNT.get() - before, 0, "{}", spec.name);
            assert_eq!(fmi3::fmi3FreeFMUState(x.0, &mut state), OK);
        }
    }
}

/// An importer that gives the input of a chassis the parabola `f(t) = 3 - 40 t + 900 t²`, in N.
struct Parabola {
    handle: Cell<Handle>,
    asked: RefCell<Vec<f64>>,
}

unsafe extern "C" fn give(
    environment: *mut c_void,
    t: f64,
    set_requested: u8,
    _get_allowed: u8,
    _finished: u8,
    _can_return: u8,
    _early: *mut u8,
    _time: *mut f64,
) {
    // SAFETY: the environment is the one below, which outlives the instance; one reference, one value.
    unsafe {
        let importer = &*environment.cast::<Parabola>();
        assert_eq!(set_requested, 1);
        importer.asked.borrow_mut().push(t);
        let force = 3.0 - 40.0 * t + 900.0 * t * t;
        assert_eq!(fmi3::fmi3SetFloat64(importer.handle.get(), &1, 1, &force, 1), OK);
    }
}

/// The same parabola through FMI 3's intermediate update and through FMI 2's derivatives of inputs.
#[test]
fn inputs_inside_steps_are_asked_for() {
    let importer = Box::new(Parabola { handle: Cell::new(null_mut()), asked: RefCell::default() });
    let environment = (&raw const *importer).cast_mut().cast();
    let x = Fmi3(asking_instance3(&token(CHASSIS), &[1], environment, Some(give)));
    importer.handle.set(x.0);
    let y = instance2(&token(CHASSIS), 1);
    assert_eq!((x.begin(), x.set(1, 3.0), x.step(0.0, 0.25)), (OK, OK, OK), "{}", logged());
    assert_eq!(*importer.asked.borrow(), [0.125, 0.25]);
    assert_eq!(x.get(1), 3.0 - 40.0 * 0.25 + 900.0 * 0.0625, "what was set last");
    let mut velocity = f64::NAN;
    // SAFETY: the instance lives; two derivatives of one input, one value.
    unsafe {
        assert_eq!(fmi2::fmi2SetupExperiment(y, 0, 0.0, 0.0, 0, 0.0), OK);
        assert_eq!((fmi2::fmi2EnterInitializationMode(y), fmi2::fmi2ExitInitializationMode(y)), (OK, OK));
        assert_eq!(fmi2::fmi2SetReal(y, &1, 1, &3.0), OK);
        let (inputs, orders, values) = ([1, 1], [1, 2], [-40.0, 1800.0]);
        let code = fmi2::fmi2SetRealInputDerivatives(y, inputs.as_ptr(), 2, orders.as_ptr(), values.as_ptr());
        assert_eq!(code, OK);
        assert_eq!(fmi2::fmi2DoStep(y, 0.0, 0.25, 1), OK);
        assert_eq!(fmi2::fmi2GetReal(y, &2, 1, &mut velocity), OK);
        fmi2::fmi2FreeInstance(y);
    }
    assert!((x.get(2) - velocity).abs() <= 1e-14 * velocity.abs(), "{} {velocity}", x.get(2));
    // A step that is refused asks for nothing, and leaves no slope behind.
    assert_eq!(x.step(7.0, 0.25), ERROR);
    assert_eq!(importer.asked.borrow().len(), 2);
    // Who names no input is not asked.
    let z = Fmi3(asking_instance3(&token(CHASSIS), &[], environment, Some(give)));
    assert_eq!((z.begin(), z.step(0.0, 0.25), importer.asked.borrow().len()), (OK, OK, 2));
}

#[test]
fn an_impossible_step_is_an_error_of_the_fmu() {
    // 1 length, 2 speed: a cylinder cannot be 9 m long.
    let x = Fmi3::new("crane/hydraulics");
    assert_eq!((x.begin(), x.set(1, 9.0), x.step(0.0, 0.1)), (OK, OK, ERROR));
    assert!(logged().contains("the cylinder cannot be 9 m long"));
    assert_eq!(x.step(0.0, 0.1), ERROR);
    assert!(logged().contains("an earlier call failed"));
    // SAFETY: the instance lives.
    unsafe { assert_eq!(fmi3::fmi3Reset(x.0), OK) };
    assert_eq!((x.begin(), x.step(0.0, 0.1)), (OK, OK), "{}", logged());
}

/// A model that panics in its first step: a bug that must not cross into C.
struct Careless(Info);

static CARELESS: ModelSpec = ModelSpec {
    name: "careless",
    description: "Panics",
    parameters: &[],
    make: |_| {
        let (kind, variables) = ("careless".to_owned(), Vec::new());
        let feed_through = FeedThrough::Declared(Vec::new());
        Box::new(Careless(Info {
            kind,
            variables: variables.into(),
            feed_through,
            capabilities: Capabilities::default(),
        }))
    },
};

impl Subsystem for Careless {
    fn info(&self) -> &Info {
        &self.0
    }

    fn bind(&mut self, _binding: &Binding) -> Result<(), SubsystemError> {
        Ok(())
    }

    fn enter(&mut self, _setup: &Setup) -> Result<(), SubsystemError> {
        Ok(())
    }

    fn evaluate(&mut self, _u: Inputs<'_>, _y: &mut [f64]) -> Result<(), SubsystemError> {
        Ok(())
    }

    fn advance(&mut self, span: Span, _u: Inputs<'_>, _y: &mut [f64]) -> Result<Advance, SubsystemError> {
        panic!("no step from {} s", span.start)
    }

    fn probe(&mut self, _z: &mut [f64]) -> Result<(), SubsystemError> {
        Ok(())
    }
}

#[test]
fn a_panic_becomes_an_error() {
    let token = Interface::new(&CARELESS, &[]).expect("no parameters").0.token();
    let token = CString::new(token).expect("no zero byte");
    static MODELS: &[&ModelSpec] = &[&CARELESS];
    // SAFETY: the token outlives the call; there is no environment.
    let handle = unsafe {
        let nothing = (null(), 0);
        ffi::fmi3::instantiate(MODELS, token.as_ptr(), 0, nothing, null_mut(), Some(log), None)
    };
    let x = Fmi3(handle);
    assert_eq!((x.begin(), x.step(0.0, 0.1)), (OK, ERROR), "{}", logged());
    assert!(logged().contains("fmi3DoStep: internal error of the model: no step from 0 s"));
    assert_eq!(x.step(0.0, 0.1), ERROR);
    assert!(logged().contains("an earlier call failed"));
}

#[test]
fn descriptions_never_change_by_themselves() {
    for spec in ALL {
        for version in [FmiVersion::Fmi2, FmiVersion::Fmi3] {
            let make = || describe(&Interface::new(spec, &[]).expect("defaults").0, version);
            assert_eq!(make(), make());
        }
    }
}
