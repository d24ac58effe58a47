//! A volume's properties.

/// Sizes and promises of a volume. All sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes the volume holds; a multiple of `logical_sector`.
    pub size: u64,
    /// Offsets and lengths of requests are multiples of this; a power of two.
    pub logical_sector: u32,
    /// What the device writes without reading first; a multiple of `logical_sector`.
    pub physical_sector: u32,
    /// Transfers of this size are fast; 0 if unknown.
    pub optimal_transfer: u32,
    /// The largest single request accepted.
    pub max_transfer: u32,
    /// How many requests are useful at once; 0 if unlimited.
    pub queue_depth: u32,
    /// Whether a completed write may be lost in a power cut until a flush returns.
    pub volatile_cache: bool,
    /// Aligned writes up to this size are never torn by a power cut.
    pub atomic_write: u32,
}

impl Geometry {
    /// The largest transfer when nothing below limits it.
    pub const UNLIMITED_TRANSFER: u32 = 1 << 30;

    /// The size, in bytes, of a volume that is not there and whose size was not given: larger than any that is.
    pub const UNKNOWN_SIZE: u64 = 1 << 62;

    /// A plain volume of that size: 512-byte sectors, no cache, no limits.
    pub fn plain(size: u64) -> Self {
        Self {
            size,
            logical_sector: 512,
            physical_sector: 512,
            optimal_transfer: 0,
            max_transfer: Self::UNLIMITED_TRANSFER,
            queue_depth: 0,
            volatile_cache: false,
            atomic_write: 512,
        }
    }

    /// Checks that the numbers agree with each other.
    ///
    /// # Errors
    /// A sentence that names the field and what is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        let power = |name: &str, value: u32| {
            let wrong = !value.is_power_of_two() || value < 512;
            if wrong {
                Err(format!("{name} is {value} bytes; it must be a power of two and at least 512"))
            } else {
                Ok(())
            }
        };
        power("logical sector", self.logical_sector)?;
        power("physical sector", self.physical_sector)?;
        if self.physical_sector < self.logical_sector {
            return Err(format!(
                "physical sector ({}) is smaller than the logical sector ({})",
                self.physical_sector, self.logical_sector
            ));
        }
        if self.size == 0 || !self.size.is_multiple_of(u64::from(self.logical_sector)) {
            return Err(format!(
                "size is {} bytes; it must be a positive multiple of the logical sector ({})",
                self.size, self.logical_sector
            ));
        }
        if self.max_transfer < self.logical_sector {
            return Err(format!(
                "largest transfer ({}) is smaller than the logical sector ({})",
                self.max_transfer, self.logical_sector
            ));
        }
        Ok(())
    }
}
