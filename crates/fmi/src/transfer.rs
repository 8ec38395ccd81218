//! The way of bound variables between the engine's `f64` slices and the FMU, prepared once.

use crate::description::{Causality, Kind, ModelDescription, Variability, Variable};
use crate::fmu::Fmu;
use crate::machine::Machine;
use crate::numbers::Numbers;
use crate::packets::Cell;
use crate::ports::Ports;
use crate::settings::Setting;
use crate::status::OK;
use powerbond_core::subsystem::{Digits, SubsystemError};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::Arc;

/// Everything that is set in an instance while it runs: numbers, and what is noted for the next event.
pub(crate) struct Incoming {
    pub numbers: Route,
    /// Texts and binaries that have been read or set.
    pub cells: Vec<Cell>,
    /// Tunable parameters and inputs that are not bound.
    pub settings: Vec<Setting>,
}

impl Incoming {
    pub fn new(numbers: Route) -> Self {
        Incoming { numbers, cells: Vec::new(), settings: Vec::new() }
    }

    /// Whether something is to change that may change at events only (FMI 3.0.2, variability `discrete` and `tunable`: with
    /// `eventModeUsed` in Event Mode).
    pub fn needs_event(&self, machine: &Machine, values: &[f64]) -> bool {
        machine.has_event_mode()
            && (!self.settings.is_empty()
                || self.cells.iter().any(Cell::is_staged)
                || self.numbers.changes(values))
    }

    /// Sets what may be set where the instance is: between steps of one with `eventModeUsed` only what is continuous.
    pub fn send(&mut self, machine: &Machine, values: &[f64]) -> Result<(), SubsystemError> {
        if machine.is_between_events() {
            return self.numbers.send_continuous(machine, values);
        }
        self.settings.drain(..).try_for_each(|setting| setting.apply(machine))?;
        self.cells.iter_mut().filter(|cell| cell.is_staged()).try_for_each(|cell| cell.send(machine))?;
        self.numbers.send(machine, values)
    }

    /// Notes what the FMU has and is to get, for the state that is saved now; `sent` is for numbers.
    pub fn keep(&mut self, sent: &mut [Sent]) {
        self.numbers.keep_sent(sent);
        self.cells.iter_mut().for_each(Cell::keep);
    }

    /// As [`Incoming::keep`], for the state in the second slot.
    pub fn keep_second(&mut self, sent: &mut [Sent]) {
        self.numbers.keep_sent(sent);
        self.cells.iter_mut().for_each(Cell::keep_second);
    }

    /// The FMU went back to the state in the second slot.
    pub fn go_back_to_second(&mut self, sent: &[Sent]) {
        self.numbers.load(sent);
        self.cells.iter_mut().for_each(Cell::go_back_to_second);
    }

    /// The FMU went back to the saved state.
    pub fn go_back(&mut self, sent: &[Sent]) {
        self.numbers.load(sent);
        self.cells.iter_mut().for_each(Cell::go_back);
    }
}

/// How a list of variables is set or read.
pub(crate) enum Route {
    /// Scalar reals only: the engine's slice is the FMU's.
    Direct(Arc<[u32]>),
    /// Other types, or arrays of which every element travels: one call per type.
    Grouped(Vec<Group>),
}

/// Variables of one type.
pub(crate) struct Group {
    kind: Kind,
    references: Vec<u32>,
    /// All elements of all variables.
    values: Numbers,
    /// Places in the engine's slice and in `values`.
    map: Vec<(u32, u32)>,
    /// Integers of 64 bits.
    wide: Vec<Wide>,
    /// They change at events only, where event mode is used.
    discrete: bool,
    /// The FMU has `values`.
    known: bool,
}

/// An integer that is the sum of two numbers of the engine.
#[derive(Clone, Copy, Default)]
struct Wide {
    /// The place in the group's values.
    element: u32,
    /// The places in the engine's slice of the nearest number and of the rest, where they take part.
    first: Option<u32>,
    rest: Option<u32>,
}

impl Wide {
    /// The integer that the engine has.
    fn whole(&self, values: &[f64]) -> i128 {
        let part = |place: Option<u32>| place.map_or(0, |place| values[place as usize].round() as i128);
        part(self.first).saturating_add(part(self.rest))
    }

    /// Gives the engine its two parts.
    fn share(&self, whole: i128, values: &mut [f64]) {
        let nearest = whole as f64;
        if let Some(first) = self.first {
            values[first as usize] = nearest;
        }
        if let Some(rest) = self.rest {
            values[rest as usize] = (whole - nearest as i128) as f64;
        }
    }
}

/// What the FMU has for a group of variables, if it has that.
#[derive(Clone)]
pub(crate) struct Sent {
    values: Numbers,
    known: bool,
}

impl Route {
    /// No variables.
    pub fn empty() -> Self {
        Route::Direct(Arc::new([]))
    }

    /// For variables of [`Ports::info`], by index. With `events`, discrete variables go their own way.
    pub fn new(fmu: &Fmu, ports: &Ports, bound: &[usize], events: bool) -> Self {
        let description = fmu.description();
        let variable_of = |&v: &usize| &description.variables[ports.places[v].variable as usize];
        let class = |variable: &Variable| {
            let continuous = variable.kind.is_real() && variable.variability == Variability::Continuous;
            (variable.kind, events && !continuous)
        };
        let is_plain = |v: &usize| {
            class(variable_of(v)) == (Kind::Float64, false) && variable_of(v).dimensions.is_empty()
        };
        if bound.iter().all(is_plain) {
            return Route::Direct(fmu.intern(bound.iter().map(|v| variable_of(v).reference).collect()));
        }
        let mut classes: Vec<(Kind, bool)> = bound.iter().map(|v| class(variable_of(v))).collect();
        classes.sort_unstable();
        classes.dedup();
        let group = |wanted: (Kind, bool)| {
            let discrete = wanted.1;
            Group { discrete, ..Group::new(description, ports, bound, wanted.0, |v| class(v) == wanted) }
        };
        Route::Grouped(classes.into_iter().map(group).collect())
    }

    /// Reads what the FMU has for the elements of arrays that the engine does not set: arrays are set as a whole.
    pub fn fill_gaps(&mut self, machine: &Machine) -> Result<(), SubsystemError> {
        let Route::Grouped(groups) = self else { return Ok(()) };
        for group in groups.iter_mut().filter(|group| group.is_partial()) {
            let code = machine.calls.get(group.kind, &group.references, &mut group.values);
            machine.check(code, machine.calls.accessors(group.kind).0)?;
        }
        Ok(())
    }

    /// The FMU went back in time: what it has is not known any more.
    pub fn forget(&mut self) {
        if let Route::Grouped(groups) = self {
            groups.iter_mut().for_each(|group| group.known = false);
        }
    }

    /// What was sent last, where later calls depend on that.
    pub fn sent(&self) -> Vec<Sent> {
        let Route::Grouped(groups) = self else { return Vec::new() };
        groups.iter().map(|group| Sent { values: group.values.clone(), known: group.known }).collect()
    }

    /// As [`Route::sent`], into an earlier answer: nothing is allocated.
    pub fn keep_sent(&self, sent: &mut [Sent]) {
        let Route::Grouped(groups) = self else { return };
        for (group, sent) in groups.iter().zip(sent) {
            sent.values.copy_from(&group.values);
            sent.known = group.known;
        }
    }

    /// The FMU went back to where it had this.
    pub fn load(&mut self, sent: &[Sent]) {
        let Route::Grouped(groups) = self else { return };
        for (group, sent) in groups.iter_mut().zip(sent) {
            group.values.copy_from(&sent.values);
            group.known = sent.known;
        }
    }

    /// Sets the variables.
    fn send(&mut self, machine: &Machine, values: &[f64]) -> Result<(), SubsystemError> {
        match self {
            Route::Direct(references) if references.is_empty() => Ok(()),
            Route::Direct(references) => {
                debug_assert_eq!(references.len(), values.len());
                machine.check(machine.calls.set_reals(references, values), machine.calls.names().set_real)
            }
            Route::Grouped(groups) => groups.iter_mut().try_for_each(|group| group.send(machine, values)),
        }
    }

    /// Whether the FMU has other values of variables that change at events only.
    fn changes(&self, values: &[f64]) -> bool {
        let Route::Grouped(groups) = self else { return false };
        let changed = |group: &Group| {
            !group.known
                || group
                    .map
                    .iter()
                    .any(|&(from, to)| group.values.would_change(to as usize, values[from as usize]))
                || group
                    .wide
                    .iter()
                    .any(|wide| group.values.read_whole(wide.element as usize) != wide.whole(values))
        };
        groups.iter().filter(|group| group.discrete).any(changed)
    }

    /// Sets those that may change outside of events; the others wait for the next one.
    fn send_continuous(&mut self, machine: &Machine, values: &[f64]) -> Result<(), SubsystemError> {
        let Route::Grouped(groups) = self else { return self.send(machine, values) };
        groups.iter_mut().filter(|group| !group.discrete).try_for_each(|group| group.send(machine, values))
    }

    /// Reads the variables.
    pub fn receive(&mut self, machine: &Machine, values: &mut [f64]) -> Result<(), SubsystemError> {
        match self {
            Route::Direct(references) if references.is_empty() => Ok(()),
            Route::Direct(references) => {
                debug_assert_eq!(references.len(), values.len());
                machine.check(machine.calls.get_reals(references, values), machine.calls.names().get_real)
            }
            Route::Grouped(groups) => groups.iter_mut().try_for_each(|group| group.receive(machine, values)),
        }
    }
}

/// First derivatives of bound outputs.
#[derive(Default)]
pub(crate) struct OutputDerivatives {
    references: Vec<u32>,
    orders: Vec<c_int>,
    values: Vec<f64>,
    /// Places in the engine's slice and in `values`.
    map: Vec<(u32, u32)>,
}

impl OutputDerivatives {
    /// For variables of [`Ports::info`], by index. Only outputs of type `Float64` have derivatives.
    pub fn new(description: &ModelDescription, ports: &Ports, bound: &[usize]) -> Self {
        let Group { references, values, map, .. } =
            Group::new(description, ports, bound, Kind::Float64, |v| {
                v.kind == Kind::Float64 && v.causality == Causality::Output
            });
        OutputDerivatives {
            orders: vec![1; references.len()],
            values: vec![0.0; values.len()],
            references,
            map,
        }
    }

    /// Reads them; what has none becomes NaN.
    pub fn receive(&mut self, machine: &Machine, dy: &mut [f64]) -> Result<(), SubsystemError> {
        dy.fill(f64::NAN);
        if self.references.is_empty() {
            return Ok(());
        }
        let code = machine.calls.output_derivatives(&self.references, &self.orders, &mut self.values);
        machine.check(code, machine.calls.names().output_derivatives)?;
        for &(to, from) in &self.map {
            dy[to as usize] = self.values[from as usize];
        }
        Ok(())
    }
}

impl Group {
    fn send(&mut self, machine: &Machine, values: &[f64]) -> Result<(), SubsystemError> {
        for &(from, to) in &self.map {
            self.values.write(to as usize, values[from as usize]);
        }
        for wide in &self.wide {
            self.values.write_whole(wide.element as usize, wide.whole(values));
        }
        let code = machine.calls.set(self.kind, &self.references, &self.values);
        if code != OK {
            machine.check(code, machine.calls.accessors(self.kind).1)?;
        }
        self.known = true;
        Ok(())
    }

    fn receive(&mut self, machine: &Machine, values: &mut [f64]) -> Result<(), SubsystemError> {
        let code = machine.calls.get(self.kind, &self.references, &mut self.values);
        if code != OK {
            machine.check(code, machine.calls.accessors(self.kind).0)?;
        }
        for &(to, from) in &self.map {
            values[to as usize] = self.values.read(from as usize);
        }
        for wide in &self.wide {
            wide.share(self.values.read_whole(wide.element as usize), values);
        }
        Ok(())
    }

    /// Whether there are elements that the engine does not set.
    fn is_partial(&self) -> bool {
        let wide = self.wide.iter().filter(|wide| wide.first.is_some()).count();
        self.map.len() + wide < self.values.len()
    }

    /// Those of the bound variables that are `wanted`, all of type `kind`.
    fn new(
        description: &ModelDescription,
        ports: &Ports,
        bound: &[usize],
        kind: Kind,
        wanted: impl Fn(&Variable) -> bool,
    ) -> Self {
        let mut offsets = BTreeMap::new();
        let (mut references, mut map, mut length) = (Vec::new(), Vec::new(), 0);
        let mut wide: BTreeMap<u32, Wide> = BTreeMap::new();
        for (place, &v) in bound.iter().enumerate() {
            let port = ports.places[v];
            let variable = &description.variables[port.variable as usize];
            if !wanted(variable) {
                continue;
            }
            let offset = *offsets.entry(port.variable).or_insert_with(|| {
                references.push(variable.reference);
                length += ports.sizes[port.variable as usize];
                length - ports.sizes[port.variable as usize]
            });
            let (place, element) = (place as u32, offset + port.element);
            match ports.info.variables[v].digits {
                Digits::All => map.push((place, element)),
                Digits::First { .. } => wide.entry(element).or_default().first = Some(place),
                Digits::Rest => wide.entry(element).or_default().rest = Some(place),
            }
        }
        let wide = wide.into_iter().map(|(element, wide)| Wide { element, ..wide }).collect();
        let values = Numbers::new(description.version, kind, length as usize);
        Group { kind, references, values, map, wide, discrete: false, known: false }
    }
}
