//! Layers: volumes on top of other volumes, one file or folder each. A layer's module documentation is its manual.
//!
//! Inside a layer, what decides is a plain synchronous struct, tested alone by properties; the `impl Volume` only puts
//! the steps in order.

pub mod adapter;
mod change;
pub mod codec;
mod combined;
pub mod fault;
mod head;
pub mod mirror;
mod opening;
pub mod pool;
mod range_lock;
mod reading;
pub mod sector;
pub mod share;
mod side_by_side;
pub mod stripe;
mod tap;
#[cfg(test)]
mod testing;
pub mod throttle;
pub mod writeback;

use fathom_volume::NodeKind;

pub use range_lock::{Locking, RangeGuard, RangeLock};

/// Every layer, by name.
pub const KINDS: &[NodeKind] = &[
    adapter::KIND,
    fault::KIND,
    mirror::KIND,
    pool::KIND,
    sector::KIND,
    stripe::KIND,
    throttle::KIND,
    writeback::KIND,
];

/// What `fathom new layer` begins with: compiled and tested here, so that it always works.
#[cfg(test)]
#[path = "../../../python/fathom/cli/skeletons/skeleton_layer.rs"]
pub mod skeleton_layer;
