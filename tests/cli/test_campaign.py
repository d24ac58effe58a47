"""Whole campaigns through the command line, on the real engine: verdict, report, data, resume, interruption."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fathom import results

PATIENCE_S = 120
"""How long another process may take on a busy machine."""


def test_simulate_ends_in_a_verdict_and_a_report(fathom: Any, study: Path, tmp_path: Path) -> None:
    done = fathom("simulate", study, "--out", "c")
    assert done.returncode in {0, 3}, done.stderr
    assert "Small or large requests?" in done.stdout
    assert "report: c/report.html" in done.stderr
    found = results.read(tmp_path / "c")
    assert len(found.runs) == found.planned == 6
    assert found.looks == (3,)
    page = (tmp_path / "c" / "report.html").read_text()
    assert "<html" in page
    assert len(page) < 2_000_000


def test_the_same_seed_gives_the_same_digests_and_another_one_does_not(
    fathom: Any, study: Path, tmp_path: Path
) -> None:
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert fathom("simulate", study, "--quick", "--seed", seed, "--out", name).returncode in {0, 3}
    digests = {name: [run.digest for run in results.read(tmp_path / name).runs] for name in "abc"}
    assert None not in digests["a"]
    assert digests["a"] == digests["b"]
    assert sorted(digests["a"]) != sorted(digests["c"])


def test_json_is_data_on_standard_output(fathom: Any, study: Path) -> None:
    done = fathom("simulate", study, "--quick", "--json")
    answer = json.loads(done.stdout)
    assert (answer["clock"], answer["quick"], answer["planned"], answer["failed"]) == ("virtual", True, 4, [])
    assert answer["analysis"]["comparisons"][0]["verdict"]
    assert Path(study.parent / answer["directory"] / "campaign.json").exists()


def test_a_finished_campaign_is_not_repeated_and_can_be_extended(fathom: Any, study: Path, tmp_path: Path) -> None:
    fathom("simulate", study, "--quick", "--out", "c")
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "c" / "runs").iterdir()}
    again = fathom("simulate", study, "--out", "c")
    assert "4 of them finished before" in again.stderr, "--quick and seed are the campaign's own"
    assert "c was begun with --quick and is resumed at tiny scale" in " ".join(again.stderr.split())
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "c" / "runs").iterdir()} == before
    more = fathom("simulate", study, "--out", "c", "--rounds", "3")
    assert more.returncode in {0, 3}, more.stderr
    found = results.read(tmp_path / "c")
    assert (len(found.runs), found.looks) == (6, (2, 3))


def test_no_resume_begins_beside_it(fathom: Any, study: Path, tmp_path: Path) -> None:
    for _ in range(2):
        fathom("simulate", study, "--quick", "--out", "c", "--no-resume")
    assert len(results.read(tmp_path / "c").runs) == len(results.read(tmp_path / "c-2").runs) == 4


def test_run_measures_sqlite_and_leaves_nothing_behind(fathom: Any, insert: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    done = fathom("run", insert, "--out", "c", "--scratch", "disk", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode in {0, 3}, done.stderr
    assert answer["analysis"]["comparisons"][0]["ratio"]["value"] > 1, "one transaction for all rows is faster"
    assert list(disk.iterdir()) == []
    run = results.read(tmp_path / "c").runs[0]
    assert run.environment["disk"]["directory"].endswith("disk")
    assert run.metrics["rows"] == 200


def test_report_exports_tables_and_charts(fathom: Any, study: Path, tmp_path: Path) -> None:
    fathom("simulate", study, "--quick", "--out", "c")
    done = fathom("report", "c", "--html", "page.html", "--export", "figures", "--anonymise")
    assert done.returncode in {0, 3}, done.stderr
    assert (tmp_path / "page.html").exists()
    assert {path.suffix for path in (tmp_path / "figures").rglob("*") if path.is_file()} >= {".csv", ".parquet", ".svg"}


def test_a_report_goes_into_a_directory_that_exists(fathom: Any, study: Path, tmp_path: Path) -> None:
    fathom("simulate", study, "--out", "c", "--rounds", "2", "--quiet")
    (tmp_path / "pages").mkdir()
    done = fathom("report", "c", "--html", "pages")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "pages" / "report.html").stat().st_size > 1000
    done = fathom("report", "c", "--html", "nowhere/x.html")
    assert done.returncode == 4
    assert not (tmp_path / "nowhere").exists()


def test_plan_prints_every_run_without_running(fathom: Any, study: Path, tmp_path: Path) -> None:
    lines = fathom("plan", study).stdout
    data = json.loads(fathom("plan", study, "--json").stdout)
    assert len(data["runs"]) == 6
    assert all(run["id"] in lines for run in data["runs"])
    assert {path.name for path in tmp_path.iterdir()} == {"sizes.toml"}


def test_plan_says_how_long_its_runs_measure_if_their_settings_do(fathom: Any, study: Path, insert: Path) -> None:
    assert "12 s of virtual time" in fathom("plan", study).stdout
    assert json.loads(fathom("plan", study, "--quick", "--json").stdout)["measured_s"] == pytest.approx(0.2)
    assert json.loads(fathom("plan", insert, "--json").stdout)["measured_s"] is None, "the rows decide"
    assert "measured in all" not in fathom("plan", insert).stdout
    insert.write_text(insert.read_text(encoding="utf-8").replace("rows = 200", 'duration = "45s"'), encoding="utf-8")
    runs = len(json.loads(fathom("plan", insert, "--json").stdout)["runs"])
    assert f"{45 * runs // 60} min {45 * runs % 60} s measured in all" in fathom("plan", insert).stdout


def test_two_places_are_compared(fathom: Any, study: Path, insert: Path) -> None:
    for name in ("here", "there"):
        fathom("simulate", study, "--quick", "--out", name)
    done = fathom("compare", "here", "there", "--html", "both.html", "--json")
    answer = json.loads(done.stdout)
    assert {c["variant"]["place"] for c in answer["analysis"]["comparisons"]} == {"there"}
    assert all(abs(c["ratio"]["value"] - 1) < 1e-9 for c in answer["analysis"]["comparisons"])
    assert (study.parent / "both.html").exists()
    fathom("run", insert, "--out", "other")
    refused = fathom("compare", "here", "other")
    assert refused.returncode == 3
    assert "another study text" in refused.stderr


def test_compare_extends_both_sides(fathom: Any, study: Path, tmp_path: Path) -> None:
    fathom("simulate", study, "--quick", "--out", "here")
    fathom("simulate", study, "--quick", "--out", "there", "--rounds", "4")
    done = fathom("compare", "here", "there", "--rounds", "5", "--json")
    assert done.returncode == 0, done.stderr
    assert {c["ratio"]["n"] for c in json.loads(done.stdout)["analysis"]["comparisons"]} == {5}
    assert {len(results.read(tmp_path / name).runs) for name in ("here", "there")} == {10}
    assert {results.read(tmp_path / name).looks[-1] for name in ("here", "there")} == {5}, "a verdict was shown"


def test_compare_says_why_a_side_is_not_extended(fathom: Any, insert: Path, tmp_path: Path) -> None:
    for name in ("here", "there"):
        fathom("run", insert, "--out", name)
    head = tmp_path / "there" / "campaign.json"
    head.write_text(json.dumps(json.loads(head.read_text()) | {"fingerprint": "another machine"}))
    done = fathom("compare", "here", "there", "--rounds", "3")
    assert done.returncode == 4
    assert "there: began on another machine" in done.stderr
    assert "fathom run there/study.toml --rounds 3 --out there" in done.stderr
    assert {len(results.read(tmp_path / name).runs) for name in ("here", "there")} == {4}, "nothing was run"


def test_a_failed_run_ends_with_its_own_exit_code(fathom: Any, insert: Path, tmp_path: Path) -> None:
    insert.write_text(insert.read_text().replace('kind = "insert"', 'kind = "insert"\ndirectory = "/proc/nowhere"'))
    done = fathom("run", insert, "--out", "c", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 1, done.stderr
    assert len(answer["failed"]) == 2, "of four runs: where a whole round fails the rest is not tried"
    assert "so the 2 runs that remain are not tried" in done.stderr
    assert "--retry-failed" not in done.stderr, "advice says whether that can help"
    assert all(
        run["reason"] in {"unavailable", "input-output", "settings"} and run["message"] for run in answer["failed"]
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_campaign_keeps_finished_runs_and_goes_on(
    number: signal.Signals, fathom: Any, start: Callable[..., Any], insert: Path, tmp_path: Path
) -> None:
    # A million commits take a minute on any disk.
    insert.write_text(insert.read_text().replace("rows = 200", "rows = 1000000"))
    process = start("run", insert, "--out", "c")
    deadline = time.monotonic() + PATIENCE_S
    while not list((tmp_path / "c").glob(".fathom-scratch-*/*/*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    _, message = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, message
    assert "the same command resumes" in message
    assert not list((tmp_path / "c").glob(".fathom-scratch-*"))
    assert all(run.ok for run in results.read(tmp_path / "c").runs)


def test_an_interrupt_during_an_import_leaves_the_exit_code(start: Callable[..., Any], tmp_path: Path) -> None:
    # As when a class is being made from text.
    (tmp_path / "fathom").mkdir()
    (tmp_path / "fathom" / "__init__.py").touch()
    interrupted = (
        "def main():\n    try: exec('raise KeyboardInterrupt')\n    except KeyboardInterrupt: raise SystemExit(130)\n"
    )
    (tmp_path / "fathom" / "cli.py").write_text(interrupted)
    main = Path(__file__).parents[2] / "python" / "fathom" / "__main__.py"
    (tmp_path / "fathom" / "__main__.py").write_text(main.read_text())
    process = start()
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130


def test_a_killed_campaign_goes_on(fathom: Any, start: Callable[..., Any], insert: Path, tmp_path: Path) -> None:
    insert.write_text(insert.read_text().replace("rounds = 2", "rounds = 6"))
    process = start("run", insert, "--out", "c")
    deadline = time.monotonic() + PATIENCE_S
    while len(list((tmp_path / "c" / "runs").glob("0*"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.005)
    process.kill()
    process.communicate()
    before = len(results.read(tmp_path / "c").runs)
    assert before >= 3
    done = fathom("run", insert, "--out", "c")
    assert f"{before} of them finished before" in done.stderr
    assert len(results.read(tmp_path / "c").runs) == 12
    assert not list((tmp_path / "c").glob(".fathom-scratch-*"))


@pytest.mark.parametrize("database", ["mariadb", "postgresql"])
def test_a_private_server_stands_in_a_results_directory_without_a_root(
    fathom: Any, insert: Path, tmp_path: Path, database: str
) -> None:
    insert.write_text(insert.read_text().replace('kind = "insert"', f'kind = "insert"\ndatabase = "{database}"'))
    # The default: results/NAME, below wherever the command is given.
    done = fathom("run", insert, "--rounds", "1", "--json")
    assert json.loads(done.stdout)["failed"] == [], done.stdout
    assert [path.name for path in tmp_path.glob("results/*/runs")] == ["runs"]
