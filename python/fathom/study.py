"""A study: what a person wrote, checked. `load` is the only way from a file to a `Study`.

Rust owns the schema: `fathom._core.check` yields every mistake with its place. What is left for Python is the part that
makes a plan: factors, rounds, clock, and the tables of overrides `[quick]`, `[real]` and `[virtual]`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.errors import StudyError, UsageError
from fathom.results import Level

if TYPE_CHECKING:
    from fathom.engine import Engine

CLOCKS = ("real", "virtual")
DEFAULT_ROUNDS = 5
QUICK_ROUNDS = 2
"""Rounds of `--quick`, unless the study's `[quick]` table says otherwise: the fewest that carry an interval."""


@dataclass(frozen=True)
class Study:
    """A checked study.

    Attributes:
        path: where it was read from; `text` is the file, `tree` the parsed TOML.
        clock: "real" or "virtual", as the study says.
        factors: dotted path to levels, in the order written.
        rounds: planned rounds of `[compare]`.
    """

    path: Path
    text: str
    tree: dict[str, Any]

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
        """Every factor's levels, in the order written."""
        return {path: tuple(levels) for path, levels in self.tree.get("factors", {}).items()}

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


def load(path: Path, engine: Engine) -> Study:
    """Reads and checks a study.

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
    return parse(text, path, engine)


def parse(text: str, path: Path, engine: Engine) -> Study:
    """A study from its text; `path` is for messages and for relative paths within it.

    Raises:
        StudyError: the text has mistakes; all of them.
    """
    found = engine.check(text, str(path))
    if found["diagnostics"]:
        raise StudyError(found["screen"], found["diagnostics"])
    return Study(path, text, tomllib.loads(text))
