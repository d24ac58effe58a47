"""The extension module, written in Rust (crates/python): conversion and error mapping, no logic."""

from collections.abc import Sequence
from os import PathLike
from typing import Any

from fathom.engine import Check, Model, Outcome, Tick

class BadInput(Exception):
    """What was asked for cannot be meant or does not exist. Argument: a message that says what to do."""

class RunFailed(Exception):
    """A run failed. Arguments: the reason, from the closed list of `describe`, and a message that says what to do."""

def check(
    text: str,
    file: str,
    clock: str | None = None,
    quick: bool = False,
    fixed_json: str = "{}",
    models: Sequence[Model] = (),
) -> Check:
    """Every mistake in a study, each variant checked as it would run; or the study as it runs (docs/RESULTS.md).

    Args:
        text: the study, TOML.
        file: the name messages give it.
        clock: "real" or "virtual"; the study's own if None.
        quick: resolve at tiny scale.
        fixed_json: JSON object of dotted path (or name of a set) to value: replaces the study's and its overrides' own.
        models: models that are added to the catalogue.

    Raises:
        BadInput: an unknown clock, settings that are no JSON, or a text that is no model.
    """

def run(entry_json: str, scratch: str | PathLike[str], tick: Tick | None = None, databases_json: str = "{}") -> Outcome:
    """Carries out one run, without the interpreter lock.

    Args:
        entry_json: a run of a plan with all it needs (docs/RESULTS.md).
        scratch: an empty directory for whatever the run writes; the caller removes it.
        tick: called about every 50 ms with the share of the run that is over (0 to 1) and a few words; what it raises
            stops the run and is raised here, and so is KeyboardInterrupt.
        databases_json: JSON object of database name to how it is reached: `kind`, `address` (an object with one of
            `directory`, `socket`, or `tcp` with a list of host and port), `user`, `password`, `database`.

    Raises:
        BadInput: an entry that is none.
        RunFailed: the run failed; reason "internal" for a panic.
    """

def load(entry_json: str, scratch: str | PathLike[str], tick: Tick | None, databases_json: str) -> None:
    """Loads the data a run begins with (`loads` of what it wants) into its databases; arguments and errors of `run`."""

def describe() -> dict[str, Any]:
    """The registries: `kinds` (group, name, summary, manual, keys, metrics), `metrics`, `observed`, `reasons` to fail.

    A group is "volume" or "workload"; `observed` names the metrics of what runs beside a workload on databases.
    """

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

def size_bytes(text: str) -> int:
    """A size as settings write it ("4TiB"), in bytes.

    Raises:
        BadInput: it is none.
    """

def time_ns(text: str) -> int:
    """A time as settings write it ("30s"), in nanoseconds.

    Raises:
        BadInput: it is none.
    """

def rate_bytes(text: str) -> int:
    """Throughput as settings write it ("125MiB/s"), in bytes per second.

    Raises:
        BadInput: it is none.
    """

def per_second(text: str) -> float:
    """A count per second as settings write it ("3000/s").

    Raises:
        BadInput: it is none.
    """

def build_facts() -> dict[str, str]:
    """Facts of the build: version, commit, profile, optimisation, assertions, target."""

class BlgLog:
    """A Windows performance log (`.blg`), read sample by sample.

    Raises:
        BadInput: not such a log, damaged, or something in it is not understood; with the byte of the file.
    """

    def __init__(self, path: str | PathLike[str]) -> None: ...
    def facts(self) -> dict[str, Any]:
        """What the log says about itself: `build` of Windows, `processors`, `events_lost`, `buffers_lost`, `circular`,
        `bias_minutes` (to add to local time for UTC, outside of daylight saving), `foreign_events`; and, of what was
        read so far, `samples` and `unknown_types` (counter type to number of counters).
        """

    def series(self, first: int) -> list[tuple[str, str, str, str, int, int, int]]:
        """Machine, object, instance, counter, Perflib's indices of object and counter (0 where the log has none) and
        counter type of every series from number `first` on.
        """

    def batch(self, least: int) -> dict[str, bytes] | None:
        """The next samples, at least `least` values unless the log ends; None at its end.

        Little-endian columns: `time_ns` (i64, since 1970, UTC), `series` (u32, position in `series(0)`), `value` (f64,
        as Windows computes it from two samples; a mean over no operations is 0).
        """
