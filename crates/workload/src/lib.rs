//! Block I/O by profile, on volumes.

pub mod io;

#[cfg(test)]
mod testing;
