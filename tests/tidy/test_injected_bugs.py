"""The injected bugs: all of them can be put into the sources, the copy is formatted Rust, and the product has none."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import injected_bugs
import pytest

ROOT = Path(__file__).parents[2]


def test_every_bug_has_its_place_and_the_copy_is_formatted(tmp_path: Path) -> None:
    bugs = injected_bugs.read_bugs()
    assert len({bug.name for bug in bugs}) == len(bugs) >= 128
    injected_bugs.write(tmp_path, bugs)
    packages = ["-p", "fathom-layers", "-p", "fathom-crash-tests", "-p", "fathomd"]
    command = ["cargo", "fmt", "--check", "--manifest-path", str(tmp_path / "Cargo.toml"), *packages]
    formatted = subprocess.run(command, capture_output=True, text=True, check=False)
    assert formatted.returncode == 0, formatted.stdout + formatted.stderr


def test_a_copy_that_is_up_to_date_keeps_its_times(tmp_path: Path) -> None:
    bugs = injected_bugs.read_bugs()
    injected_bugs.write(tmp_path, bugs)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.rs")}
    stale = tmp_path / "crates/layers/src/gone.rs"
    stale.write_text("//! Of an earlier copy.\n", encoding="utf-8")
    injected_bugs.write(tmp_path, bugs)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.rs")} == before
    assert len(before) > 50


def test_a_bug_whose_place_is_gone_or_there_twice_is_named_with_file_and_text() -> None:
    bug = next(bug for bug in injected_bugs.read_bugs() if bug.name == "TailBeforeApply")
    for text, count in (("no_such_line();\n", 0), ("    }\n", 2)):
        lost = replace(bug, edits=(*bug.edits, replace(bug.edits[0], find=text)))
        with pytest.raises(injected_bugs.MisplacedError) as raised:
            injected_bugs.edited([lost])
        message = str(raised.value)
        assert "TailBeforeApply" in message
        assert bug.edits[0].file in message
        assert text in message
        assert ("0 times" in message) is (count == 0)


def test_edits_that_touch_each_other_are_refused() -> None:
    edits = [injected_bugs.Edit("A", "a.rs", "one two", "1"), injected_bugs.Edit("B", "a.rs", "two three", "2")]
    with pytest.raises(injected_bugs.MisplacedError, match="A and B change"):
        injected_bugs.put("one two three", edits)
    assert injected_bugs.put("one two and two three", edits) == "1 and 2"


def test_a_bug_that_nothing_asks_for_is_refused() -> None:
    bug = injected_bugs.read_bugs()[0]
    with pytest.raises(injected_bugs.MisplacedError, match="Unasked: no edit asks"):
        injected_bugs.edited([replace(bug, name="Unasked", edits=())])


def test_the_feature_of_the_copy_joins_those_of_a_crate() -> None:
    for manifest in (
        "[package]\n",
        "[package]\n[features]\nsql = []\n",
        '[package]\n[features]\ndefault = ["sql"]\nsql = []\n',
    ):
        made = injected_bugs.with_switch(manifest)
        assert made.count("[features]") == 1
        assert made.count("\nbugs = []\n") == 1
        assert made.count('\ndefault = ["bugs"') == 1


def test_the_daemons_bugs_are_those_that_its_hunt_looks_for() -> None:
    hunt = (injected_bugs.BUGS / "hunt_daemon.rs").read_text(encoding="utf-8")
    listed = re.findall(r'^    \("(\w+)", \w+\),$', hunt, re.MULTILINE)
    assert listed == [bug.name for bug in injected_bugs.read_bugs() if bug.area == "daemon"]
    areas = set(re.findall(r'hunt\("(\w+)"', (injected_bugs.BUGS / "hunt.rs").read_text(encoding="utf-8")))
    assert {bug.area for bug in injected_bugs.read_bugs()} == areas | {"daemon"}


def test_the_product_has_no_injected_bug() -> None:
    asks = re.compile(r"\b(mutated|crate::bug)\(")
    sources = (ROOT / "crates").glob("*/src/**/*.rs")
    assert [path for path in sources if asks.search(path.read_text(encoding="utf-8"))] == []
