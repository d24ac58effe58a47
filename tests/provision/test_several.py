"""Several databases in one run: real servers at the same time, each observed, and all gone when one dies."""

from __future__ import annotations

from pathlib import Path

from fathom.analysis.analyse import analyse
from fathom.host import leftovers
from fathom.report.context import Context
from fathom.report.section import build_sections
from provision.test_runs import LONG, Killer, campaign

INSERT = """\
title = "t"
question = "q"
[places.one]
[places.two]
[workload]
kind = "insert"
duration = "800ms"
interval = "100ms"
[compare]
rounds = 1
baseline = {}
metric = "per_database_rows_per_second"
"""
PAIR = '[databases.a]\nkind = "postgresql"\nplace = "one"\n[databases.b]\nkind = "postgresql"\nplace = "two"\n'


def study(database: str, head: str = INSERT) -> str:
    """A study that inserts into these databases."""
    return head.replace("duration =", f"database = {database}\nduration =")


def test_two_servers_at_once_are_observed_and_reported_each(tmp_path: Path) -> None:
    text = PAIR + '[databases.c]\nkind = "sqlite"\n[factors]\n"workload.count" = [1, 3]\n'
    found = campaign(text, tmp_path / "c", head=study('["a", "b", "c"]'))
    assert [(run.status, run.message) for run in found.runs] == [("ok", None)] * 2
    alone, together = sorted(found.runs, key=lambda run: run.metrics["databases"] or 0)
    assert "b_rows" not in alone.metrics
    each = [together.metrics[f"{name}_rows"] or 0 for name in "abc"]
    assert all(rows > 0 for rows in each)
    assert together.metrics["rows"] == sum(each)
    assert 0 < (together.metrics["fairness_percent"] or 0) <= 100
    activity = together.activity()
    assert activity is not None
    assert {("server", "a"), ("server", "b"), ("database", "a"), ("database", "b")} <= set(
        activity.select("kind", "name").iter_rows()
    )
    context = Context(analyse(found), found)
    built = {section.name: section for section in build_sections(context)}
    (table,) = built["databases"].blocks
    assert table.kind == "table"
    names = [row[1].text for row in table.rows]
    assert names == ["a", "all together", "a", "b", "c", "all together"]
    assert not leftovers.find(tmp_path)


def test_data_is_loaded_into_one_of_them_and_copied_to_the_others(tmp_path: Path) -> None:
    head = study('["a", "b"]').replace("insert", "tproc-c").replace("_rows_per_second", "_nopm")
    tiny = "warehouses = 1\nitems = 200\ncustomers = 40\nusers = 1\nramp = '0s'\nduration ="
    found = campaign(PAIR, tmp_path / "c", head=head.replace("duration =", tiny))
    (run,) = found.runs
    assert (run.status, run.message) == ("ok", None)
    assert run.facts["load"].endswith(" parts found, 0 done, 0 again")
    assert run.facts["data"].startswith("restored")
    assert not any(name.endswith("warning.data") for name in run.facts)
    assert min(run.metrics["a_nopm"] or 0, run.metrics["b_nopm"] or 0) > 0
    assert not leftovers.find(tmp_path)


def test_one_with_a_size_of_its_own_is_loaded_by_itself(tmp_path: Path) -> None:
    head = study('["a", "b"]').replace("insert", "tproc-c").replace("_rows_per_second", "_nopm")
    tiny = "warehouses = 1\nitems = 200\ncustomers = 40\nusers = 1\nramp = '0s'\nduration ="
    text = f"{PAIR}[workload.databases.b]\nwarehouses = 2\nusers = 2\n"
    (run,) = campaign(text, tmp_path / "c", head=head.replace("duration =", tiny)).runs
    assert (run.status, run.message) == ("ok", None)
    sizes = [run.facts[f"databases.{name}.scale"].split()[0] for name in "ab"]
    assert sizes == ["1", "2"]
    assert all(run.facts[f"databases.{name}.load"].endswith(" 0 done, 0 again") for name in "ab")
    assert (run.metrics["a_virtual_users"], run.metrics["b_virtual_users"]) == (1, 2)
    assert not leftovers.find(tmp_path)


def test_a_killed_server_fails_the_run_with_its_reason_and_the_other_is_stopped(tmp_path: Path) -> None:
    text = f'[factors]\n"workload.duration" = ["{LONG}", "1s"]\n'
    found = campaign(PAIR + text, tmp_path / "c", Killer(tmp_path, "b-data"), study('["a", "b"]'))
    killed, other = sorted(found.runs, key=lambda run: run.variant["workload.duration"] != LONG)
    assert (killed.status, killed.reason) == ("failed", "lost"), killed.message
    assert "databases.b is gone" in (killed.message or "")
    assert (other.status, other.message) == ("ok", None)
    assert not leftovers.find(tmp_path)
