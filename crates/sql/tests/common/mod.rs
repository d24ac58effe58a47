//! Shared by the tests on real databases.

#![allow(dead_code, reason = "each test program uses its part")]

pub mod certificates;
pub mod named;
pub mod proxy;
pub mod servers;
