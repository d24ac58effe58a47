//! How long requests waited in all the queues of a stack, which its layers count each for itself.

use std::collections::BTreeSet;

use fathom_job::Outcome;
use fathom_job::metrics::{milliseconds, moving_data};
use fathom_job::sampler::WORKLOAD;
use fathom_stack::Volumes;
use fathom_volume::KindStatistics;

const METRIC: &str = "waiting_ms";
/// The kind of a workload whose requests are those that its volumes get.
const IO: &str = "io";
/// Requests that may be above and not yet below a layer, or the other way round.
const ON_THEIR_WAY: u64 = 64;

/// Adds to the workload's mean waiting time what its requests waited below the volumes that it drives. It is not known where a
/// layer makes several requests of one, or answers by itself (stripe, mirror, cache): their waits lie side by side, and nothing
/// is said then. Neither is it in the phases of a workload, whose counters are those of the volumes that it drives.
pub fn wait_below(volumes: &Volumes, roots: &[String], outcome: &mut Outcome) {
    if !outcome.totals.iter().any(|total| total.node == WORKLOAD && total.kind == IO) {
        return;
    }
    let mut below: BTreeSet<String> = BTreeSet::new();
    let mut known = true;
    for root in roots {
        let mut upper = root.clone();
        while let Some(children) = volumes.children_of(&upper).filter(|children| !children.is_empty()) {
            let only = <[String; 1]>::try_from(children).ok();
            known &= only
                .as_ref()
                .is_some_and(|[child]| are_one(counted(outcome, &upper), counted(outcome, child)));
            let Some([child]) = only else { break };
            below.insert(child.clone());
            upper = child;
        }
    }
    if below.is_empty() && known {
        return;
    }
    let requests: u64 = roots.iter().map(|root| counted(outcome, root)).sum();
    let waited: u64 = below.iter().filter_map(|name| of_node(outcome, name)).map(|all| all.waiting_sum).sum();
    let more = (known && requests > 0).then(|| milliseconds(waited as f64 / requests as f64));
    let of_phase = |name: &str| name.ends_with(&format!("_{METRIC}"));
    for (name, value) in &mut outcome.metrics {
        if name == METRIC {
            *value = value.zip(more).map(|(own, more)| own + more);
        } else if of_phase(name) {
            *value = None;
        }
    }
}

/// Whether so many requests above and below are the same ones; some are on their way when counting begins and ends.
fn are_one(above: u64, below: u64) -> bool {
    above.abs_diff(below) <= ON_THEIR_WAY.max(above / 100)
}

fn counted(outcome: &Outcome, node: &str) -> u64 {
    of_node(outcome, node).map_or(0, |all| all.count)
}

fn of_node(outcome: &Outcome, node: &str) -> Option<KindStatistics> {
    outcome.totals.iter().find(|total| total.node == node).and_then(|total| moving_data(&total.total))
}
