"""`fathom list`, `fathom report --format`, `--retry-failed`: what is here, and what failed once more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fathom import campaign, results


def test_campaigns_are_listed_with_question_state_and_verdict(fathom: Any, study: Path, tmp_path: Path) -> None:
    assert "no campaigns" in fathom("list").stderr
    fathom("simulate", study, "--quick")
    fathom("simulate", study, "--quick", "--out", "beside")
    (tmp_path / "results" / "broken").mkdir()
    (tmp_path / "results" / "broken" / "campaign.json").write_text("{")
    done = fathom("list", "--json")
    assert done.returncode == 0, done.stderr
    entries = {Path(entry["directory"]).name: entry for entry in json.loads(done.stdout)}
    assert len(entries) == 3
    beside = entries["beside"]
    assert (beside["state"], beside["clock"]) == ("finished, tiny scale", "virtual")
    assert beside["question"] == "Does the size of a request matter on this disk?"
    assert beside["verdict"] == json.loads(fathom("report", "beside", "--json").stdout)["analysis"]["headline"]
    assert entries["broken"]["state"] == "cannot be read"
    assert "damaged" in entries["broken"]["problem"]
    assert entries["broken"]["verdict"] is None, "it is not decided"
    assert beside["problem"] is None
    assert "damaged" in fathom("list").stdout
    assert beside["verdict"] in " ".join(fathom("list", "beside").stdout.split())


def test_a_place_that_is_no_directory_is_an_error(fathom: Any, study: Path, tmp_path: Path) -> None:
    done = fathom("list", "nope")
    assert done.returncode == 2
    assert "nope does not exist" in done.stderr
    assert "is not a directory" in fathom("list", study).stderr
    (tmp_path / "empty").mkdir()
    assert fathom("list", "empty").returncode == 0, "a directory without campaigns is none"


def test_an_unfinished_or_running_campaign_says_so(fathom: Any, study: Path, tmp_path: Path) -> None:
    fathom("simulate", study, "--quick", "--out", "c")
    run = results.run_directories(tmp_path / "c")[0]
    for file in run.iterdir():
        file.unlink()
    run.rmdir()
    (entry,) = json.loads(fathom("list", "c", "--json").stdout)
    assert (entry["state"], entry["verdict"]) == ("3 of 4 runs, tiny scale", None)
    with campaign.locked(tmp_path / "c"):
        (entry,) = json.loads(fathom("list", "c", "--json").stdout)
        assert entry["state"].startswith("running, 3 of 4 runs")


def test_a_report_is_printed_as_markdown(fathom: Any, study: Path) -> None:
    fathom("simulate", study, "--quick", "--out", "c")
    done = fathom("report", "c", "--format", "markdown")
    headline = json.loads(fathom("report", "c", "--json").stdout)["analysis"]["headline"]
    assert done.stdout.startswith("# Small or large requests?\n\n*Does the size")
    assert "## Verdict" in done.stdout
    assert headline.split(",")[0].split(" ")[0] in done.stdout
    refused = fathom("report", "c", "--format", "word")
    assert refused.returncode == 2
    assert "terminal, markdown" in refused.stderr


def test_failed_runs_are_carried_out_again_on_request(fathom: Any, tmp_path: Path) -> None:
    image = tmp_path / "disk.img"
    study = tmp_path / "read.toml"
    study.write_text(
        f'title = "Read"\n[volumes.disk]\nkind = "file"\npath = "{image}"\n'
        '[workload]\nkind = "io"\nvolumes = ["disk"]\nduration = "1s"\n[compare]\nmetric = "iops"\nrounds = 2\n'
    )
    assert fathom("run", study, "--out", "c").returncode == 1
    image.write_bytes(bytes(1 << 20))
    assert fathom("run", study, "--out", "c").returncode == 1, "a failed run is a result until somebody says otherwise"
    again = fathom("run", study, "--out", "c", "--retry-failed")
    assert again.returncode == 0, again.stdout + again.stderr
    found = results.read(tmp_path / "c")
    assert [run.ok for run in found.runs] == [True, True]
    kept = [results.read_run(place) for place in sorted((tmp_path / "c" / "retried").iterdir())]
    assert [run.ok for run in kept] == [False, False]
    told = json.loads(fathom("report", "c", "--json").stdout)
    assert [(one["id"], one["reason"]) for one in told["retried"]] == [(run.id, run.reason) for run in kept]
    assert "2 of 2 runs failed first" in told["analysis"]["headline"], "a report does not hide them"
    before = {run.id: run.started for run in found.runs}
    assert fathom("run", study, "--out", "c", "--retry-failed").returncode == 0
    assert {run.id: run.started for run in results.read(tmp_path / "c").runs} == before, "nothing had failed"
