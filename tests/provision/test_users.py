"""Virtual users on real servers: sequences, gradual beginnings, ramps that a warm buffer pool ends, jobs beside."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from fathom.analysis.analyse import analyse
from fathom.analysis.sequence import USERS
from fathom.host import leftovers
from fathom.report.build import build
from provision.test_runs import campaign

TINY = """\
title = "t"
question = "q"
[workload]
kind = "tproc-c"
warehouses = 1
items = 200
customers = 40
duration = "600ms"
interval = "100ms"
"""
ONCE = '[compare]\nmetric = "nopm"\nbaseline = {}\nrounds = 1\n'


@pytest.mark.parametrize("kind", ["postgresql", "mariadb", "sqlite"])
def test_every_step_of_a_sequence_is_measured_and_each_level_reported(tmp_path: Path, kind: str) -> None:
    users = "users = [1, 2, 2]" if kind != "sqlite" else "users = [1, 1]"
    head = f'{TINY}database = "{kind}"\nramp = "100ms"\n{users}\n'
    found = campaign(ONCE, tmp_path / "c", head=head)
    (run,) = found.runs
    assert (run.status, run.message) == ("ok", None)
    expected = [(0, 1, True), (1, 1, False), (2, 2, False), (3, 2, False)]
    if kind == "sqlite":
        expected = [(0, 1, True), (1, 1, False), (2, 1, False)]
    assert [(step.number, step.users, step.discarded) for step in run.steps] == expected
    assert all((step.metrics["nopm"] or 0) > 0 for step in run.steps)
    if kind != "sqlite":
        assert all(step.metrics["server_cpus"] is not None for step in run.steps), "the host was looked at as well"
    result = analyse(found)
    levels = {summary.variant[USERS] for summary in result.summaries}
    assert levels == {step.users for step in run.steps}
    tables = {table.name: table for table in build(result, found).tables()}
    assert len(tables["sequence"].rows) == len(expected)
    assert not leftovers.find(tmp_path)


def test_a_sequence_is_checked_at_its_end_and_not_between_its_steps(tmp_path: Path) -> None:
    """A check reads everything: the step after it would find other pages in the caches than the one before left."""
    with tempfile.TemporaryDirectory() as directory:
        logs = Path(directory)
        logs.chmod(0o777)
        settings = (
            'settings = { log_statement = "all", logging_collector = "on", log_file_mode = "0644", '
            f'log_directory = "{logs}" }}\n'
        )
        head = f'{TINY}database = "db"\nramp = "0s"\nusers = [1, 2, 2]\n[databases.db]\nkind = "postgresql"\n{settings}'
        (run,) = campaign(ONCE, tmp_path / "c", head=head).runs
        assert (run.status, run.message, len(run.steps)) == ("ok", None, 4)
        said = "".join(log.read_text() for log in sorted(logs.glob("*.log")))
    assert said.count("HAVING w_ytd <> coalesce(sum(d_ytd), 0)") == 2, "after the load and after the last step"


def test_users_begin_one_after_the_other_and_a_warm_pool_ends_the_ramp(tmp_path: Path) -> None:
    warming = 'users = 2\nusers_per_second = 4.0\nramp = "60s"\nwarm_up = "buffer-pool"\n'
    for kind in ("postgresql", "mariadb"):
        head = f'{TINY}database = "{kind}"\n{warming}'
        (run,) = campaign(ONCE, tmp_path / kind, head=head).runs
        assert (run.status, run.message) == ("ok", None)
        words = run.facts.get("warm_up") or run.facts["warning.warm_up"]
        assert words.startswith("the buffer pool "), words
        samples = run.samples()
        assert samples is not None
        filled = samples.filter(samples["op"] == "filled_bytes")
        assert filled.height >= 5
        assert filled["bytes"].min() > 0  # type: ignore[operator]
        assert set(filled["phase"]) == {"ramp"}
        assert samples.filter(samples["phase"] == "ramp")["t_s"].min() > -61  # type: ignore[operator]
    assert not leftovers.find(tmp_path)


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_check_runs_beside_the_users(tmp_path: Path, kind: str) -> None:
    head = f'{TINY}database = "db"\nramp = "0s"\nusers = 1\n[databases.db]\nkind = "{kind}"\nbackground = "check"\n'
    (run,) = campaign(ONCE, tmp_path / "c", head=head).runs
    assert (run.status, run.message) == ("ok", None)
    assert run.metrics["background_jobs"] is not None
    assert "check" in run.facts["databases.db.background"]
    assert not leftovers.find(tmp_path)


def test_a_server_counts_its_files_where_it_can(tmp_path: Path) -> None:
    settings = 'settings = { performance_schema = "ON" }'
    head = f'{TINY}database = "db"\nramp = "0s"\nusers = 2\n[databases.db]\nkind = "mariadb"\n{settings}\n'
    (run,) = campaign(ONCE, tmp_path / "c", head=head).runs
    assert (run.status, run.message) == ("ok", None)
    assert run.metrics["data_file_read_iops"] is not None
    assert (run.metrics["log_file_write_iops"] or 0) > 0
    # MariaDB counts the writes of its log, and not how long they took.
    assert run.metrics["log_file_write_latency_ms"] is None
    samples = run.samples()
    assert samples is not None
    assert any(node.startswith("file ") for node in samples["node"].unique())
    head = f'{TINY}database = "postgresql"\nramp = "0s"\nusers = 1\n'
    (run,) = campaign(ONCE, tmp_path / "p", head=head).runs
    told = run.metrics.get("data_file_read_iops") is not None
    assert told != ("file_counters" in run.facts), "from version 16 on, or it is said that there are none"
