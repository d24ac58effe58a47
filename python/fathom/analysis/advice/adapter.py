"""How to get the adapter queues that a comparison found better: the guest's own settings, what they need and risk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.model import Comparison, Verdict
from fathom.analysis.variants import Variant, assigned, label
from fathom.finding import Evidence, Finding, Remedy, Severity

_BETTER = (Verdict.FASTER, Verdict.FASTER_SMALL)
_PAGE = 32
"""Requests that a page of PVSCSI's ring holds."""

_MOST_DEPTH, _MOST_REQUESTS = 254, 1024
"""What PVSCSI can be raised to (VMware KB 2053145)."""

_KEY = r"HKLM\SYSTEM\CurrentControlSet\Services\pvscsi\Parameters\Device"


def find(given: RuleInput) -> Iterator[Finding]:
    """One finding for the best variant that differs from its baseline in depths that PVSCSI can have."""
    found = [
        (comparison, depths)
        for comparison in given.analysis.comparisons
        if comparison.verdict in _BETTER and comparison.ratio is not None and (depths := _depths(comparison, given))
    ]
    if not found:
        return
    comparison, (device, adapter) = max(found, key=lambda one: _ratio(one[0]))
    pages = adapter // _PAGE
    value = f'"RequestRingPages={pages},MaxQueueDepth={device}"'
    who = label(comparison.variant, given.study, apart_from=comparison.baseline)
    yield Finding(
        "adapter-queue",
        who,
        f"{who}: {device} requests per disk and {adapter} per adapter are {pages} ring pages of PVSCSI.",
        Severity.NOTE,
        0.8,
        (Evidence("One setting holds for all PVSCSI adapters of a guest, and the driver reads it when it is loaded."),),
        remedies=(
            Remedy(
                "Windows: set the registry value as administrator and restart the guest.",
                (f"reg add {_KEY} /v DriverParameter /t REG_SZ /d {value} /f",),
                risk="The queue moves on to where the guest does not see it: the host's queue per LUN and the array, "
                "where other machines wait for it. A restart.",
                verify="Perfmon, Current Disk Queue Length above the old depth at the same or a lower latency; esxtop, "
                "ACTV and QUED of the device.",
            ),
            Remedy(
                "Linux: set the module's parameters and restart the guest.",
                (f"vmw_pvscsi.ring_pages={pages} vmw_pvscsi.cmd_per_lun={device}",),
                risk="As above. A restart.",
                verify="cat /sys/module/vmw_pvscsi/parameters/ring_pages",
            ),
        ),
    )


def _ratio(comparison: Comparison) -> float:
    return comparison.ratio.value if comparison.ratio is not None else 0.0


def _depths(comparison: Comparison, given: RuleInput) -> tuple[int, int] | None:
    """Requests per disk and per adapter of the variant, where they are otherwise than the baseline's."""
    ours, theirs = (_chosen(side, comparison, given.study) for side in (comparison.variant, comparison.baseline))
    if ours == theirs or ours is None:
        return None
    device, adapter = ours
    fits = device <= _MOST_DEPTH and adapter <= _MOST_REQUESTS and adapter % _PAGE == 0
    return ours if fits else None


def _chosen(side: Variant, comparison: Comparison, study: Mapping[str, Any]) -> tuple[int, int] | None:
    """The largest depths that the compared factors' levels set; None unless both are set."""
    device: list[int] = []
    adapter: list[int] = []
    for factor, level in side.items():
        if comparison.baseline.get(factor) == comparison.variant.get(factor):
            continue
        for path, value in assigned(study, factor, level).items():
            name = path.rpartition(".")[2]
            device += [value] if name == "per_device" and isinstance(value, int) else []
            adapter += [value] if name == "per_adapter" and isinstance(value, int) else []
    return (max(device), max(adapter)) if device and adapter else None


RULE = Rule("adapter-queue", 35, find)
