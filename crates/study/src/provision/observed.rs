//! What is measured beside every workload that runs on databases: a study may compare and predict it as well.

use fathom_job::Metric;
use fathom_job::metrics::named;

/// The metrics that `python/fathom/observe/observed.py` makes of what was observed, and those of jobs in the background.
pub fn observed() -> Vec<Metric> {
    let mut all = named(&["server_cpus", "server_cpu_percent"]);
    all.extend([
        Metric::neutral("driver_cpus", "processors the driver kept busy", ""),
        Metric::neutral("driver_cpu_percent", "driver's share of its and the servers' processor time", "%"),
        Metric::neutral("volume_cpus", "processors the volume daemon kept busy", ""),
        Metric::neutral("log_mb_per_s", "log written by the database", "MB/s"),
        Metric::neutral("log_flushes_per_second", "log flushes", "1/s"),
        Metric::neutral("bytes_per_log_flush", "log per flush", "B"),
        Metric::neutral("log_page_images_per_second", "whole pages in the log", "1/s"),
        Metric::neutral("checkpoints", "checkpoints", ""),
        Metric::neutral("pages_read_per_second", "pages the database read", "1/s"),
        Metric::neutral("pages_written_per_second", "pages the database wrote back", "1/s"),
    ]);
    all.extend(of_place());
    all.extend([
        Metric::lower("place_kib_per_transaction", "read and written at the volume per transaction", "KiB"),
        Metric::neutral("dirty_mb_max", "dirty pages of the host, at most", "MB"),
        Metric::neutral("background_jobs", "jobs in the background that ended", ""),
        Metric::lower("background_job_s", "time of a job in the background", "s"),
        Metric::higher("background_mb_per_s", "output of the jobs in the background", "MB/s"),
    ]);
    all
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
