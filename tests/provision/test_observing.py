"""What is sampled beside a run: real servers under a small load, and the arithmetic on made-up observations."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest

from fathom.engine import core
from fathom.host import counters, machine
from fathom.metrics import METRICS
from fathom.observe import activity, observed
from fathom.observe.sample import Key, Observation
from fathom.observe.watch import Watch
from fathom.provision.client import Client
from fathom.provision.host import Host
from fathom.provision.provide import provided
from provision.conftest import wants

S = 1_000_000_000

CREATE = {
    "postgresql": "CREATE TABLE t (x int, y text)",
    "mariadb": "CREATE TABLE t (x int, y text) ENGINE=InnoDB",
}


SEEN = {"server_cpus", "server_cpu_percent", "driver_cpus", "log_mb_per_s", "place_write_iops", "average_write_kib"}
"""What any server under load shows."""


def above_zero(watch: Watch) -> set[str]:
    """The metrics seen so far that are not zero."""
    observations = list(watch.observations)
    found = observed.metrics(observations, (observations[0].at_ns, observations[-1].at_ns))
    return {name for name, value in found.items() if value}


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_server_under_load_is_seen_at_work(scratch: Path, kind: str) -> None:
    with provided(wants({"db": {"kind": kind, "place": "here"}}, {"here": {}}), scratch, Host()) as around:
        command = around.servers["db"].client
        assert command is not None
        watch = Watch(around, scratch)
        with watch, Client(command) as client:
            client.ask(CREATE[kind])
            deadline = time.monotonic() + 120
            # The kernel counts a process's time in ticks of 10 ms, and a page may stay dirty for a while.
            while time.monotonic() < deadline and not (len(watch.observations) >= 4 and above_zero(watch) >= SEEN):
                for number in range(20):
                    client.ask(f"INSERT INTO t VALUES ({number}, '{'x' * 1000}')")
        assert watch.troubles == {}
        assert watch.died is None
    window = (watch.observations[0].at_ns, watch.observations[-1].at_ns)
    assert set(observed.metrics(watch.observations, window)) == declared()
    assert above_zero(watch) >= SEEN
    columns = activity.columns(watch.observations, watch.waits, window)
    sources = set(zip(columns["kind"], columns["name"], strict=True))
    assert {("driver", ""), ("host", ""), ("server", "db"), ("database", "db"), ("place", "here")} <= sources
    assert len({len(column) for column in columns.values()}) == 1


def declared() -> set[str]:
    """The observed metrics but those of jobs in the background."""
    return {name for name in core().describe()["observed"] if not name.startswith("background_")}


def test_metrics_are_those_that_the_workloads_declare() -> None:
    assert [vars(metric) for metric in METRICS.values()] == core().describe()["metrics"], "run `make docs`"


def test_counters_become_rates_and_are_read_off_at_the_ends_of_the_measured_phase() -> None:
    key = Key("place", "writes", "data")
    observations = [Observation(at * S, {key: float(at * 100)}) for at in (0, 2, 4, 6)]
    assert activity.totals(observations, (1 * S, 5 * S)) == {key: 400.0}
    columns = activity.columns(observations, [], (2 * S, 4 * S))
    assert columns["t_s"] == [-2.0, 0.0, 2.0]
    assert columns["phase"] == ["ramp", "measure", "after"]
    assert columns["value"] == [100.0, 100.0, 100.0]


def test_waits_are_mean_numbers_of_sessions() -> None:
    observations = [Observation(0), Observation(2 * S)]
    waits = [Observation(S // 2, {}, {Key("waits", "sessions", "pg", "IO WALSync"): 2.0}), Observation(S, {}, {})]
    columns = activity.columns(observations, waits, (0, 2 * S))
    assert (columns["kind"], columns["name"], columns["instance"]) == (["waits"], ["pg"], ["IO WALSync"])
    assert (columns["measure"], columns["gauge"], columns["value"]) == (["sessions"], [True], [1.0])


def test_several_places_are_added_up_and_what_is_missing_stays_missing() -> None:
    grown = {
        Key("place", "writes", "data"): 10.0,
        Key("place", "writes", "log"): 30.0,
        Key("place", "write_bytes", "log"): 40 * 8192.0,
    }
    observations = [
        Observation(0, dict.fromkeys(grown, 0.0)),
        Observation(2 * S, grown, {Key("host", "dirty_bytes"): 3e6}),
    ]
    found = observed.metrics(observations, (0, 2 * S))
    assert found["place_write_iops"] == 20.0
    assert found["average_write_kib"] == 8.0
    assert found["dirty_mb_max"] == 3.0
    assert found["log_mb_per_s"] is None
    assert found["driver_cpu_percent"] is None


def test_dirty_pages_of_before_the_measured_phase_are_not_its() -> None:
    dirty, key = Key("host", "dirty_bytes"), Key("driver", "cpu_s")
    sizes = (1103e6, 1103e6, 20e6, 30e6, 25e6)
    observations = [Observation(at * S, {key: float(at)}, {dirty: size}) for at, size in enumerate(sizes)]
    assert observed.metrics(observations, (2 * S, 4 * S))["dirty_mb_max"] == 30.0


def test_the_drivers_time_is_finer_than_the_observers_share_of_it() -> None:
    """In ticks of 10 ms it would seem to run backwards, once what looking costs is taken off."""
    for _ in range(5):
        before, until = counters.own_cpu_seconds(), time.thread_time() + 0.003
        while time.thread_time() < until:
            pass
        assert counters.own_cpu_seconds() - before >= 0.003


def test_the_servers_share_is_of_the_processors_that_they_may_use() -> None:
    spent = {Key("server", "cpu_s", "a"): 1.0, Key("standby", "cpu_s", "a"): 0.5, Key("driver", "cpu_s"): 0.5}
    usable = {Key("server", "usable_cpus"): 3.0}
    observations = [Observation(0, dict.fromkeys(spent, 0.0), usable), Observation(2 * S, spent, usable)]
    found = observed.metrics(observations, (0, 2 * S))
    assert (found["server_cpus"], found["server_cpu_percent"]) == (0.75, 25.0)
    elsewhere = [Observation(0, {Key("driver", "cpu_s"): 0.0}), Observation(2 * S, {Key("driver", "cpu_s"): 0.5})]
    assert observed.metrics(elsewhere, (0, 2 * S))["server_cpu_percent"] is None


@pytest.mark.parametrize("cpus", [None, 1])
def test_a_server_that_is_confined_has_fewer_processors(scratch: Path, cpus: int | None) -> None:
    databases = {"db": {"kind": "postgresql", "place": "here", "cpus": cpus}}
    with provided(wants(databases, {"here": {}}), scratch, Host()) as around, Watch(around, scratch) as watch:
        pass
    seen = watch.observations[-1].gauges[Key("server", "usable_cpus")]
    assert seen == min(cpus or machine.processors(), machine.quota_processors() or math.inf)


def test_each_of_several_places_is_told_for_itself_with_latency_and_size() -> None:
    grown = {
        Key("place", "reads", "data"): 100.0,
        Key("place", "read_bytes", "data"): 100 * 16384.0,
        Key("place", "read_latency_s", "data"): 0.5,
        Key("place", "writes", "log"): 40.0,
        Key("place", "write_bytes", "log"): 40 * 4096.0,
        Key("place", "write_latency_s", "log"): 0.02,
    }
    observations = [Observation(0, dict.fromkeys(grown, 0.0)), Observation(2 * S, grown)]
    found = observed.metrics(observations, (0, 2 * S), transactions=10.0)
    assert (found["data_place_read_latency_ms"], found["data_average_read_kib"]) == (5.0, 16.0)
    assert (found["log_place_write_latency_ms"], found["log_average_write_kib"]) == (0.5, 4.0)
    assert found["log_place_read_iops"] is None
    assert found["place_read_latency_ms"] == 5.0
    assert found["place_kib_per_transaction"] == (100 * 16 + 40 * 4) / 20
    alone = {key: value for key, value in grown.items() if key.name == "data"}
    observations = [Observation(0, dict.fromkeys(alone, 0.0)), Observation(2 * S, alone)]
    assert not [name for name in observed.metrics(observations, (0, 2 * S)) if name.startswith("data_")]


def test_a_place_of_its_own_may_be_compared() -> None:
    text = (Path(__file__).parents[2] / "studies/disk-layout.toml").read_text(encoding="utf-8")
    for metric, known in (
        ("log_place_write_latency_ms", True),
        ("log_dirty_mb_max", False),
        ("no_place_read_iops", False),
    ):
        found = core().check(text.replace('= "opm"', f'= "{metric}"'), "s.toml")
        assert (not found["diagnostics"]) is known, metric
