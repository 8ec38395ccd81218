//! Numbers, texts and lists as bytes, little-endian, lengths first.

use std::fmt;

/// What comes back is not what was sent: another version, or memory that somebody wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Garbled;

impl fmt::Display for Garbled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sent something that is not understood")
    }
}

/// Writes at the end of a list of bytes.
pub(crate) trait Write {
    fn u8(&mut self, x: u8);
    fn u32(&mut self, x: u32);
    fn u64(&mut self, x: u64);
    fn f64(&mut self, x: f64);
    fn flag(&mut self, x: bool);
    fn bytes(&mut self, bytes: &[u8]);
    fn text(&mut self, text: &str);
    fn numbers(&mut self, numbers: &[f64]);
    fn indices(&mut self, indices: &[usize]);
    fn option<T>(&mut self, x: Option<T>, write: impl FnOnce(&mut Self, T));
    fn list<T>(&mut self, items: &[T], write: impl FnMut(&mut Self, &T));
}

impl Write for Vec<u8> {
    fn u8(&mut self, x: u8) {
        self.push(x);
    }

    fn u32(&mut self, x: u32) {
        self.extend_from_slice(&x.to_le_bytes());
    }

    fn u64(&mut self, x: u64) {
        self.extend_from_slice(&x.to_le_bytes());
    }

    fn f64(&mut self, x: f64) {
        self.u64(x.to_bits());
    }

    fn flag(&mut self, x: bool) {
        self.push(x.into());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.extend_from_slice(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn numbers(&mut self, numbers: &[f64]) {
        self.u32(numbers.len() as u32);
        numbers.iter().for_each(|x| self.extend_from_slice(&x.to_le_bytes()));
    }

    fn indices(&mut self, indices: &[usize]) {
        self.list(indices, |out, i| out.u64(*i as u64));
    }

    fn option<T>(&mut self, x: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.flag(x.is_some());
        if let Some(x) = x {
            write(self, x);
        }
    }

    fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.u32(items.len() as u32);
        items.iter().for_each(|item| write(self, item));
    }
}

/// Items that room is made for before they are read.
const MOST_AT_ONCE: usize = 1024;

/// Reads what [`Write`] wrote. Nothing of it is believed: a length never makes room for more than there is.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader(bytes)
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], Garbled> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or(Garbled)?;
        self.0 = rest;
        Ok(taken)
    }

    fn word<const N: usize>(&mut self) -> Result<[u8; N], Garbled> {
        self.take(N)?.try_into().map_err(|_| Garbled)
    }

    pub fn u8(&mut self) -> Result<u8, Garbled> {
        Ok(self.word::<1>()?[0])
    }

    pub fn u32(&mut self) -> Result<u32, Garbled> {
        Ok(u32::from_le_bytes(self.word()?))
    }

    pub fn u64(&mut self) -> Result<u64, Garbled> {
        Ok(u64::from_le_bytes(self.word()?))
    }

    pub fn i128(&mut self) -> Result<i128, Garbled> {
        Ok(i128::from_le_bytes(self.word()?))
    }

    pub fn f64(&mut self) -> Result<f64, Garbled> {
        Ok(f64::from_le_bytes(self.word()?))
    }

    pub fn flag(&mut self) -> Result<bool, Garbled> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Garbled),
        }
    }

    pub fn index(&mut self) -> Result<usize, Garbled> {
        usize::try_from(self.u64()?).map_err(|_| Garbled)
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], Garbled> {
        let n = self.index()?;
        self.take(n)
    }

    pub fn text(&mut self) -> Result<String, Garbled> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| Garbled)
    }

    fn bits(&mut self) -> Result<impl ExactSizeIterator<Item = f64> + 'a, Garbled> {
        let n = self.u32()? as usize;
        let words = self.take(n.checked_mul(8).ok_or(Garbled)?)?.chunks_exact(8);
        Ok(words.map(|word| {
            let mut eight = [0; 8];
            eight.copy_from_slice(word);
            f64::from_le_bytes(eight)
        }))
    }

    /// Numbers in the place of those in `list`.
    pub fn numbers(&mut self, list: &mut Vec<f64>) -> Result<(), Garbled> {
        let numbers = self.bits()?;
        list.clear();
        list.extend(numbers);
        Ok(())
    }

    /// As many numbers as there is room for.
    pub fn fill(&mut self, room: &mut [f64]) -> Result<(), Garbled> {
        let numbers = self.bits()?;
        if numbers.len() != room.len() {
            return Err(Garbled);
        }
        room.iter_mut().zip(numbers).for_each(|(to, x)| *to = x);
        Ok(())
    }

    pub fn indices(&mut self) -> Result<Vec<usize>, Garbled> {
        self.list(Reader::index)
    }

    pub fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Garbled>,
    ) -> Result<Option<T>, Garbled> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    pub fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, Garbled>,
    ) -> Result<Vec<T>, Garbled> {
        let n = self.u32()?;
        let mut list = Vec::with_capacity((n as usize).min(self.0.len()).min(MOST_AT_ONCE));
        for _ in 0..n {
            list.push(read(self)?);
        }
        Ok(list)
    }

    /// Everything was read.
    pub fn end(self) -> Result<(), Garbled> {
        if self.0.is_empty() { Ok(()) } else { Err(Garbled) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let mut bytes = Vec::new();
        bytes.text("größer");
        bytes.numbers(&[1.5, -0.0, f64::NAN]);
        bytes.option(Some(7.0), Vec::f64);
        bytes.indices(&[3, usize::MAX]);
        bytes.flag(true);
        let read = |bytes: &[u8]| {
            let mut reader = Reader::new(bytes);
            let text = reader.text()?;
            let mut numbers = Vec::new();
            reader.numbers(&mut numbers)?;
            let bits: Vec<u64> = numbers.iter().map(|x| x.to_bits()).collect();
            let found = (text, bits, reader.option(Reader::f64)?, reader.indices()?, reader.flag()?);
            reader.end()?;
            Ok::<_, Garbled>(found)
        };
        let bits = [1.5, -0.0, f64::NAN].map(f64::to_bits).to_vec();
        assert_eq!(read(&bytes), Ok(("größer".to_owned(), bits, Some(7.0), vec![3, usize::MAX], true)));
        for n in 0..bytes.len() {
            assert_eq!(read(&bytes[..n]), Err(Garbled), "cut at {n}");
        }
        bytes.push(0);
        assert_eq!(read(&bytes), Err(Garbled));
        // A length of everything makes room for nothing.
        assert_eq!(Reader::new(&[255; 64]).list(Reader::u8), Err(Garbled));
        assert_eq!(Reader::new(&[255; 64]).text(), Err(Garbled));
    }
}
