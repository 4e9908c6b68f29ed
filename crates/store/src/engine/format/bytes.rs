//! Reading and writing primitives: fixed and variable integers, byte strings, text.

use std::fmt;

/// Bytes that no writer of this format produces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Appends primitives to a buffer.
#[derive(Debug, Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn with_capacity(bytes: usize) -> Writer {
        Writer(Vec::with_capacity(bytes))
    }

    /// Starts with an empty buffer that reuses an allocation.
    pub(crate) fn reusing(mut buffer: Vec<u8>) -> Writer {
        buffer.clear();
        Writer(buffer)
    }

    pub(crate) fn into_vec(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    /// LEB128: seven bits per byte, least significant first, high bit set on all but the last.
    pub(crate) fn varint(&mut self, value: u64) {
        self.wide_varint(value.into());
    }

    /// Like [`Writer::varint`], for numbers of up to 38 digits.
    fn wide_varint(&mut self, mut value: u128) {
        while value >= 0x80 {
            self.0.push((value as u8) | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub(crate) fn size(&mut self, value: usize) {
        self.varint(value as u64);
    }

    /// Zigzag, so that small negative numbers are short too.
    pub(crate) fn signed(&mut self, value: i128) {
        self.wide_varint(((value << 1) ^ (value >> 127)) as u128);
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Writes a length, then the bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.size(bytes.len());
        self.raw(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }
}

/// Reads primitives from the front of a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Fails unless everything was read.
    pub(crate) fn finish(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed("bytes are left over")) }
    }

    #[inline]
    pub(crate) fn raw(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.0.split_at_checked(len).ok_or(Malformed("the bytes end early"))?;
        self.0 = tail;
        Ok(head)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.0.split_first_chunk().ok_or(Malformed("the bytes end early"))?;
        self.0 = tail;
        Ok(*head)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_be_bytes)
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Malformed> {
        // Lengths and counts mostly take one byte.
        if let Some((&first, rest)) = self.0.split_first()
            && first < 0x80
        {
            self.0 = rest;
            return Ok(u64::from(first));
        }
        u64::try_from(self.wide_varint()?).map_err(|_| Malformed("an integer is too large"))
    }

    pub(crate) fn varint_u32(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.varint()?).map_err(|_| Malformed("an integer is too large"))
    }

    pub(crate) fn signed(&mut self) -> Result<i128, Malformed> {
        let value = self.wide_varint()?;
        Ok((value >> 1) as i128 ^ -((value & 1) as i128))
    }

    fn wide_varint(&mut self) -> Result<u128, Malformed> {
        let mut value = 0u128;
        for shift in (0..128).step_by(7) {
            let byte = self.u8()?;
            let bits = u128::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(Malformed("an integer is too large"));
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed("an integer does not end"))
    }

    /// Reads a count of elements that take at least one byte each: it cannot exceed the remaining
    /// bytes, so damaged counts cannot allocate much memory.
    #[inline]
    pub(crate) fn count(&mut self) -> Result<usize, Malformed> {
        match usize::try_from(self.varint()?) {
            Ok(count) if count <= self.0.len() => Ok(count),
            _ => Err(Malformed("a count is larger than what follows")),
        }
    }

    #[inline]
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.count()?;
        self.raw(len)
    }

    #[inline]
    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        utf8(self.bytes()?)
    }
}

pub(super) fn utf8(bytes: &[u8]) -> Result<&str, Malformed> {
    std::str::from_utf8(bytes).map_err(|_| Malformed("a text is not UTF-8"))
}
