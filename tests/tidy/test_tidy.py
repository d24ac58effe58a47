"""House rules that no linter knows: every file says what it is for, none grows unnoticed, registries are complete."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LONGEST = 600
"""Lines. Files of 100 to 250 are normal; 500 are worth a second look."""

GROWN: dict[str, int] = {}
"""Files that are longer than allowed, with the length they may not exceed. To be shortened, never to be extended."""

SOURCE = (".rs", ".py", ".pyi", ".sh", ".toml")


def tracked() -> list[Path]:
    """Every file under version control that is still there; every file at all outside of a checkout."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    names = listed.stdout.decode().split("\0") if listed.returncode == 0 else []
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


FILES = tracked()
CODE = [path for path in FILES if path.suffix in SOURCE and path.name not in {"Cargo.toml", "rust-toolchain.toml"}]

pytestmark = pytest.mark.skipif(not FILES, reason="not in a git checkout")


def name(path: Path) -> str:
    """The path from the top."""
    return str(path.relative_to(ROOT))


def opens_with_its_purpose(path: Path) -> bool:
    """Whether a file begins with what it is for."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".rs":
        return text.lstrip().startswith(("//!", "/*!")) or "skeletons" in path.parts
    if path.suffix in {".py", ".pyi"}:
        return ast.get_docstring(ast.parse(re.sub(r"@(\w+)@", r"\1", text))) is not None
    if path.suffix == ".toml":
        return text.startswith(("#", "[build-system]", "[workspace]")) or path.name == "rustfmt.toml"
    lines = text.splitlines()
    return len(lines) > 1 and lines[0].startswith("#!") and lines[1].startswith("#")


def test_every_source_file_opens_with_what_it_is_for() -> None:
    assert [name(path) for path in CODE if not opens_with_its_purpose(path)] == []


def test_no_file_grows_without_notice() -> None:
    texts = {name(path): path.read_text(encoding="utf-8").splitlines() for path in CODE}
    # What a script writes is as long as what it describes.
    lengths = {
        path: len(lines) for path, lines in texts.items() if not any("Do not edit" in line for line in lines[:5])
    }
    too_long = {path: length for path, length in lengths.items() if length > GROWN.get(path, LONGEST)}
    assert too_long == {}, "split the file; a growth that must be goes into GROWN with its reason in the commit"
    assert {path for path in GROWN if lengths.get(path, 0) <= LONGEST} == set(), "no longer too long: take it out"


def test_every_rust_file_is_part_of_its_crate() -> None:
    loose = []
    for path in (path for path in FILES if path.suffix == ".rs" and path.parent.name != "examples"):
        parts = path.relative_to(ROOT).parts
        if parts[0] != "crates" or "src" not in parts or path.name in {"lib.rs", "main.rs"}:
            continue
        folder = path.parent
        module = path.stem if path.name != "mod.rs" else folder.name
        above = folder if path.name != "mod.rs" else folder.parent
        parents = [above / "lib.rs", above / "main.rs", above / "mod.rs", above.with_suffix(".rs")]
        declared = rf"^\s*(pub(\([a-z]+\))? )?mod {re.escape(module)};"
        texts = [parent.read_text(encoding="utf-8") for parent in parents if parent.exists()]
        # Tests beside their file: `#[path = "file_tests.rs"] mod tests;`.
        texts += (
            [path.with_name(f"{module.removesuffix('_tests')}.rs").read_text()] if module.endswith("_tests") else []
        )
        declared = rf'{declared}|^\s*#\[path = "{re.escape(path.name)}"\]'
        if "bin" not in parts and not any(re.search(declared, text, re.MULTILINE) for text in texts):
            loose.append(name(path))
    assert loose == [], "add the `mod` line"


def test_no_rust_test_is_switched_off() -> None:
    """`doctest = false` and `test = false` save a fresh machine a build of crates that have no such tests."""
    never_run = []
    for manifest in (path for path in FILES if path.match("crates/*/Cargo.toml")):
        library = tomllib.loads(manifest.read_text(encoding="utf-8")).get("lib", {})
        for path in (path for path in FILES if path.is_relative_to(manifest.parent / "src") and path.suffix == ".rs"):
            text = path.read_text(encoding="utf-8")
            blocks = re.findall(r"^\s*//[/!] ```(\S*)$", text, re.MULTILINE)[::2]
            if not library.get("doctest", True) and not {"text", "toml", "ignore"}.issuperset(blocks):
                never_run.append(f"{name(path)}: an example")
            if not library.get("test", True) and "cfg(test)" in text:
                never_run.append(f"{name(path)}: a unit test")
    assert never_run == [], "take `doctest = false` or `test = false` out of the crate's Cargo.toml"


@pytest.mark.parametrize("crate", ["layers", "devices"])
def test_every_layer_and_device_is_registered(crate: str) -> None:
    folder = ROOT / "crates" / crate / "src"
    registry = (folder / "lib.rs").read_text(encoding="utf-8")
    for path in folder.rglob("*.rs"):
        if "\npub const KIND: NodeKind" in path.read_text(encoding="utf-8"):
            module = path.relative_to(folder).parts[0].removesuffix(".rs")
            assert f"{module}::KIND," in registry, name(path)


def test_adding_a_plug_in_touches_what_contributing_says(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "adding.py"), str(tmp_path / "copy")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), (
        "put this table there:\n" + done.stdout
    )


def test_every_study_has_a_question_and_runs_at_tiny_scale() -> None:
    import tomllib

    studies = [path for path in FILES if path.parent == ROOT / "studies" and path.suffix == ".toml"]
    assert studies
    for path in studies:
        study = tomllib.loads(path.read_text(encoding="utf-8"))
        assert study.get("question"), name(path)
        assert study.get("quick"), f"{name(path)}: add [quick], so that the tests can run it"


def test_every_study_is_told_with_its_figures_or_why_it_has_none() -> None:
    experiments, measured = ((ROOT / "docs" / f"{page}.md").read_text() for page in ("EXPERIMENTS", "MEASURED"))
    table = (line for line in experiments.splitlines() if line.startswith("| "))
    rows = [line.split("|") for line in table if not line.startswith("| procedure or figure")]
    states = ("measured", "simulated", "not run")
    assert [row[1] for row in rows if len(row) != 7 or not row[5].strip().startswith(states)] == []
    for study in sorted((ROOT / "studies").glob("*.toml")):
        row = next((row for row in rows if f"`{study.stem}`" in row[2]), None)
        assert row is not None, f"{study.name} has no row in docs/EXPERIMENTS.md"
        if not row[5].strip().startswith("not run"):
            assert f"`{study.stem}`" in measured, f"{study.name} has no figures in docs/MEASURED.md"


def test_no_path_of_a_machine_is_in_the_sources() -> None:
    homes = re.compile(r"/((home|Users)/[a-z]+|root|work)/")
    found = [
        f"{name(path)}:{number}"
        for path in FILES
        if path.suffix in {*SOURCE, ".md", ".yml", ""} and path != Path(__file__)
        for number, line in enumerate(_lines(path), 1)
        if homes.search(line)
    ]
    assert [place for place in found if not place.startswith("tests/report/")] == []


def test_no_mark_of_a_merge_is_left() -> None:
    marks = ("<" * 7 + " ", ">" * 7 + " ")
    left = [
        f"{name(path)}:{n}" for path in tracked() for n, line in enumerate(_lines(path), 1) if line.startswith(marks)
    ]
    assert not left


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return []


def test_links_between_pages_lead_somewhere() -> None:
    broken = []
    for page in (path for path in FILES if path.suffix == ".md"):
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{name(page)}: {target}")
    assert broken == []
