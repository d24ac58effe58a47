//! Block I/O by profile, on volumes.

pub mod io;

#[cfg(test)]
mod testing;

/// What `fathom new workload` begins with: compiled and tested here, so that it always works.
#[cfg(test)]
#[path = "../../../python/fathom/cli/skeletons/skeleton_workload.rs"]
pub mod skeleton_workload;
