//! Which call of which instance is under way, for a supervisor outside: while a call hangs, and after it ended the process.

use crate::description::Version;
use crate::{fmi1, fmi2, fmi3};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Bytes of a name that are kept.
const NAME: usize = 96;

/// A call, whatever the standard names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum Call {
    Load = 1,
    Instantiate,
    EnterInitialization,
    ExitInitialization,
    Set,
    Step,
    Get,
    GetPacket,
    InputDerivatives,
    OutputDerivatives,
    Directional,
    GetState,
    SetState,
    FreeState,
    Event,
    Terminate,
    Reset,
    Free,
    Unload,
}

const ALL: [Call; 19] = [
    Call::Load,
    Call::Instantiate,
    Call::EnterInitialization,
    Call::ExitInitialization,
    Call::Set,
    Call::Step,
    Call::Get,
    Call::GetPacket,
    Call::InputDerivatives,
    Call::OutputDerivatives,
    Call::Directional,
    Call::GetState,
    Call::SetState,
    Call::FreeState,
    Call::Event,
    Call::Terminate,
    Call::Reset,
    Call::Free,
    Call::Unload,
];

impl Call {
    /// Whether it may be a part of a step: the step itself, and what is set, read, saved and handled around it.
    fn is_of_step(self) -> bool {
        !matches!(
            self,
            Call::Load
                | Call::Instantiate
                | Call::EnterInitialization
                | Call::ExitInitialization
                | Call::Terminate
                | Call::Reset
                | Call::Free
                | Call::Unload
        )
    }

    /// The function, as the standard names it; loading is none of its functions.
    pub fn name(self, version: Version) -> &'static str {
        let names = match version {
            Version::Fmi1 => &fmi1::NAMES,
            Version::Fmi2 => &fmi2::NAMES,
            Version::Fmi3 => &fmi3::NAMES,
        };
        match self {
            Call::Load => "dlopen",
            Call::Unload => "dlclose",
            Call::Instantiate => names.instantiate,
            Call::EnterInitialization => names.enter,
            Call::ExitInitialization => names.exit,
            Call::Set => names.set_real,
            Call::Step => names.step,
            Call::Get => names.get_real,
            Call::GetPacket => names.get_packet,
            Call::InputDerivatives => names.derivatives,
            Call::OutputDerivatives => names.output_derivatives,
            Call::Directional => names.directional,
            Call::GetState => names.get_state,
            Call::SetState => names.set_state,
            Call::FreeState => names.free_state,
            Call::Event => names.event,
            Call::Terminate => names.terminate,
            Call::Reset => names.reset,
            Call::Free => match version {
                Version::Fmi1 => "fmiFreeSlaveInstance",
                Version::Fmi2 => "fmi2FreeInstance",
                Version::Fmi3 => "fmi3FreeInstance",
            },
        }
    }
}

/// What one instance is doing. The memory may be shared with another process: nothing but atomics, all zero at first.
#[repr(C)]
pub struct Slot {
    /// 0: free; 1, 2, 3: the version of FMI.
    version: AtomicU32,
    /// 0: none is under way.
    call: AtomicU32,
    /// How many calls there were; those of a plain step are one.
    count: AtomicU64,
    /// Bits of the simulation time at which the last step began, in s; NaN before the first one.
    time: AtomicU64,
    /// The call that took files away from the process; 0: there was none.
    accused: AtomicU32,
    /// As `time`, at that call.
    accused_time: AtomicU64,
    /// Not 0: a scratch instance.
    scratch: AtomicU32,
    name: [AtomicU8; NAME],
}

/// A call that is under way.
#[derive(Clone, Debug, PartialEq)]
pub struct UnderWay {
    /// The instance, as the system names it; while a library is loaded, the file of the FMU.
    pub instance: String,
    /// The function, as the standard names it.
    pub call: &'static str,
    /// Which of its calls it is: the same number and the same name mean the same call.
    pub count: u64,
    /// Where the step that it belongs to began, in s; none for calls outside of steps.
    pub time: Option<f64>,
    /// Whether it is the step itself.
    pub is_step: bool,
    /// Whether it is one of a scratch instance, before the run.
    pub is_of_scratch: bool,
}

impl UnderWay {
    /// When it was, as an addition to its name: empty or ` at t = …`.
    pub fn when(&self) -> String {
        match self.time {
            Some(time) if self.is_step => format!(" at t = {time} s"),
            Some(time) => format!(" of the step at t = {time} s"),
            None => String::new(),
        }
    }
}

impl Slot {
    /// The call that is under way, if there is one.
    pub fn under_way(&self) -> Option<UnderWay> {
        self.told(self.call.load(Ordering::Relaxed), &self.time)
    }

    /// The call after which files of the process were found closed, or not allowed to grow.
    pub fn accused(&self) -> Option<UnderWay> {
        self.told(self.accused.load(Ordering::Relaxed), &self.accused_time)
    }

    fn told(&self, number: u32, time: &AtomicU64) -> Option<UnderWay> {
        let version = match self.version.load(Ordering::Relaxed) {
            1 => Version::Fmi1,
            2 => Version::Fmi2,
            3 => Version::Fmi3,
            _ => return None,
        };
        let call = *ALL.get((number as usize).checked_sub(1)?)?;
        let bytes = self.name.iter().map(|b| b.load(Ordering::Relaxed)).take_while(|&b| b != 0);
        Some(UnderWay {
            instance: String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned(),
            call: call.name(version),
            count: self.count.load(Ordering::Relaxed),
            time: Some(f64::from_bits(time.load(Ordering::Relaxed)))
                .filter(|t| call.is_of_step() && !t.is_nan()),
            is_step: call == Call::Step,
            is_of_scratch: self.scratch.load(Ordering::Relaxed) != 0,
        })
    }

    fn take(&self, name: &str, version: Version) -> bool {
        let number = match version {
            Version::Fmi1 => 1,
            Version::Fmi2 => 2,
            Version::Fmi3 => 3,
        };
        if self.version.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return false;
        }
        // Cut between characters, and zeros after it.
        let end = (0..=NAME.min(name.len())).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
        let bytes = name[..end].bytes().chain(std::iter::repeat(0));
        self.name.iter().zip(bytes).for_each(|(slot, byte)| slot.store(byte, Ordering::Relaxed));
        self.time.store(f64::NAN.to_bits(), Ordering::Relaxed);
        self.scratch.store(0, Ordering::Relaxed);
        true
    }
}

/// Bytes of a copy of a slot.
pub const IMAGE: usize = 24 + NAME;

/// A copy of a slot, for where its memory is not shared.
pub type Image = [u8; IMAGE];

impl Slot {
    /// A copy of it.
    pub fn image(&self) -> Image {
        let mut image = [0; IMAGE];
        let scratch = u32::from(self.scratch.load(Ordering::Relaxed) != 0);
        let version = self.version.load(Ordering::Relaxed) | scratch << 8;
        image[..4].copy_from_slice(&version.to_le_bytes());
        image[4..8].copy_from_slice(&self.call.load(Ordering::Relaxed).to_le_bytes());
        image[8..16].copy_from_slice(&self.count.load(Ordering::Relaxed).to_le_bytes());
        image[16..24].copy_from_slice(&self.time.load(Ordering::Relaxed).to_le_bytes());
        image[24..].iter_mut().zip(&self.name).for_each(|(to, b)| *to = b.load(Ordering::Relaxed));
        image
    }

    /// Shows what a copy of another slot says.
    fn show(&self, image: &Image) {
        let word = |at: usize| u32::from_le_bytes([image[at], image[at + 1], image[at + 2], image[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        // 0 would give the slot away.
        self.version.store((word(0) & 0xff).clamp(1, 3), Ordering::Relaxed);
        self.scratch.store(word(0) >> 8, Ordering::Relaxed);
        self.count.store(long(8), Ordering::Relaxed);
        self.time.store(long(16), Ordering::Relaxed);
        self.name.iter().zip(&image[24..]).for_each(|(to, b)| to.store(*b, Ordering::Relaxed));
        self.call.store(word(4), Ordering::Relaxed);
    }

    /// A slot that says what the copy does.
    pub fn of(image: &Image) -> Self {
        let slot = Slot {
            version: AtomicU32::new(0),
            call: AtomicU32::new(0),
            count: AtomicU64::new(0),
            time: AtomicU64::new(0),
            accused: AtomicU32::new(0),
            accused_time: AtomicU64::new(0),
            scratch: AtomicU32::new(0),
            name: [const { AtomicU8::new(0) }; NAME],
        };
        slot.show(image);
        slot
    }
}

/// A slot that shows what an instance in another process does, until it is dropped: a supervisor sees no difference.
pub struct Mirror(Trace);

impl Mirror {
    /// With nothing to show.
    pub fn new(name: &str) -> Self {
        Mirror(Trace::new(name, Version::Fmi3))
    }

    /// Shows a copy of the slot of that instance; without one, that none of its calls is under way.
    pub fn show(&self, image: Option<&Image>) {
        match (self.0.0.0, image) {
            (Some(slot), Some(image)) => slot.show(image),
            (Some(slot), None) => slot.call.store(0, Ordering::Relaxed),
            (None, _) => {}
        }
    }
}

static SLOTS: OnceLock<&'static [Slot]> = OnceLock::new();
/// Where the next search for a free slot begins.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// From now on calls of instances are written to these slots. Only the first call has an effect.
pub fn install(slots: &'static [Slot]) {
    let _ = SLOTS.set(slots);
}

/// The slot of an instance until it is dropped; does nothing where none was installed, or all are taken.
pub(crate) struct Trace(Marks);

/// Writes to the slot of an instance that is alive.
#[derive(Clone, Copy)]
pub(crate) struct Marks(Option<&'static Slot>);

impl Trace {
    pub fn new(name: &str, version: Version) -> Self {
        let Some(slots) = SLOTS.get().filter(|slots| !slots.is_empty()) else {
            return Trace(Marks(None));
        };
        let first = NEXT.load(Ordering::Relaxed) % slots.len();
        let place = (first..slots.len()).chain(0..first).find(|&i| slots[i].take(name, version));
        place.inspect(|i| NEXT.store(i + 1, Ordering::Relaxed));
        Trace(Marks(place.map(|i| &slots[i])))
    }

    /// The instance is a scratch instance.
    pub fn is_of_scratch(&self) {
        if let Some(slot) = self.0.0 {
            slot.scratch.store(1, Ordering::Relaxed);
        }
    }

    /// For calls in every step: not to be used after this is dropped.
    pub fn marks(&self) -> Marks {
        self.0
    }
}

impl Marks {
    /// Of an instance that nobody looks at.
    pub const NONE: Marks = Marks(None);

    /// Itself, if somebody looks.
    #[inline(always)]
    pub fn seen(self) -> Option<Marks> {
        self.0.map(|slot| Marks(Some(slot)))
    }

    #[inline(always)]
    pub fn begin(self, call: Call) {
        if let Some(slot) = self.0 {
            slot.count.store(slot.count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            slot.call.store(call as u32, Ordering::Relaxed);
        }
    }

    /// As [`Marks::begin`], in the step that begins at `t`.
    #[inline(always)]
    pub fn begin_at(self, call: Call, t: f64) {
        self.step_at(t);
        self.begin(call);
    }

    /// Another call follows the one that began, in the same step: they count as one.
    #[inline(always)]
    pub fn go_on(self, call: Call) {
        if let Some(slot) = self.0 {
            slot.call.store(call as u32, Ordering::Relaxed);
        }
    }

    /// The calls that follow belong to the step that begins at `t`.
    #[inline(always)]
    pub fn step_at(self, t: f64) {
        if let Some(slot) = self.0 {
            slot.time.store(t.to_bits(), Ordering::Relaxed);
        }
    }

    #[inline(always)]
    pub fn end(self) {
        if let Some(slot) = self.0 {
            slot.call.store(0, Ordering::Relaxed);
        }
    }

    /// This call took files away from the process: known from now on, also when the instance is gone.
    pub fn accuse(self, call: Call) {
        if let Some(slot) = self.0.filter(|slot| slot.accused.load(Ordering::Relaxed) == 0) {
            slot.accused_time.store(slot.time.load(Ordering::Relaxed), Ordering::Relaxed);
            slot.accused.store(call as u32, Ordering::Relaxed);
        }
    }

    /// Marks a call while it is made.
    #[inline(always)]
    pub fn during<T>(self, call: Call, work: impl FnOnce() -> T) -> T {
        self.begin(call);
        let result = work();
        self.end();
        result
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.0.end();
        if let Some(slot) = self.0.0.filter(|slot| slot.accused.load(Ordering::Relaxed) == 0) {
            slot.version.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_tells_the_call_that_is_under_way_and_forgets_it_with_its_instance() {
        let slots: &'static [Slot] = Box::leak((0..2).map(|_| empty()).collect());
        install(slots);
        let under_way = || slots.iter().find_map(Slot::under_way);
        let trace = Trace::new("plant", Version::Fmi2);
        assert_eq!(under_way(), None);
        trace.marks().begin(Call::Set);
        assert_eq!(under_way().unwrap().when(), "");
        trace.marks().begin_at(Call::Step, 0.25);
        let found = under_way().unwrap();
        assert_eq!((found.instance.as_str(), found.call, found.time), ("plant", "fmi2DoStep", Some(0.25)));
        assert_eq!(found.when(), " at t = 0.25 s");
        trace.marks().begin(Call::Get);
        assert_eq!(under_way().unwrap().when(), " of the step at t = 0.25 s");
        trace.marks().end();
        assert_eq!(under_way(), None);
        assert_eq!(slots[0].accused(), None);
        trace.marks().begin(Call::Free);
        assert_eq!(under_way().map(|found| found.call), Some("fmi2FreeInstance"));
        drop(trace);
        assert_eq!(under_way(), None);
        let kept: Vec<Trace> = (0..3).map(|_| Trace::new(&"ä".repeat(60), Version::Fmi3)).collect();
        kept.iter().for_each(|trace| trace.marks().begin(Call::Load));
        let found = under_way().unwrap();
        assert_eq!((found.instance, found.call), ("ä".repeat(48), "dlopen"));
        let image = slots[0].image();
        assert_eq!(Slot::of(&image).under_way(), under_way());
        drop(kept);
        let mirror = Mirror::new("plant");
        mirror.show(Some(&image));
        assert_eq!(under_way().map(|found| found.call), Some("dlopen"));
        mirror.show(None);
        assert_eq!(under_way(), None);
    }

    fn empty() -> Slot {
        let slot = Slot::of(&[0; IMAGE]);
        slot.version.store(0, Ordering::Relaxed);
        slot
    }
}
