//! Devices: the leaves of a volume stack, one file each. A device's module documentation is its manual.

pub mod memory;
pub mod model;
pub mod null;
mod sparse;

pub use memory::Memory;
pub use model::Model;
pub use null::Null;
