"""A study: what a person wrote, checked and resolved. `load` is the only way from a file to a `Study`.

Rust owns the format: `fathom._core.check` yields every mistake with its position or the study as it runs, every default
spelled out: rounds, margins, labels, and for each variant its settings and what the workload states of itself
(docs/RESULTS.md, "plan.json"). Python holds the resolved study against itself (`contradictions`) and reads the text
again for nothing but the places of such mistakes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.contradictions import contradictions
from fathom.errors import StudyError, UsageError

if TYPE_CHECKING:
    from fathom.engine import Engine, Model
    from fathom.results import Level


@dataclass(frozen=True)
class Study:
    """A checked study, resolved for one clock and scale.

    Attributes:
        path: where it was read from, `text` the file.
        resolved: all of it as it runs.
        models: a user's models, added to the catalogue: name of the file, and its text.
        fixed: settings that replace the study's and those of its overrides, by dotted path or name of a set.
    """

    path: Path
    text: str
    resolved: Mapping[str, Any]
    models: tuple[Model, ...] = ()
    fixed: Mapping[str, Level] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What it is called."""
        return str(self.resolved["title"])

    @property
    def clock(self) -> str:
        """Whose time passes: "real" or "virtual"."""
        return str(self.resolved["clock"])

    @property
    def quick(self) -> bool:
        """Whether it is at tiny scale, as its `[quick]` table says."""
        return bool(self.resolved["quick"])

    def fixing(self, fixed: Mapping[str, Level], engine: Engine) -> Study:
        """The same study with further settings fixed.

        Raises:
            StudyError: it cannot run so.
        """
        both = {**self.fixed, **fixed}
        return parse(self.text, self.path, engine, clock=self.clock, quick=self.quick, fixed=both, models=self.models)


def load(
    path: Path,
    engine: Engine,
    *,
    clock: str | None = None,
    quick: bool = False,
    models: Sequence[Model] = (),
) -> Study:
    """Reads and checks a study.

    Args:
        path: the file.
        engine: what checks it.
        clock: resolve for "real" or "virtual"; for the study's own clock if None.
        quick: at tiny scale.
        models: models that are added to the catalogue, by `read_models`.

    Raises:
        UsageError: the file cannot be read, or a model is none.
        StudyError: the file has mistakes; all of them.
    """
    return parse(_text(path, "the study"), path, engine, clock=clock, quick=quick, models=models)


def parse(
    text: str,
    path: Path,
    engine: Engine,
    *,
    clock: str | None = None,
    quick: bool = False,
    fixed: Mapping[str, Level] | None = None,
    models: Sequence[Model] = (),
) -> Study:
    """A study from its text; `path` is for messages, `fixed` as in `Study`, the rest as for `load`.

    Raises:
        StudyError: the text has mistakes; all of them.
        UsageError: a model is none.
    """
    fixed = dict(fixed or {})
    try:
        found = engine.check(text, str(path), clock, quick, json.dumps(fixed), list(models))
    except engine.BadInput as problem:
        raise UsageError(str(problem)) from None
    if found["study"] is None:
        raise StudyError(found["screen"], found["diagnostics"])
    screen, mistakes = contradictions(found["study"], text, str(path))
    if mistakes:
        raise StudyError(screen, mistakes)
    return Study(path, text, found["study"], tuple(models), fixed)


def read_models(paths: Sequence[Path]) -> tuple[Model, ...]:
    """Name and text of every file of models; of a folder all `.toml` files below it.

    Raises:
        UsageError: one cannot be read.
    """
    files = sorted(file for path in paths for file in (path.rglob("*.toml") if path.is_dir() else [path]))
    return tuple((file.name, _text(file, "the model")) for file in files)


def _text(path: Path, what: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"{path}: cannot read {what}: {problem.strerror}", "give the path of a TOML file") from None
    except UnicodeDecodeError as problem:
        raise UsageError(f"{path}: not UTF-8 text (byte {problem.start})", f"save {what} as UTF-8") from None
