//! Workloads on real databases, and what they need: [`database`] says what each kind of database is and supports,
//! [`session`] what one connection can do, `drivers` holds one file per database.

pub mod calendar;
pub mod checksum;
pub mod conditions;
pub mod counter;
pub mod database;
pub mod drive;
pub mod drivers;
pub mod dvdstore;
pub mod error;
pub mod insert;
pub mod load;
mod measured;
mod memory;
mod objects;
pub mod open;
pub mod population;
pub mod rows;
pub mod script;
pub mod session;
pub mod settings;
pub mod shim;
pub mod text;
pub mod texts;
mod tls;
pub mod tprocc;
pub mod value;
pub mod vfs;
pub mod watch;
mod withheld;
