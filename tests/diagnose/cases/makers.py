"""The labelled bottlenecks: one maker each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from make_nfsiostat import Load

from cases.world import Case, World


def disk_queue(w: World) -> Case:
    depth = w.choice((32, 64, 64, 254))
    load = w.demand(0.15 * depth, w.uniform(1.5, 5) * depth)
    latency = w.uniform(0.003, 0.008) * (1 + np.minimum(load, depth) / w.uniform(20, 60)) * w.noise()
    return Case(
        ("D1",), [w.quiet("0 C:"), w.disk("1 D:", load, latency, depth=depth)], w.choice((1, 5, 15)), windows_only=True
    )


def adapter_queue(w: World) -> Case:
    total, count = 256.0, int(w.random.integers(3, 5))
    load = np.minimum(w.demand(60, w.uniform(400, 900)), total)
    parts = w.random.dirichlet(np.full(count, 8.0), w.count).T
    latency = w.uniform(0.006, 0.012) * (1 + load / 200) * w.noise()
    disks = [w.disk(f"{n + 1} {'DEFG'[n]}:", load * part, latency) for n, part in enumerate(parts)]
    whole = np.round(load)
    queues = np.floor(whole * parts)
    queues[0] += whole - queues.sum(axis=0)
    for disk, queue in zip(disks, queues, strict=True):
        disk.queue = queue
    return Case(("D2",), disks, w.choice((1, 5, 15)), windows_only=True)


def _esx(w: World, load: np.ndarray, device_s: np.ndarray, depth: float) -> dict[str, np.ndarray]:
    active = np.minimum(load, depth)
    rate = active / device_s
    kernel = (load - active) / rate + 5e-5 * w.noise(0.3)
    return {
        "Active Commands": np.round(active), "Queued Commands": np.round(load - active),
        "Device Q Depth": np.full(w.count, depth),
        "Commands/sec": rate, "Reads/sec": rate * 0.7, "Writes/sec": rate * 0.3,
        "MBytes Read/sec": rate * 0.7 / 64, "MBytes Written/sec": rate * 0.3 / 64,
        "Average Driver MilliSec/Command": device_s * 1e3, "Average Kernel MilliSec/Command": kernel * 1e3,
        "Average Guest MilliSec/Command": (device_s + kernel) * 1e3,
    }  # fmt: skip


def host_queue(w: World) -> Case:
    depth = w.choice((32, 64, 128))
    load = w.demand(0.3 * depth, w.uniform(2, 5) * depth)
    device = w.uniform(0.002, 0.006) * w.noise()
    return Case(("D3",), [], w.choice((2, 5, 20)), devices={"naa.600a": _esx(w, load, device, depth)})


def slow_array(w: World) -> Case:
    device = w.uniform(0.028, 0.09) * w.noise(0.15)
    return Case(("D4",), [], w.choice((2, 5, 20)), devices={"naa.600a": _esx(w, w.demand(4, 28), device, 64)})


def _capped(w: World, name: str, cap: float, base: float, *, growth: float = 4.0, size: float | None = None):
    knee = cap * base
    load = w.demand(max(0.3 * knee, 0.2), max(growth * knee, 8))
    latency = np.maximum(base * w.noise(0.04), load / (cap * np.exp(w.random.normal(0, 0.005, w.count))))
    return w.disk(name, load, latency, size=size, tight=True)


def seller(**limit: float) -> str:
    """The cloud that sells a limit on `iops` or `bytes_per_s`: without it the number is only one of many."""
    return "aws" if set(limit.values()) & {3000, 4000, 16000, 131072000, 134217728, 262144000} else "azure"


def volume_limit(w: World) -> Case:
    base = w.uniform(0.0006, 0.002)
    cap = w.choice((3000, 5000, 7500, 16000, 500, 4000))
    disk = _capped(w, "1 D:", cap, max(base, 4 / cap), growth=w.uniform(8, 16), size=8192)
    case = Case(("D5",), [w.quiet("0 C:"), disk], w.choice((1, 5, 15)), platform=seller(iops=cap))
    if cap == 4000 or w.chance(0.3):
        case.platform = "aws"
        case.facts = {
            "VolumeType": "gp3",
            "Size": 500,
            "Iops": int(cap),
            "Throughput": 500,
            "VolumeId": "vol-0123456789abcdef0",
        }
    return case


def cloud_limit(w: World) -> Case:
    cap = w.choice((3000, 6000, 10000))
    disk = _capped(w, "vol", cap, 0.001, growth=w.uniform(3, 8))
    over = (disk.reads + disk.writes > 0.97 * cap).astype(float)
    return Case(("D5",), [], 60, cloud=_cloud(disk, {"VolumeIOPSExceededCheck": over}))


def _cloud(disk, extra: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {
        "VolumeReadOps": disk.reads * 60, "VolumeWriteOps": disk.writes * 60,
        "VolumeReadBytes": disk.reads * disk.read_bytes * 60, "VolumeWriteBytes": disk.writes * disk.write_bytes * 60,
        "VolumeTotalReadTime": disk.reads * disk.read_s * 60, "VolumeTotalWriteTime": disk.writes * disk.write_s * 60,
        "VolumeQueueLength": disk.mean_queue, **extra,
    }  # fmt: skip


def instance_limit(w: World) -> Case:
    if w.chance(0.5):
        disk = w.disk("vol", w.demand(2, 30), w.uniform(0.004, 0.02) * w.noise())
        metric = "EBSIOBalance%" if w.chance(0.5) else "EBSByteBalance%"
        left = np.maximum(0, np.linspace(w.uniform(20, 60), -w.uniform(20, 60), w.count))
        return Case(("D6",), [], 60, cloud=_cloud(disk, {metric: left}))
    cap, count = w.choice((88000, 23000, 41000)), int(w.random.integers(3, 5))
    knee = cap * 0.001
    load = w.demand(0.3 * knee, w.uniform(4, 8) * knee)
    latency = np.maximum(0.001 * w.noise(0.04), load / (cap * np.exp(w.random.normal(0, 0.004, w.count))))
    parts = w.random.dirichlet(np.full(count, 12.0), w.count).T
    disks = [w.disk(f"{n + 1} {'DEFG'[n]}:", load * p, latency, size=8192, tight=True) for n, p in enumerate(parts)]
    for disk in disks:
        disk.mean_queue = (disk.reads + disk.writes) * disk.read_s
    return Case(("D6",), disks, w.choice((5, 15)))


def burst_credits(w: World) -> Case:
    low = 3.0 * w.uniform(60, 600)
    place = int(w.count * w.uniform(0.3, 0.7))
    cap = np.where(np.arange(w.count) < place, 3000.0, low) * np.exp(w.random.normal(0, 0.006, w.count))
    load = w.uniform(8, 40) * w.noise(0.1)
    disk = w.disk("1 D:", load, load / cap, size=16384, tight=True)
    if w.chance(0.5):
        left = np.maximum(0, 100 * (1 - np.arange(w.count) / place))
        return Case(("D7",), [], 60, cloud=_cloud(disk, {"BurstBalance": left}))
    return Case(("D7",), [w.quiet("0 C:"), disk], w.choice((5, 15, 60)), platform="aws")


def commits(w: World) -> Case:
    latency = w.uniform(0.0004, 0.006) * w.noise(0.1)
    rate = 0.9 / latency
    disk = w.disk("2 L:", np.full(w.count, 0.9), latency, size=2048, write_share=1.0)
    if w.chance(0.5):
        disk.name, disk.flushes, disk.flush_s = "sdb", rate / 2, latency
        disk.writes, disk.write_s = rate / 2, latency
        disk.mean_queue = rate * latency
        return Case(("D10",), [disk], w.choice((1, 5)), linux_only=True)
    fast = w.uniform(0.0003, 0.0006) * w.noise(0.1)
    rate = 0.9 / fast
    disk = w.disk("2 L:", np.full(w.count, 0.9), fast, size=2048, write_share=1.0)
    base = r"SQLServer:Databases(shop)"
    counters = {rf"{base}\Log Flushes/sec": rate, rf"{base}\Log Bytes Flushed/sec": rate * w.uniform(600, 3500),
                rf"{base}\Log Flush Wait Time": 1000 * w.uniform(3, 9) * w.noise()}  # fmt: skip
    counters |= w.windows_waits(log=w.uniform(3, 9), reads=0.1)
    return Case(("D10",), [w.quiet("0 C:"), disk], w.choice((1, 15)), counters, windows_only=True)


def log_writer(w: World) -> Case:
    load = w.demand(60, 400)
    disk = w.disk("2 L:", load, w.uniform(0.0005, 0.0015) * w.noise(), size=61440, write_share=1.0, depth=112)
    disk.reads = disk.reads * 0
    rate = disk.writes
    base = r"SQLServer:Databases(shop)"
    counters = {rf"{base}\Log Flushes/sec": rate, rf"{base}\Log Bytes Flushed/sec": rate * 61440}
    counters |= w.windows_waits(log=w.uniform(20, 60))
    return Case(("D11",), [w.quiet("0 C:"), disk], w.choice((1, 5)), counters, windows_only=True)


def replica(w: World) -> Case:
    waits = {"HADR_SYNC_COMMIT": 15e3 * w.uniform(2, 9) * w.noise(0.2),
             "WRITELOG": 15e3 * w.uniform(0.1, 0.5) * w.noise(0.2),
             "PAGEIOLATCH_SH": 15e3 * w.uniform(0.0, 0.3) * w.noise(0.2)}  # fmt: skip
    return Case(("D12",), [], 15, waits=waits)


def backup(w: World) -> Case:
    load = w.uniform(6, 24) * w.noise(0.03)
    source = w.disk("1 D:", load, w.uniform(0.006, 0.03) * w.noise(), size=1048576, write_share=0.0)
    target = w.disk("2 B:", load / 2, source.read_s / 2, size=1048576, write_share=1.0)
    target.writes, target.write_bytes = source.reads * w.noise(0.02), source.read_bytes
    case = Case(("D16",), [source, target], w.choice((5, 15)))
    if w.chance(0.6):
        case.windows_only = True
        case.counters = {r"SQLServer:Databases(shop)\Backup/Restore Throughput/sec": source.reads * source.read_bytes}
    return case


def check(w: World) -> Case:
    load = w.uniform(40, 300) * w.noise(0.05)
    disk = w.disk("1 D:", load, w.uniform(0.008, 0.03) * w.noise(), size=262144, write_share=0.01)
    scanned = {r"SQLServer:Databases(shop)\DBCC Logical Scan Bytes/sec": disk.reads * disk.read_bytes}
    return Case(("D17",), [disk], 15, scanned, windows_only=True)


def neighbour(w: World) -> Case:
    base = w.uniform(0.001, 0.003)
    slow = np.zeros(w.count, dtype=bool)
    length = int(w.random.integers(10, 22))
    for start in w.random.choice(w.count - length, int(w.random.integers(1, 3))):
        slow[start : start + length] = True
    latency = np.where(slow, base * w.uniform(4, 10), base) * w.noise()
    rate = w.uniform(300, 3000) * np.clip(w.demand(0.7, 1.3), 0.7, 1.3)
    return Case(("D20",), [w.disk("1 D:", rate * latency, latency)], w.choice((5, 15, 60)))


def log_rate(w: World) -> Case:
    governor = ("LOG_RATE_GOVERNOR", "POOL_LOG_RATE_GOVERNOR", "INSTANCE_LOG_RATE_GOVERNOR")[w.random.integers(3)]
    waits = {governor: 15e3 * w.uniform(2, 9) * w.noise(0.2),
             "WRITELOG": 15e3 * w.uniform(0.1, 0.5) * w.noise(0.2),
             "PAGEIOLATCH_SH": 15e3 * w.uniform(0.0, 0.3) * w.noise(0.2)}  # fmt: skip
    return Case(("D33",), [], 15, waits=waits)


def layer_above(w: World) -> Case:
    """Encryption, or thin volumes, above a fast disk; for a part of the time, or all of it."""
    fast = w.uniform(0.0001, 0.0005) * w.noise(0.1)
    rate = w.uniform(1500, 12000) * w.noise(0.03)
    begin, length = int(w.uniform(0.1, 0.5) * w.count), int(w.uniform(0.2, 0.4) * w.count)
    place = np.arange(w.count)
    slow = (place >= begin) & (place < begin + length) if w.chance(0.3) else place >= 0
    latency = np.where(slow, w.uniform(0.007, 0.02) * w.noise(0.1), 1.1 * fast)
    upper = w.disk("dm-0", rate * latency, latency, tight=True)
    lower = replace(upper, name="sdb", read_s=fast, write_s=fast, queue=w.random.poisson(rate * fast).astype(float),
                    mean_queue=rate * fast)  # fmt: skip
    return Case(("D34",), [upper, lower], w.choice((1, 5, 15)), linux_only=True)


def _mount(w: World, load: np.ndarray, trip: np.ndarray, slots: float, interval: float, *, table: bool) -> list[Load]:
    """What a mount does that has so many slots, of its connection (the table) or of NFSv4.1's session."""
    active = np.minimum(load, slots)
    rate = active / trip
    queue = (load - active) / rate + 3e-5 * w.noise(0.3)
    part = w.uniform(0.05, 0.6)
    held = (load - active) * table
    return [
        Load(round(rate[at] * (1 - part) * interval), round(rate[at] * part * interval), queue[at] * 1e3,
             trip[at] * 1e3, held[at])
        for at in range(w.count)
    ]  # fmt: skip


def nfs_slots(w: World) -> Case:
    slots, interval = w.choice((16, 64, 128)), w.choice((1, 5, 10))
    load = w.demand(0.3 * slots, w.uniform(3, 7) * slots)
    trip = w.uniform(0.003, 0.015) * w.noise()
    return Case(("D35",), interval_s=interval,
                mounts={"/data": _mount(w, load, trip, slots, interval, table=w.chance(0.5))})  # fmt: skip


def nfs_well(w: World) -> Case:
    """A mount that is fast, and another one that is nearly idle."""
    interval = w.choice((1, 5, 10))
    busy, idle = (_mount(w, w.demand(*load), w.uniform(0.0004, 0.003) * w.noise(0.1), 1e5, interval, table=True)
                  for load in ((0.2, 12), (0.001, 0.05)))  # fmt: skip
    return Case(("D25",), interval_s=interval, mounts={"/data": busy, "/backup": idle})


def memory(w: World) -> Case:
    disk = w.disk("1 D:", w.demand(1, 4), w.uniform(0.0006, 0.0025) * w.noise(), write_share=0.1)
    life = np.linspace(w.uniform(2000, 6000), w.uniform(50, 300), w.count)
    base = r"SQLServer:Buffer Manager"
    counters = {rf"{base}\Page reads/sec": disk.reads, rf"{base}\Page life expectancy": life,
                rf"{base}\Lazy writes/sec": w.uniform(40, 200) * w.noise(0.3)}  # fmt: skip
    counters |= w.windows_waits(reads=w.uniform(1, 4))
    return Case(("D21",), [disk], 15, counters, windows_only=True)


def stall(w: World) -> Case:
    disk = w.disk("1 D:", w.demand(2, 12), w.uniform(0.0008, 0.003) * w.noise())
    interval = w.choice((1, 5))
    for start in w.random.choice(w.count - 7, 2):
        length, held = int(w.random.integers(2, 6)), int(w.random.integers(5, 40))
        end = start + length
        for name in ("reads", "writes", "read_s", "write_s", "mean_queue"):
            getattr(disk, name)[start:end] = 0
        disk.queue[start:end] = disk.mean_queue[start:end] = held
        # What was held ends after the stall, and its time counts there.
        longer = held * length * interval / np.maximum((disk.reads + disk.writes)[end] * interval, held)
        disk.read_s[end] += longer
        disk.write_s[end] += longer
    return Case(("D24",), [disk], interval)


def healthy(w: World) -> Case:
    base = w.uniform(0.0002, 0.0028)
    kind = w.random.integers(0, 5)
    if kind == 0:  # as many threads as a queue is deep, and no wait
        load = np.full(w.count, w.choice((8, 16, 32, 64)))
    elif kind == 1:  # nearly idle
        load = w.demand(0.001, 0.05)
    elif kind == 2:  # a constant rate
        load = w.choice((500, 1000, 3000)) * base * w.noise(0.01)
    elif kind == 3:  # bursts
        load = np.where(w.random.random(w.count) < 0.2, w.uniform(10, 40), 0.5) * w.noise(0.2)
    else:
        load = w.demand(0.2, 12)
    case = Case(("D25",), [w.quiet("0 C:"), w.disk("1 D:", load, base * w.noise(0.1))], w.choice((1, 5, 15, 60)))
    if w.chance(0.3):
        case.windows_only, case.counters = True, w.windows_waits(reads=0.05, log=0.05)
    return case


def processor(w: World) -> Case:
    case = healthy(w)
    case.cpu = np.clip(97 * w.noise(0.02), 91, 100)
    return case


def locks(w: World) -> Case:
    case = healthy(w)
    case.windows_only, case.counters = True, w.windows_waits(reads=0.1, locks=w.uniform(2, 20))
    return case


def two(w: World) -> Case:
    """A throttled volume and, on another disk, a full queue; or a stall."""
    first = volume_limit(w)
    other = disk_queue(w) if w.chance(0.5) else stall(w)
    for disk in other.disks:
        disk.name = disk.name.replace("1 D:", "2 E:")
    first.disks.append(next(disk for disk in other.disks if disk.name == "2 E:"))
    first.labels, first.windows_only = (*first.labels, *other.labels), True
    return first


MAKERS: dict[str, Callable[[World], Case]] = {
    maker.__name__: maker
    for maker in (disk_queue, adapter_queue, host_queue, slow_array, volume_limit, cloud_limit, instance_limit,
                  burst_credits, commits, log_writer, replica, backup, check, neighbour, log_rate,
                  layer_above, nfs_slots, nfs_well, memory, stall, healthy, processor, locks, two)
}  # fmt: skip
