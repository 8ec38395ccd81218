//! Texts and binaries of an instance: read and set whole, elements of arrays one by one.

use crate::description::{Kind, ModelDescription};
use crate::machine::Machine;
use crate::ports::Ports;
use powerbond_core::subsystem::SubsystemError;
use std::ffi::c_char;

/// Bytes of a text or of a binary: more than any honest value has, less than fills the memory.
const MAX_BYTES: usize = 1 << 30;

/// Bytes of a page of memory, or less.
const PAGE: usize = 4096;

/// The length of a text; nothing if it does not end.
///
/// # Safety
/// The bytes up to a final zero can be read.
unsafe fn length(text: *const u8) -> Option<usize> {
    // Safety: as the caller promises; the bytes are read one after the other.
    (0..MAX_BYTES).find(|&i| unsafe { text.add(i).read() } == 0)
}

/// Reads a byte of every page; returns the size.
///
/// # Safety
/// So many bytes can be read.
unsafe fn touch(bytes: *const u8, size: usize) -> Option<usize> {
    for i in (0..size).step_by(PAGE).chain([size - 1]) {
        // Safety: as the caller promises. Volatile: it is read although nothing is done with it.
        unsafe { bytes.add(i).read_volatile() };
    }
    Some(size)
}

/// The buffers of one variable: allocated once, grown with what goes through them.
pub(crate) struct Cell {
    /// Index into [`ModelDescription::variables`].
    pub variable: u32,
    kind: Kind,
    reference: u32,
    name: Box<str>,
    max_size: Option<u64>,
    content: Content,
    /// The content that belongs to the state that a rollback goes back to.
    kept: Content,
    /// That of the state in the second slot.
    kept_second: Content,
    pointers: Vec<*const u8>,
    sizes: Vec<usize>,
}

/// What is set, and what the FMU has of it.
#[derive(Clone)]
pub(crate) struct Content {
    /// Texts with their final zero.
    elements: Vec<Vec<u8>>,
    /// All elements are known, so that one of them can be set.
    filled: bool,
    /// The FMU has them.
    known: bool,
    /// The FMU is to get them at its next event, or before its next step.
    staged: bool,
}

impl Content {
    /// Becomes `other`; buffers are reused.
    fn copy_from(&mut self, other: &Content) {
        self.elements.clone_from(&other.elements);
        (self.filled, self.known, self.staged) = (other.filled, other.known, other.staged);
    }
}

impl Cell {
    pub fn new(description: &ModelDescription, ports: &Ports, variable: u32) -> Self {
        let v = &description.variables[variable as usize];
        let size = ports.sizes[variable as usize] as usize;
        let content =
            Content { elements: vec![Vec::new(); size], filled: size == 1, known: false, staged: false };
        Cell {
            variable,
            kind: v.kind,
            reference: v.reference,
            name: v.name.clone(),
            max_size: v.binary.as_ref().and_then(|b| b.max_size),
            kept: content.clone(),
            kept_second: content.clone(),
            content,
            pointers: vec![std::ptr::null(); size],
            sizes: vec![0; size],
        }
    }

    /// What element `element` is now, without a copy; valid until the next call of the FMU.
    pub fn read(&mut self, machine: &Machine, element: usize) -> Result<&[u8], SubsystemError> {
        self.get(machine)?;
        self.received(machine, element)
    }

    /// Notes what element `element` is to be, unless the FMU has that; the others stay what they are. [`Cell::send`] sets it.
    pub fn stage(&mut self, machine: &Machine, element: usize, bytes: &[u8]) -> Result<(), SubsystemError> {
        self.check(bytes)?;
        if !self.content.filled {
            self.get(machine)?;
            for k in 0..self.content.elements.len() {
                let value = self.received(machine, k)?.to_vec();
                self.content.elements[k] = self.terminated(value);
            }
            self.content.filled = true;
        }
        let zero: &[u8] = if self.kind == Kind::String { &[0] } else { &[] };
        let Content { elements, known, staged, .. } = &mut self.content;
        let target = &mut elements[element];
        let is_same = target.strip_suffix(zero) == Some(bytes);
        if !(is_same && (*known || *staged)) {
            target.clear();
            target.extend_from_slice(bytes);
            target.extend_from_slice(zero);
            *staged = true;
        }
        Ok(())
    }

    /// A state is saved: what is set now belongs to it.
    pub fn keep(&mut self) {
        self.kept.copy_from(&self.content);
    }

    /// The FMU went back to the saved state.
    pub fn go_back(&mut self) {
        self.content.copy_from(&self.kept);
    }

    /// As [`Cell::keep`], for the second slot.
    pub fn keep_second(&mut self) {
        self.kept_second.copy_from(&self.content);
    }

    /// The FMU went back to the state in the second slot.
    pub fn go_back_to_second(&mut self) {
        self.content.copy_from(&self.kept_second);
    }

    /// What is set, for a copy of the state.
    pub fn content(&self) -> Content {
        self.content.clone()
    }

    /// The FMU went to a copy of its state that has this.
    pub fn load(&mut self, content: &Content) {
        self.content.copy_from(content);
    }

    /// Whether something is to be set.
    pub fn is_staged(&self) -> bool {
        self.content.staged
    }

    /// Sets what was noted.
    pub fn send(&mut self, machine: &Machine) -> Result<(), SubsystemError> {
        let places = self.pointers.iter_mut().zip(&mut self.sizes);
        for ((pointer, size), value) in places.zip(&self.content.elements) {
            (*pointer, *size) = (value.as_ptr(), value.len());
        }
        let code = match self.kind {
            Kind::String => machine.calls.set_texts(self.reference, as_texts(&self.pointers)),
            _ => machine.calls.set_binaries(self.reference, &self.sizes, &self.pointers),
        };
        machine.check(code, machine.calls.names().set_packet)?;
        (self.content.staged, self.content.known) = (false, true);
        Ok(())
    }

    fn get(&mut self, machine: &Machine) -> Result<(), SubsystemError> {
        let code = match self.kind {
            Kind::String => machine.calls.get_texts(self.reference, as_texts_mut(&mut self.pointers)),
            _ => machine.calls.get_binaries(self.reference, &mut self.sizes, &mut self.pointers),
        };
        machine.check(code, machine.calls.names().get_packet)
    }

    /// What the FMU returned last. Its size is a claim: one that no value has is refused, and memory that is not there shows here,
    /// as a fault of the call, and not where the value is used.
    fn received(&self, machine: &Machine, element: usize) -> Result<&[u8], SubsystemError> {
        let (pointer, claim) = (self.pointers[element], self.sizes[element]);
        let is_text = self.kind == Kind::String;
        if !is_text && claim == 0 {
            return Ok(&[]);
        }
        let refuse = |what: String| {
            let (name, get) = (&self.name, machine.calls.names().get_packet);
            Err(SubsystemError::Infeasible { message: format!("`{get}` returned {what} of `{name}`") })
        };
        if pointer.is_null() {
            return refuse("a null pointer as the value".to_owned());
        }
        let most = self.max_size.filter(|_| !is_text).map_or(MAX_BYTES, |m| MAX_BYTES.min(m as usize));
        if !is_text && claim > most {
            let limit = if most < MAX_BYTES { "its maxSize of" } else { "the limit of" };
            return refuse(format!("a size of {claim} bytes, above {limit} {most} bytes, as that"));
        }
        // Safety: FMI 2.0.5 section 2.1.7, FMI 3.0.2 section 2.2.6.2: what a getter returns stays valid until the next
        // call; a string ends with a zero, a binary has the size that came with it.
        let size = machine
            .calls
            .while_reading(|| unsafe { if is_text { length(pointer) } else { touch(pointer, claim) } });
        match size {
            // Safety: as above; so much was read just now.
            Some(size) => Ok(unsafe { std::slice::from_raw_parts(pointer, size) }),
            None => refuse(format!("a text without an end in {MAX_BYTES} bytes as the value")),
        }
    }

    fn terminated(&self, mut value: Vec<u8>) -> Vec<u8> {
        if self.kind == Kind::String {
            value.push(0);
        }
        value
    }

    fn check(&self, bytes: &[u8]) -> Result<(), SubsystemError> {
        let message = match self.max_size {
            Some(most) if bytes.len() as u64 > most => {
                format!("`{}` takes at most {most} bytes (maxSize), found {}", self.name, bytes.len())
            }
            _ if self.kind == Kind::String && bytes.contains(&0) => {
                format!(
                    "a string with a null character for `{}`, which FMI strings do not support",
                    self.name
                )
            }
            _ => return Ok(()),
        };
        Err(SubsystemError::Infeasible { message })
    }
}

fn as_texts(pointers: &[*const u8]) -> &[*const c_char] {
    // Safety: pointers to bytes and to characters are the same in memory.
    unsafe { std::slice::from_raw_parts(pointers.as_ptr().cast(), pointers.len()) }
}

fn as_texts_mut(pointers: &mut [*const u8]) -> &mut [*const c_char] {
    // Safety: pointers to bytes and to characters are the same in memory.
    unsafe { std::slice::from_raw_parts_mut(pointers.as_mut_ptr().cast(), pointers.len()) }
}
