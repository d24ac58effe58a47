"""A study is understood once: what was analysed is what ran, and a planned run needs nothing beside itself."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import fathom
from fathom import results
from fathom.analysis.variants import resolved
from fathom.engine import core
from fathom.plan import plan
from fathom.run import Options, execute
from fathom.study import parse, read_models
from pipeline.fake import Notes

HEAD = """\
title = "What ran is what was analysed"
clock = "virtual"
[volumes.disk]
kind = "model"
size = "64MiB"
servers = 64
read = { latency = "100us" }
[workload]
kind = "io"
volumes = ["disk"]
requests = 50
outstanding = 1
"""

SCALED = """\
[sets.scale.small]
"workload.requests" = 7
[virtual]
"workload.requests" = 100
[quick]
scale = "small"
"""


def carried_out(text: str, *, quick: bool) -> results.Campaign:
    """One round, simulated."""
    study = parse(text, Path("s.toml"), core(), quick=quick)
    with tempfile.TemporaryDirectory() as place:
        return execute(plan(study, rounds=1), Options(Path(place) / "c"), core(), Notes())


def done(run: results.Run) -> int:
    return int(run.volumes["workload"]["read"]["count"])


def test_a_single_override_stands_over_a_set_in_the_run_and_in_the_analysis() -> None:
    found = carried_out(HEAD + SCALED, quick=True)
    (run,) = found.runs
    assert done(run) == 100
    assert resolved(found.study, run.variant)["settings"]["workload"]["requests"] == 100


PATHS = ("workload.requests", "workload.outstanding")
values = st.dictionaries(st.sampled_from(PATHS), st.integers(1, 40))


@st.composite
def studies(draw: st.DrawFn) -> str:
    """A study whose set, overrides and factors all reach for the same settings."""
    lines = [HEAD]
    for level in ("one", "two"):
        lines += [f"[sets.which.{level}]", *(f'"{path}" = {value}' for path, value in draw(values).items())]
    for table in ("virtual", "quick"):
        lines += [f"[{table}]", *(f'"{path}" = {value}' for path, value in draw(values).items())]
        lines.append(f'which = "{draw(st.sampled_from(["one", "two"]))}"')
    lines.append("[factors]")
    varied = draw(st.sampled_from([(), ("which",), PATHS[:1], PATHS[1:], PATHS]))
    for factor in varied:
        numbers = st.lists(st.integers(1, 40), min_size=1, max_size=2, unique=True)
        levels = ["one", "two"] if factor == "which" else draw(numbers)
        lines.append(f"{json.dumps(factor)} = {json.dumps(levels)}")
    return "\n".join(lines) + "\n"


@settings(max_examples=40, deadline=None, derandomize=True)
@given(studies(), st.booleans())
def test_what_ran_is_what_was_analysed(text: str, quick: bool) -> None:
    study = parse(text, Path("s.toml"), core(), quick=quick)
    made = plan(study, rounds=1)
    for run in made.runs:
        stated = resolved(study.resolved, run.variant)
        with tempfile.TemporaryDirectory() as scratch:
            outcome = core().run(json.dumps(made.entry(run)), Path(scratch), None)
        workload = stated["settings"]["workload"]
        users = min(workload["outstanding"], workload["requests"])
        assert outcome["volumes"]["workload"]["read"]["count"] == workload["requests"], text
        assert outcome["volumes"]["workload"]["outstanding_max"] == users, text
        assert stated["demand"] == {"users": workload["outstanding"], "pauses": False}
        assert stated["lasts_ns"] is None


ELSEWHERE = """
import json, sys
from pathlib import Path
from fathom.attempt import attempt
from fathom.engine import core
entry = json.load(sys.stdin)
scratch = Path.cwd() / "scratch"
scratch.mkdir()
tried = attempt(entry, core(), scratch, lambda share, words: None, Path.cwd() / "copies")
assert tried.outcome is not None, (tried.reason, tried.message)
import fathom
print(json.dumps([fathom.__file__, tried.outcome["digest"]]))
"""


def test_a_planned_run_runs_elsewhere_without_study_and_models(tmp_path: Path) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir()
    models = home / "models"
    models.mkdir()
    builtin = Path(__file__).parents[2] / "crates/catalogue/models/aws/gp3.toml"
    own = builtin.read_text(encoding="utf-8").replace('name = "aws/gp3"', 'name = "acme/own"')
    (models / "own.toml").write_text(own)
    study = parse(
        HEAD.replace('size = "64MiB"\nservers = 64\nread = { latency = "100us" }', 'model = "acme/own"\nsize = "1TiB"'),
        home / "s.toml", core(), models=read_models([models]),
    )  # fmt: skip
    made = plan(study, rounds=1)
    entry = json.dumps(made.entry(made.runs[0]))
    here = core().run(entry, tmp_path, None)["digest"]
    shutil.rmtree(home)
    shutil.copytree(
        Path(fathom.__file__).parent, away / "package" / "fathom", ignore=shutil.ignore_patterns("__pycache__")
    )
    code = f"import sys; sys.path.insert(0, {str(away / 'package')!r})\n" + ELSEWHERE
    ran: Any = subprocess.run(
        [sys.executable, "-I", "-c", code], input=entry, cwd=away, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    file, digest = json.loads(ran.stdout)
    assert Path(file).is_relative_to(away)
    assert digest == here is not None
