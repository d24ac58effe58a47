//! Claims about requests that must be refused, with nothing changed.

use fathom_volume::{ErrorKind, Kind, Request, Result};

use crate::claims::{fill, verify};
use crate::oracle::Oracle;
use crate::trial::{Outcome, Trial};
use crate::{Claim, claim};

pub(crate) const ALL: &[Claim] =
    &[claim!("misuse-is-refused", refused), claim!("largest-transfer-is-honoured", largest_transfer)];

/// Asks with a buffer of `buffer` bytes, where the kind takes one.
async fn ask(trial: &Trial, kind: Kind, request: Request, buffer: u64) -> Result<()> {
    let buf = trial.pool.zeroes(buffer as usize);
    match kind {
        Kind::Read => trial.volume.read(request, buf).await,
        Kind::Write => trial.volume.write(request, buf).await,
        Kind::Flush => trial.volume.flush(request).await,
        Kind::Trim => trial.volume.trim(request).await,
        Kind::WriteZeroes => trial.volume.write_zeroes(request).await,
    }
}

async fn must_be_refused(trial: &Trial, kind: Kind, request: Request, buffer: u64, why: &str) -> Outcome {
    let what = format!("{} of {} bytes at offset {}: {why}", kind.name(), request.length, request.offset);
    match ask(trial, kind, request, buffer).await {
        Ok(()) => Err(format!("accepted, and should be refused: {what}")),
        Err(error) if error.kind() != ErrorKind::Misuse => {
            Err(format!("refused as {:?} instead of misuse: {what}: {error}", error.kind()))
        }
        Err(error) if !error.to_string().contains(trial.volume.name()) => {
            Err(format!("the message does not name the volume: {error}"))
        }
        Err(_) => Ok(()),
    }
}

async fn refused(trial: &Trial) -> Outcome {
    let (size, sector) = (trial.geometry().size, trial.sector());
    let chance = trial.random("misuse");
    let mut oracle = Oracle::new(0, size, trial.geometry().logical_sector);
    fill(trial, &mut oracle, &chance, size).await?;
    trial.volume.statistics().restart(trial.context.now());

    for kind in [Kind::Read, Kind::Write, Kind::Trim, Kind::WriteZeroes] {
        let ranges = [
            (size, sector, "behind the end"),
            (size - sector, 2 * sector, "across the end"),
            (u64::MAX - sector + 1, sector, "end beyond 2^64"),
            (u64::MAX - 511, u64::MAX - 511, "far beyond 2^64"),
            (0, 0, "empty"),
            (1, sector, "offset not aligned"),
            (sector / 2, sector, "offset in the middle of a sector"),
            (0, sector - 1, "length not aligned"),
            (0, sector + sector / 2, "length of one and a half sectors"),
        ];
        for (offset, length, why) in ranges {
            let buffer = if length < 1 << 20 { length } else { sector };
            must_be_refused(trial, kind, Request::new(offset, length), buffer, why).await?;
        }
    }
    for kind in [Kind::Read, Kind::Write] {
        for buffer in [0, sector - 1, 2 * sector] {
            must_be_refused(trial, kind, Request::new(0, sector), buffer, "buffer of another length").await?;
        }
    }
    for kind in [Kind::Read, Kind::Trim, Kind::Flush] {
        let request = if kind == Kind::Flush { Request::flush() } else { Request::new(0, sector) };
        must_be_refused(trial, kind, request.with_fua(true), sector, "FUA on what writes nothing").await?;
    }

    let total = trial.volume.statistics().total(trial.context.now());
    if Kind::ALL.iter().filter_map(|kind| total.kind(*kind)).any(|counted| counted.count + counted.errors > 0)
    {
        return Err("requests that were refused are counted".to_owned());
    }
    verify(trial, &oracle, 0, size).await
}

async fn largest_transfer(trial: &Trial) -> Outcome {
    let (largest, sector) = (u64::from(trial.geometry().max_transfer), trial.sector());
    if largest >= trial.geometry().size {
        return Ok(());
    }
    let longer = largest - largest % sector + sector;
    for kind in [Kind::Read, Kind::Write] {
        ask(trial, kind, Request::new(0, longer - sector), longer - sector)
            .await
            .map_err(|error| format!("a {} of the largest transfer is refused: {error}", kind.name()))?;
        if longer <= trial.geometry().size {
            let why = "longer than the largest transfer";
            must_be_refused(trial, kind, Request::new(0, longer), longer, why).await?;
        }
    }
    Ok(())
}
