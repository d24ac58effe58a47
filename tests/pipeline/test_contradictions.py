"""What a study says in two places that cannot both be meant is refused with its line, before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathom.engine import core
from fathom.errors import StudyError
from fathom.study import Study, parse

STUDY = """\
title = "t"
clock = "virtual"
[volumes.disk]
kind = "model"
model = "aws/gp3"
size = "1TiB"
[workload]
kind = "io"
volumes = ["disk"]
size = "8KiB"
duration = "10s"
[factors]
"workload.outstanding" = [8, 16]
[compare]
metric = "iops"
baseline = { "workload.outstanding" = 8 }
rounds = 3
"""
CELL = """\
[published]
source = "s"
[[published.cells]]
name = "a"
where = { "workload.outstanding" = 8 }
value = 1
"""
FIT = """\
[[calibration]]
parameter = "workload.size"
value = "8KiB"
reason = "r"
"""
SIZES = STUDY.replace('"workload.outstanding" = [8, 16]', '"workload.size" = LEVELS').replace(
    '"workload.outstanding" = 8', '"workload.size" = "8KiB"'
)

SIZE = "factors.workload.size"


def checked(text: str, *, quick: bool = False) -> Study:
    return parse(text, Path("s.toml"), core(), quick=quick)


@pytest.mark.parametrize(
    ("text", "path", "line", "words"),
    [
        (STUDY + CELL + 'unit = "ms"\n', "published.cells.0.unit", 24, "units of `iops`: IOPS, 1/s, rows/s"),
        (
            STUDY + CELL + 'metric = "latency_ms"\nunit = "MB/s" # decimal\n',
            "published.cells.0.unit", 25, "units of `latency_ms`: us, ms, s, min",
        ),
        (
            STUDY + CELL.replace('"s"\n', '"s"\nnormalise = "best"\n') + 'unit = "IOPS"\n',
            "published.cells.0.unit", 25, "units of a figure relative to the best variant: x, %",
        ),
        (STUDY + CELL + FIT + 'fitted_to = "b"\n', "calibration.0.fitted_to", 28, 'the cells are "a"'),
        (STUDY + "looks = [2, 5]\n", "compare.looks", 18, "the look after 5 rounds is later than the last round (3)"),
        (STUDY + "looks = [2, 5]\nmax_rounds = 4\n", "compare.looks", 18, "than the last round (4)"),
        (SIZES.replace("LEVELS", '["8KiB", "8192B"]'), SIZE, 13, 'levels "8KiB" and "8192B" are the same'),
        (SIZES.replace("LEVELS", '["8KiB", "64KiB", 8192]'), SIZE, 13, 'levels "8KiB" and 8192 are the same'),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_refused_with_its_line(text: str, path: str, line: int, words: str) -> None:
    with pytest.raises(StudyError) as refused:
        checked(text)
    (mistake,) = refused.value.diagnostics
    assert (mistake["path"], mistake["line"]) == (path, line)
    assert words in refused.value.screen()
    assert f"--> s.toml:{line}:{mistake['column']}\n" in refused.value.screen()
    written = text.splitlines()[line - 1][mistake["column"] - 1 :][: mistake["length"]]
    assert written in ('"ms"', '"MB/s"', '"IOPS"', '"b"', "[2, 5]", '["8KiB", "8192B"]', '["8KiB", "64KiB", 8192]')


@pytest.mark.parametrize(
    "text",
    [
        STUDY + CELL + 'unit = "1/s"\n',
        STUDY + CELL + 'metric = "latency_ms"\nunit = "us"\n',
        STUDY + CELL + FIT + 'fitted_to = "a"\n',
        STUDY + FIT + 'fitted_to = "a figure of another study"\n',
        STUDY + "looks = [2, 3]\n",
        STUDY + "looks = [2, 5]\nmax_rounds = 5\n",
        SIZES.replace("LEVELS", '["8KiB", "8192KiB"]'),
        STUDY.replace('"workload.outstanding" = [8, 16]', 'who = ["a", "b"]').replace(
            '"workload.outstanding" = 8', 'who = "a"'
        )
        + '[sets.who]\na = { "workload.outstanding" = 8 }\nb = { "workload.outstanding" = 8 }\n',
    ],
)
def test_what_fits_together_is_taken(text: str) -> None:
    assert checked(text).title == "t"


def test_fewer_rounds_at_tiny_scale_contradict_no_look() -> None:
    text = STUDY.replace("rounds = 3", "rounds = 5") + 'looks = [2, 5]\n[quick]\n"compare.rounds" = 1\n'
    assert checked(text, quick=True).quick


def test_a_mistake_without_a_line_of_its_own_names_the_file() -> None:
    text = 'compare = { metric = "iops", rounds = 3, looks = [5], baseline = { "workload.outstanding" = 8 } }\n'
    before, _, _ = STUDY.partition("[compare]")
    with pytest.raises(StudyError, match="is later than the last round") as refused:
        checked(text + before)
    assert "--> s.toml\n" in refused.value.screen()
