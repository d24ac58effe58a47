//! What a pool is made of before it is open.

use fathom_runtime::Context;
use fathom_volume::{Buf, Error, ErrorKind, Handle, Pool};

use super::config::Settings;
use super::metadata::Layout;
use crate::codec::BLOCK;

/// What a pool is opened from.
pub struct Parts {
    /// Clock and chance.
    pub context: Context,
    /// Where buffers come from.
    pub pool: Pool,
    /// Its name in the settings.
    pub name: String,
    /// What it does.
    pub settings: Settings,
    /// Offsets of the metadata.
    pub layout: Layout,
    /// Places of each member.
    pub slots: Vec<u32>,
    /// Bytes of the longest request that every member takes.
    pub longest: u64,
    /// Bytes of the sectors that it would show.
    pub sector: u32,
    /// The members, in their order.
    pub members: Vec<Handle>,
    /// How many of them a new pool places extents on.
    pub filled: usize,
    /// Where the moves are counted.
    pub tap: Handle,
    /// Whether it is opened for reading only: nothing on the members may change.
    pub for_reading: bool,
}

impl Parts {
    /// Why it must not be opened.
    pub fn refuse(&self, why: &str) -> Error {
        Error::new(ErrorKind::Misuse, format!("pool `{}`: {why}", self.name))
    }

    /// A block with something in it; untouched in a run without payload.
    pub fn block(&self, fill: impl FnOnce(&mut [u8])) -> Buf {
        let block = self.pool.get(BLOCK);
        block.with_mut(|bytes| {
            if !bytes.is_empty() {
                fill(bytes);
            }
        });
        block
    }
}
