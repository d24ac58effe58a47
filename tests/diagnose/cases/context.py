"""Cases of findings that need two layers or a trace (D8, D9), and of loads and context beside any verdict.

For the latter `among` names the finding that must be there, and the labels are the verdicts that are not wrong: what a
load or context explains is no limit of the storage. In half of the cases with context there is also a cause, and that
one must come first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cases import makers
from cases.world import Case, Trace, World

_NO_LIMIT = ("D25", "cannot tell")


def _log_trace(w: World, sizes: np.ndarray) -> Trace:
    """A log: written from its beginning to its end, one write after the other, with pauses between."""
    latency = w.uniform(0.0002, 0.0009) * np.exp(w.random.normal(0, 0.3, len(sizes)))
    pause = w.random.exponential(w.uniform(0.004, 0.012), len(sizes))
    start = np.cumsum(latency + pause) - latency
    return Trace(start, latency, sizes, np.cumsum(sizes) - sizes, np.ones(len(sizes), dtype=bool))


def unaligned_log(w: World) -> Case:
    """Log blocks of any number of sectors of 512 bytes."""
    sizes = 512 * np.minimum(1 + w.random.geometric(1 / w.uniform(4, 16), 60 * w.count), 120)
    return Case(("D8",), trace=_log_trace(w, sizes))


def aligned_log(w: World) -> Case:
    """The same on sectors of 4 KiB: as small, as frequent, and nothing is wrong."""
    sizes = 4096 * np.minimum(w.random.geometric(1 / w.uniform(1, 3), 60 * w.count), 15)
    return Case(_NO_LIMIT, trace=_log_trace(w, sizes))


def _below(w: World, reads: np.ndarray, writes: np.ndarray, size: float) -> dict[str, np.ndarray]:
    latency = w.uniform(0.0008, 0.004) * w.noise(0.1)
    kernel = 5e-5 * w.noise(0.3)
    return {
        "Active Commands": np.round((reads + writes) * latency), "Queued Commands": np.zeros(w.count),
        "Device Q Depth": np.full(w.count, 128.0), "Commands/sec": reads + writes,
        "Reads/sec": reads, "Writes/sec": writes,
        "MBytes Read/sec": reads * size / 2**20, "MBytes Written/sec": writes * size / 2**20,
        "Average Driver MilliSec/Command": latency * 1e3, "Average Kernel MilliSec/Command": kernel * 1e3,
        "Average Guest MilliSec/Command": (latency + kernel) * 1e3,
    }  # fmt: skip


def read_modify_write(w: World) -> Case:
    """The guest writes parts of what the layer below keeps whole, so that one reads for most of the writes."""
    writes = w.uniform(500, 3000) * np.clip(w.demand(0.5, 1.5), 0.5, 1.5) * w.noise()
    latency = w.uniform(0.001, 0.005) * w.noise(0.1)
    disk = w.disk("1 D:", writes * latency, latency, size=4096, write_share=1.0)
    disk.reads = writes * w.uniform(0, 0.03)
    below = _below(w, disk.writes * w.uniform(0.45, 1.0) * w.noise(), disk.writes, 4096)
    return Case(("D9",), [w.quiet("0 C:"), disk], w.choice((5, 15)), devices={"naa.1": below})


def same_below(w: World) -> Case:
    """Guest and hypervisor count the same reads and writes: healthy."""
    latency = w.uniform(0.0006, 0.0025) * w.noise(0.1)
    disk = w.disk("1 D:", w.demand(0.3, 6), latency, write_share=w.uniform(0.3, 0.99))
    below = _below(w, disk.reads, disk.writes, float(np.mean(disk.write_bytes)))
    below["Average Driver MilliSec/Command"] = 900 * disk.read_s
    below["Average Guest MilliSec/Command"] = 900 * disk.read_s + below["Average Kernel MilliSec/Command"]
    return Case(("D25",), [w.quiet("0 C:"), disk], w.choice((5, 15)), devices={"naa.1": below})


def write_penalty(w: World) -> Case:
    """Reads come from the array's cache; each write is several requests to the disks, shared by all writes."""
    penalty, service = w.choice((2, 4, 6)), w.uniform(0.004, 0.008)
    share = np.clip(w.demand(0.08, 0.8), 0.05, 0.85) * w.noise(0.05)
    rate = w.uniform(400, 3000) * w.noise(0.08)
    spindles = rate.mean() * share.max() * penalty * service / w.uniform(0.6, 0.85)
    used = np.minimum(rate * share * penalty * service / spindles, 0.95)
    write_s = service * (2 if penalty > 2 else 1) / (1 - used) * w.noise(0.05)
    read_s = w.uniform(0.0006, 0.002) * w.noise(0.08)
    load = rate * (share * write_s + (1 - share) * read_s)
    disk = w.disk("1 D:", load, load / rate)
    disk.reads, disk.writes, disk.read_s, disk.write_s = rate * (1 - share), rate * share, read_s, write_s
    return Case(_NO_LIMIT, [w.quiet("0 C:"), disk], w.choice((5, 15, 60)), among="D13")


def large_requests(w: World) -> Case:
    """Scans in requests of 512 KiB and more: what takes time is their transfer."""
    size = w.choice((524288, 1048576, 2097152, 4194304))
    load = w.demand(1.5, w.uniform(3, 16))
    bandwidth = w.uniform(3e8, 3e9) * w.noise(0.1)
    latency = w.uniform(0.0005, 0.002) + np.maximum(load, 1) * size / bandwidth
    disk = w.disk("1 D:", load, latency, size=size, write_share=w.choice((0.0, 0.05)))
    case = Case(("D14", *_NO_LIMIT), [w.quiet("0 C:"), disk], w.choice((1, 5, 15)), among="D14")
    if w.chance(0.4):
        case.windows_only, case.counters = True, {r"PhysicalDisk(1 D:)\Split IO/Sec": disk.reads * (size // 524288)}
    return case


def hot_disk(w: World) -> Case:
    """Files of one kind on several disks, and nearly all requests go to one of them."""
    count, latency = int(w.random.integers(4, 7)), w.uniform(0.001, 0.004)
    own = w.demand(6, w.uniform(10, 40))
    size = w.choice((8192, 16384, 65536))
    disks = []
    for number in range(count):
        load = own if number == 0 else w.demand(0.03, w.uniform(0.2, 0.6))
        disks.append(w.disk(f"{number + 1} {'DEFGHI'[number]}:", load, latency * w.noise(0.08), size=size))
    return Case(_NO_LIMIT, disks, w.choice((5, 15, 60)), among="D15")


def checkpoints(w: World) -> Case:
    """Writes in bursts, which the database says are its checkpoints; nobody waits for them."""
    interval = w.choice((1, 5, 15))
    period = max(4, int(w.choice((60, 120)) / interval))
    length = max(1, int(period * w.uniform(0.05, 0.35)))
    burst = (np.arange(w.count) + int(w.random.integers(period))) % period < length
    reads = w.uniform(100, 600) * w.noise()
    writes = np.where(burst, w.uniform(1000, 3000), w.uniform(5, 30)) * w.noise(0.15)
    read_s, write_s = w.uniform(0.0005, 0.002) * w.noise(), w.uniform(0.001, 0.002) * w.noise()
    write_s = np.where(burst, write_s * w.uniform(4, 12), write_s)
    disk = w.disk("1 D:", reads * read_s + writes * write_s, read_s, size=8192)
    disk.reads, disk.writes, disk.read_s, disk.write_s = reads, writes, read_s, write_s
    disk.mean_queue = reads * read_s + writes * write_s
    pages = np.where(burst, writes * w.uniform(0.8, 1.0), 0.0)
    case = Case(("D18", *_NO_LIMIT), [w.quiet("0 C:"), disk], interval, among="D18")
    if w.chance(0.5):
        case.windows_only = True
        case.counters = {r"SQLServer:Buffer Manager\Checkpoint pages/sec": pages} | w.windows_waits(
            reads=0.05, log=0.05
        )
    else:
        case.linux_only, case.checkpoint_pages = True, pages
    return case


def two_modes(w: World) -> Case:
    """Two paths or two tiers, one after the other in no order: the same work at two latencies."""
    fast = w.uniform(0.0005, 0.002)
    slow = w.random.random(w.count) < w.uniform(0.2, 0.6)
    latency = fast * np.where(slow, w.uniform(4, 12), 1.0) * w.noise(0.12)
    rate = w.uniform(300, 1500) * w.noise(0.08)
    disk = w.disk("1 D:", rate * latency, latency)
    # In stretches of five and more the slow mode may also be somebody else's load.
    return Case((*_NO_LIMIT, "D20"), [w.quiet("0 C:"), disk], w.choice((5, 15)), among="D19")


def tempdb(w: World) -> Case:
    """Much of what the database's files do is tempdb's; with a cause beside it, that one comes first."""
    case = _with_cause_or_not(w)
    busiest = max(case.disks, key=lambda disk: float(np.mean(disk.reads + disk.writes)))
    part = w.uniform(0.4, 0.8)
    rate, reads = busiest.reads + busiest.writes, w.uniform(0.4, 0.7)
    for path, share in ((r"D:\data\shop.mdf", 1 - part), (r"D:\data\tempdb.mdf", part)):
        file = w.disk(path, rate * share * busiest.read_s, busiest.read_s)
        file.reads, file.writes = rate * share * reads, rate * share * (1 - reads)
        file.read_s, file.write_s = busiest.read_s * 1.02, busiest.write_s * 1.02
        case.database_files.append(file)
    case.among = "D22"
    return case


def allocation_unit(w: World) -> Case:
    """A volume formatted with small allocation units, which explains nothing."""
    case = _with_cause_or_not(w)
    case.allocation = {"C": 4096, "D": int(w.choice((4096, 8192, 16384)))}
    case.among = "D23"
    return case


def _with_cause_or_not(w: World) -> Case:
    maker = (makers.healthy, makers.healthy, makers.volume_limit, makers.disk_queue)[int(w.random.integers(4))]
    case = maker(w)
    while max(float(np.mean(disk.reads + disk.writes)) for disk in case.disks) < 50:
        case = maker(w)  # Nobody cares whose requests these few are.
    case.windows_only = True
    if case.labels == ("D25",):
        case.labels = _NO_LIMIT
    return case


CAUSES: dict[str, Callable[[World], Case]] = {
    maker.__name__: maker for maker in (unaligned_log, aligned_log, read_modify_write, same_below)
}
"""One finding must come first, or none."""

BESIDE: dict[str, Callable[[World], Case]] = {
    maker.__name__: maker
    for maker in (write_penalty, large_requests, hot_disk, checkpoints, two_modes, tempdb, allocation_unit)
}
"""One finding must be there, whatever comes first."""
