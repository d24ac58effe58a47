//! What is measured beside every workload that runs on databases: a study may compare and predict it as well.

/// Names of the metrics, as in `python/fathom/metrics.py`; `python/fathom/observe/observed.py` makes them.
pub const OBSERVED: &[&str] = &[
    "server_cpus",
    "driver_cpus",
    "driver_cpu_percent",
    "volume_cpus",
    "log_mb_per_s",
    "log_flushes_per_second",
    "bytes_per_log_flush",
    "log_page_images_per_second",
    "checkpoints",
    "pages_read_per_second",
    "pages_written_per_second",
    "place_read_iops",
    "place_write_iops",
    "place_read_mb_per_s",
    "place_write_mb_per_s",
    "average_read_kib",
    "average_write_kib",
    "place_outstanding",
    "place_read_latency_ms",
    "place_write_latency_ms",
    "place_kib_per_transaction",
    "dirty_mb_max",
];

/// Those of them that each place has for itself too, as `PLACE_NAME`.
pub const OF_PLACES: &[&str] = &[
    "place_read_iops",
    "place_write_iops",
    "place_read_mb_per_s",
    "place_write_mb_per_s",
    "place_outstanding",
    "place_read_latency_ms",
    "place_write_latency_ms",
    "average_read_kib",
    "average_write_kib",
];
