//! Shared by the tests on real databases.

pub mod servers;
