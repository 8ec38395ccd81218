//! Texts and binaries of an instance: read and set whole, elements of arrays one by one.

use crate::description::{Kind, ModelDescription};
use crate::machine::Machine;
use crate::ports::Ports;
use powerbond_core::subsystem::SubsystemError;
use std::ffi::{CStr, c_char};

/// The buffers of one variable: allocated once, grown with what goes through them.
pub(crate) struct Cell {
    /// Index into [`ModelDescription::variables`].
    pub variable: u32,
    kind: Kind,
    reference: u32,
    name: Box<str>,
    max_size: Option<u64>,
    /// What is set; texts with their final zero.
    elements: Vec<Vec<u8>>,
    /// All elements are known, so that one of them can be set.
    filled: bool,
    /// The FMU does not have them yet.
    staged: bool,
    pointers: Vec<*const u8>,
    sizes: Vec<usize>,
}

impl Cell {
    pub fn new(description: &ModelDescription, ports: &Ports, variable: u32) -> Self {
        let v = &description.variables[variable as usize];
        let size = ports.sizes[variable as usize] as usize;
        Cell {
            variable,
            kind: v.kind,
            reference: v.reference,
            name: v.name.clone(),
            max_size: v.binary.as_ref().and_then(|b| b.max_size),
            elements: vec![Vec::new(); size],
            filled: size == 1,
            staged: false,
            pointers: vec![std::ptr::null(); size],
            sizes: vec![0; size],
        }
    }

    /// What element `element` is now, without a copy; valid until the next call of the FMU.
    pub fn read(&mut self, machine: &Machine, element: usize) -> Result<&[u8], SubsystemError> {
        self.get(machine)?;
        self.received(element)
    }

    /// Notes what element `element` is to be; the others stay what they are. [`Cell::send`] sets it.
    pub fn stage(&mut self, machine: &Machine, element: usize, bytes: &[u8]) -> Result<(), SubsystemError> {
        self.check(bytes)?;
        if !self.filled {
            self.get(machine)?;
            for k in 0..self.elements.len() {
                let value = self.received(k)?.to_vec();
                self.elements[k] = self.terminated(value);
            }
            self.filled = true;
        }
        let target = &mut self.elements[element];
        target.clear();
        target.extend_from_slice(bytes);
        if self.kind == Kind::String {
            target.push(0);
        }
        self.staged = true;
        Ok(())
    }

    /// Whether something is to be set.
    pub fn is_staged(&self) -> bool {
        self.staged
    }

    /// Sets what was noted.
    pub fn send(&mut self, machine: &Machine) -> Result<(), SubsystemError> {
        self.staged = false;
        for ((pointer, size), value) in self.pointers.iter_mut().zip(&mut self.sizes).zip(&self.elements) {
            (*pointer, *size) = (value.as_ptr(), value.len());
        }
        let code = match self.kind {
            Kind::String => machine.calls.set_texts(self.reference, as_texts(&self.pointers)),
            _ => machine.calls.set_binaries(self.reference, &self.sizes, &self.pointers),
        };
        machine.check(code, machine.calls.names().set_packet)
    }

    fn get(&mut self, machine: &Machine) -> Result<(), SubsystemError> {
        let code = match self.kind {
            Kind::String => machine.calls.get_texts(self.reference, as_texts_mut(&mut self.pointers)),
            _ => machine.calls.get_binaries(self.reference, &mut self.sizes, &mut self.pointers),
        };
        machine.check(code, machine.calls.names().get_packet)
    }

    /// What the FMU returned last.
    fn received(&self, element: usize) -> Result<&[u8], SubsystemError> {
        let (pointer, size) = (self.pointers[element], self.sizes[element]);
        let empty = self.kind == Kind::Binary && size == 0;
        if pointer.is_null() && !empty {
            let message = format!("it returned a null pointer as the value of `{}`", self.name);
            return Err(SubsystemError::Infeasible { message });
        }
        // Safety: FMI 2.0.5 section 2.1.7, FMI 3.0.2 section 2.2.6.2: what a getter returns stays valid until the next
        // call; a string ends with a zero, a binary has the size that came with it.
        Ok(match (self.kind, empty) {
            (_, true) => &[],
            (Kind::String, _) => unsafe { CStr::from_ptr(pointer.cast()) }.to_bytes(),
            _ => unsafe { std::slice::from_raw_parts(pointer, size) },
        })
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
