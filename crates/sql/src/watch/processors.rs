//! How busy the processors of a server are, by its own counters: of one on another machine there is no other source.

use fathom_runtime::{MILLISECOND, Nanos};

use crate::error::Result;
use crate::script::Script;
use crate::session::Session;
use crate::withheld::rows_unless_withheld;

/// What a server's process has taken of its processors so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processors {
    /// Processor time since it started, ns.
    pub spent: Nanos,
    /// How many processors it may use.
    pub usable: u32,
}

impl Processors {
    /// Processors that were busy since then, in the mean; None if the server has started again.
    pub(crate) fn busy_since(self, before: Self, span: Nanos) -> Option<f64> {
        Some(self.spent.checked_sub(before.spent)? as f64 / span.max(1) as f64)
    }
}

/// Reads the counts; None where this kind of server has none, the inner error is why this server does not report them.
pub(super) fn read(
    session: &mut dyn Session,
    questions: &Script,
) -> Result<Option<Result<Processors, String>>> {
    let Some((_, text)) = questions.blocks().find(|(name, _)| *name == "processors") else {
        return Ok(None);
    };
    let rows = rows_unless_withheld(session, text, |row| Ok((row.int(0)?, row.int(1)?)))?;
    Ok(Some(rows.and_then(|rows| {
        let (ms, usable) = rows.first().copied().unwrap_or_default();
        match (u64::try_from(ms), u32::try_from(usable)) {
            (Ok(ms), Ok(usable)) if ms > 0 && usable > 0 => {
                Ok(Processors { spent: ms * MILLISECOND, usable })
            }
            _ => Err(format!("not reported by this server: {ms} ms on {usable} processors cannot be")),
        }
    })))
}

#[cfg(test)]
mod tests {
    use fathom_runtime::SECOND;

    use super::Processors;

    #[test]
    fn time_taken_over_time_passed_is_how_many_were_busy() {
        let at = |spent| Processors { spent, usable: 8 };
        assert_eq!(at(9 * SECOND).busy_since(at(3 * SECOND), 2 * SECOND), Some(3.0));
        assert_eq!(at(SECOND).busy_since(at(3 * SECOND), 2 * SECOND), None, "it has started again");
    }
}
