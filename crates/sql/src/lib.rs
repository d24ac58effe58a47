//! Workloads on real databases. SQLite first: it needs nothing installed, and runs on a directory or on a volume.

pub mod insert;
pub mod shim;
pub mod vfs;
