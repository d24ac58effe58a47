//! The kinds of workload there are. A new one is one line here.

use fathom_workload::WorkloadKind;

/// Sorted by name.
static KINDS: &[WorkloadKind] = &[
    fathom_sql::dvdstore::KIND,
    fathom_sql::insert::KIND,
    fathom_engine::insert::KIND,
    fathom_workload::io::KIND,
    fathom_sql::tprocc::KIND,
];

/// Every kind of workload, by name.
pub fn workloads() -> &'static [WorkloadKind] {
    KINDS
}

/// The kind of that name.
pub fn workload(name: &str) -> Option<&'static WorkloadKind> {
    KINDS.iter().find(|kind| kind.name == name)
}
