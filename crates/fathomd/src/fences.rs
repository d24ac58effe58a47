//! Tells the log which volumes and cache groups answer nothing any more, and which servers of volumes are lost and back. A user who
//! asks nothing for a while learns it from nowhere else.

use std::collections::BTreeMap;

use fathom_runtime::{Context, SECOND};
use fathom_stack::Lifecycle;
use fathom_volume::Handle;

/// What was told of a volume.
#[derive(Default)]
struct Told {
    fenced: bool,
    away: bool,
    lost: u64,
    back: u64,
}

/// Looks at all of them every second, as long as the daemon runs.
pub async fn tell_of_fences(context: Context, volumes: Vec<Handle>, lifecycle: Lifecycle) {
    let mut told: Vec<Told> = volumes.iter().map(|_| Told::default()).collect();
    let mut groups: BTreeMap<String, String> = BTreeMap::new();
    loop {
        for (volume, told) in volumes.iter().zip(&mut told) {
            tell(volume, told);
        }
        for (group, status) in lifecycle.groups() {
            let Some(why) = &status.fenced else { continue };
            if groups.get(group) != Some(why) {
                tracing::error!(group, why, "a cache group is fenced: its volumes accept nothing more");
                groups.insert(group.to_owned(), why.clone());
            }
        }
        context.sleep(SECOND).await;
    }
}

fn tell(volume: &Handle, told: &mut Told) {
    let (name, counters) = (volume.name(), volume.counters());
    let count = |wanted| counters.iter().find(|(name, _)| *name == wanted).map_or(0, |(_, count)| *count);
    let fact = |wanted| {
        let found = volume.facts().into_iter().find(|(name, _)| *name == wanted);
        found.map_or(String::new(), |(_, fact)| fact)
    };
    let now = Told {
        fenced: count("fenced") > 0,
        away: count("away") > 0,
        lost: count("connections_lost"),
        back: count("reconnected"),
    };
    if now.lost > told.lost {
        tracing::warn!(volume = name, times = now.lost - told.lost, "the server of a volume was lost");
    }
    if now.away && !told.away {
        let server = fact("server");
        tracing::warn!(
            volume = name,
            server,
            "the server of a volume is away: nothing of it is read or written until it is back"
        );
    }
    if now.back > told.back {
        tracing::info!(volume = name, "the server of a volume is back");
    }
    if now.fenced && !told.fenced {
        let why = fact("fenced");
        tracing::error!(volume = name, why, "a volume is fenced: every request to it fails");
    }
    if !now.fenced && told.fenced {
        tracing::info!(
            volume = name,
            "a volume is trusted again: whoever uses it writes anew what may have been lost"
        );
    }
    *told = now;
}
