//! `io`: block I/O by profile. (The manual follows with the settings reader.)

pub mod profile;

mod closed;
mod fill;
mod open;
pub mod presets;
mod run;
mod source;
mod stage;
mod target;
mod user;
mod verify;

pub use profile::{Config, Limit, Pace, Phase, Places, Profile, Spread, Think};
pub use run::run;

#[cfg(test)]
mod tests;
