//! Errors of the catalogue: what is wrong, where, what to do.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

/// Why a model could not be read or resolved.
#[derive(Debug, Error)]
pub enum CatalogueError {
    /// A file's text is not a model. Names file, line, column, key and remedy.
    #[error("{0}")]
    File(Box<FileError>),
    /// A file or folder could not be read.
    #[error("cannot read the catalogue at {}: {source}\n  check the path and its permissions", .path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A folder holds no model.
    #[error("there is no .toml file in the catalogue folder {}\n  check the path; models are <vendor>/<name>.toml", .0.display())]
    Empty(PathBuf),
    /// No model of that name.
    #[error("there is no model \"{name}\" in the catalogue{}", hint(.suggestions))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Names like it, best first.
        suggestions: Vec<String>,
    },
    /// The model is of another kind than the question.
    #[error("\"{name}\" is {is}, not {wanted}\n  {remedy}")]
    WrongKind {
        /// What was asked for.
        name: String,
        /// What it is: "an adapter".
        is: &'static str,
        /// What the caller needs: "a volume or drive".
        wanted: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },
    /// The vendor does not offer the model with these settings. Says the limit.
    #[error("{name}: {problem}\n  {remedy}")]
    Refused {
        /// The model.
        name: String,
        /// The setting and why it is refused.
        problem: String,
        /// The values that are allowed.
        remedy: String,
    },
}

fn hint(suggestions: &[String]) -> String {
    match suggestions {
        [] => "\n  list what there is with: fathom catalogue".to_owned(),
        names => format!("\n  did you mean {}?", names.join(" or ")),
    }
}

/// A place in a file and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The file, as given.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// Dotted path of the key, empty where there is none.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
    /// The text of the line, shortened, control characters escaped.
    pub text: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, key, message, remedy, text } = self;
        let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
        write!(f, "{file}:{line}:{column}: {key}{message}\n  {line} | {text}\n  {remedy}")
    }
}

impl From<FileError> for CatalogueError {
    fn from(error: FileError) -> Self {
        Self::File(Box::new(error))
    }
}
