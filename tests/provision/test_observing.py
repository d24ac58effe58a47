"""What is sampled beside a run: real servers under a small load, and the arithmetic on made-up looks."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from fathom.engine import core
from fathom.metrics import METRICS
from fathom.observe import activity, observed
from fathom.observe.sample import Key, Look
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


SEEN = {"server_cpus", "driver_cpus", "log_mb_per_s", "place_write_iops", "average_write_kib"}
"""What any server under load shows."""


def above_zero(watch: Watch) -> set[str]:
    """The metrics seen so far that are not zero."""
    looks = list(watch.looks)
    found = observed.metrics(looks, (looks[0].at_ns, looks[-1].at_ns))
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
            while time.monotonic() < deadline and not (len(watch.looks) >= 4 and above_zero(watch) >= SEEN):
                for number in range(20):
                    client.ask(f"INSERT INTO t VALUES ({number}, '{'x' * 1000}')")
        assert watch.troubles == {}
        assert watch.died is None
    window = (watch.looks[0].at_ns, watch.looks[-1].at_ns)
    assert set(observed.metrics(watch.looks, window)) == set(observed.OBSERVED)
    assert above_zero(watch) >= SEEN
    columns = activity.columns(watch.looks, watch.waits, window)
    sources = set(zip(columns["kind"], columns["name"], strict=True))
    assert {("driver", ""), ("host", ""), ("server", "db"), ("database", "db"), ("place", "here")} <= sources
    assert len({len(column) for column in columns.values()}) == 1


def test_every_observed_metric_has_words() -> None:
    assert set(observed.OBSERVED) <= set(METRICS)
    assert list(observed.OBSERVED) == core().describe()["observed"]


def test_counters_become_rates_and_are_read_off_at_the_ends_of_the_measured_phase() -> None:
    key = Key("place", "writes", "data")
    looks = [Look(at * S, {key: float(at * 100)}) for at in (0, 2, 4, 6)]
    assert activity.totals(looks, (1 * S, 5 * S)) == {key: 400.0}
    columns = activity.columns(looks, [], (2 * S, 4 * S))
    assert columns["t_s"] == [-2.0, 0.0, 2.0]
    assert columns["phase"] == ["ramp", "measure", "after"]
    assert columns["value"] == [100.0, 100.0, 100.0]


def test_waits_are_mean_numbers_of_sessions() -> None:
    looks = [Look(0), Look(2 * S)]
    waits = [Look(S // 2, {}, {Key("waits", "sessions", "pg", "IO WALSync"): 2.0}), Look(S, {}, {})]
    columns = activity.columns(looks, waits, (0, 2 * S))
    assert (columns["kind"], columns["name"], columns["instance"]) == (["waits"], ["pg"], ["IO WALSync"])
    assert (columns["measure"], columns["gauge"], columns["value"]) == (["sessions"], [True], [1.0])


def test_several_places_are_added_up_and_what_is_missing_stays_missing() -> None:
    grown = {
        Key("place", "writes", "data"): 10.0,
        Key("place", "writes", "log"): 30.0,
        Key("place", "write_bytes", "log"): 40 * 8192.0,
    }
    looks = [Look(0, dict.fromkeys(grown, 0.0)), Look(2 * S, grown, {Key("host", "dirty_bytes"): 3e6})]
    found = observed.metrics(looks, (0, 2 * S))
    assert found["place_write_iops"] == 20.0
    assert found["average_write_kib"] == 8.0
    assert found["dirty_mb_max"] == 3.0
    assert found["log_mb_per_s"] is None
    assert found["driver_cpu_percent"] is None


def test_each_of_several_places_is_told_for_itself_with_latency_and_size() -> None:
    grown = {
        Key("place", "reads", "data"): 100.0,
        Key("place", "read_bytes", "data"): 100 * 16384.0,
        Key("place", "read_latency_s", "data"): 0.5,
        Key("place", "writes", "log"): 40.0,
        Key("place", "write_bytes", "log"): 40 * 4096.0,
        Key("place", "write_latency_s", "log"): 0.02,
    }
    looks = [Look(0, dict.fromkeys(grown, 0.0)), Look(2 * S, grown)]
    found = observed.metrics(looks, (0, 2 * S), transactions=10.0)
    assert (found["data_place_read_latency_ms"], found["data_average_read_kib"]) == (5.0, 16.0)
    assert (found["log_place_write_latency_ms"], found["log_average_write_kib"]) == (0.5, 4.0)
    assert found["log_place_read_iops"] is None
    assert found["place_read_latency_ms"] == 5.0
    assert found["place_kib_per_transaction"] == (100 * 16 + 40 * 4) / 20
    alone = {key: value for key, value in grown.items() if key.name == "data"}
    looks = [Look(0, dict.fromkeys(alone, 0.0)), Look(2 * S, alone)]
    assert not [name for name in observed.metrics(looks, (0, 2 * S)) if name.startswith("data_")]


def test_a_place_of_its_own_may_be_compared() -> None:
    text = (Path(__file__).parents[2] / "studies/disk-layout.toml").read_text(encoding="utf-8")
    for metric, known in (
        ("log_place_write_latency_ms", True),
        ("log_dirty_mb_max", False),
        ("no_place_read_iops", False),
    ):
        found = core().check(text.replace('= "opm"', f'= "{metric}"'), "s.toml")
        assert (not found["diagnostics"]) is known, metric
