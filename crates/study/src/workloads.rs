//! The kinds of workload. A new one is one line here.

use fathom_job::WorkloadKind;

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
