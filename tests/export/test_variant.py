"""Of a study one variant is exported: the volumes that its workload uses, and those below them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fathom.errors import UsageError
from fathom.export.settings import Settings, load
from fathom.export.target import ExportRequest, export, targets

TERRAFORM = next(target for target in targets() if target.name == "terraform-aws")

STUDY = """
title = "Two gp3 striped, or one volume"
clock = "virtual"
volumes.a = { kind = "model", model = "aws/gp3", size = "250GiB" }
volumes.b = { kind = "model", model = "aws/gp3", size = "250GiB" }
volumes.stripe = { kind = "stripe", members = ["a", "b"] }
volumes.one = { kind = "model", model = "aws/gp3", size = "500GiB" }
workload = { kind = "io", volumes = ["stripe"], size = "8KiB", rate = 1000, ramp = "1s", duration = "2s" }
compare = { metric = "latency_ms", baseline = { storage = "stripe" } }
[factors]
storage = ["stripe", "one", "io2, large"]
"workload.rate" = [1000, 2000]
[sets.storage]
stripe = { "workload.volumes" = ["stripe"] }
one = { "workload.volumes" = ["one"] }
[sets.storage."io2, large"]
"workload.volumes" = ["one"]
"volumes.one.model" = "aws/io2-block-express"
"volumes.one.iops" = 9000
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def written(settings: Settings) -> tuple[str, tuple[str, ...]]:
    (file,), notes = export(TERRAFORM, ExportRequest(settings), frozenset())
    return file.text, notes


def test_what_a_level_sets_is_exported_and_nothing_else(study: Path) -> None:
    text, notes = written(load(study, {"storage": "io2, large"}))
    assert text.count('resource "aws_ebs_volume"') == 1
    assert 'type              = "io2"' in text
    assert "iops              = 9000" in text
    assert "size              = 500" in text
    assert notes[0] == "variant: storage = io2, large"
    assert [note for note in notes if "not exported" in note] == [
        f"not used by the workload, not exported: {name}" for name in ("a", "b", "stripe")
    ]
    assert all(f"# {note}" in text.splitlines() for note in notes)
    text, notes = written(load(study, {"storage": "stripe", "workload.rate": "2000"}))
    assert text.count('resource "aws_ebs_volume"') == 2
    assert ("variant: workload.rate = 2000" in notes, text.count("fathom-") + text.count('"one"')) == (True, 0)


@pytest.mark.parametrize(
    ("levels", "what", "remedy"),
    [
        ({}, "its volumes depend on storage", "--variant storage=stripe, or storage=one, or 'storage=io2, large'"),
        ({"workload.rate": "1000"}, "its volumes also depend on storage", "--variant storage=stripe"),
        ({"storage": "two"}, "no such level", "--variant storage=stripe, or storage=one, or 'storage=io2, large'"),
        ({"stripes": "one"}, "no such factor", "--variant workload.rate=1000, or workload.rate=2000"),
    ],
)
def test_levels_that_leave_the_volumes_open_are_refused(
    study: Path, levels: dict[str, str], what: str, remedy: str
) -> None:
    with pytest.raises(UsageError) as told:
        load(study, levels)
    assert told.value.exit_code == 2
    assert what in told.value.screen()
    assert remedy in told.value.screen()


def test_a_factor_that_leaves_the_volumes_alone_needs_no_level(study: Path) -> None:
    study.write_text(STUDY.replace('storage = ["stripe", "one", "io2, large"]', 'storage = ["stripe"]'))
    text, notes = written(load(study))
    assert text.count('resource "aws_ebs_volume"') == 2
    assert "variant: storage = stripe" in notes
    assert not any("workload.rate" in note for note in notes)


def test_a_factor_of_a_volume_that_is_not_used_needs_no_level(study: Path) -> None:
    study.write_text(STUDY.replace('"workload.rate" =', '"volumes.one.size" = ["1TiB", "2TiB"]\n"workload.rate" ='))
    assert load(study, {"storage": "stripe"}).roots == ("stripe",)
    with pytest.raises(UsageError, match=r"also depend on volumes\.one\.size"):
        load(study, {"storage": "one"})
    found = load(study, {"storage": "one", "volumes.one.size": "2TiB"})
    assert found.nodes["one"].size() == 2 << 40


def test_volumes_below_the_places_of_a_database_are_used() -> None:
    path = Path(__file__).parents[2] / "studies/stripe-and-cache.toml"
    found = load(path, {"storage": "stripe"})
    kinds = {node.kind for node in found.served()}
    assert "stripe" in kinds
    assert "writeback" not in kinds


@pytest.mark.parametrize("levels", [{}, {"storage": "one"}])
def test_a_daemons_file_has_no_variants(tmp_path: Path, levels: dict[str, Any]) -> None:
    path = tmp_path / "fathomd.toml"
    path.write_text(
        '[volumes.one]\nkind = "model"\nmodel = "aws/gp3"\nsize = "1TiB"\n[volumes.spare]\nkind = "null"\n'
        'size = "1GiB"\n[exports.data]\nvolume = "one"\n[daemon]\nsocket = "/tmp/s"\n'
    )
    if levels:
        with pytest.raises(UsageError, match="no factors"):
            load(path, levels)
    else:
        assert written(load(path))[1][-1] == "not served, not exported: spare"


def test_a_workload_on_files_has_nothing_to_export() -> None:
    path = Path(__file__).parents[2] / "studies/tproc-c.toml"
    with pytest.raises(UsageError, match="uses no volume"):
        load(path)
