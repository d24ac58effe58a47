"""The metrics of what was observed: one number per run, as the report and comparisons use them. Missing is None.

Several databases or places of one run are added up. docs/RESULTS.md says what each is made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fathom.engine import StepOutcome
from fathom.observe import activity
from fathom.observe.sample import Key, Observation
from fathom.steps import Step

_KIB = 1024
_MB = 1_000_000


def metrics(
    observations: Sequence[Observation], window: tuple[int, int], transactions: float | None = None
) -> dict[str, float | None]:
    """Every observed metric over the measured phase, and what each of several places has for itself.

    `crates/study/src/provision/observed.rs` declares them.

    Args:
        observations: in order of time.
        window: begin and end of the measured phase on the monotonic clock, ns.
        transactions: per second, as the workload counted them.
    """
    grown = activity.totals(observations, window)
    seconds = (window[1] - window[0]) / 1e9
    if not grown or seconds <= 0:
        return {}

    def total(kind: str, measure: str) -> float | None:
        return _sum(grown, kind, measure)

    def rate(kind: str, measure: str, unit: float = 1.0) -> float | None:
        return _over(total(kind, measure), seconds * unit)

    servers = _added(total("server", "cpu_s"), total("standby", "cpu_s"))
    driver = total("driver", "cpu_s")
    flushes = total("database", "log_flushes")
    written = total("database", "checkpoint_pages")
    pages = total("database", "pages_written") if written is None else written
    moved = _added(rate("place", "read_bytes", _KIB), rate("place", "write_bytes", _KIB))
    usable = activity.peaks(observations).get(Key("server", "usable_cpus"))
    # What a copy of the data left dirty before the measured phase, or the step before this one, is not of it.
    measured = [each for each in observations if window[0] <= each.at_ns <= window[1]]
    dirty = activity.peaks(measured).get(Key("host", "dirty_bytes"))
    return {
        "server_cpus": _over(servers, seconds),
        "server_cpu_percent": _over(_times(servers, 100), None if usable is None else usable * seconds),
        "driver_cpus": _over(driver, seconds),
        "driver_cpu_percent": _over(_times(driver, 100), _added(driver, servers)) if servers is not None else None,
        "volume_cpus": rate("fathomd", "cpu_s"),
        "log_mb_per_s": rate("database", "log_bytes", _MB),
        "log_flushes_per_second": _over(flushes, seconds),
        "bytes_per_log_flush": _over(total("database", "log_bytes"), flushes),
        "log_page_images_per_second": rate("database", "log_page_images"),
        "checkpoints": total("database", "checkpoints"),
        "pages_read_per_second": rate("database", "pages_read"),
        "pages_written_per_second": _over(pages, seconds),
        **_requests(grown, None, seconds),
        **_of_places(grown, seconds),
        # Hardly touched by how busy the machine is, unlike transactions per minute.
        "place_kib_per_transaction": _over(moved, transactions),
        "dirty_mb_max": _over(dirty, _MB),
    }


def steps(observations: Sequence[Observation], driven: Sequence[StepOutcome], began: int) -> tuple[Step, ...]:
    """Every step of a sequence with what was observed during it.

    Args:
        observations: in order of time.
        driven: the steps as the workload reports them.
        began: when the run's measured phase began on the monotonic clock, ns.
    """
    found, sampled = [], 0.0
    for number, step in enumerate(driven):
        begin, seconds = step["began_ns"], step["measured_ns"] / 1e9
        seen = metrics(
            observations, (begin, begin + step["measured_ns"]), step["metrics"].get("transactions_per_second")
        )
        of_samples = None if step["discarded"] else (sampled, sampled + seconds)
        sampled = sampled if of_samples is None else of_samples[1]
        start = (begin - began) / 1e9
        of_activity = (start, start + seconds)
        whole = {**seen, **step["metrics"]}
        found.append(Step(number, step["users"], step["discarded"], whole, of_samples, of_activity))
    return tuple(found)


def _of_places(grown: Mapping[Key, float], seconds: float) -> dict[str, float | None]:
    """The metrics of all places together, and of each where there are several."""
    names = {key.name for key in grown if key.kind == "place"}
    if len(names) < 2:
        return {}
    found: dict[str, float | None] = {}
    for name in sorted(names):
        found |= {f"{name}_{metric}": value for metric, value in _requests(grown, name, seconds).items()}
    return found


def _requests(grown: Mapping[Key, float], place: str | None, seconds: float) -> dict[str, float | None]:
    """Rates, sizes and latencies of the requests at one place, or at all of them together."""

    def total(measure: str) -> float | None:
        return _sum(grown, "place", measure) if place is None else grown.get(Key("place", measure, place))

    reads, writes = total("reads"), total("writes")
    return {
        "place_read_iops": _over(reads, seconds),
        "place_write_iops": _over(writes, seconds),
        "place_read_mb_per_s": _over(total("read_bytes"), seconds * _MB),
        "place_write_mb_per_s": _over(total("write_bytes"), seconds * _MB),
        "place_read_latency_ms": _over(_times(total("read_latency_s"), 1000), reads),
        "place_write_latency_ms": _over(_times(total("write_latency_s"), 1000), writes),
        "average_read_kib": _over(total("read_bytes"), (reads or 0) * _KIB),
        "average_write_kib": _over(total("write_bytes"), (writes or 0) * _KIB),
        "place_outstanding": _over(total("outstanding_s"), seconds),
    }


def waits(seen: Sequence[Observation], window: tuple[int, int]) -> dict[str, dict[str, float]]:
    """Mean number of sessions in each wait over the measured phase, by database, the longest first."""
    found: dict[str, dict[str, float]] = {}
    for key, sessions in sorted(activity.means(seen, window).items(), key=lambda item: -item[1]):
        found.setdefault(key.name, {})[key.instance] = sessions
    return found


def volumes(observations: Sequence[Observation], window: tuple[int, int], kinds: Mapping[str, str]) -> dict[str, Any]:
    """What every layer below the places counted in the measured phase, as `volumes.json` has it.

    Args:
        observations: in order of time.
        window: begin and end of the measured phase on the monotonic clock, ns.
        kinds: of the study's volumes, by name.
    """
    grown = activity.totals(observations, window)
    standing = activity.means(observations, window)
    nodes: dict[str, dict[str, Any]] = {}
    for key, count in grown.items():
        if key.kind != "volume" or not key.measure.endswith("_requests") or count < 1:
            continue
        kind = key.measure.removesuffix("_requests")
        node = nodes.setdefault(
            key.name,
            {
                "kind": kinds.get(key.name),
                "outstanding_mean": standing.get(Key("volume", "outstanding", key.name)),
                "outstanding_max": None,
            },
        )
        node[kind] = {
            "count": round(count),
            "bytes": round(grown.get(Key("volume", f"{kind}_bytes", key.name), 0.0)),
            "errors": round(grown.get(Key("volume", f"{kind}_errors", key.name), 0.0)),
            "latency_mean_ns": 1e9 * grown.get(Key("volume", f"{kind}_latency_s", key.name), 0.0) / count,
        }
    return nodes


def _sum(grown: Mapping[Key, float], kind: str, measure: str) -> float | None:
    """Over all of a kind (every place); None if none has the measure."""
    values = [value for key, value in grown.items() if key.measure == measure and key.kind == kind]
    return sum(values) if values else None


def _added(*values: float | None) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _over(value: float | None, divisor: float | None) -> float | None:
    return None if value is None or not divisor else value / divisor
