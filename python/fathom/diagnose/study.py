"""The diagnosed volume and its load as a study that `fathom simulate` runs: what would lift the limit bring?

The volume is the simplest one that explains the decisive window: the queue or the rate that the verdict names in front
of a device, otherwise a device that serves so many requests at once. What the log does not show is an
assumption, marked so in the study. The log's own figures are its published cells, so that the report compares them.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.load import middle, pinned, plateau
from fathom.diagnose.evidence.regime import fit
from fathom.diagnose.evidence.saturation import at_ceiling
from fathom.diagnose.evidence.throttle import other_limit
from fathom.diagnose.report.clock import LogClock
from fathom.diagnose.report.windows import Window, chosen, pictured
from fathom.errors import UsageError
from fathom.report.format import plural
from fathom.report.plain import one_line, plain

if TYPE_CHECKING:
    from fathom.diagnose.diagnose import Diagnosis
    from fathom.diagnose.evidence.device import Device

_QUEUES = {"D1": ("device", 254), "D2": ("adapter", 1024), "D3": ("device", 254)}
"""Rules of full queues: whose, and the depth to try."""
_CAPS = frozenset({"D5", "D6", "D7"})
_DESCRIBED = {
    "gp2": ("aws/gp2", 0, 0.0),
    "gp3": ("aws/gp3", 80_000, 2000.0 * 2**20),
    "io1": ("aws/io1", 64_000, 0.0),
    "io2": ("aws/io2-block-express", 256_000, 0.0),
}
"""AWS's types as models of the catalogue, and what can be bought of each at most, IOPS and bytes per second: as the
models have it, with their sources (gp3: CreateVolume of September 2025; the others: user guide of June 2023, which
knows io2 as Block Express alone)."""
_KEYS = {"iops": ("iops", ""), "bytes_per_s": ("throughput", "B/s")}
"""Limits as a throttle's settings have them, with their units."""
_WORDS = {"iops": "IOPS", "bytes_per_s": "throughput"}
_SMALLEST_DEPTH = 32
"""Assumed where a queue is full below the counter, so that its depth is not seen."""
_REQUESTS = 300_000
_QUICK_REQUESTS = 10_000
"""Requests of a run at most: some seconds of computing."""
_MOST_USERS = 65_536
_SEEN = 1.5
"""Times the window's load, from which on the log's highest is what twice of is asked about."""


@dataclass(frozen=True)
class _Load:
    """Means of the decisive window: per second, bytes, share, seconds, and requests outstanding by Little's law."""

    iops: float
    size_bytes: int
    read: float
    latency_s: float

    @property
    def outstanding(self) -> float:
        return self.iops * self.latency_s


@dataclass(frozen=True)
class _Model:
    """Tables of the volumes, the second level of what is varied, and why it is so."""

    volumes: str
    change: str
    settings: tuple[str, ...]
    recorded: tuple[str, ...]
    reasons: tuple[str, ...]
    closed: bool = True


def write_study(diagnosis: Diagnosis, out: Path) -> Path:
    """Writes the study into a new file and gives its path.

    Raises:
        UsageError: the log holds no volume with rate and latency, or the file exists.
        OSError: the file cannot be written.
    """
    text = study(diagnosis)
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{out} exists", "--to-study writes a new file: choose another name") from None
    return out


def study(diagnosis: Diagnosis) -> str:
    """The study as TOML.

    Raises:
        UsageError: the log holds no volume with rate and latency.
    """
    device = pictured(diagnosis)
    clock = LogClock(diagnosis.system.notes)
    windows = [] if device is None else chosen(diagnosis, device, clock)
    load = None if device is None or not windows else _load(device, windows[0])
    if device is None or load is None:
        raise UsageError(
            "the logs hold no volume with both rate and latency, so there is nothing to simulate",
            "record them: fathom record, or fathom record --print windows",
        )
    return _text(diagnosis, device, windows[0], load, _model(diagnosis, device, load), clock)


def _load(device: Device, window: Window) -> _Load | None:
    inside = window.of(device)
    iops, latency, size = (device.mean(metric, inside) for metric in ("iops", "latency_s", "size_bytes"))
    if not (iops > 0 and latency > 0):
        return None
    reads = device.mean("read_iops", inside)
    share = min(1.0, reads / iops) if math.isfinite(reads) else 1.0
    length = max(512, round(size / 512) * 512) if size > 0 else 8192
    return _Load(iops, length, share, latency)


def _model(diagnosis: Diagnosis, device: Device, load: _Load) -> _Model:
    rule = diagnosis.verdict.rule
    if rule in _QUEUES:
        return _queue(diagnosis, device, load, *_QUEUES[rule])
    if rule in _CAPS:
        return _bought(diagnosis, device) or _cap(diagnosis, device, load)
    full = at_ceiling(diagnosis.system, device) if rule == "D26" else None
    if full is not None:
        # Without a quieter time, the fewest outstanding at this rate are enough to keep the device busy.
        fewest = 1.0 if full.is_constant else full.load[0]
        return _more_devices(load, max(1, round(fewest if full.knee is None else full.knee)))
    return _device(device, load)


def _queue(diagnosis: Diagnosis, device: Device, load: _Load, scope: str, deeper: int) -> _Model:
    own = diagnosis.system.number("queue_depth", device.device)
    values = device.values("outstanding")
    found = pinned(values if device.has("outstanding") else device.load, diagnosis.system.limits, scope, depth=own)
    depth = _SMALLEST_DEPTH if found is None else round(found.level)
    depth = max(1, min(depth, math.ceil(load.outstanding)))
    deeper = deeper if deeper > depth else 4 * depth
    users = _users(load)
    reasons = [
        f"Depth {depth}: " + ("the plateau of the outstanding requests." if found is not None else
                              "an assumption, the smallest usual one; the log counts above the queue."),
        f"The device below takes {_ms(depth / load.iops)} ms: {depth} places at {load.iops:,.0f} IOPS.",
        "The log shows no limit for it, so none is modelled: the gain is an upper bound.",
    ]  # fmt: skip
    settings = [f'"volumes.disk.per_device" = {deeper}']
    recorded = [f'"volumes.disk.per_device" = {depth}']
    if users < 2 * depth:
        # The counter is below the cap, so it misses what waits above it.
        settings.append(f'"workload.workers" = {4 * users}')
        recorded.append(f'"workload.workers" = {users}')
        reasons.append("What waits above the queue is not in the log; with the deeper one four times as many come.")
    volumes = (
        f'[volumes.disk]\nkind       = "adapter"\nbacking    = "array"\nper_device = {depth}\n\n'
        f"{_array(max(deeper, depth), _time(depth / load.iops))}"
    )
    return _Model(volumes, f"queue of {deeper}", tuple(settings), tuple(recorded), tuple(reasons))


def _bought(diagnosis: Diagnosis, device: Device) -> _Model | None:
    """The catalogue's model of the volume, where a description of it is among the logs; None without."""
    system = diagnosis.system
    described = {fact.subject for fact in system.facts if fact.name == "volume_type"}
    subject = device.device if device.device in described else next(iter(described), None)
    kind = (
        None
        if subject is None or (len(described) > 1 and device.device not in described)
        else system.fact("volume_type", subject)
    )
    size, iops, rate = (
        system.number(name, subject) for name in ("volume_bytes", "provisioned_iops", "provisioned_bytes_per_s")
    )
    if kind not in _DESCRIBED or not size:
        return None
    name, most_iops, most_rate = _DESCRIBED[kind]
    lines = [f'model = "{name}"', f'size  = "{size / 2**30:.0f}GiB"']
    recorded, settings = [], []
    if kind == "gp2":
        change = "gp3 as sold by default"
        recorded.append('"volumes.disk.model" = "aws/gp2"')
        settings.append('"volumes.disk.model" = "aws/gp3"')
    else:
        if not iops:
            return None
        change = "twice the IOPS and throughput" if kind == "gp3" and rate else "twice the IOPS"
        bought = [("iops", "", iops, min(2 * iops, most_iops))]
        if kind == "gp3" and rate:
            bought.append(("throughput", "B/s", rate, min(2 * rate, most_rate)))
        for key, unit, now, more in bought:
            lines.append(f"{key} = {_rate(now, unit)}")
            recorded.append(f'"volumes.disk.{key}" = {_rate(now, unit)}')
            settings.append(f'"volumes.disk.{key}" = {_rate(more, unit)}')
    volumes = '[volumes.disk]\nkind  = "model"\n' + "".join(f"{line}\n" for line in lines)
    reasons = (
        f"The volume is the catalogue's {name}, as {subject} is described.",
        "An instance's own limit is not in it: the gain is an upper bound.",
    )
    return _Model(volumes, change, tuple(settings), tuple(recorded), reasons)


def _cap(diagnosis: Diagnosis, device: Device, load: _Load) -> _Model:
    """A throttle with every limit that the log shows; a log of requests of one size shows two, and not which binds."""
    rates = {"iops": load.iops, "bytes_per_s": load.iops * load.size_bytes}
    shown = {metric: plateau(device, metric) for metric in rates}
    # Where the cloud's counters tell of a limit, the log need not show one.
    flat = [metric for metric, found in shown.items() if found is not None] or ["iops"]
    limits = {metric: rates[metric] for metric in flat}
    reasons = []
    for metric, other in (("iops", "bytes_per_s"), ("bytes_per_s", "iops")):
        found = shown[metric]
        beside = None if found is None or other in flat else other_limit(diagnosis.system, device, found)
        if beside is not None and beside > rates[other]:
            limits[other] = beside
            reasons.append(f"It was not at its limit on {_WORDS[other]}, which is known.")
    if len(flat) > 1:
        reasons.append("IOPS and throughput were both level, as with requests of one size: each is taken for a limit.")
    base = min(middle(device.values("latency_s"), 5), load.latency_s / 2)
    lines = "".join(f"{_KEYS[metric][0]} = {_rate(level, _KEYS[metric][1])}\n" for metric, level in limits.items())
    volumes = f'[volumes.disk]\nkind    = "throttle"\nbacking = "array"\n{lines}\n{_array(1024, _time(base))}'
    return _Model(
        volumes,
        "twice the limit",
        tuple(f'"volumes.disk.{_KEYS[metric][0]}" = {_rate(2 * rates[metric], _KEYS[metric][1])}' for metric in flat),
        tuple(f'"volumes.disk.{_KEYS[metric][0]}" = {_rate(rates[metric], _KEYS[metric][1])}' for metric in flat),
        (
            *reasons,
            f"The limit is the rate of the decisive window; behind it the device takes {_ms(base)} ms, as when idle.",
            "The log shows no limit for it, so none is modelled: the gain is an upper bound.",
        ),
    )


def _device(device: Device, load: _Load) -> _Model:
    bounds = fit(device)
    places = None if bounds is None else max(1, round(bounds.base_s.value * bounds.rate.value))
    if places is None or load.outstanding < places:
        # What the log has seen already is no question.
        most = float(np.nanmax(device.values("iops")))
        is_more = most > _SEEN * load.iops
        more = _rate(2 * (most if is_more else load.iops), "")
        return _Model(
            _array(1024, _time(load.latency_s)).replace("volumes.array", "volumes.disk"),
            "twice the highest load of the log" if is_more else "twice the load",
            (f'"workload.rate" = {more}',),
            (f'"workload.rate" = {_rate(load.iops, "")}',),
            ("The log shows no limit of the device: it takes its mean latency, whatever the load.",),
            closed=False,
        )
    return _more_devices(load, places)


def _more_devices(load: _Load, places: int) -> _Model:
    """A device that serves so many requests at once, and twice of it."""
    return _Model(
        _array(places, _time(places / load.iops)).replace("volumes.array", "volumes.disk"),
        "twice the device",
        (f'"volumes.disk.servers" = {2 * places}',),
        (f'"volumes.disk.servers" = {places}',),
        (f"The bounds of rate over load meet at {plural(places, 'request')} at once; more of them wait.",),
    )


def _array(servers: int, latency: str) -> str:
    return (
        f'[volumes.array]\nkind         = "model"\nsize         = "1TiB"\nservers      = {servers}\n'
        f'read         = {{ latency = "{latency}" }}\ndistribution = {{ kind = "exponential" }}\n'
    )


def _users(load: _Load) -> int:
    return min(_MOST_USERS, max(1, round(load.outstanding)))


def _time(seconds: float) -> str:
    return f"{max(1, round(seconds * 1e6))}us"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g}"


def _rate(value: float, unit: str) -> str:
    number = max(1, round(value))
    return f'"{number}{unit}"' if unit else str(number)


def _text(
    diagnosis: Diagnosis, device: Device, window: Window, load: _Load, model: _Model, clock: LogClock
) -> str:  # fmt: skip
    name = one_line(plain(device.name))
    ramp = max(2.0, 10 * load.latency_s)
    duration = max(5.0, 5 * load.latency_s, min(60.0, _REQUESTS / load.iops))
    # As many requests as a look needs; what is slower than that has its mean latency five times.
    quick = min(duration, max(1.0, 5 * load.latency_s, _QUICK_REQUESTS / load.iops))
    loop = (
        f"workers  = {_users(load)}"
        if model.closed
        else f"rate     = {_rate(load.iops, '')}\noutstanding = {min(_MOST_USERS, max(1024, 8 * _users(load)))}"
    )
    sets = "".join(
        f"\n[sets.what.{_quoted(level)}]\n" + "".join(f"{line}\n" for line in lines)
        for level, lines in (("as recorded", model.recorded), (model.change, model.settings))
    )
    metric = "iops" if model.closed else "latency_ms"
    figures = (("iops", load.iops), ("latency_ms", load.latency_s * 1e3))
    cells = "".join(
        f"\n[[published.cells]]\nname       = {_quoted(f'the log: {key}')}\n"
        f'where      = {{ what = "as recorded" }}\nmetric     = "{key}"\nvalue      = {value:.6g}\ncalibrated = true\n'
        for key, value in figures
    )
    seen = (
        f"{load.iops:,.0f} IOPS of {load.size_bytes / 1024:g} KiB, {load.read:.0%} reads, {_ms(load.latency_s)} ms, "
        f"so {load.outstanding:,.1f} outstanding"
    )
    reasons = "".join(f"#   - {one_line(plain(reason))}\n" for reason in model.reasons)
    return f"""\
# Made by `fathom diagnose --to-study` from {name}, {window.label} {clock.name}.
# {one_line(plain(diagnosis.verdict.sentence))}
#
# The window: {seen}.
# The model:
{reasons}
title    = {_quoted(f"What if: {model.change} for {name}")}
question = {_quoted(f"What would it bring: {model.change}?")}
clock    = "virtual"
seed     = 1

{model.volumes}
[workload]
kind     = "io"
volumes  = ["disk"]
{loop}
read     = "{100 * load.read:.6g}%"
size     = "{load.size_bytes}B"
ramp     = "{ramp:.3f}s"
duration = "{duration:.3f}s"

[factors]
what = ["as recorded", {_quoted(model.change)}]
{sets}
[compare]
metric            = "{metric}"
baseline          = {{ what = "as recorded" }}
equivalent_within = "2%"
rounds            = 3

[published]
source = {_quoted(f"the log, {window.label} {clock.name}")}
{cells}
[quick]
"workload.ramp"     = "{min(ramp, quick):.3f}s"
"workload.duration" = "{quick:.3f}s"
"compare.rounds"    = 1
"""


def _quoted(text: str) -> str:
    """A TOML string; JSON's escapes are among its own."""
    return json.dumps(one_line(plain(text)), ensure_ascii=False).replace("\x7f", "\\u007f")
