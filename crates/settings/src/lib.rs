//! Settings: a TOML text becomes a [`Tree`] of values with their positions; a [`Section`] reads one table of it
//! key by key into types. Nothing stops at the first mistake: every one goes to [`Diagnostics`] with its line, its
//! column, the dotted path of the key, what is wrong and what to do.
//!
//! ```
//! use fathom_settings::{Diagnostics, Tree};
//! use fathom_units::{Bytes, Span};
//!
//! let diagnostics = Diagnostics::new();
//! let tree = Tree::parse("volume.toml", "size = \"4TiB\"\ndelya = \"1ms\"\n", &diagnostics);
//! let mut section = tree.section(&diagnostics);
//! let size = section.required::<Bytes>("size");
//! let delay = section.or("delay", Span::ZERO);
//! assert!(!section.finish());
//! assert_eq!((size, delay), (Some(Bytes::tib(4)), Span::ZERO));
//! assert_eq!(diagnostics.list()[0].to_string(), "volume.toml:2:1: delya: unknown key; did you mean `delay`?");
//! ```

mod diagnostic;
mod documentation;
mod from_value;
mod path;
mod position;
mod render;
mod section;
mod suggest;
mod tree;
mod value;

pub use diagnostic::{Diagnostic, Diagnostics};
pub use documentation::Key;
pub use from_value::{Choice, FromValue, Problem, VolumeName};
pub use path::Path;
pub use position::{Position, Source};
pub use render::{to_json, to_text};
pub use section::{ABOVE_ZERO, Reference, Section};
pub use suggest::{did_you_mean, nearest};
pub use tree::{LARGEST_TEXT, Tree};
pub use value::{Data, Entry, Table, Value};
