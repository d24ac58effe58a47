//! Devices: the leaves of a volume stack, one file or folder each. A device's module documentation is its manual.

mod arena;
pub mod file;
pub mod memory;
pub mod model;
pub mod nbd;
pub mod null;
mod sectors;
mod sparse;
#[cfg(test)]
mod testing;

use fathom_volume::NodeKind;

pub use file::File;
pub use memory::Memory;
pub use model::Model;
pub use nbd::Nbd;
pub use null::Null;

/// Every device, by name.
pub const KINDS: &[NodeKind] = &[file::KIND, memory::KIND, model::KIND, nbd::KIND, null::KIND];
