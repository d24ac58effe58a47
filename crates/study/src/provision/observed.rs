//! What is measured beside every workload that runs on databases: a study may compare and predict it as well.

use fathom_job::metrics::named;
use fathom_job::{DatabaseKind, Metric};
use fathom_settings::Problem;

use super::Database;

/// The metrics that `python/fathom/observe/observed.py` makes of what was observed, and those of jobs in the background.
pub fn observed() -> Vec<Metric> {
    let mut all = named(&["server_cpus", "server_cpu_percent"]);
    all.extend([
        Metric::neutral("driver_cpus", "processors the driver kept busy", ""),
        Metric::neutral("driver_cpu_percent", "driver's share of its and the servers' processor time", "%"),
        Metric::neutral("volume_cpus", "processors the volume daemon kept busy", ""),
    ]);
    all.extend(of_server());
    all.extend(of_place());
    all.extend([
        Metric::lower(PER_TRANSACTION, "read and written at the volume per transaction", "KiB"),
        Metric::neutral("dirty_mb_max", "dirty pages of the host, at most", "MB"),
        Metric::neutral("background_jobs", "jobs in the background that ended", ""),
        Metric::lower("background_job_s", "time of a job in the background", "s"),
        Metric::higher("background_mb_per_s", "output of the jobs in the background", "MB/s"),
    ]);
    all
}

/// What places read and wrote for each transaction.
const PER_TRANSACTION: &str = "place_kib_per_transaction";

/// Those that a database's own statistics give.
fn of_server() -> Vec<Metric> {
    vec![
        Metric::neutral("log_mb_per_s", "log written by the database", "MB/s"),
        Metric::neutral("log_flushes_per_second", "log flushes", "1/s"),
        Metric::neutral("bytes_per_log_flush", "log per flush", "B"),
        Metric::neutral("log_page_images_per_second", "whole pages in the log", "1/s"),
        Metric::neutral("checkpoints", "checkpoints", ""),
        Metric::neutral("pages_read_per_second", "pages the database read", "1/s"),
        Metric::neutral("pages_written_per_second", "pages the database wrote back", "1/s"),
    ]
}

/// Those of them that each place has for itself too, as `PLACE_NAME`.
pub fn of_place() -> Vec<Metric> {
    let mut all = vec![
        Metric::neutral("place_read_iops", "reads at the volume", "IOPS"),
        Metric::neutral("place_write_iops", "writes at the volume", "IOPS"),
        Metric::neutral("place_read_mb_per_s", "read at the volume", "MB/s"),
        Metric::neutral("place_write_mb_per_s", "written at the volume", "MB/s"),
        Metric::neutral("place_outstanding", "outstanding I/O at the volume, mean", ""),
        Metric::lower("place_read_latency_ms", "mean latency of reads at the volume", "ms"),
        Metric::lower("place_write_latency_ms", "mean latency of writes at the volume", "ms"),
    ];
    all.extend(named(&["average_read_kib", "average_write_kib"]));
    all
}

/// Kinds whose statistics are sampled beside a run (`sampling` of `python/fathom/provision/database`).
const SAMPLED: [DatabaseKind; 2] = [DatabaseKind::Postgresql, DatabaseKind::Mariadb];

/// Why a run on these databases has no such metric although others have: servers that run already are seen from outside.
pub(crate) fn unseen(metric: &str, databases: &[Database]) -> Option<Problem> {
    let connected: Vec<&Database> = databases.iter().filter(|database| database.is_connected()).collect();
    let first = connected.first()?;
    let all = connected.len() == databases.len();
    let is_in = |metrics: Vec<Metric>| metrics.iter().any(|known| known.name == metric);
    let name = metric.escape_debug();
    if metric == PER_TRANSACTION || (all && is_in(of_place())) {
        let message = format!(
            "`{name}` is of the devices under places, and a server that runs already has none: where its files lie is not known"
        );
        let help = "compare a rate or a latency of the workload, or what the server counts itself, such as \
                    `log_mb_per_s` or `log_file_write_latency_ms`";
        return Some(Problem::new(message, help));
    }
    if all && connected.iter().all(|database| !SAMPLED.contains(&database.kind)) && is_in(of_server()) {
        let kind = first.kind.name();
        let message = format!("`{name}` is of statistics that are not read of a server of kind `{kind}`");
        let help = "compare a rate or a latency of the workload, or of the server's files, such as `log_file_write_iops`";
        return Some(Problem::new(message, help));
    }
    None
}
