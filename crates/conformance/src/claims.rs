//! Claims about data, one request after another.

use fathom_volume::Kind;

use crate::oracle::Oracle;
use crate::trial::{Chance, Outcome, Trial};
use crate::{Claim, claim};

pub(crate) const ALL: &[Claim] = &[
    claim!("random-requests-match-a-byte-array", random_requests),
    claim!("boundaries", boundaries),
    claim!("whole-range-in-one-request", whole_range),
    claim!("last-sector", last_sector),
    claim!("trimmed-ranges-can-be-written-again", trim_then_write),
    claim!("zeroed-ranges-read-zero", zeroes),
    claim!("counters-add-up", counters),
];

/// One random request of a range, and what it does to the oracle.
pub(crate) async fn step(trial: &Trial, oracle: &mut Oracle, chance: &Chance, range: (u64, u64)) -> Outcome {
    let (offset, length) = range;
    match chance.below(20) {
        0..8 => {
            let bytes = chance.bytes(length);
            trial.write(offset, &bytes, chance.below(4) == 0).await?;
            oracle.write(offset, &bytes);
        }
        8..14 => {
            let read = trial.read(offset, length).await?;
            if trial.reads_back() {
                oracle.check(offset, &read)?;
            }
        }
        14..16 => trial.flush().await?,
        16..18 => {
            oracle.forget(offset, length);
            trial.trim(offset, length).await?;
        }
        _ => {
            trial.zero(offset, length, chance.below(4) == 0).await?;
            oracle.zero(offset, length);
        }
    }
    Ok(())
}

/// Reads the range `offset..end` in pieces and compares.
pub(crate) async fn verify(trial: &Trial, oracle: &Oracle, mut offset: u64, end: u64) -> Outcome {
    while offset < end {
        let length = trial.longest().min(end - offset).min(1 << 20);
        let read = trial.read(offset, length).await?;
        if trial.reads_back() {
            oracle.check(offset, &read)?;
        }
        offset += length;
    }
    Ok(())
}

fn oracle_of(trial: &Trial) -> Oracle {
    Oracle::new(0, trial.geometry().size, trial.geometry().logical_sector)
}

/// Fills the volume with known bytes, in the largest pieces it takes.
pub(crate) async fn fill(trial: &Trial, oracle: &mut Oracle, chance: &Chance, end: u64) -> Outcome {
    let mut offset = 0;
    while offset < end {
        let bytes = chance.bytes(trial.longest().min(end - offset).min(1 << 20));
        trial.write(offset, &bytes, false).await?;
        oracle.write(offset, &bytes);
        offset += bytes.len() as u64;
    }
    Ok(())
}

async fn random_requests(trial: &Trial) -> Outcome {
    let (chance, mut oracle) = (trial.random("random requests"), oracle_of(trial));
    let size = trial.geometry().size;
    for _ in 0..400 {
        let range = chance.range(size, trial.sector(), trial.longest());
        step(trial, &mut oracle, &chance, range).await?;
    }
    verify(trial, &oracle, 0, size).await
}

/// One sector before, one after, and one of each across every boundary at which a layer may divide a range.
async fn boundaries(trial: &Trial) -> Outcome {
    let (chance, mut oracle) = (trial.random("boundaries"), oracle_of(trial));
    let (geometry, sector) = (trial.geometry().clone(), trial.sector());
    fill(trial, &mut oracle, &chance, geometry.size).await?;
    let known = [geometry.physical_sector, geometry.optimal_transfer, geometry.max_transfer].map(u64::from);
    for unit in known.into_iter().chain([4 << 10, 16 << 10, 64 << 10, 128 << 10, 256 << 10, 1 << 20]) {
        let multiples = geometry.size.checked_div(unit).unwrap_or(0);
        for multiple in (1..=multiples).step_by(1 + multiples as usize / 8) {
            let boundary = multiple * unit;
            if boundary < 2 * sector || !boundary.is_multiple_of(sector) {
                continue;
            }
            let room = geometry.size - boundary;
            let ranges = [(boundary - sector, sector), (boundary, sector), (boundary - sector, 2 * sector)];
            for (offset, length) in ranges {
                if length <= trial.longest() && offset + length <= boundary + room {
                    let bytes = chance.bytes(length);
                    trial.write(offset, &bytes, false).await?;
                    oracle.write(offset, &bytes);
                }
            }
            let (from, to) = (boundary.saturating_sub(4 * sector), boundary + (4 * sector).min(room));
            verify(trial, &oracle, from, to).await?;
        }
    }
    verify(trial, &oracle, 0, geometry.size).await
}

async fn whole_range(trial: &Trial) -> Outcome {
    let (chance, mut oracle) = (trial.random("whole range"), oracle_of(trial));
    let size = trial.geometry().size;
    let longest = trial.longest();
    // From the start, to the end, and from one sector on, each as long as one request may be.
    let ranges = [(0, longest), (size - longest, longest)];
    for (offset, length) in ranges.into_iter().chain((size > longest).then_some((trial.sector(), longest))) {
        let bytes = chance.bytes(length);
        trial.write(offset, &bytes, false).await?;
        oracle.write(offset, &bytes);
        let read = trial.read(offset, length).await?;
        if trial.reads_back() {
            oracle.check(offset, &read)?;
        }
    }
    trial.zero(0, size, false).await?;
    oracle.zero(0, size);
    verify(trial, &oracle, 0, size).await?;
    trial.trim(0, size).await?;
    fill(trial, &mut oracle, &chance, size).await?;
    verify(trial, &oracle, 0, size).await
}

async fn last_sector(trial: &Trial) -> Outcome {
    let (chance, mut oracle) = (trial.random("last sector"), oracle_of(trial));
    let (size, sector) = (trial.geometry().size, trial.sector());
    for fua in [false, true] {
        let bytes = chance.bytes(sector);
        trial.write(size - sector, &bytes, fua).await?;
        oracle.write(size - sector, &bytes);
        trial.flush().await?;
        verify(trial, &oracle, size - sector, size).await?;
    }
    trial.zero(size - sector, sector, true).await?;
    oracle.zero(size - sector, sector);
    verify(trial, &oracle, size - sector, size).await
}

async fn trim_then_write(trial: &Trial) -> Outcome {
    let (chance, mut oracle) = (trial.random("trim"), oracle_of(trial));
    let size = trial.geometry().size;
    fill(trial, &mut oracle, &chance, size).await?;
    for _ in 0..40 {
        let (offset, length) = chance.range(size, trial.sector(), trial.longest());
        oracle.forget(offset, length);
        trial.trim(offset, length).await?;
        let part = chance.range(length, trial.sector(), trial.longest());
        let bytes = chance.bytes(part.1);
        trial.write(offset + part.0, &bytes, false).await?;
        oracle.write(offset + part.0, &bytes);
        let from = offset.saturating_sub(8 * trial.sector());
        verify(trial, &oracle, from, (offset + length + 8 * trial.sector()).min(size)).await?;
    }
    verify(trial, &oracle, 0, size).await
}

async fn zeroes(trial: &Trial) -> Outcome {
    let (chance, mut oracle) = (trial.random("zeroes"), oracle_of(trial));
    let size = trial.geometry().size;
    fill(trial, &mut oracle, &chance, size).await?;
    for round in 0..40 {
        let (offset, length) = chance.range(size, trial.sector(), size);
        trial.zero(offset, length, round % 2 == 0).await?;
        oracle.zero(offset, length);
        let from = offset.saturating_sub(8 * trial.sector());
        verify(trial, &oracle, from, (offset + length + 8 * trial.sector()).min(size)).await?;
    }
    verify(trial, &oracle, 0, size).await
}

/// The seam counts what was asked, no more and no less.
async fn counters(trial: &Trial) -> Outcome {
    let chance = trial.random("counters");
    let size = trial.geometry().size;
    let statistics = trial.volume.statistics();
    statistics.restart(trial.context.now());
    let mut asked = [(0_u64, 0_u64); 5];
    for round in 0..100 {
        let kind = Kind::ALL[round % 5];
        let (offset, length) = chance.range(size, trial.sector(), trial.longest());
        match kind {
            Kind::Read => trial.read(offset, length).await.map(drop)?,
            Kind::Write => trial.write(offset, &chance.bytes(length), false).await?,
            Kind::Flush => trial.flush().await?,
            Kind::Trim => trial.trim(offset, length).await?,
            Kind::WriteZeroes => trial.zero(offset, length, false).await?,
        }
        let entry = &mut asked[kind as usize];
        *entry = (entry.0 + 1, entry.1 + if kind == Kind::Flush { 0 } else { length });
    }
    let total = statistics.total(trial.context.now());
    for kind in Kind::ALL {
        let counted = total.kind(kind).ok_or_else(|| format!("no {} was counted", kind.name()))?;
        let got = (counted.count, counted.bytes);
        if got != asked[kind as usize] || counted.errors != 0 {
            let (name, asked) = (kind.name(), asked[kind as usize]);
            return Err(format!("{name}: {asked:?} requests and bytes were asked, {got:?} counted"));
        }
        if counted.sizes.iter().sum::<u64>() != counted.count || counted.latency.len() != counted.count {
            return Err(format!("{}: the histograms do not hold {} requests", kind.name(), counted.count));
        }
        if counted.waiting_sum > counted.latency_sum {
            return Err(format!("{}: more time waited than passed", kind.name()));
        }
    }
    match statistics.outstanding() {
        0 => Ok(()),
        left => Err(format!("{left} requests are outstanding, and all are answered")),
    }
}
