//! Every metric of every workload, with what a run adds to it.

use fathom_job::{Metric, metrics::shared, several};

use crate::provision::observed;
use crate::run;
use crate::workloads::workloads;

/// Every metric that a run may yield, each once.
pub fn metrics() -> Vec<Metric> {
    let mut all: Vec<Metric> = Vec::new();
    for metric in declared() {
        if all.iter().all(|known| known.name != metric.name) {
            all.push(metric);
        }
    }
    all
}

/// Every declaration: a metric of several workloads comes more than once.
fn declared() -> impl Iterator<Item = Metric> {
    let of_kinds = workloads().iter().flat_map(|kind| (kind.metrics)());
    shared().into_iter().chain(run::metrics()).chain(of_kinds).chain(observed()).chain(several::metrics())
}

#[cfg(test)]
mod tests {
    use super::{declared, metrics};

    #[test]
    fn no_metric_means_two_things() {
        for metric in metrics() {
            let others = declared().filter(|other| other.name == metric.name && *other != metric);
            assert_eq!(others.collect::<Vec<_>>(), [], "{metric:?}");
            let unit_of_name = ["_ms", "_s", "_percent"].into_iter().find(|end| metric.name.ends_with(end));
            let known = ["ms", "s", "%"];
            assert!(
                unit_of_name.is_none() || known.contains(&metric.unit) || metric.name.ends_with("per_s"),
                "{metric:?}"
            );
        }
    }
}
