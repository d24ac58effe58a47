//! Claims about many requests at once, and about requests whose caller gave up.

use fathom_runtime::{MICROSECOND, SECOND, within};

use crate::claims::{fill, step, verify};
use crate::oracle::Oracle;
use crate::trial::{Chance, Outcome, Trial};
use crate::{Claim, claim};

/// More tasks than any queue under test is deep.
const TASKS: usize = 40;

pub(crate) const ALL: &[Claim] = &[
    claim!("neighbours-at-once-do-not-disturb-each-other", neighbours),
    claim!("own-writes-are-read-amid-others", regions),
    claim!("abandoned-requests-leave-the-volume-usable", abandoned),
];

/// A range with one owner, who knows what it holds.
struct Plot {
    offset: u64,
    length: u64,
    oracle: Oracle,
}

impl Plot {
    fn new(trial: &Trial, offset: u64, length: u64) -> Self {
        Self { offset, length, oracle: Oracle::new(offset, length, trial.geometry().logical_sector) }
    }
}

/// Works on the plots in any order, then checks them all.
async fn farm(trial: Trial, mut plots: Vec<Plot>, chance: Chance, rounds: u64) -> Outcome {
    for _ in 0..rounds {
        let pick = chance.below(plots.len() as u64) as usize;
        let plot = &mut plots[pick];
        let (from, length) = chance.range(plot.length, trial.sector(), trial.longest());
        step(&trial, &mut plot.oracle, &chance, (plot.offset + from, length)).await?;
    }
    for plot in &plots {
        verify(&trial, &plot.oracle, plot.offset, plot.offset + plot.length).await?;
    }
    Ok(())
}

/// Gives the plots to tasks in turn, so that every plot's neighbours are someone else's, and runs them side by side.
async fn divide(trial: &Trial, plots: Vec<Plot>, rounds: u64) -> Outcome {
    let mut shares: Vec<Vec<Plot>> = (0..TASKS.min(plots.len())).map(|_| Vec::new()).collect();
    let count = shares.len();
    plots.into_iter().enumerate().for_each(|(index, plot)| shares[index % count].push(plot));
    let start = |(task, plots)| {
        let chance = trial.random(&format!("task {task}"));
        trial.context.spawn(farm(trial.clone(), plots, chance, rounds))
    };
    let tasks: Vec<_> = shares.into_iter().enumerate().map(start).collect();
    for task in tasks {
        task.await?;
    }
    match trial.volume.statistics().outstanding() {
        0 => Ok(()),
        left => Err(format!("{left} requests are outstanding, and all are answered")),
    }
}

/// Single sectors side by side, the places where layers divide ranges among them.
async fn neighbours(trial: &Trial) -> Outcome {
    let (size, sector) = (trial.geometry().size, trial.sector());
    let stretch = (64 * sector).min(size);
    let starts = [0, (64 << 10) - 32 * sector.min(1 << 10), size - stretch];
    for start in starts {
        let start = start - start % sector;
        if start + stretch > size {
            continue;
        }
        let plots = (0..stretch / sector).map(|index| Plot::new(trial, start + index * sector, sector));
        divide(trial, plots.collect(), 12).await?;
    }
    Ok(())
}

/// Ranges of all lengths that cover the whole volume.
async fn regions(trial: &Trial) -> Outcome {
    let chance = trial.random("regions");
    let (size, sector) = (trial.geometry().size, trial.sector());
    let mut plots = Vec::new();
    let mut offset = 0;
    while offset < size {
        let sectors =
            if chance.below(2) == 0 { 1 + chance.below(9) } else { 1 + chance.below(size / sector / 16) };
        let length = (sectors * sector).min(size - offset);
        plots.push(Plot::new(trial, offset, length));
        offset += length;
    }
    divide(trial, plots, 20).await
}

/// Requests are dropped at any moment. What they touched may hold old or new bytes; everything else continues as before.
async fn abandoned(trial: &Trial) -> Outcome {
    let chance = trial.random("abandoned");
    let size = trial.geometry().size;
    let mut oracle = Oracle::new(0, size, trial.geometry().logical_sector);
    fill(trial, &mut oracle, &chance, size).await?;
    for round in 0..10 {
        let mut tasks = Vec::new();
        for task in 0..TASKS {
            let name = format!("round {round}, task {task}");
            let (offset, length) = chance.range(size, trial.sector(), trial.longest().min(64 << 10));
            oracle.forget(offset, length);
            let patience = chance.below(60 * MICROSECOND);
            let (trial, chance) = (trial.clone(), trial.random(&name));
            tasks.push(trial.context.clone().spawn(async move {
                let mut scratch = Oracle::new(offset, length, trial.geometry().logical_sector);
                let request = step(&trial, &mut scratch, &chance, (offset, length));
                within(&trial.context, patience, request).await.unwrap_or(Ok(()))
            }));
        }
        for task in tasks {
            task.await?;
        }
    }
    trial.context.sleep(trial.driver.settling()).await;
    match trial.volume.statistics().outstanding() {
        0 => {}
        left => return Err(format!("{left} requests are outstanding, and all were abandoned or answered")),
    }
    let after = async {
        trial.flush().await?;
        verify(trial, &oracle, 0, size).await?;
        fill(trial, &mut oracle, &chance, size).await?;
        verify(trial, &oracle, 0, size).await?;
        let plots = (0..TASKS as u64).map(|index| Plot::new(trial, index * trial.sector(), trial.sector()));
        divide(trial, plots.filter(|plot| plot.offset < size).collect(), 6).await
    };
    let done = within(&trial.context, 20 * SECOND, after).await;
    done.unwrap_or_else(|| {
        Err("it is stuck: places or locks of abandoned requests were not given back".to_owned())
    })
}
