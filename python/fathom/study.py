"""A study: what a person wrote, checked. `load` is the only way from a file to a `Study`.

Rust owns the schema: `fathom._core.check` yields every mistake with its place. What is left for Python is the part that
makes a plan: factors, rounds, clock, and the tables of overrides `[quick]`, `[real]` and `[virtual]`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.errors import StudyError, UsageError
from fathom.results import Level

if TYPE_CHECKING:
    from fathom.engine import Engine

CLOCKS = ("real", "virtual")
DEFAULT_ROUNDS = 5
DEFAULT_SEED = 1
QUICK_ROUNDS = 2
"""Rounds of `--quick`, unless the study's `[quick]` table says otherwise: the fewest that carry an interval."""


@dataclass(frozen=True)
class Study:
    """A checked study.

    Attributes:
        path: where it was read from; `text` is the file, `tree` the parsed TOML.
        models: a user's files of models, added to the catalogue.
    """

    path: Path
    text: str
    tree: dict[str, Any]
    models: tuple[Path, ...] = ()

    @property
    def title(self) -> str:
        """The title, or the file's name."""
        return str(self.tree.get("title", self.path.stem))

    @property
    def question(self) -> str:
        """The question in a user's words; empty if the study gives none."""
        return str(self.tree.get("question", ""))

    @property
    def clock(self) -> str:
        """The clock the study asks for."""
        return str(self.tree.get("clock", "real"))

    @property
    def factors(self) -> dict[str, tuple[Level, ...]]:
        """Dotted path (or name of a set) to levels, in the order written."""
        return {path: tuple(levels) for path, levels in self.tree.get("factors", {}).items()}

    @property
    def seed(self) -> int:
        """The seed, unless the command line gives another."""
        return int(self.tree.get("seed", DEFAULT_SEED))

    @property
    def rounds(self) -> int:
        """Rounds planned by `[compare]`."""
        return int(self.tree.get("compare", {}).get("rounds", DEFAULT_ROUNDS))

    def overrides(self, clock: str, *, quick: bool) -> dict[str, Level]:
        """Settings that replace the study's for this clock and scale, by dotted path; factors come on top of them.

        Raises:
            UsageError: `quick` for a study that does not say what quick means.
        """
        if quick and "quick" not in self.tree:
            raise UsageError(
                f"{self.path}: the study does not say how to run at tiny scale",
                'add a [quick] table of dotted paths, for example "workload.rows" = 1000',
            )
        merged: dict[str, Level] = dict(self.tree.get(clock, {}))
        if quick:
            merged.update(self.tree["quick"])
        return {path: level for path, level in merged.items() if not path.startswith("compare.")}

    def rounds_of(self, *, quick: bool) -> int:
        """Planned rounds at full or at tiny scale."""
        if not quick:
            return self.rounds
        return int(self.tree.get("quick", {}).get("compare.rounds", QUICK_ROUNDS))


def load(path: Path, engine: Engine, *, clock: str | None = None, models: Sequence[Path] = ()) -> Study:
    """Reads and checks a study.

    Args:
        path: the file.
        engine: what checks it.
        clock: check for "real" or "virtual"; for the study's own clock if None.
        models: files or folders of models that are added to the catalogue.

    Raises:
        UsageError: the file cannot be read.
        StudyError: the file has mistakes; all of them.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"{path}: cannot read the study: {problem.strerror}", "give the path of a TOML file") from None
    except UnicodeDecodeError as problem:
        raise UsageError(f"{path}: not UTF-8 text (byte {problem.start})", "save the study as UTF-8") from None
    return parse(text, path, engine, clock=clock, models=models)


def parse(text: str, path: Path, engine: Engine, *, clock: str | None = None, models: Sequence[Path] = ()) -> Study:
    """A study from its text; `path` is for messages, the rest as for `load`.

    Raises:
        StudyError: the text has mistakes; all of them.
        UsageError: a file of models is none.
    """
    files = tuple(sorted(file for path in models for file in (path.rglob("*.toml") if path.is_dir() else [path])))
    try:
        found = engine.check(text, str(path), clock, files)
    except engine.BadInput as problem:
        raise UsageError(str(problem)) from None
    if found["diagnostics"]:
        raise StudyError(found["screen"], found["diagnostics"])
    return Study(path, text, tomllib.loads(text), files)
