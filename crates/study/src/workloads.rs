//! The kinds of workload there are. A new one is one line here.

use fathom_job::WorkloadKind;

/// Sorted by name.
#[cfg(feature = "real")]
static KINDS: &[WorkloadKind] = &[
    fathom_sql::dvdstore::KIND,
    fathom_sql::insert::KIND,
    fathom_engine::insert::KIND,
    fathom_workload::io::KIND,
    fathom_sql::tprocc::KIND,
];

/// Those that need no database, of a build without the real driver; sorted by name.
#[cfg(not(feature = "real"))]
static KINDS: &[WorkloadKind] = &[fathom_engine::insert::KIND, fathom_workload::io::KIND];

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
