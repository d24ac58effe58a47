"""Labelled bottlenecks that the virtual driver runs, request by request: queues, limits and caches are those of
the layers, and nothing here knows a formula of `world.py`.

A maker writes a study; its run is sampled every second and exported as what a guest's or a hypervisor's counters show.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from cases.makers import seller
from cases.world import Case, Disk, World
from fathom import _core

Table = dict[str, Any]
Nodes = dict[str, pl.DataFrame]


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(each) for each in value) + "]"
    return json.dumps(value)


def _lines(head: str, table: Table) -> str:
    return f"\n{head}\n" + "".join(f"{name} = {_toml(value)}\n" for name, value in table.items())


def simulate(volumes: dict[str, Table], workload: Table, phases: Sequence[Table], seed: int) -> Nodes:
    """The run's samples by node: one row per second with rate, bytes, latency of reads and writes, and outstanding."""
    text = 'title = "case"\nquestion = "Which limit?"\nclock = "virtual"\n'
    text += "".join(_lines(f"[volumes.{name}]", table) for name, table in volumes.items())
    text += _lines("[workload]", {"kind": "io", "interval": "1s", "ramp": "5s", **workload})
    text += "".join(_lines("[[workload.phases]]", {"name": f"p{n}", **each}) for n, each in enumerate(phases))
    with tempfile.TemporaryDirectory() as scratch:
        entry = {"text": text, "file": "case.toml", "models": [], "clock": "virtual", "set": {}, "seed": seed}
        found = _core.run(json.dumps(entry), scratch)
    samples = pl.DataFrame(found["samples"]).filter(pl.col("phase") == "measure")
    return {str(name): part for (name,), part in samples.group_by("node")}


def _series(node: pl.DataFrame, op: str, column: str, interval_s: int, count: int) -> np.ndarray:
    """Sum of a column over each interval, of one operation; latencies are weighted by their requests first."""
    rows = node.filter(pl.col("op") == op)
    values = rows[column].fill_null(0.0).to_numpy()
    if column.endswith("_ns"):
        values = values * rows["count"].to_numpy()
    places = (rows["t_s"].to_numpy() // interval_s).astype(int)
    total = np.zeros(count)
    np.add.at(total, places[places < count], values[places < count])
    return total


def _outstanding(node: pl.DataFrame, interval_s: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean over each interval, and what the last second of each showed."""
    each = node.group_by("t_s").agg(pl.col("outstanding_mean").first()).sort("t_s")["outstanding_mean"].to_numpy()
    parts = each[: count * interval_s].reshape(count, interval_s)
    return parts.mean(axis=1), parts[:, -1]


def disk(name: str, node: pl.DataFrame, interval_s: int, count: int) -> Disk:
    """A node as counters of a disk."""

    def mean(op: str, column: str) -> np.ndarray:
        events = _series(node, op, "count", interval_s, count)
        return _series(node, op, column, interval_s, count) / np.maximum(events, 1)

    reads, writes = (_series(node, op, "count", interval_s, count) / interval_s for op in ("read", "write"))
    load, at_end = _outstanding(node, interval_s, count)
    found = Disk(
        name, reads, writes, mean("read", "latency_mean_ns") / 1e9, mean("write", "latency_mean_ns") / 1e9,
        mean("read", "bytes"), mean("write", "bytes"), np.round(at_end), load,
    )  # fmt: skip
    flushes = _series(node, "flush", "count", interval_s, count) / interval_s
    if flushes.any():
        found.flushes, found.flush_s = flushes, mean("flush", "latency_mean_ns") / 1e9
    return found


def hypervisor(above: pl.DataFrame, below: pl.DataFrame, depth: int, interval_s: int, count: int) -> Table:
    """What esxtop counts of one device whose queue lies between two nodes."""
    upper, lower = disk("x", above, interval_s, count), disk("x", below, interval_s, count)
    rate = upper.reads + upper.writes
    guest, device = (
        (each.reads * each.read_s + each.writes * each.write_s) / np.maximum(each.reads + each.writes, 1e-9)
        for each in (upper, lower)
    )
    active = _outstanding(below, interval_s, count)[1]
    return {
        "Active Commands": np.round(active), "Queued Commands": np.maximum(np.round(upper.queue - active), 0),
        "Device Q Depth": np.full(count, depth), "Commands/sec": rate,
        "Reads/sec": upper.reads, "Writes/sec": upper.writes,
        "MBytes Read/sec": upper.reads * upper.read_bytes / 2**20,
        "MBytes Written/sec": upper.writes * upper.write_bytes / 2**20,
        "Average Driver MilliSec/Command": device * 1e3,
        "Average Kernel MilliSec/Command": np.maximum(guest - device, 0) * 1e3,
        "Average Guest MilliSec/Command": guest * 1e3,
    }  # fmt: skip


INTERVAL_S = 5
COUNT = 60
_PHASES = 15


def _phases(w: World, key: str, low: float, high: float, **further: Any) -> list[Table]:
    """A load that walks between two bounds."""
    w.count = _PHASES
    values = np.maximum(1, np.round(w.demand(low, high))).astype(int)
    seconds = INTERVAL_S * COUNT // _PHASES
    return [{"duration": f"{seconds}s", key: int(value), **further} for value in values]


def _model(w: World, latency_s: float, servers: int = 128, **further: Any) -> Table:
    sigma = w.uniform(0.2, 0.6)
    return {
        "kind": "model", "size": "1TiB", "servers": servers, "read": {"latency": f"{latency_s * 1e6:.0f}us"},
        "distribution": {"kind": "log-normal", "sigma": sigma}, **further,
    }  # fmt: skip


def _profile(w: World, size: str = "8KiB") -> Table:
    return {"volumes": ["disk"], "size": size, "read": f"{w.random.integers(40, 95)}%", "outstanding": 1}


def _guest(w: World, labels: tuple[str, ...], nodes: Nodes, interval_s: int = INTERVAL_S) -> Case:
    w.count = COUNT * INTERVAL_S // interval_s
    made = disk("1 D:", nodes["disk"], interval_s, w.count)
    return Case(labels, [w.quiet("0 C:"), made], interval_s)


def queue_below(w: World) -> Case:
    """A driver's queue below the guest's counter: random reads wait, and in between a backup shows what the disk can.

    The backup's few requests are as many as carry more per second than all that pass the full queue: without that
    nothing in the log could tell the queue from a limit on I/Os.
    """
    latency, positioning = w.uniform(0.003, 0.007), w.uniform(0.008, 0.02)
    depth = int(w.choice((32, 64)))
    array = {
        "kind": "model", "size": "4TiB", "servers": 256, "distribution": {"kind": "exponential"},
        "read": {"latency": f"{latency * 1e6:.0f}us", "positioning": f"{positioning * 1e6:.0f}us"},
    }  # fmt: skip
    sizes = [{"size": "8KiB", "weight": 1}, {"size": "64KiB", "weight": 1}]
    few = int(np.ceil(1.3 * depth * latency / (latency + positioning)))
    phases: list[Table] = []
    for _ in range(5):
        queries = {"workers": int(w.random.integers(40, 110)), "outstanding": 8, "sizes": sizes, "offsets": "random"}
        backup = {"workers": 1, "outstanding": few, "sizes": [{"size": "160KiB", "weight": 1}]}
        phases += [{"duration": "40s", **queries}, {"duration": "20s", **backup, "offsets": "shared-sequential"}]
    volumes = {"disk": {"kind": "adapter", "backing": "array", "per_device": depth}, "array": array}
    nodes = simulate(volumes, {"volumes": ["disk"], "size": "8KiB"}, phases, w.seed)
    case = _guest(w, ("D1",), nodes)
    case.windows_only = True
    return case


def host_queue(w: World) -> Case:
    """The hypervisor's queue of a LUN is full while the array answers quickly."""
    depth = int(w.choice((32, 64)))
    volumes = {
        "disk": {"kind": "adapter", "backing": "array", "per_device": depth},
        "array": _model(w, w.uniform(0.004, 0.009), 256),
    }
    nodes = simulate(volumes, _profile(w), _phases(w, "workers", 0.3 * depth, w.uniform(2, 5) * depth), w.seed)
    return Case(("D3",), [], INTERVAL_S, devices={"naa.1": hypervisor(nodes["disk"], nodes["array"], depth, 5, COUNT)})


def _array(w: World, array: dict[str, Table], profile: Table, phases: list[Table]) -> Case:
    volumes = {"disk": {"kind": "adapter", "backing": "array", "per_device": 128}, **array}
    nodes = simulate(volumes, profile, phases, w.seed)
    return Case(("D4",), [], INTERVAL_S, devices={"naa.1": hypervisor(nodes["disk"], nodes["array"], 128, 5, COUNT)})


def slow_array(w: World) -> Case:
    """An array far away, or overloaded, below queues with room."""
    return _array(w, {"array": _model(w, w.uniform(0.028, 0.08))}, _profile(w), _phases(w, "workers", 6, 40))


def full_cache(w: World) -> Case:
    """An array's write cache is full: writes are accepted at the pace of the disks behind it."""
    array = {
        "array": {"kind": "writeback", "backing": "disks", "cache": "nvram", "dirty_limit": "64MiB"},
        "nvram": {"kind": "model", "size": "1GiB", "servers": 16, "read": {"latency": "200us", "bandwidth": "1GB/s"}},
        "disks": {"kind": "model", "size": "1TiB", "servers": 2, "read": {"latency": "6ms", "bandwidth": "30MB/s"}},
    }  # fmt: skip
    profile = {"volumes": ["disk"], "size": "32KiB", "read": "5%", "outstanding": 1, "length": "32GiB"}
    return _array(w, array, profile, _phases(w, "workers", 48, 100))


def _capped(w: World, limit: Table, size: str, rate: float) -> Nodes:
    """Closed loops around the knee of a throttle, and far beyond it."""
    base = w.uniform(0.0005, 0.002)
    knee = max(rate * base, 1.0)
    volumes = {"disk": {"kind": "throttle", "backing": "device", **limit}, "device": _model(w, base)}
    phases = _phases(w, "workers", max(1.0, 0.4 * knee), w.uniform(5, 12) * max(knee, 4))
    return simulate(volumes, _profile(w, size), phases, w.seed)


def iops_limit(w: World) -> Case:
    """A volume's limit on IOPS: a provider's usual one, or the one that was bought."""
    cap = int(w.choice((500, 1100, 2300, 3000, 5000)))
    if bought := w.chance(0.4):
        cap = int(w.random.integers(31, 55)) * 100
    case = _guest(w, ("D5",), _capped(w, {"iops": cap}, "8KiB", cap))
    case.platform = "aws" if bought else seller(iops=cap)
    if bought:
        case.facts = {"VolumeType": "gp3", "Size": 500, "Iops": cap, "Throughput": 500, "VolumeId": "vol-1"}
    return case


def bytes_limit(w: World) -> Case:
    """A volume's limit on throughput."""
    cap = int(w.choice((131072000, 134217728, 262144000, 150000000, 200000000)))
    size = int(w.choice((64, 128, 256)))
    case = _guest(w, ("D5",), _capped(w, {"throughput": f"{cap}B/s"}, f"{size}KiB", cap / (size * 1024)))
    case.platform = seller(bytes_per_s=cap)
    return case


def credits_spent(w: World) -> Case:
    """gp2's burst credits run out in the middle of the log."""
    sustained = 3 * int(w.random.integers(60, 500))
    credits = int((3000 - sustained) * w.uniform(0.35, 0.65) * INTERVAL_S * COUNT)
    limit = {"iops": sustained, "iops_burst": {"peak": 3000, "credits": credits}}
    volumes = {"disk": {"kind": "throttle", "backing": "device", **limit}, "device": _model(w, 0.0008)}
    phases = _phases(w, "workers", 10, 40)
    case = _guest(w, ("D7",), simulate(volumes, _profile(w), phases, w.seed))
    case.platform = "aws"
    return case


def commits(w: World) -> Case:
    """One writer that waits for each small write and its flush, on a volume some way off."""
    latency = w.uniform(0.0004, 0.005)
    volumes = {"disk": _model(w, latency, flush=f"{latency * 1e6 * w.uniform(0.5, 1):.0f}us")}
    profile = {"volumes": ["disk"], "size": "4KiB", "read": "0%", "flush_every": 1, "offsets": "sequential"}
    case = _guest(w, ("D10",), simulate(volumes, profile, [{"duration": f"{INTERVAL_S * COUNT}s"}], w.seed))
    case.disks, case.linux_only = case.disks[1:], True
    case.disks[0].name = "sdb"
    return case


def neighbour(w: World) -> Case:
    """Seven other volumes of the same array are busy for a while; only one volume's counters are in the log."""
    names = ["disk", *(f"other{n}" for n in range(7))]
    pool = {"iops": int(w.random.integers(45, 70)) * 100, "shared": "array"}
    volumes: dict[str, Table] = {}
    for name in names:
        volumes[name] = {"kind": "throttle", "backing": f"{name}_space", **pool}
        volumes[f"{name}_space"] = _model(w, w.uniform(0.001, 0.002))
    profile = {"volumes": names, "size": "8KiB", "read": "70%", "outstanding": 16}
    begin = int(w.random.integers(3, 9))
    busy = [begin <= number < begin + 3 for number in range(_PHASES)]
    phases = [{"duration": "20s", "workers": len(names) if each else 1} for each in busy]
    thinking = {"think": "10ms", "think_time": "exponential"}
    return _guest(w, ("D20",), simulate(volumes, {**profile, **thinking}, phases, w.seed))


def rebuild(w: World) -> Case:
    """A mirror is rebuilt in large requests, as fast as its legs can; it is whole before the log ends."""
    leg: Table = {"kind": "model", "servers": 4, "distribution": {"kind": "log-normal", "sigma": 0.3}}
    leg["read"] = {"latency": "1200us", "bandwidth": "60MB/s"}
    leg["size"] = f"{w.random.integers(8, 20)}GiB"
    mirror = {"kind": "mirror", "legs": ["one", "other"], "initial": "copy", "resync_io": "1MiB"}
    mirror |= {"resync_depth": 16, "resync_share": f"{w.random.integers(60, 90)}%", "leg_throughput": "230MB/s"}
    mirror |= {"leg_iops": 2800, "resync_window": f"{w.random.integers(20, 100)}ms"}
    profile = {"volumes": ["disk"], "size": "8KiB", "read": "70%", "outstanding": 256, "rate": 500}
    # The users' load has no trend: the rebuild alone is what changes.
    load = [{"duration": "20s", "rate": int(w.random.integers(200, 450))} for _ in range(_PHASES)]
    nodes = simulate({"disk": mirror, "one": leg, "other": leg}, profile, load, w.seed)
    return _guest(w, ("D20",), nodes)


def stall(w: World) -> Case:
    """A path fails over twice: for seconds nothing is answered, of what is under way and of what comes."""
    interval, lasts = (1, w.uniform(3, 12)) if w.chance(0.5) else (INTERVAL_S, w.uniform(2.2, 5) * INTERVAL_S)
    rule = {"fault": "stall", "from": f"{w.uniform(30, 90):.2f}s", "lasts": f"{lasts:.2f}s"}
    rule["every"] = f"{w.uniform(100, 160):.2f}s"
    volumes = {"disk": {"kind": "fault", "backing": "device", "rules": [rule]},
               "device": _model(w, w.uniform(0.0005, 0.0022))}  # fmt: skip
    return _guest(w, ("D24",), simulate(volumes, *_modest(w), w.seed), interval)


def _modest(w: World) -> tuple[Table, list[Table]]:
    """A load that varies, of users or in bursts, below what a volume can do."""
    if w.chance(0.5):
        return _profile(w), _phases(w, "workers", 1, 14)
    bursts = {"outstanding": 256, "arrivals": "hyperexponential", "rate": 500}
    return _profile(w) | bursts, _phases(w, "rate", 100, 3000)


def healthy(w: World) -> Case:
    """A fast volume under a load that varies, or in bursts."""
    volumes = {"disk": _model(w, w.uniform(0.0003, 0.0022))}
    return _guest(w, ("D25",), simulate(volumes, *_modest(w), w.seed))


def two_at_once(w: World) -> Case:
    """A volume at its limit, and on another disk a full queue below the counter."""
    first, second = iops_limit(w), queue_below(w)
    second.disks[1].name = "2 E:"
    first.disks.append(second.disks[1])
    first.labels, first.windows_only = ("D5", "D1"), True
    return first


SIMULATED: dict[str, Callable[[World], Case]] = {
    f"run: {maker.__name__}": maker
    for maker in (queue_below, host_queue, slow_array, full_cache, iops_limit, bytes_limit, credits_spent, commits,
                  neighbour, rebuild, stall, healthy, two_at_once)
}  # fmt: skip
"""Makers by name, as in the confusion matrix."""
