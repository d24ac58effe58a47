//! `dvd-store`: a shop on the web, derived from DVD Store 3.

pub mod catalogue;
pub mod conditions;
pub mod input;
mod job;
pub mod load;
pub mod person;
pub mod population;
mod read;
pub mod scale;
pub mod shop;
pub mod texts;
pub mod user;

pub use job::KIND;
pub use read::Config;
