"""The closed registry of a log table's contents: every layer and every metric, with unit, kind and weighting.

An importer maps its format's names to these and to nothing else; a rule asks for these and need not know a format.
Units are those of the SI without prefix: seconds, bytes, requests; shares are percent.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Layer(StrEnum):
    """Where on the path from the database to the medium something was measured, top first."""

    BENCHMARK = "benchmark"
    DATABASE = "database"
    DATABASE_WAIT = "database wait"
    DATABASE_FILE = "database file"
    HOST = "host"
    GUEST_VOLUME = "guest volume"
    GUEST_DISK = "guest disk"
    VIRTUAL_DISK = "virtual disk"
    HOST_KERNEL = "host kernel"
    ADAPTER = "adapter"
    HOST_DEVICE = "host device"
    CLOUD_INSTANCE = "cloud instance"
    CLOUD_VOLUME = "cloud volume"


LAYERS: dict[Layer, str] = {
    Layer.BENCHMARK: "what a load generator reports: transactions, response times; the device is the benchmark",
    Layer.DATABASE: "a database server; the device is the instance, database or part of it, null for the server",
    Layer.DATABASE_WAIT: "what sessions wait for; the device is the wait's name in the server's words",
    Layer.DATABASE_FILE: "one file as the database sees its I/O; the device is the file",
    Layer.HOST: "processor, memory and pressure of an operating system; the device is null, a network interface, or a "
    "virtual machine of a hypervisor",
    Layer.GUEST_VOLUME: "a volume or file system inside the operating system (LogicalDisk, device-mapper)",
    Layer.GUEST_DISK: "a disk as the operating system sees it (PhysicalDisk, sda, nvme0n1)",
    Layer.VIRTUAL_DISK: "a virtual machine's disk as its hypervisor sees it",
    Layer.HOST_KERNEL: "the hypervisor's storage software above its devices",
    Layer.ADAPTER: "a storage adapter (HBA), real or virtual",
    Layer.HOST_DEVICE: "a device or LUN as the hypervisor sees it",
    Layer.CLOUD_INSTANCE: "the storage path of a cloud instance, all its volumes together",
    Layer.CLOUD_VOLUME: "a volume as the cloud measures it",
}
"""Every layer with what its `device` names."""


class Kind(StrEnum):
    """How values of a metric add up over time."""

    GAUGE = "gauge"
    """A state at the moment of the sample; means over time are estimates."""
    RATE = "rate"
    """Events or amounts per second over the sample's interval; averaged weighted by the interval's length."""
    AVERAGE = "average"
    """A mean per event over the sample's interval; averaged weighted by rate × interval of the metric `weight`."""
    TIME_AVERAGE = "time average"
    """A state averaged over the sample's interval; averaged weighted by the interval's length."""
    EVENTS = "events"
    """How often something happened within the sample's interval; added up."""


@dataclass(frozen=True)
class Metric:
    """One metric of the table.

    Attributes:
        name: as in the table.
        unit: "s", "B", "B/s", "1/s", "%", "1" (a number of things), "s/s".
        kind: how its values add up.
        meaning: one sentence.
        weight: for `Kind.AVERAGE` the metric whose rate weights it; None otherwise.
    """

    name: str
    unit: str
    kind: Kind
    meaning: str
    weight: str | None = None


def _rate(name: str, unit: str, meaning: str) -> Metric:
    return Metric(name, unit, Kind.RATE, meaning)


def _gauge(name: str, unit: str, meaning: str) -> Metric:
    return Metric(name, unit, Kind.GAUGE, meaning)


def _share(name: str, meaning: str) -> Metric:
    return Metric(name, "%", Kind.TIME_AVERAGE, meaning)


def _mean(name: str, unit: str, weight: str, meaning: str) -> Metric:
    return Metric(name, unit, Kind.AVERAGE, meaning, weight)


def _level(name: str, unit: str, meaning: str) -> Metric:
    return Metric(name, unit, Kind.TIME_AVERAGE, meaning)


def _events(name: str, meaning: str) -> Metric:
    return Metric(name, "1", Kind.EVENTS, meaning)


def _grown(name: str, meaning: str) -> Metric:
    return Metric(name, "B", Kind.EVENTS, meaning)


_STORAGE = (
    _rate("iops", "1/s", "requests completed; reads and writes, without flushes and discards"),
    _rate("read_iops", "1/s", "reads completed"),
    _rate("write_iops", "1/s", "writes completed"),
    _rate("discard_iops", "1/s", "discards (trims) completed"),
    _rate("flush_iops", "1/s", "flushes or fsyncs completed"),
    _rate("bytes_per_s", "B/s", "bytes read and written"),
    _rate("read_bytes_per_s", "B/s", "bytes read"),
    _rate("write_bytes_per_s", "B/s", "bytes written"),
    _rate("discard_bytes_per_s", "B/s", "bytes discarded"),
    _mean("latency_s", "s", "iops", "mean latency of reads and writes, from submission to completion"),
    _mean("read_latency_s", "s", "read_iops", "mean latency of reads"),
    _mean("write_latency_s", "s", "write_iops", "mean latency of writes"),
    _mean("discard_latency_s", "s", "discard_iops", "mean latency of discards"),
    _mean("flush_latency_s", "s", "flush_iops", "mean latency of flushes or fsyncs"),
    _mean("size_bytes", "B", "iops", "mean size of reads and writes"),
    _mean("read_size_bytes", "B", "read_iops", "mean size of reads"),
    _mean("write_size_bytes", "B", "write_iops", "mean size of writes"),
    _gauge("outstanding", "1", "requests submitted and not completed, at the moment of the sample"),
    _level("outstanding_mean", "1", "requests submitted and not completed, averaged over the interval"),
    _level("read_outstanding_mean", "1", "reads submitted and not completed, averaged over the interval"),
    _level("write_outstanding_mean", "1", "writes submitted and not completed, averaged over the interval"),
    _gauge("queued", "1", "requests held back above a queue limit, at the moment of the sample"),
    _level("queued_mean", "1", "requests held back above a queue limit, averaged over the interval"),
    _gauge("queue_limit", "1", "how many requests a queue lets through at once"),
    _share("queue_full_percent", "share of the queue limit in use"),
    _share("busy_percent", "share of time with at least one request outstanding; no utilisation of parallel devices"),
    _rate("retransmits_per_s", "1/s", "requests sent again over a network because no answer came"),
    _rate("split_iops", "1/s", "requests that were split because they were too large or fragmented"),
    _rate("read_merges_per_s", "1/s", "reads merged into others before they reached the device"),
    _rate("write_merges_per_s", "1/s", "writes merged into others before they reached the device"),
    _gauge("free_percent", "%", "free space of a volume"),
    _gauge("free_bytes", "B", "free space of a volume"),
    _mean(
        "unaligned_write_percent",
        "%",
        "write_iops",
        "share of writes whose offset or size is no multiple of 4,096 bytes",
    ),
    _mean(
        "shifted_write_percent",
        "%",
        "write_iops",
        "share of writes of whole blocks of 4,096 bytes that begin between two of them",
    ),
    _share("sequential_percent", "share of requests that start where an earlier one of the same direction ended"),
    _gauge("read_latency_p99_s", "s", "99th percentile of the latency of reads within the interval"),
    _gauge("write_latency_p99_s", "s", "99th percentile of the latency of writes within the interval"),
)
_HYPERVISOR = (
    _mean(
        "device_latency_s",
        "s",
        "iops",
        "part of the latency spent below this machine: DAVG of ESXi, the round trip of NFS",
    ),
    _mean("read_device_latency_s", "s", "read_iops", "the same of reads"),
    _mean("write_device_latency_s", "s", "write_iops", "the same of writes"),
    _mean("kernel_latency_s", "s", "iops", "part of the latency spent in the hypervisor: KAVG"),
    _mean("read_kernel_latency_s", "s", "read_iops", "the same of reads"),
    _mean("write_kernel_latency_s", "s", "write_iops", "the same of writes"),
    _mean("queue_latency_s", "s", "iops", "part of the latency spent in this machine's queue: QAVG of ESXi, of NFS"),
    _mean("read_queue_latency_s", "s", "read_iops", "the same of reads"),
    _mean("write_queue_latency_s", "s", "write_iops", "the same of writes"),
    _rate("aborts_per_s", "1/s", "commands aborted"),
    _rate("resets_per_s", "1/s", "resets of device, bus or path"),
    _rate("failed_per_s", "1/s", "requests or transactions that failed"),
    _rate("reservation_conflicts_per_s", "1/s", "SCSI reservation conflicts"),
    _gauge("congestion", "1", "back-pressure of vSAN's disk groups, 0 to 255: requests are delayed by it"),
    _rate("resync_read_iops", "1/s", "reads by which a hypervisor rebuilds or moves data of its own"),
    _rate("resync_write_iops", "1/s", "writes by which it does so"),
    _gauge("write_buffer_free_percent", "%", "free share of a write buffer in front of slower devices"),
)
_CLOUD = (
    _gauge("iops_exceeded", "1", "1 where the load tried to pass the limit on IOPS within the interval, else 0"),
    _gauge("bytes_exceeded", "1", "1 where the load tried to pass the limit on throughput within the interval, else 0"),
    _rate("iops_exceeded_s_per_s", "s/s", "share of time in which the limit on IOPS was passed"),
    _rate("bytes_exceeded_s_per_s", "s/s", "share of time in which the limit on throughput was passed"),
    _gauge("stalled", "1", "1 where the volume did not complete I/O within the interval, else 0"),
    _gauge("burst_balance_percent", "%", "burst credits left"),
    _gauge("iops_balance_percent", "%", "burst credits for IOPS left"),
    _gauge("bytes_balance_percent", "%", "burst credits for throughput left"),
    _share("iops_used_percent", "share of the provisioned IOPS in use"),
    _share("bytes_used_percent", "share of the provisioned throughput in use"),
    _share("cached_iops_used_percent", "share of the limit on IOPS through the host's cache in use"),
    _share("cached_bytes_used_percent", "share of the limit on throughput through the host's cache in use"),
    _share("uncached_iops_used_percent", "share of the limit on IOPS past the host's cache in use"),
    _share("uncached_bytes_used_percent", "share of the limit on throughput past the host's cache in use"),
    _rate("read_throttled_iops", "1/s", "reads that the cloud held back at a limit"),
    _rate("write_throttled_iops", "1/s", "writes that the cloud held back at a limit"),
    _rate("read_throttled_bytes_per_s", "B/s", "bytes of reads that the cloud held back at a limit"),
    _rate("write_throttled_bytes_per_s", "B/s", "bytes of writes that the cloud held back at a limit"),
    _rate("consumed_iops", "1/s", "requests as the cloud counts them against the limit (large ones several times)"),
)
_HOST = (
    _share("cpu_percent", "processor time in use, of all processors"),
    _share("cpu_user_percent", "processor time in programs, of all processors"),
    _share("cpu_system_percent", "processor time in the kernel, of all processors"),
    _share("cpu_nice_percent", "processor time in programs of low priority (nice), of all processors"),
    _share("cpu_iowait_percent", "idle processor time with disk I/O outstanding; no measure of storage"),
    _share("cpu_steal_percent", "processor time that the hypervisor gave to others"),
    _share(
        "cpu_ready_percent", "processor time that a virtual machine wanted and others had, added over its processors"
    ),
    _share("cpu_ready_each_percent", "the same of each of its processors, on average"),
    _share("cpu_run_percent", "processor time that a virtual machine got, added over its processors"),
    _gauge("cpu_credits", "1", "CPU burst credits left"),
    _gauge("run_queue", "1", "threads that want a processor, running ones included where the source counts them"),
    _gauge("blocked", "1", "threads in uninterruptible wait, mostly for disk I/O"),
    _gauge("memory_available_bytes", "B", "memory that programs can get without swapping"),
    _gauge("memory_dirty_bytes", "B", "pages of files that are not yet written"),
    _gauge("swap_used_bytes", "B", "memory of programs that is in swap"),
    _rate("swap_in_bytes_per_s", "B/s", "memory read back from swap"),
    _rate("swap_out_bytes_per_s", "B/s", "memory written to swap"),
    _rate("hard_faults_per_s", "1/s", "pages read from disk because a program touched them"),
    _share("cpu_pressure_percent", "share of time in which some task waited for a processor"),
    _share("io_pressure_percent", "share of time in which some task waited for I/O"),
    _share("io_pressure_full_percent", "share of time in which every task that was not idle waited for I/O"),
    _share("memory_pressure_percent", "share of time in which some task waited for memory"),
    _rate("network_in_bytes_per_s", "B/s", "bytes received over the network"),
    _rate("network_out_bytes_per_s", "B/s", "bytes sent over the network"),
)
_DATABASE = (
    _rate("transactions_per_s", "1/s", "transactions"),
    _rate("batches_per_s", "1/s", "batches or statements received"),
    _rate("rollbacks_per_s", "1/s", "transactions rolled back"),
    _gauge("sessions", "1", "sessions or virtual users"),
    _gauge("active_sessions", "1", "sessions that execute or wait"),
    _rate("log_flushes_per_s", "1/s", "flushes (writes or syncs) of the transaction log"),
    _rate("log_bytes_per_s", "B/s", "bytes of transaction log"),
    _mean("log_flush_size_bytes", "B", "log_flushes_per_s", "bytes per flush of the log"),
    _mean("log_flush_latency_s", "s", "log_flushes_per_s", "mean time of a flush of the log"),
    _rate("log_flush_waits_per_s", "1/s", "commits that waited for a flush of the log"),
    _rate("log_flush_wait_s_per_s", "s/s", "time sessions waited for flushes of the log, per second"),
    _rate("log_page_images_per_s", "1/s", "full page images written to the log"),
    _rate("log_buffers_full_per_s", "1/s", "log writes forced by full log buffers"),
    _rate("file_grown_bytes_per_s", "B/s", "bytes by which a database's file became larger"),
    _grown("data_grown_bytes", "bytes by which a database's data files became larger"),
    _grown("log_grown_bytes", "bytes by which a database's log files became larger"),
    _events("log_growths", "growths of log files"),
    _events("log_shrinks", "shrinks of log files"),
    _gauge("log_used_percent", "%", "share of the log's space in use"),
    _rate("page_reads_per_s", "1/s", "pages read from files into the buffer pool"),
    _rate("page_writes_per_s", "1/s", "pages written from the buffer pool to files"),
    _rate("page_lookups_per_s", "1/s", "pages looked for in the buffer pool"),
    _rate("readahead_pages_per_s", "1/s", "pages read ahead of need"),
    _rate("checkpoint_pages_per_s", "1/s", "pages written by checkpoints"),
    _rate("lazy_writes_per_s", "1/s", "pages written to make room in the buffer pool"),
    _events("checkpoints", "checkpoints begun"),
    _gauge("page_life_s", "s", "expected stay of a page in the buffer pool (page life expectancy)"),
    _share("buffer_hit_percent", "share of page lookups found in the buffer pool"),
    _rate("free_list_stalls_per_s", "1/s", "requests for a free page that had to wait"),
    _rate("backup_bytes_per_s", "B/s", "throughput of backups and restores"),
    _rate("check_bytes_per_s", "B/s", "throughput of consistency checks (CHECKDB)"),
    _gauge("memory_used_bytes", "B", "memory the server uses"),
    _gauge("memory_target_bytes", "B", "memory the server would like to use"),
    _gauge("memory_grants_pending", "1", "statements waiting for memory"),
    _rate("lock_waits_per_s", "1/s", "requests for locks that had to wait"),
    _rate("lock_wait_s_per_s", "s/s", "time sessions waited for locks, per second: the mean number of sessions"),
    _gauge("blocked_sessions", "1", "sessions that wait for another one's lock or latch"),
    _rate("deadlocks_per_s", "1/s", "deadlocks"),
    _rate("temp_bytes_per_s", "B/s", "bytes of temporary files"),
    _rate("waits_per_s", "1/s", "waits that ended"),
    _rate("wait_s_per_s", "s/s", "time sessions waited, per second: the mean number of sessions in this wait"),
    _rate("wait_signal_s_per_s", "s/s", "part of the waiting after the resource was free: for a processor"),
    _mean("wait_latency_s", "s", "waits_per_s", "mean length of a wait"),
    _gauge("replica_queue_bytes", "B", "log that waits to be sent to or applied by a replica"),
)
_BENCHMARK = (
    _rate("new_orders_per_s", "1/s", "New-Order transactions (NOPM / 60)"),
    _mean("response_s", "s", "transactions_per_s", "mean response time of a transaction"),
    _gauge("response_p95_s", "s", "95th percentile of the response time within the interval"),
    _gauge("response_p99_s", "s", "99th percentile of the response time within the interval"),
    _gauge("response_max_s", "s", "longest response time within the interval"),
    _mean("schedule_lag_s", "s", "transactions_per_s", "mean time transactions started after their schedule"),
)

METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (*_STORAGE, *_HYPERVISOR, *_CLOUD, *_HOST, *_DATABASE, *_BENCHMARK)
}
"""Every metric, by name."""
