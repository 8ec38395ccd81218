//! State of policies as a row of numbers: what a rejected attempt goes back to and what a resumed run starts from.

/// A row of numbers that is written once and read in the same order. Its memory is reused.
#[derive(Clone, Debug, Default)]
pub struct Checkpoint {
    values: Vec<f64>,
    next: usize,
}

impl Checkpoint {
    /// Empties the tape for writing; keeps the memory.
    pub fn clear(&mut self) {
        self.values.clear();
        self.next = 0;
    }

    /// Goes to the beginning for reading.
    pub fn rewind(&mut self) {
        self.next = 0;
    }

    /// Writes one number.
    pub fn push(&mut self, value: f64) {
        self.values.push(value);
    }

    /// Writes a slice.
    pub fn extend(&mut self, values: &[f64]) {
        self.values.extend_from_slice(values);
    }

    /// Reads one number.
    pub fn pull(&mut self) -> f64 {
        let value = self.values[self.next];
        self.next += 1;
        value
    }

    /// Reads a slice of the length of `out`.
    pub fn fill(&mut self, out: &mut [f64]) {
        out.copy_from_slice(&self.values[self.next..self.next + out.len()]);
        self.next += out.len();
    }
}

/// Something whose memory fits on a [`Checkpoint`]; `load` reads exactly what `save` wrote.
pub trait Checkpointed {
    /// Writes the whole state.
    fn save(&self, tape: &mut Checkpoint);
    /// Reads it back.
    fn load(&mut self, tape: &mut Checkpoint);
}
