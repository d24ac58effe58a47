//! Tells the log what becomes of the legs of mirrors: users see nothing of it, and a mirror that lacks a leg protects less.

use std::rc::Rc;

use fathom_layers::mirror::{LegStatus, Node, Standing};
use fathom_runtime::{Context, SECOND, within};

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
