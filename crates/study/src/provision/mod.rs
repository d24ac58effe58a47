//! What a run needs around it: places for files, databases with servers. Read and checked here, provided by whoever
//! calls [`crate::run`]; a variant of the resolved study says in full what that is.

mod databases;
mod observed;
mod places;

pub use databases::DATABASE_KEYS;
pub(crate) use databases::Database;
pub(crate) use observed::unseen;
pub use observed::{observed, of_place};
pub use places::PLACE_KEYS;
pub(crate) use places::Place;

use fathom_settings::{Section, did_you_mean};

/// The longest name of a place or database, in characters.
const LONGEST_NAME: usize = 64;

/// Whether a name can be that of a directory and of a node of results.
fn check_name(name: &str, section: &Section<'_>) -> bool {
    let fits = (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
        && !name.starts_with('-');
    if !fits {
        section.error("this is no name", format!("use 1 to {LONGEST_NAME} letters, digits, `_` and `-`"));
    }
    fits
}

/// Refuses a name that no table has.
fn check_place(section: &Section<'_>, key: &str, name: Option<&String>, places: &[Place]) {
    let Some(name) = name else { return };
    if !places.iter().any(|place| &place.name == name) {
        let help = match places {
            [] => format!("add [places.{}]", name.escape_debug()),
            _ => did_you_mean(name, "places", places.iter().map(|place| place.name.as_str())),
        };
        section.error_at(key, format!("there is no place `{}`", name.escape_debug()), help);
    }
}
