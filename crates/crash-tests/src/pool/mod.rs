//! The crash campaign of the pool: what it does to its members while extents move is recorded, the power is cut after any of
//! it, and what is left is opened and compared with what a disk would show. Users, disks and oracle are the mirror's.

pub mod life;
pub mod scenarios;
pub mod testbed;
