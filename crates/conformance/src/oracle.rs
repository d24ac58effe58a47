//! What a correct volume would hold: a plain array of bytes, and which sectors of it are known.

/// The expected content of a range of a volume.
pub(crate) struct Oracle {
    sector: usize,
    start: u64,
    image: Vec<u8>,
    // False: never written in this life, or trimmed since; anything may be read.
    known: Vec<bool>,
}

impl Oracle {
    /// Of the range `start..start + length`, nothing known yet. All three are multiples of `sector` bytes.
    pub fn new(start: u64, length: u64, sector: u32) -> Self {
        let length = usize::try_from(length).expect("the suite's volumes fit into memory");
        let sector = sector as usize;
        Self { sector, start, image: vec![0; length], known: vec![false; length / sector] }
    }

    fn at(&self, offset: u64) -> usize {
        (offset - self.start) as usize
    }

    fn know(&mut self, offset: u64, length: usize, known: bool) {
        let first = self.at(offset) / self.sector;
        self.known[first..][..length / self.sector].fill(known);
    }

    /// These bytes were written at `offset`.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        let at = self.at(offset);
        self.image[at..][..bytes.len()].copy_from_slice(bytes);
        self.know(offset, bytes.len(), true);
    }

    /// The range was zeroed.
    pub fn zero(&mut self, offset: u64, length: u64) {
        let at = self.at(offset);
        self.image[at..][..length as usize].fill(0);
        self.know(offset, length as usize, true);
    }

    /// The range may hold anything.
    pub fn forget(&mut self, offset: u64, length: u64) {
        self.know(offset, length as usize, false);
    }

    /// Compares what was read at `offset` with what must be there.
    ///
    /// # Errors
    /// The first sector that differs, and where its content belongs if that is known.
    pub fn check(&self, offset: u64, read: &[u8]) -> Result<(), String> {
        for (index, sector) in read.chunks(self.sector).enumerate() {
            let at = self.at(offset) + index * self.sector;
            let expected = &self.image[at..][..self.sector];
            if !self.known[at / self.sector] || sector == expected {
                continue;
            }
            let byte = sector.iter().zip(expected).position(|(got, want)| got != want).unwrap_or_default();
            return Err(format!(
                "a read of {} bytes at offset {offset} gives at offset {} the byte {:#04x} instead of {:#04x}; {}",
                read.len(),
                self.start + (at + byte) as u64,
                sector[byte],
                expected[byte],
                self.origin(sector),
            ));
        }
        Ok(())
    }

    fn origin(&self, sector: &[u8]) -> String {
        if sector.iter().all(|byte| *byte == 0) {
            return "the sector is all zeroes".to_owned();
        }
        match self.image.chunks(self.sector).position(|other| other == sector) {
            Some(index) => {
                format!(
                    "the sector holds what belongs to offset {}",
                    self.start + (index * self.sector) as u64
                )
            }
            None => "the sector holds older or foreign bytes".to_owned(),
        }
    }
}
