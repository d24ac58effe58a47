"""Settings that the published experiments take for granted: named where they are otherwise, quiet where not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fathom.analysis.analyse import analyse
from fathom.finding import Finding
from fathom.host import settings
from fathom.results import Campaign, Run

Make = Callable[..., list[Finding]]
SOUND = {"governors": "performance", "transparent_huge_pages": "madvise", "network_drivers": "virtio_net"}


@pytest.fixture
def found(run: Callable[..., Run], campaign: Callable[..., Campaign], factor: str) -> Make:
    """Findings of the checklist for a campaign on a host with these settings."""

    def make(
        host: dict[str, Any], facts: dict[str, str] | None = None, disk: Any = None, study: Any = None, **metrics: float
    ) -> list[Finding]:
        environment = {"machine": {"cpus": 2, "memory_bytes": 8_000_000_000}, "settings": host, "disk": disk}
        runs = [
            run({factor: level}, number, {"iops": 100.0, **metrics}, environment=environment)
            for level in ("a", "b")
            for number in (1, 2)
        ]
        for one in runs:
            one.facts.update(facts or {})
        made = campaign({"a": [], "b": []}, compare={"rounds": 2}, study=study or {}, extra_runs=runs)
        return [finding for finding in analyse(made).findings if finding.rule == "checklist"]

    return make


@pytest.mark.parametrize(
    ("host", "words", "remedy"),
    [
        ({"governors": "powersave"}, "power governor: powersave", "cpupower"),
        ({"transparent_huge_pages": "always"}, "transparent huge pages: always", "madvise"),
        ({"memory_limit_bytes": 2_000_000_000}, "memory limit: 2.0 of 8.0 GB", "memory.max"),
        ({"network_drivers": "e1000, virtio_net"}, "network adapter: e1000", "vmxnet3"),
        ({"smt": "off"}, "threads per core: simultaneous multithreading is off", "beside the figures"),
    ],
)
def test_what_is_otherwise_is_named_with_what_to_do(found: Make, host: dict[str, Any], words: str, remedy: str) -> None:
    (finding,) = found(SOUND | host, server_cpus=1.0)
    (evidence,) = finding.evidence
    assert words in evidence.sentence
    assert remedy in " ".join([finding.remedies[0].action, *finding.remedies[0].commands])


def test_sql_server_that_wants_the_trace_flag_is_told_how_to_start_with_it(found: Make) -> None:
    facts = {"trace_flags": "none", "misaligned_log_writes": "3 lines in the error log: use trace flag 1800, or else"}
    (finding,) = found(SOUND, facts)
    assert "DBCC TRACEON (1800, -1) has no effect" in finding.remedies[0].action
    assert any("-T1800" in command for command in finding.remedies[0].commands)
    assert found(SOUND, facts | {"trace_flags": "1800 (log blocks of 4 KiB)"}) == []
    assert found(SOUND, facts | {"misaligned_log_writes": "none in the error log"}) == []


def test_a_large_buffer_pool_wants_large_pages(found: Make) -> None:
    pool = {"buffer_bytes": str(16 << 30)}
    for facts, host, words in (
        (
            {"large_pages": "OFF"},
            {"huge_pages": 9000},
            "the server does not ask for them, for a buffer pool of 17.2 GB",
        ),
        ({"huge_pages": "try"}, {"huge_pages": 0}, "none are reserved (vm.nr_hugepages = 0), for a buffer pool"),
    ):
        (finding,) = found(SOUND | host, facts | pool, server_cpus=1.0)
        assert words in finding.evidence[0].sentence
    assert found(SOUND | {"huge_pages": 9000}, {"huge_pages": "try", **pool}, server_cpus=1.0) == []
    assert found(SOUND | {"huge_pages": 0}, {"huge_pages": "try", "buffer_bytes": "16777216"}, server_cpus=1.0) == []


CELL = {"name": "c", "metric": "iops", "value": 100.0, "unit": None, "where": {}, "calibrated": False, "source": ""}
PUBLISHED = {"published": {"normalise": None, "cells": [CELL]}}
EMULATES = {"device": {"logical_sector": 512, "physical_sector": 4096}}


def test_emulated_sectors_are_named_only_where_they_matter(found: Make) -> None:
    """Every second disk has them, and a log that a file system writes in its blocks does not notice."""
    assert found(SOUND, disk=EMULATES, server_cpus=1.0) == []
    misaligned = {"trace_flags": "1800 (log blocks)", "misaligned_log_writes": "3 lines: use trace flag 1800, or else"}
    (finding,) = found(SOUND, misaligned, disk=EMULATES)
    assert "sector size" in finding.evidence[0].sentence


def test_a_disk_that_emulates_sectors_is_named_if_the_database_is_on_it(found: Make) -> None:
    emulates = EMULATES
    (finding,) = found(SOUND, disk=emulates, study=PUBLISHED, server_cpus=1.0)
    assert "the disk takes sectors of 512 bytes and has 4096" in finding.evidence[0].sentence
    assert "nvme format" not in str(finding.remedies), "nobody can format a disk of a virtual machine so"
    for model, there in (("SAMSUNG MZQL2960", True), ("Amazon Elastic Block Store", False)):
        drive = {"device": emulates["device"] | {"name": "nvme0n1", "model": model}}
        (finding,) = found(SOUND, disk=drive, study=PUBLISHED, server_cpus=1.0)
        assert ("nvme format" in str(finding.remedies)) == there
    whole = {"device": {"logical_sector": 512, "physical_sector": 512}}
    assert found(SOUND, disk=whole, study=PUBLISHED, server_cpus=1.0) == []
    elsewhere = {"places": {"data": {"kind": "volume"}}, **PUBLISHED}
    assert found(SOUND, disk=emulates, study=elsewhere, server_cpus=1.0) == []


def test_sql_servers_memory_is_looked_at(found: Make) -> None:
    told = {"trace_flags": "none", "memory_model": "CONVENTIONAL", "max_server_memory_mb": "2147483647"}
    (finding,) = found(SOUND, told)
    locked, limit = (evidence.sentence for evidence in finding.evidence)
    assert "its pages are not locked in memory" in locked
    assert "max server memory is not set" in limit
    assert found(SOUND, told | {"memory_model": "LOCK_PAGES", "max_server_memory_mb": "49152"}) == []


def test_a_sound_host_and_a_run_without_a_database_have_no_checklist(found: Make) -> None:
    assert found(SOUND, server_cpus=1.0) == []
    assert found({"governors": "powersave"}) == []
    assert found({}, server_cpus=1.0) == []


def test_settings_are_read_from_the_kernels_files(tmp_path: Path) -> None:
    def put(path: str, text: str) -> None:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")

    put("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n")
    put("proc/sys/vm/nr_hugepages", "512\n")
    put("sys/fs/cgroup/memory.max", "max\n")
    put("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3,8\n")
    put("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,4\n")
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n")
    put("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n")
    (tmp_path / "drivers/e1000").mkdir(parents=True)
    (tmp_path / "sys/class/net/eth0/device").mkdir(parents=True)
    (tmp_path / "sys/class/net/eth0/device/driver").symlink_to(tmp_path / "drivers/e1000")
    (tmp_path / "sys/class/net/lo").mkdir()
    told = settings.facts(tmp_path)
    assert told == {
        "transparent_huge_pages": "always",
        "huge_pages": 512,
        "swappiness": None,
        "dirty_ratio_percent": None,
        "memory_limit_bytes": None,
        "cpus_allowed": "0-3,8",
        "threads_per_core": 2,
        "smt": None,
        "governors": "performance, powersave",
        "network_drivers": "e1000",
    }
