//! What the real driver's ring is set up with.

/// Sizes of the ring.
#[derive(Debug, Clone, Copy)]
pub struct RingSetup {
    /// Entries of the submission queue; a power of two. More operations than that may be in flight.
    pub entries: u32,
    /// How many registered files there can be.
    pub files: u32,
    /// How many registered buffer regions there can be.
    pub buffers: u32,
    /// Whether entries have 128 bytes, as commands to some drivers need them; [`crate::Ring::is_wide`] tells what came of it.
    pub wide: bool,
    /// Whether the executor spins through waits that are likely to be short instead of sleeping. That keeps a CPU busy that
    /// nobody else wants, while a client sends its next request as soon as it is answered.
    pub busy_poll: bool,
}

impl Default for RingSetup {
    fn default() -> Self {
        Self { entries: 256, files: 64, buffers: 256, wide: false, busy_poll: false }
    }
}
