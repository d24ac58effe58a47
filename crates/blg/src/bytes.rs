//! Little-endian fields of a stretch of the file; everything out of range is a fault with its offset.

use crate::fault::Fault;

/// A stretch whose first byte is at `offset` of the file, or of a record that begins there.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a> {
    data: &'a [u8],
    offset: u64,
    /// Set within a record: how far into it the stretch begins.
    within: Option<u64>,
}

impl<'a> Bytes<'a> {
    /// A stretch of the file itself.
    pub(crate) fn of_file(data: &'a [u8], offset: u64) -> Bytes<'a> {
        Bytes { data, offset, within: None }
    }

    /// A record that begins at `offset` of the file.
    pub(crate) fn of_record(data: &'a [u8], offset: u64) -> Bytes<'a> {
        Bytes { data, offset, within: Some(0) }
    }

    pub(crate) fn len(&self) -> usize {
        self.data.len()
    }

    /// A fault at byte `at` of this stretch.
    pub(crate) fn fault(&self, at: usize, what: impl Into<String>) -> Fault {
        match self.within {
            Some(within) => {
                Fault { offset: self.offset, within: Some(within + at as u64), what: what.into() }
            }
            None => Fault::new(self.offset + at as u64, what),
        }
    }

    /// `length` bytes from `at`.
    pub(crate) fn part(&self, at: usize, length: usize) -> Result<Bytes<'a>, Fault> {
        let data = at.checked_add(length).and_then(|end| self.data.get(at..end)).ok_or_else(|| {
            let size = self.len();
            self.fault(at.min(size), format!("{length} bytes are expected here; the stretch ends at {size}"))
        })?;
        Ok(match self.within {
            Some(within) => Bytes { data, offset: self.offset, within: Some(within + at as u64) },
            None => Bytes { data, offset: self.offset + at as u64, within: None },
        })
    }

    pub(crate) fn raw(&self) -> &'a [u8] {
        self.data
    }

    fn array<const N: usize>(&self, at: usize) -> Result<[u8; N], Fault> {
        self.part(at, N).map(|part| part.data.try_into().expect("a part has the length asked for"))
    }

    pub(crate) fn u8(&self, at: usize) -> Result<u8, Fault> {
        self.array::<1>(at).map(|[byte]| byte)
    }

    pub(crate) fn u16(&self, at: usize) -> Result<u16, Fault> {
        self.array(at).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&self, at: usize) -> Result<u32, Fault> {
        self.array(at).map(u32::from_le_bytes)
    }

    pub(crate) fn i32(&self, at: usize) -> Result<i32, Fault> {
        self.array(at).map(i32::from_le_bytes)
    }

    pub(crate) fn u64(&self, at: usize) -> Result<u64, Fault> {
        self.array(at).map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&self, at: usize) -> Result<i64, Fault> {
        self.array(at).map(i64::from_le_bytes)
    }

    /// A length or offset that the record itself states.
    pub(crate) fn length(&self, at: usize) -> Result<usize, Fault> {
        self.u32(at).map(|value| value as usize)
    }

    /// UTF-16 text from `at` to its terminating zero.
    pub(crate) fn text(&self, at: usize) -> Result<String, Fault> {
        let rest = self.data.get(at..).unwrap_or_default();
        let end = rest
            .chunks_exact(2)
            .position(|unit| unit == [0, 0])
            .ok_or_else(|| self.fault(at, "a text without an end"))?;
        self.text_of(at, 2 * end)
    }

    /// UTF-16 text of `length` bytes; a terminating zero within it ends it.
    pub(crate) fn text_of(&self, at: usize, length: usize) -> Result<String, Fault> {
        let part = self.part(at, length)?;
        let units = part.data.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        char::decode_utf16(units.take_while(|unit| *unit != 0))
            .collect::<Result<String, _>>()
            .map_err(|_| self.fault(at, "a text that is no UTF-16"))
    }
}
