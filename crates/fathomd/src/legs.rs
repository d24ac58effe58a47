//! Tells the log what becomes of the legs of mirrors and of caches: users see nothing of it, and what lacks a leg protects
//! less.

use std::collections::BTreeMap;
use std::rc::Rc;

use fathom_layers::mirror::{LegStatus, Node, Standing};
use fathom_layers::writeback::{LegStatus as CacheLeg, Standing as CacheStanding};
use fathom_runtime::{Context, SECOND, within};
use fathom_stack::Lifecycle;

/// Tells of each leg that is dropped or away, with the reason, and when it is in sync again.
pub async fn tell_of_legs(context: Context, mirror: Rc<Node>) {
    let mut told: Vec<(Standing, String)> = Vec::new();
    loop {
        let legs = mirror.status().map(|status| status.legs).unwrap_or_default();
        told.resize(legs.len(), (Standing::InSync, String::new()));
        for (leg, told) in legs.iter().zip(&mut told) {
            let is_new = leg.standing != told.0 || leg.standing == Standing::Away && leg.why != told.1;
            if is_new {
                *told = (leg.standing, leg.why.clone());
                tell(mirror.name(), leg);
            }
        }
        if told.iter().all(|(standing, _)| *standing == Standing::InSync) {
            mirror.changed().await;
        } else {
            // That the others have it in writing that a leg is in sync is no change of its state.
            let _ = within(&context, SECOND, mirror.changed()).await;
        }
    }
}

/// Tells of each cache device that a group with two continues without, and when it counts again; ends where none has two.
pub async fn tell_of_caches(context: Context, lifecycle: Lifecycle) {
    let mut told: BTreeMap<(String, String), CacheStanding> = BTreeMap::new();
    while lifecycle.groups().any(|(_, status)| status.legs.len() > 1) {
        for (group, status) in lifecycle.groups().filter(|(_, status)| status.legs.len() > 1) {
            for CacheLeg { name: leg, standing, why } in status.legs {
                let before = told.insert((group.to_owned(), leg.clone()), standing);
                if before == Some(standing) {
                    continue;
                }
                if standing == CacheStanding::Behind {
                    tracing::warn!(
                        group,
                        leg,
                        why,
                        "a cache device is away or failed: the group continues on the other one"
                    );
                } else if before.is_some() {
                    tracing::info!(group, leg, standing = standing.name(), "a cache device is in use again");
                }
            }
        }
        context.sleep(SECOND).await;
    }
}

fn tell(mirror: &str, leg: &LegStatus) {
    let LegStatus { name, why, .. } = leg;
    match leg.standing {
        Standing::Away => {
            tracing::warn!(mirror, leg = name, why, "a leg is away: the mirror continues without it");
        }
        Standing::Rebuilding => tracing::info!(mirror, leg = name, "a leg is being rebuilt"),
        Standing::InSync => tracing::info!(mirror, leg = name, "a leg is in sync again"),
    }
}
