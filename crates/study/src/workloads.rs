//! The kinds of workload there are. A new one is one line here.

use fathom_job::{Metric, WorkloadKind, metrics, several};

use crate::provision::observed;
use crate::run;

/// Those of this build, sorted by name.
static KINDS: &[WorkloadKind] = &[
    #[cfg(feature = "real")]
    fathom_sql::dvdstore::KIND,
    #[cfg(feature = "real")]
    fathom_sql::insert::KIND,
    fathom_engine::insert::KIND,
    fathom_workload::io::KIND,
    #[cfg(feature = "real")]
    fathom_sql::tprocc::KIND,
];

/// Workloads on databases, which only a build with the real driver has.
pub(crate) const REAL_ONLY: &[&str] = &["dvd-store", "insert", "tproc-c"];

/// Every kind of workload, by name.
pub fn workloads() -> &'static [WorkloadKind] {
    KINDS
}

/// The kind of that name.
pub fn workload(name: &str) -> Option<&'static WorkloadKind> {
    KINDS.iter().find(|kind| kind.name == name)
}

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
    let of_kinds = KINDS.iter().flat_map(|kind| (kind.metrics)());
    metrics::shared()
        .into_iter()
        .chain(run::metrics())
        .chain(of_kinds)
        .chain(observed())
        .chain(several::metrics())
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
