"""Write a copy of the sources that has every injected bug, each behind one switch, for `make mutations`.

crates/crash-tests/bugs/ holds the bugs: what each does wrong, and its edits (file, text to find, text to put). The text
to find must be in the file exactly once, and no two edits may touch each other. Crates without edits are links to the
originals.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUGS = ROOT / "crates" / "crash-tests" / "bugs"
HUNTS = {"hunt.rs": "crates/crash-tests/tests/hunt.rs", "hunt_daemon.rs": "crates/fathomd/tests/hunt.rs"}
"""Where the tests that look for the bugs stand in the copy."""
TOP = ("Cargo.toml", "Cargo.lock", "rustfmt.toml")


class MisplacedError(Exception):
    """Bugs that cannot be put into the sources, one per line."""


@dataclass(frozen=True)
class Edit:
    """One place of a bug."""

    bug: str
    file: str
    find: str
    put: str


@dataclass(frozen=True)
class Bug:
    """One bug."""

    area: str
    name: str
    what: str
    edits: tuple[Edit, ...]

    @property
    def question(self) -> str:
        """How the sources ask whether it is on."""
        return f'crate::bug("{self.name}")'


def read_bugs(folder: Path = BUGS) -> list[Bug]:
    """Read every bug. Its area is the first part of its file's path."""
    bugs = []
    for path in sorted(folder.rglob("*.toml")):
        area = path.relative_to(folder).with_suffix("").parts[0]
        for name, entry in tomllib.loads(path.read_text(encoding="utf-8")).items():
            edits = tuple(Edit(name, **edit) for edit in entry.get("edits", []))
            bugs.append(Bug(area, name, entry["what"], edits))
    return bugs


def put(text: str, edits: list[Edit]) -> str:
    """Apply a file's edits.

    Raises:
        MisplacedError: if a text is not there exactly once, or two edits touch.
    """
    wrong = [
        f"{edit.bug}: {edit.file} has this text {text.count(edit.find)} times, not once:\n{edit.find}"
        for edit in edits
        if text.count(edit.find) != 1
    ]
    if wrong:
        raise MisplacedError("\n".join(wrong))
    placed = sorted(((text.index(edit.find), edit) for edit in edits), key=lambda place: place[0], reverse=True)
    behind, last = len(text), None
    for at, edit in placed:
        end = at + len(edit.find)
        if last and end > behind:
            raise MisplacedError(f"{edit.bug} and {last.bug} change the same text of {edit.file}:\n{edit.find}")
        text, behind, last = text[:at] + edit.put + text[end:], at, edit
    return text


def edited(bugs: list[Bug], root: Path = ROOT) -> dict[str, str]:
    """The text of every file that has bugs, with them.

    Raises:
        MisplacedError: if a bug's place is gone, or nothing asks for a bug.
    """
    edits = [edit for bug in bugs for edit in bug.edits]
    texts, wrong = {}, []
    for file in sorted({edit.file for edit in edits}):
        path = root / file
        try:
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            texts[file] = put(text, [edit for edit in edits if edit.file == file])
        except MisplacedError as error:
            wrong.append(str(error))
    all_puts = "".join(edit.put for edit in edits)
    wrong += [f"{bug.name}: no edit asks {bug.question}" for bug in bugs if bug.question not in all_puts]
    if wrong:
        raise MisplacedError("\n".join(wrong))
    return texts


def with_switch(manifest: str) -> str:
    """A crate's manifest in the copy: the feature gives its artefacts another name than the original's beside them."""
    if "\ndefault = [" in manifest:
        return manifest.replace("\ndefault = [", '\nbugs = []\ndefault = ["bugs", ')
    features = '\n[features]\nbugs = []\ndefault = ["bugs"]\n'
    if "\n[features]\n" in manifest:
        return manifest.replace("\n[features]\n", features)
    return manifest + features


def switch(bugs: list[Bug]) -> str:
    """The module that says which bug is on, with the list of all."""
    rows = "".join(f'    ("{bug.area}", "{bug.name}", "{bug.what}"),\n' for bug in bugs)
    head = (BUGS / "switch.rs").read_text(encoding="utf-8")
    doc = "/// Every bug: its area, its name, what it does wrong."
    return f"{head}\n{doc}\n#[rustfmt::skip]\npub const ALL: &[(&str, &str, &str)] = &[\n{rows}];\n"


def crate_of(file: str) -> str:
    """The folder of a file's crate."""
    return "/".join(file.split("/")[:2])


def files(bugs: list[Bug], root: Path = ROOT) -> dict[str, bytes]:
    """Every file of the copy that is not a link.

    Raises:
        MisplacedError: as `edited`.
    """
    changed = edited(bugs, root)
    buggy = {crate_of(file) for file in changed}
    texts = {name: (root / name).read_bytes() for name in TOP}
    for crate in sorted(buggy | {crate_of(test) for test in HUNTS.values()}):
        for path in sorted((root / crate).rglob("*")):
            if path.is_file() and "target" not in path.parts[len(root.parts) :]:
                texts[str(path.relative_to(root))] = path.read_bytes()
    texts |= {file: text.encode() for file, text in changed.items()}
    for crate in sorted(buggy):
        top = f"{crate}/src/lib.rs" if f"{crate}/src/lib.rs" in texts else f"{crate}/src/main.rs"
        texts[top] += b"\npub mod bugs;\npub use bugs::bug;\n"
        texts[f"{crate}/src/bugs.rs"] = switch(bugs).encode()
        texts[f"{crate}/Cargo.toml"] = with_switch(texts[f"{crate}/Cargo.toml"].decode()).encode()
    return texts | {test: (BUGS / name).read_bytes() for name, test in HUNTS.items()}


def write(target: Path, bugs: list[Bug], root: Path = ROOT) -> None:
    """Bring the copy up to date. What stays as it was keeps its time, so that cargo does not compile it again.

    Raises:
        MisplacedError: as `edited`.
    """
    texts = files(bugs, root)
    copied = {crate_of(file) for file in texts if file.startswith("crates/")}
    skeletons = target / "python"  # The crates' tests compile them.
    if not skeletons.is_symlink():
        target.mkdir(parents=True, exist_ok=True)
        skeletons.symlink_to(root / "python", target_is_directory=True)
    for crate in (root / "crates").iterdir():
        place = target / "crates" / crate.name
        if f"crates/{crate.name}" in copied:
            if place.is_symlink():
                place.unlink()
        elif not place.is_symlink():
            if place.exists():
                shutil.rmtree(place)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(crate, target_is_directory=True)
    for crate_folder in copied:
        for path in (target / crate_folder).rglob("*"):
            if path.is_file() and str(path.relative_to(target)) not in texts:
                path.unlink()
    for file, content in texts.items():
        path = target / file
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def main() -> int:
    """Write the copy; 1 if a bug has no place in the sources."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path, help="folder of the copy, for instance target/mutated")
    target = parser.parse_args().target.resolve()
    try:
        bugs = read_bugs()
        write(target, bugs)
    except MisplacedError as error:
        print(
            f'{error}\nMend the edits in {BUGS.relative_to(ROOT)}: CONTRIBUTING.md, "An injected bug".', file=sys.stderr
        )
        return 1
    print(f"{len(bugs)} injected bugs in {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
