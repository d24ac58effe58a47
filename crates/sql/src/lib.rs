//! Workloads on real databases, and what they stand on: [`database`] says what each kind of database is and supports,
//! [`session`] what one connection can do, `drivers` holds one file per database.

pub mod calendar;
pub mod database;
pub mod drive;
pub mod drivers;
pub mod error;
pub mod insert;
pub mod load;
pub mod open;
pub mod rows;
pub mod script;
pub mod session;
pub mod shim;
pub mod tprocc;
pub mod value;
pub mod vfs;
