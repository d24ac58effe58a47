//! Devices: the leaves of a volume stack, one file or folder each. A device's module documentation is its manual.

mod arena;
#[cfg(feature = "real")]
pub mod file;
pub mod memory;
pub mod model;
#[cfg(feature = "real")]
pub mod nbd;
pub mod null;
#[cfg(feature = "real")]
mod patience;
mod sectors;
mod sparse;
#[cfg(test)]
mod testing;

use fathom_volume::NodeKind;

#[cfg(feature = "real")]
pub use file::File;
pub use memory::Memory;
pub use model::Model;
#[cfg(feature = "real")]
pub use nbd::Nbd;
pub use null::Null;

/// Every device of this build, by name.
pub const KINDS: &[NodeKind] = &[
    #[cfg(feature = "real")]
    file::KIND,
    memory::KIND,
    model::KIND,
    #[cfg(feature = "real")]
    nbd::KIND,
    null::KIND,
];

/// Devices that only a build with the real driver has.
pub const REAL_ONLY: &[&str] = &["file", "nbd"];

/// What `fathom new device` begins with: compiled and tested here, so that it always works.
#[cfg(test)]
#[path = "../../../python/fathom/cli/skeletons/skeleton_device.rs"]
pub mod skeleton_device;
