//! Copies of an instance's state, in memory and as bytes.
//!
//! A state is a list of numbers: phase, time and experiment, flags, parameters, inputs with derivatives, outputs, then
//! those of the model. As bytes: 8 bytes `pbstate1`, the fingerprint of the interface, the count, and the numbers, all
//! little-endian.

use crate::error::Refusal;
use crate::instance::{Instance, Phase};

const MAGIC: [u8; 8] = *b"pbstate1";
const HEADER: usize = 24;

/// Numbers before the parameters.
const LEAD: usize = 7;

/// A copy of the state of an instance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    numbers: Vec<f64>,
}

impl Instance {
    /// Copies the state; an earlier copy is overwritten without allocating.
    pub fn save(&mut self, to: &mut Snapshot) -> Result<(), Refusal> {
        self.require_state()?;
        if self.outdated {
            self.rebuild()?;
        }
        to.numbers.clear();
        to.numbers.reserve(self.state_length);
        self.each_number(&mut |x| to.numbers.push(*x))
    }

    /// Goes back to a copy, which stays valid.
    pub fn restore(&mut self, from: &Snapshot) -> Result<(), Refusal> {
        self.require_state()?;
        if from.numbers.len() != self.state_length {
            return Err(Refusal::State { reason: "it has another length" });
        }
        let parameters = &from.numbers[LEAD..LEAD + self.parameters.len()];
        let same = self.parameters.iter().zip(parameters).all(|(a, b)| a.to_bits() == b.to_bits());
        if !same || self.outdated {
            for (k, &x) in parameters.iter().enumerate() {
                self.interface.check(k, x)?;
            }
            self.parameters.copy_from_slice(parameters);
            self.rebuild()?;
        }
        self.looked = false;
        let mut numbers = from.numbers.iter();
        self.each_number(&mut |x| *x = numbers.next().copied().unwrap_or(f64::NAN))
    }

    /// How many bytes a copy has.
    pub fn serialized_length(&self) -> Result<usize, Refusal> {
        self.require_state()?;
        Ok(HEADER + 8 * self.state_length)
    }

    /// Writes a copy as bytes.
    pub fn serialize(&self, snapshot: &Snapshot, bytes: &mut [u8]) -> Result<(), Refusal> {
        if bytes.len() != self.serialized_length()? || snapshot.numbers.len() != self.state_length {
            return Err(Refusal::State { reason: "it has another length" });
        }
        let (header, rest) = bytes.split_at_mut(HEADER);
        header[..8].copy_from_slice(&MAGIC);
        header[8..16].copy_from_slice(&self.interface.fingerprint().to_le_bytes());
        header[16..].copy_from_slice(&(self.state_length as u64).to_le_bytes());
        for (chunk, x) in rest.chunks_exact_mut(8).zip(&snapshot.numbers) {
            chunk.copy_from_slice(&x.to_le_bytes());
        }
        Ok(())
    }

    /// Reads a copy from bytes.
    pub fn deserialize(&self, bytes: &[u8]) -> Result<Snapshot, Refusal> {
        let refuse = |reason| Err(Refusal::State { reason });
        if bytes.len() != self.serialized_length()? {
            return refuse("it has another length");
        }
        let (header, rest) = bytes.split_at(HEADER);
        if header[..8] != MAGIC || header[16..] != (self.state_length as u64).to_le_bytes() {
            return refuse("it has another format");
        }
        if header[8..16] != self.interface.fingerprint().to_le_bytes() {
            return refuse("it is that of another model");
        }
        let number = |chunk: &[u8]| <[u8; 8]>::try_from(chunk).map_or(f64::NAN, f64::from_le_bytes);
        let numbers: Vec<f64> = rest.chunks_exact(8).map(number).collect();
        if !Phase::ALL.iter().any(|&phase| numbers[0] == f64::from(phase as u8)) {
            return refuse("it has another format");
        }
        Ok(Snapshot { numbers })
    }

    fn require_state(&self) -> Result<(), Refusal> {
        if self.interface.has_state {
            Ok(())
        } else {
            Err(Refusal::Unsupported { what: "saving and restoring its state" })
        }
    }

    /// Shows every number of the state, in an order that never changes.
    pub(crate) fn each_number(&mut self, visit: &mut dyn FnMut(&mut f64)) -> Result<(), Refusal> {
        let mut phase = f64::from(self.phase as u8);
        visit(&mut phase);
        self.phase = Phase::ALL.into_iter().find(|&p| f64::from(p as u8) == phase).unwrap_or(Phase::Failed);
        visit(&mut self.time);
        visit(&mut self.setup.start);
        visit(&mut self.setup.stop);
        for flag in [&mut self.outdated, &mut self.follows, &mut self.touched] {
            let mut number = f64::from(*flag);
            visit(&mut number);
            *flag = number != 0.0;
        }
        let lists = [&mut self.parameters, &mut self.u, &mut self.slope, &mut self.curvature, &mut self.y];
        lists.into_iter().flatten().for_each(&mut *visit);
        Ok(self.model.state(visit)?)
    }
}
