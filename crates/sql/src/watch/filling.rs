//! How full the server's buffer pool is during the ramp, and when it has stopped filling.

use fathom_job::{DatabaseKind, Sample};
use fathom_runtime::{Nanos, SECOND};
use fathom_units::Bytes;

use super::{questions, sizes};
use crate::error::{Error, ErrorKind, Result};
use crate::script::Script;
use crate::session::Session;

/// The node of its samples, and the level they hold.
const NODE: (&str, &str) = ("buffer pool", "filled_bytes");

/// So many samples in a row must show a pool that hardly grows.
const SAMPLES: usize = 5;

/// Growth over those samples, as a share of the pool, below which it has stopped filling. A pool that is full has, too.
const GROWS: f64 = 0.005;

/// The fill level of a pool over a ramp.
#[derive(Debug, Default)]
pub(super) struct Filling {
    /// Bytes that the pool may hold, once known.
    pool: Option<i64>,
    /// Time since the ramp began, ns, and bytes filled.
    levels: Vec<(Nanos, i64)>,
    /// Why the server does not report it.
    unreported: Option<String>,
    warm: bool,
}

impl Filling {
    /// Takes a sample; whether the pool has stopped filling. A server that does not report it is never warm.
    pub(super) fn sample(
        &mut self,
        session: &mut dyn Session,
        kind: DatabaseKind,
        at: Nanos,
    ) -> Result<bool> {
        if self.unreported.is_some() {
            return Ok(false);
        }
        match filled(session, kind, &questions(kind), self.levels.is_empty()) {
            Ok(bytes) => self.levels.push((at, bytes)),
            Err(error) if matches!(error.kind(), ErrorKind::Lost | ErrorKind::Timeout) => return Err(error),
            Err(error) => {
                self.unreported = Some(error.to_string());
                return Ok(false);
            }
        }
        if self.pool.is_none() {
            self.pool = sizes(session, kind)?.map(|(_, pool)| pool);
        }
        self.warm = self.pool.is_some_and(|pool| has_stopped(&self.levels, pool));
        Ok(self.warm)
    }

    /// The level at every sample, times counted back from the end of the ramp.
    pub(super) fn samples(&self) -> Vec<Sample> {
        let end = self.levels.last().map_or(0, |(at, _)| *at) as i64;
        let starts = std::iter::once(0).chain(self.levels.iter().map(|(at, _)| *at));
        let sample = |(start, (at, bytes)): (Nanos, &(Nanos, i64))| {
            let level = (NODE.1, u64::try_from(*bytes).unwrap_or(0));
            Sample::of_level(NODE.0, start as i64 - end, at - start, level)
        };
        starts.zip(&self.levels).map(sample).collect()
    }

    /// The outcome in words; None if it was not asked for.
    pub(super) fn words(&self) -> Option<String> {
        if let Some(why) = &self.unreported {
            return Some(format!(
                "the server does not report how full its buffer pool is ({why}): the ramp ran to its end"
            ));
        }
        let (at, bytes) = self.levels.last()?;
        let size = |bytes: i64| Bytes::new(u64::try_from(bytes).unwrap_or(0));
        let of = self.pool.map_or_else(String::new, |pool| format!(" of {}", size(pool)));
        let seconds = *at as f64 / SECOND as f64;
        let state = if self.warm { "stopped filling" } else { "was still filling when the ramp ended" };
        Some(format!("the buffer pool {state} after {seconds:.1} s, with {}{of}", size(*bytes)))
    }

    /// Whether the ramp ended before the pool was known to be warm.
    pub(super) fn is_cold(&self) -> bool {
        !self.warm && (self.unreported.is_some() || !self.levels.is_empty())
    }
}

fn has_stopped(levels: &[(Nanos, i64)], pool: i64) -> bool {
    let Some(since) = levels.len().checked_sub(SAMPLES) else { return false };
    let (first, last) = (levels[since].1, levels[levels.len() - 1].1);
    last > 0 && (last - first) as f64 <= GROWS * pool as f64
}

/// Bytes of pages in the pool. PostgreSQL reports it by an extension, which the first sample creates.
fn filled(session: &mut dyn Session, kind: DatabaseKind, questions: &Script, first: bool) -> Result<i64> {
    let unreported = || Error::new(ErrorKind::Other, format!("{} has no such figure", kind.name()));
    let known = |name: &str| questions.blocks().any(|(known, _)| known == name);
    if !known("buffer_pool") {
        return Err(unreported());
    }
    if first && known("buffer_pool_before") {
        session.batch(questions.get("buffer_pool_before"))?;
    }
    let answer = session.query(questions.get("buffer_pool"), &[])?;
    let row = answer.rows().next().ok_or_else(unreported)?;
    row.int(0)
}

#[cfg(test)]
mod tests {
    use super::{Filling, has_stopped};

    const POOL: i64 = 1000;

    fn levels(bytes: &[i64]) -> Vec<(u64, i64)> {
        (1..).map(|second| second * 1_000_000_000).zip(bytes.iter().copied()).collect()
    }

    #[test]
    fn a_pool_has_stopped_filling_when_it_hardly_grew_over_the_last_samples() {
        for (bytes, stopped) in [
            (&[900, 900, 900, 900][..], false),
            (&[900, 900, 900, 900, 900], true),
            (&[900, 901, 902, 903, 905], true),
            (&[900, 901, 902, 903, 906], false),
            (&[0, 0, 0, 0, 0, 0], false),
            (&[100, 400, 800, 1000, 1000, 1000], false),
            (&[400, 800, 1000, 1000, 1000, 1000, 1000], true),
        ] {
            assert_eq!(has_stopped(&levels(bytes), POOL), stopped, "{bytes:?}");
        }
    }

    #[test]
    fn what_came_of_it_is_told_and_drawn() {
        assert_eq!(Filling::default().words(), None);
        assert!(!Filling::default().is_cold());
        let filling = Filling { pool: Some(4096), levels: levels(&[1024, 2048]), ..Filling::default() };
        let words = "the buffer pool was still filling when the ramp ended after 2.0 s, with 2 KiB of 4 KiB";
        assert_eq!(filling.words().as_deref(), Some(words));
        assert!(filling.is_cold());
        let samples = filling.samples();
        let drawn: Vec<(i64, u64)> = samples.iter().map(|sample| (sample.start, sample.bytes)).collect();
        assert_eq!(drawn, [(-2_000_000_000, 1024), (-1_000_000_000, 2048)]);
        let unreported = Filling { unreported: Some("no right".into()), ..Filling::default() };
        assert!(unreported.is_cold() && unreported.words().expect("words").contains("no right"));
    }
}
