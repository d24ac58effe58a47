//! The suite can fail: each of these volumes has one bug, and the claim that must find it does.

use std::cell::{Cell, RefCell};

use fathom_runtime::{Context, Semaphore};
use fathom_volume::{Buf, Geometry, Handle, Pool, Request, Result, Volume};

use crate::{Driver, Fixture, Suite};

const SIZE: u64 = (2 << 20) + 3 * 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bug {
    None,
    ReadsOneSectorFurther,
    LosesTheTailOfLongWrites,
    SwapsTwoSectorsOnReads,
    AcknowledgesFuaFromTheCache,
    AcknowledgesFlushesUnsent,
    ZeroesOneSectorTooFew,
    TrimsOneSectorTooMany,
    WritesUnalignedFirstHalfTwice,
    LosesUpdatesOfNeighbours,
    KeepsPlacesOfAbandonedRequests,
    ForgetsToFillTheLastSector,
    TearsAlignedWrites,
    IsRandomPerProcess,
    TakesLongerWithPayload,
}

struct Broken {
    below: Handle,
    geometry: Geometry,
    context: Context,
    pool: Pool,
    bug: Bug,
    places: Semaphore,
    used: Cell<usize>,
    seen: RefCell<Vec<u64>>,
}

thread_local! {
    static RUNS: Cell<u64> = const { Cell::new(0) };
}

impl Broken {
    fn build(fixture: &Fixture, bug: Bug) -> Result<Handle> {
        let geometry = Geometry { volatile_cache: true, atomic_write: 4096, ..Geometry::plain(SIZE) };
        RUNS.set(RUNS.get() + 1);
        let broken = Self {
            below: fixture.disk("only", geometry.clone()),
            geometry: Geometry { atomic_write: 16 << 10, ..geometry },
            context: fixture.env.context.clone(),
            pool: fixture.env.pool.clone(),
            bug,
            places: Semaphore::new(64),
            used: Cell::new(0),
            seen: RefCell::default(),
        };
        let honest = Geometry { atomic_write: 4096, ..broken.geometry.clone() };
        let broken =
            if bug == Bug::TearsAlignedWrites { broken } else { Self { geometry: honest, ..broken } };
        Handle::new(&fixture.env.context, "broken", "broken", broken)
    }

    /// Sector 7 for sector 8 and the other way round.
    fn swapped(&self, offset: u64) -> u64 {
        match (self.bug, offset / 512) {
            (Bug::SwapsTwoSectorsOnReads, 7) => offset + 512,
            (Bug::SwapsTwoSectorsOnReads, 8) => offset - 512,
            (Bug::ReadsOneSectorFurther, sector) if sector % 64 == 63 && offset + 1024 < SIZE => offset + 512,
            _ => offset,
        }
    }

    /// Read-modify-write of the whole 4 KiB without a lock.
    async fn write_unlocked(&self, request: &Request, from: &Buf) -> Result<()> {
        let start = request.offset - request.offset % 4096;
        let buf = self.pool.get(4096);
        self.below.read(request.part(start, 4096), buf.clone()).await?;
        let at = (request.offset - start) as usize;
        buf.slice(at..at + request.length as usize).copy_from_buf(from);
        self.below.write(request.part(start, 4096), buf).await
    }
}

impl Volume for Broken {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        if matches!(self.bug, Bug::SwapsTwoSectorsOnReads | Bug::ReadsOneSectorFurther)
            && request.length == 512
        {
            return self.below.read(request.part(self.swapped(request.offset), 512), into).await;
        }
        if self.bug == Bug::ForgetsToFillTheLastSector && request.length > 65536 {
            let length = request.length - 512;
            return self
                .below
                .read(request.part(request.offset, length), into.slice(0..length as usize))
                .await;
        }
        if self.bug == Bug::IsRandomPerProcess {
            self.context.sleep(RUNS.get()).await;
        }
        self.below.read(request.part(request.offset, request.length), into).await
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        let (offset, length) = (request.offset, request.length);
        match self.bug {
            Bug::LosesTheTailOfLongWrites if length > 32768 => {
                self.below.write(request.part(offset, 32768), from.slice(0..32768)).await
            }
            Bug::AcknowledgesFuaFromTheCache => {
                self.below.write(request.part(offset, length).with_fua(false), from).await
            }
            Bug::WritesUnalignedFirstHalfTwice if offset % 4096 != 0 && length == 1024 => {
                self.below.write(request.part(offset, 512), from.slice(0..512)).await?;
                self.below.write(request.part(offset + 512, 512), from.slice(0..512)).await
            }
            Bug::LosesUpdatesOfNeighbours
                if offset / 4096 == (offset + length - 1) / 4096 && offset < SIZE - 4096 =>
            {
                self.write_unlocked(request, &from).await
            }
            Bug::KeepsPlacesOfAbandonedRequests => {
                self.used.set(self.used.get() + 1);
                if self.used.get() > 64 {
                    let _place = self.places.acquire().await;
                    std::future::pending::<()>().await;
                }
                let done = self.below.write(request.part(offset, length), from).await;
                self.used.set(self.used.get() - 1);
                done
            }
            Bug::TakesLongerWithPayload => {
                self.seen.borrow_mut().push(offset);
                self.context.sleep(u64::from(from.has_bytes())).await;
                self.below.write(request.part(offset, length), from).await
            }
            _ => self.below.write(request.part(offset, length), from).await,
        }
    }

    async fn flush(&self, request: &Request) -> Result<()> {
        if self.bug == Bug::AcknowledgesFlushesUnsent {
            return Ok(());
        }
        self.below.flush(request.flush_for()).await
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        let more = self.bug == Bug::TrimsOneSectorTooMany && request.end() < SIZE;
        self.below.trim(request.part(request.offset, request.length + if more { 512 } else { 0 })).await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        let less = self.bug == Bug::ZeroesOneSectorTooFew && request.length > 8192;
        self.below
            .write_zeroes(request.part(request.offset, request.length - if less { 512 } else { 0 }))
            .await
    }
}

/// The claims that a volume with this bug violates, over a few seeds.
fn found(bug: Bug, driver: Driver) -> Vec<String> {
    let suite = Suite::new(|fixture| Broken::build(fixture, bug));
    (1..=3).flat_map(|seed| suite.violations(driver, seed)).map(|violation| violation.to_string()).collect()
}

#[test]
fn a_volume_without_a_bug_passes() {
    assert_eq!(found(Bug::None, Driver::Virtual), Vec::<String>::new());
    let suite = Suite::new(|fixture| Broken::build(fixture, Bug::None));
    suite.check();
}

#[test]
fn every_bug_is_found_by_the_claim_made_for_it() {
    let cases = [
        (Bug::ReadsOneSectorFurther, "random-requests-match-a-byte-array"),
        (Bug::LosesTheTailOfLongWrites, "whole-range-in-one-request"),
        (Bug::SwapsTwoSectorsOnReads, "neighbours-at-once-do-not-disturb-each-other"),
        (Bug::AcknowledgesFuaFromTheCache, "flushed-writes-survive-a-power-cut"),
        (Bug::AcknowledgesFlushesUnsent, "flushed-writes-survive-a-power-cut"),
        (Bug::ZeroesOneSectorTooFew, "zeroed-ranges-read-zero"),
        (Bug::TrimsOneSectorTooMany, "trimmed-ranges-can-be-written-again"),
        (Bug::WritesUnalignedFirstHalfTwice, "boundaries"),
        (Bug::LosesUpdatesOfNeighbours, "neighbours-at-once-do-not-disturb-each-other"),
        (Bug::KeepsPlacesOfAbandonedRequests, "abandoned-requests-leave-the-volume-usable"),
        (Bug::ForgetsToFillTheLastSector, "whole-range-in-one-request"),
        (Bug::TearsAlignedWrites, "flushed-writes-survive-a-power-cut"),
        (Bug::IsRandomPerProcess, "same-seed-same-digest"),
        (Bug::TakesLongerWithPayload, "same-seed-same-digest"),
    ];
    for (bug, claim) in cases {
        let violations = found(bug, Driver::Virtual);
        assert!(
            violations.iter().any(|found| found.starts_with(claim)),
            "{bug:?}: {claim} holds; {violations:?}"
        );
    }
}

#[test]
fn bugs_are_found_in_real_time_too() {
    for bug in [Bug::LosesTheTailOfLongWrites, Bug::AcknowledgesFlushesUnsent, Bug::LosesUpdatesOfNeighbours]
    {
        assert_ne!(found(bug, Driver::Real), Vec::<String>::new(), "{bug:?}");
    }
}

#[test]
#[should_panic(expected = "repeat: FATHOM_SEED=1 cargo test -p")]
fn a_failure_prints_the_line_that_repeats_it() {
    Suite::new(|fixture| Broken::build(fixture, Bug::ReadsOneSectorFurther)).check();
}
