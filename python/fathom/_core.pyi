"""The extension module, written in Rust (crates/python): conversion and error mapping, no logic."""

from collections.abc import Sequence
from os import PathLike
from typing import Any

from fathom.engine import Check, Outcome, Tick

class BadInput(Exception):
    """What was asked for cannot be meant or does not exist. Argument: a message that says what to do."""

class RunFailed(Exception):
    """A run failed. Arguments: the reason, from the closed list of `describe`, and a message that says what to do."""

def check(text: str, file: str, clock: str | None = None, models: Sequence[str | PathLike[str]] = ()) -> Check:
    """Every mistake in a study, each variant checked as it would run.

    Args:
        text: the study, TOML.
        file: the name messages give it.
        clock: "real" or "virtual"; the study's own if None.
        models: files and folders of models that are added to the catalogue.

    Raises:
        BadInput: an unknown clock, or a file that is no model.
    """

def run(
    text: str,
    file: str,
    overrides_json: str,
    clock: str,
    seed: int,
    scratch: str | PathLike[str],
    models: Sequence[str | PathLike[str]] = (),
    tick: Tick | None = None,
) -> Outcome:
    """Runs one variant, without the interpreter lock.

    Args:
        text: the study, TOML.
        file: the name messages give it.
        overrides_json: JSON object of dotted path (or name of a set) to value.
        clock: "real" or "virtual".
        seed: of everything random, 0 to 2^64 - 1.
        scratch: an empty directory for whatever the run writes; the caller removes it.
        models: files and folders of models that are added to the catalogue.
        tick: called about every 50 ms with the share of the run that is over (0 to 1) and a few words; what it raises
            stops the run and is raised here, and so is KeyboardInterrupt.

    Raises:
        BadInput: an unknown clock, overrides that are no JSON, or a file that is no model.
        RunFailed: the run failed; reason "internal" for a panic.
    """

def describe() -> dict[str, Any]:
    """The registries: `kinds` (group "volume" or "workload", name, summary, manual, keys, metrics) and `reasons`."""

def catalogue_list(models: Sequence[str | PathLike[str]]) -> list[dict[str, Any]]:
    """Every model of the catalogue: name, kind, title, summary.

    Raises:
        BadInput: a file of `models` is no model.
    """

def catalogue_explain(name: str, models: Sequence[str | PathLike[str]]) -> dict[str, Any]:
    """All that is known of one model: figures with their sources, formulas, caveats, origin.

    Raises:
        BadInput: no such model, or a file of `models` is none.
    """

def build_facts() -> dict[str, str]:
    """Facts of the build: version, commit, profile, optimisation, assertions, target."""
