"""Which of processors and storage bound a database: said where it is plain, and not otherwise."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from analysis.conftest import stated
from fathom.analysis.analyse import analyse
from fathom.finding import Finding
from fathom.results import Campaign, Run


def found(campaign: Campaign) -> list[Finding]:
    return [finding for finding in analyse(campaign).findings if finding.rule == "processor"]


Make = Callable[..., Campaign]


@pytest.fixture
def measured(run: Callable[..., Run], campaign: Make, factor: str) -> Make:
    """Two variants of three rounds with the same metrics beside the compared one, on a machine."""

    def make(metrics: dict[str, float], machine: dict[str, Any], **study: Any) -> Campaign:
        runs = [
            run({factor: level}, number, {"iops": 100.0 + number, **metrics}, environment={"machine": machine})
            for level in ("a", "b")
            for number in (1, 2, 3)
        ]
        return campaign({"a": [], "b": []}, compare={"rounds": 3}, study=study, extra_runs=runs)

    return make


BUSY = {"server_cpus": 1.5, "driver_cpus": 0.4, "volume_cpus": 0.05, "place_outstanding": 0.2}
ELSEWHERE = {"databases": {"sql": {"kind": "sqlserver", "connect": {"host": "db1"}}}}
WAITING = {"server_cpus": 0.2, "driver_cpus": 0.1, "place_outstanding": 6.0, "place_read_latency_ms": 12.0}


def test_full_processors_are_the_limit(measured: Make) -> None:
    (finding,) = found(measured(BUSY, {"cpus": 2}))
    assert finding.what == "Every variant: CPU bound, not storage bound."
    assert "2 of 2 processors busy (98%), 0.2 outstanding at the volume" in finding.evidence[0].sentence


def test_waiting_for_the_volume_with_idle_processors_is_the_opposite(measured: Make) -> None:
    (finding,) = found(measured(WAITING, {"cpus": 2}))
    assert finding.what == "Every variant: storage bound, not CPU bound."
    assert "a read takes 12" in finding.evidence[0].sentence


@pytest.fixture
def sampled(measured: Make) -> Make:
    """A database of a kind with some users, waits of its sessions, and metrics of a disk that waits."""

    def make(kind: str, waits: dict[str, float], users: int, **metrics: float) -> Campaign:
        wants = {"databases": {"db": {"kind": kind}}, "places": {}, "volumes": {}, "loads": {}}
        stated_ones = [stated(wants=wants, demand={"users": users, "pauses": False})]
        made = measured({**WAITING, **metrics}, {"cpus": 2}, variants=stated_ones)
        return dataclasses.replace(made, runs=tuple(dataclasses.replace(run, waits={"db": waits}) for run in made.runs))

    return make


@pytest.mark.parametrize(
    ("kind", "waits", "users", "said"),
    [
        ("postgresql", {"CPU": 7.0, "IO WALSync": 0.2}, 8, False),
        ("postgresql", {"CPU": 1.1, "IO WALSync": 0.4, "LWLock WALWrite": 0.1}, 8, False),
        ("postgresql", {"CPU": 2.0, "IO WALSync": 5.0}, 8, True),
        # Who waits for a lock waits for its holder, and that one for storage.
        ("postgresql", {"CPU": 0.7, "IO WALSync": 0.9, "LWLock WALWrite": 0.9, "Lock transactionid": 1.2}, 4, True),
        ("postgresql", {"CPU": 0.1, "IO WALSync": 0.6}, 4, False),
        ("postgresql", {"CPU": 0.1, "IO WALSync": 0.8}, 1, True),
        ("postgresql", {}, 8, True),
        ("postgresql", {}, 4, False),
        ("mariadb", {"": 7.0}, 8, True),
        ("mariadb", {"Update": 0.2, "Writing to net": 7.0}, 8, False),
        ("mariadb", {"Update": 2.0}, 8, False),
    ],
)
def test_what_no_session_waits_for_does_not_bind(
    sampled: Make, kind: str, waits: dict[str, float], users: int, *, said: bool
) -> None:
    """Another program's requests, or the log writer's with an asynchronous commit, keep no session waiting."""
    assert bool(found(sampled(kind, waits, users))) is said


def test_what_sessions_do_is_told_beside_a_disk_that_others_use(sampled: Make) -> None:
    (finding,) = found(sampled("postgresql", {"CPU": 0.5, "IO WALSync": 2.0, "Lock tuple": 1.0}, 4))
    assert "6 outstanding at the volume (more than 4 users wait for)" in finding.evidence[0].sentence
    assert finding.evidence[0].sentence.endswith(
        "Of 3.5 sessions at work 0.5 compute, 2 wait for storage, 1 for locks."
    )


def test_waits_of_a_whole_sequence_say_nothing_of_one_level(sampled: Make) -> None:
    """They are a mean over all its steps, of one user and of many."""
    made = sampled("postgresql", {"IO WALSync": 2.4}, 1)
    assert found(made)
    level = tuple(dataclasses.replace(run, of_level=True) for run in made.runs)
    assert found(dataclasses.replace(made, runs=level)) == []


def test_a_little_more_than_the_users_wait_for_is_not_told(sampled: Make) -> None:
    (finding,) = found(sampled("postgresql", {"IO WALSync": 0.9}, 1, place_outstanding=1.2))
    assert "1.2 outstanding at the volume, a read takes" in finding.evidence[0].sentence


@pytest.mark.parametrize(("read", "pages", "told"), [(31.3, 39.0, True), (3.0, 300.0, False), (0.5, 0.0, False)])
def test_other_programs_that_read_from_the_disk_are_told(
    sampled: Make, read: float, pages: float, *, told: bool
) -> None:
    made = sampled("postgresql", {"CPU": 1.0}, 2, place_read_mb_per_s=read, pages_read_per_second=pages)
    others = [finding for finding in analyse(made).findings if finding.rule == "other-programs"]
    assert bool(others) is told
    if told:
        assert others[0].what == "Other programs read from the database's disk in 6 of 6 runs."
        assert "the disk read 31.3 MB/s, and the database asked for 0.319 MB/s" in others[0].evidence[0].sentence


def test_a_quota_and_a_server_of_its_own_processors_count(measured: Make) -> None:
    assert "CPU bound" in found(measured(BUSY, {"cpus": 8, "cgroup_cpu_quota": "200000 100000"}))[0].what
    confined = {**WAITING, "server_cpus": 0.95, "server_cpu_percent": 95.0, "place_outstanding": 0.1}
    assert "CPU bound" in found(measured(confined, {"cpus": 8}))[0].what


def test_a_server_elsewhere_is_judged_by_its_own_processors_and_files(measured: Make) -> None:
    busy = {"server_cpus": 15.2, "server_cpu_percent": 95.0, "driver_cpus": 0.4}
    (finding,) = found(measured(busy, {"cpus": 2}, **ELSEWHERE))
    assert finding.what == "Every variant: CPU bound, not storage bound."
    assert "15 of 16 processors busy (95%)" in finding.evidence[0].sentence
    waits = {"data_file_read_iops": 900.0, "data_file_read_latency_ms": 5.0, "log_file_write_iops": 100.0}
    idle = {"server_cpus": 1.6, "server_cpu_percent": 10.0, **waits}
    (finding,) = found(measured(idle, {}, **ELSEWHERE))
    assert finding.what == "Every variant: storage bound, not CPU bound."
    assert "1.6 of 16 processors busy (10%), 4.5 outstanding at the volume" in finding.evidence[0].sentence
    assert found(measured({"server_cpus": 1.6, "server_cpu_percent": 10.0}, {"cpus": 2}, **ELSEWHERE)) == []


@pytest.mark.parametrize(
    ("metrics", "machine"),
    [
        ({**BUSY, "server_cpus": 1.0}, {"cpus": 2}),
        ({**WAITING, "place_outstanding": 0.3}, {"cpus": 2}),
        (BUSY, {}),
        ({"place_outstanding": 9.0}, {"cpus": 2}),
    ],
)
def test_what_is_not_plain_is_not_said(measured: Make, metrics: dict[str, float], machine: dict[str, Any]) -> None:
    assert found(measured(metrics, machine)) == []
