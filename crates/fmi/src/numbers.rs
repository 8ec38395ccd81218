//! Arrays of numbers in the types that FMUs take, and their way to and from `f64`.

use crate::description::{Kind, Version};
use std::ffi::c_void;

/// An array in the type that an FMU's function takes.
///
/// Integers, booleans and enumerations travel through the engine as `f64`: a value that goes in is rounded to the
/// nearest one that the type has (booleans: true from 0.5 on), a value that comes out is exact up to 2⁵³. Integers of 64 bits
/// travel as two, whose sum is exact.
#[derive(Clone, Debug)]
pub(crate) enum Numbers {
    F64(Vec<f64>),
    F32(Vec<f32>),
    I8(Vec<i8>),
    U8(Vec<u8>),
    I16(Vec<i16>),
    U16(Vec<u16>),
    I32(Vec<i32>),
    U32(Vec<u32>),
    I64(Vec<i64>),
    U64(Vec<u64>),
    /// FMI 3: one byte, so that a value other than 0 and 1 is harmless.
    Bool8(Vec<u8>),
    /// FMI 2: an `int`.
    Bool32(Vec<i32>),
}

macro_rules! each {
    ($self:expr, $list:ident => $body:expr) => {
        match $self {
            Numbers::F64($list) => $body,
            Numbers::F32($list) => $body,
            Numbers::I8($list) => $body,
            Numbers::U8($list) | Numbers::Bool8($list) => $body,
            Numbers::I16($list) => $body,
            Numbers::U16($list) => $body,
            Numbers::I32($list) | Numbers::Bool32($list) => $body,
            Numbers::U32($list) => $body,
            Numbers::I64($list) => $body,
            Numbers::U64($list) => $body,
        }
    };
}

impl Numbers {
    /// `length` zeros in the type that variables of `kind` have in `version`.
    pub fn new(version: Version, kind: Kind, length: usize) -> Self {
        match (kind, version) {
            (Kind::Float32, _) => Numbers::F32(vec![0.0; length]),
            (Kind::Int8, _) => Numbers::I8(vec![0; length]),
            (Kind::UInt8, _) => Numbers::U8(vec![0; length]),
            (Kind::Int16, _) => Numbers::I16(vec![0; length]),
            (Kind::UInt16, _) => Numbers::U16(vec![0; length]),
            (Kind::UInt32, _) => Numbers::U32(vec![0; length]),
            (Kind::UInt64, _) => Numbers::U64(vec![0; length]),
            (Kind::Int64 | Kind::Enumeration, Version::Fmi3) => Numbers::I64(vec![0; length]),
            (Kind::Int32 | Kind::Int64 | Kind::Enumeration, _) => Numbers::I32(vec![0; length]),
            (Kind::Boolean, Version::Fmi2) => Numbers::Bool32(vec![0; length]),
            (Kind::Boolean, _) => Numbers::Bool8(vec![0; length]),
            _ => Numbers::F64(vec![0.0; length]),
        }
    }

    pub fn len(&self) -> usize {
        each!(self, list => list.len())
    }

    /// Becomes `other`, which has as many values of the same type; nothing is allocated.
    pub fn copy_from(&mut self, other: &Numbers) {
        match (self, other) {
            (Numbers::F64(to), Numbers::F64(from)) => to.copy_from_slice(from),
            (Numbers::F32(to), Numbers::F32(from)) => to.copy_from_slice(from),
            (Numbers::I8(to), Numbers::I8(from)) => to.copy_from_slice(from),
            (Numbers::U8(to), Numbers::U8(from)) => to.copy_from_slice(from),
            (Numbers::I16(to), Numbers::I16(from)) => to.copy_from_slice(from),
            (Numbers::U16(to), Numbers::U16(from)) => to.copy_from_slice(from),
            (Numbers::I32(to), Numbers::I32(from)) => to.copy_from_slice(from),
            (Numbers::U32(to), Numbers::U32(from)) => to.copy_from_slice(from),
            (Numbers::I64(to), Numbers::I64(from)) => to.copy_from_slice(from),
            (Numbers::U64(to), Numbers::U64(from)) => to.copy_from_slice(from),
            (Numbers::Bool8(to), Numbers::Bool8(from)) => to.copy_from_slice(from),
            (Numbers::Bool32(to), Numbers::Bool32(from)) => to.copy_from_slice(from),
            (to, from) => to.clone_from(from),
        }
    }

    /// Stores `value` at `i`, rounded to what the type has.
    pub fn write(&mut self, i: usize, value: f64) {
        match self {
            Numbers::F64(list) => list[i] = value,
            Numbers::F32(list) => list[i] = value as f32,
            Numbers::I8(list) => list[i] = value.round() as i8,
            Numbers::U8(list) => list[i] = value.round() as u8,
            Numbers::I16(list) => list[i] = value.round() as i16,
            Numbers::U16(list) => list[i] = value.round() as u16,
            Numbers::I32(list) => list[i] = value.round() as i32,
            Numbers::U32(list) => list[i] = value.round() as u32,
            Numbers::I64(list) => list[i] = value.round() as i64,
            Numbers::U64(list) => list[i] = value.round() as u64,
            Numbers::Bool8(list) => list[i] = u8::from(value >= 0.5),
            Numbers::Bool32(list) => list[i] = i32::from(value >= 0.5),
        }
    }

    /// Stores an integer at `i`, or the nearest one that the type has; those of 64 bits keep all their digits, which a real does not.
    pub fn write_whole(&mut self, i: usize, value: i128) {
        match self {
            Numbers::I64(list) => list[i] = value.clamp(i64::MIN.into(), i64::MAX.into()) as i64,
            Numbers::U64(list) => list[i] = value.clamp(0, u64::MAX.into()) as u64,
            _ => self.write(i, value as f64),
        }
    }

    /// The integer at `i`, with all its digits; reals are rounded.
    pub fn read_whole(&self, i: usize) -> i128 {
        match self {
            Numbers::I64(list) => list[i].into(),
            Numbers::U64(list) => list[i].into(),
            _ => self.read(i).round() as i128,
        }
    }

    /// Whether storing `value` at `i` would change it.
    pub fn would_change(&self, i: usize, value: f64) -> bool {
        match self {
            Numbers::F64(list) => list[i] != value,
            Numbers::F32(list) => list[i] != value as f32,
            Numbers::I8(list) => list[i] != value.round() as i8,
            Numbers::U8(list) => list[i] != value.round() as u8,
            Numbers::I16(list) => list[i] != value.round() as i16,
            Numbers::U16(list) => list[i] != value.round() as u16,
            Numbers::I32(list) => list[i] != value.round() as i32,
            Numbers::U32(list) => list[i] != value.round() as u32,
            Numbers::I64(list) => list[i] != value.round() as i64,
            Numbers::U64(list) => list[i] != value.round() as u64,
            Numbers::Bool8(list) => (list[i] != 0) != (value >= 0.5),
            Numbers::Bool32(list) => (list[i] != 0) != (value >= 0.5),
        }
    }

    /// The value at `i`.
    pub fn read(&self, i: usize) -> f64 {
        match self {
            Numbers::F64(list) => list[i],
            Numbers::F32(list) => f64::from(list[i]),
            Numbers::I8(list) => f64::from(list[i]),
            Numbers::U8(list) => f64::from(list[i]),
            Numbers::I16(list) => f64::from(list[i]),
            Numbers::U16(list) => f64::from(list[i]),
            Numbers::I32(list) => f64::from(list[i]),
            Numbers::U32(list) => f64::from(list[i]),
            Numbers::I64(list) => list[i] as f64,
            Numbers::U64(list) => list[i] as f64,
            Numbers::Bool8(list) => f64::from(list[i] != 0),
            Numbers::Bool32(list) => f64::from(list[i] != 0),
        }
    }

    pub fn as_ptr(&self) -> *const c_void {
        each!(self, list => list.as_ptr().cast())
    }

    pub fn as_mut_ptr(&mut self) -> *mut c_void {
        each!(self, list => list.as_mut_ptr().cast())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_of_64_bits_keep_their_digits() {
        let mut numbers = Numbers::new(Version::Fmi3, Kind::Int64, 1);
        numbers.write_whole(0, (1 << 53) + 1);
        assert!(matches!(numbers, Numbers::I64(list) if list == [(1 << 53) + 1]));
    }

    #[test]
    fn values_survive_the_way_there_and_back() {
        let check = |version, kind, value: f64, back: f64| {
            let mut numbers = Numbers::new(version, kind, 2);
            numbers.write(1, value);
            assert_eq!((numbers.read(0), numbers.read(1)), (0.0, back), "{kind:?} {value}");
        };
        check(Version::Fmi3, Kind::Float64, 0.1, 0.1);
        check(Version::Fmi3, Kind::Float32, 0.5, 0.5);
        check(Version::Fmi3, Kind::Int8, -300.0, -128.0);
        check(Version::Fmi3, Kind::UInt16, 65535.0, 65535.0);
        check(Version::Fmi3, Kind::Enumeration, 1e12, 1e12);
        check(Version::Fmi2, Kind::Enumeration, 2.4, 2.0);
        check(Version::Fmi2, Kind::Boolean, 0.7, 1.0);
        check(Version::Fmi3, Kind::Boolean, 0.2, 0.0);
    }
}
