//! Dotted paths into settings: `volumes.data.size`, `workload.jobs.0.rate`.

use std::fmt;

use toml_edit::Key;

/// The most steps of a path; no settings are nested deeper.
const LONGEST: usize = 100;

/// The steps from the root to a value; a step into a list is its index, from 0.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Path(Vec<String>);

impl Path {
    /// The root.
    pub const ROOT: Self = Self(Vec::new());

    /// Reads a path as TOML writes dotted keys: parts that hold other characters than letters, digits, `_` and `-` are quoted.
    ///
    /// # Errors
    /// A sentence on what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let keys = Key::parse(text).map_err(|_| {
            format!("`{}` is not a dotted path such as volumes.data.size", text.escape_debug())
        })?;
        if keys.len() > LONGEST {
            return Err(format!("a path of {} steps leads nowhere; there are at most {LONGEST}", keys.len()));
        }
        Ok(Self(keys.iter().map(|key| key.get().to_owned()).collect()))
    }

    /// One step further.
    #[must_use]
    pub fn join(&self, step: &str) -> Self {
        let mut steps = self.0.clone();
        steps.push(step.to_owned());
        Self(steps)
    }

    /// The path without its last step; the root's is the root.
    #[must_use]
    pub fn parent(&self) -> Self {
        Self(self.0[..self.0.len().saturating_sub(1)].to_vec())
    }

    /// The steps.
    pub fn steps(&self) -> &[String] {
        &self.0
    }

    /// Whether it is that path or below it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if !step.is_empty() && step.chars().all(bare) {
                write!(f, "{dot}{step}")?;
            } else {
                write!(f, "{dot}\"{}\"", step.escape_debug())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn paths_are_read_and_written_as_dotted_keys() {
        for text in ["volumes.data.size", "workload.jobs.0.rate", "factors.\"workload.rows\""] {
            assert_eq!(Path::parse(text).expect("it is a path").to_string(), text);
        }
        assert_eq!(Path::parse(" a . b ").expect("spaces are TOML's").to_string(), "a.b");
        for text in ["", ".", "a..b", "a.", "a b", "\"a"] {
            assert!(Path::parse(text).is_err(), "{text}");
        }
        assert!(Path::parse("a.".repeat(100_000).trim_end_matches('.')).is_err());
    }
}
