"""The seam between the pipeline and the extension module: what the pipeline calls, as a protocol.

`fathom._core` is the engine; tests of the campaign's logic hand in another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypedDict, cast

from fathom.errors import FathomError

Paths = Sequence[Path]
"""Files and folders of a user's models, added to the catalogue."""

Model = tuple[str, str]
"""A file of models: its name for messages, and its text."""

Tick = Callable[[float, str], None]
"""Called about every 50 ms with the share of the run that is over (0 to 1) and a few words; may raise to stop it."""


class StepOutcome(TypedDict):
    """One step of a sequence of virtual users."""

    users: int
    discarded: bool
    began_ns: int
    measured_ns: int
    metrics: dict[str, float | None]


class Outcome(TypedDict):
    """What a finished run yields; columns are named as in docs/RESULTS.md."""

    metrics: dict[str, float | None]
    samples: dict[str, list[Any]]
    histograms: dict[str, list[Any]]
    volumes: dict[str, Any]
    facts: dict[str, str]
    measured_ns: int
    began_ns: int | None
    waits: dict[str, dict[str, float]]
    steps: list[StepOutcome]
    digest: str | None
    events: int | None


class Check(TypedDict):
    """What is wrong with a study: one screen for people, and each mistake as a mapping; or the study, resolved."""

    screen: str
    diagnostics: list[dict[str, Any]]
    study: dict[str, Any] | None


class Engine(Protocol):
    """The calls of the extension module that the pipeline makes."""

    def check(
        self, text: str, file: str, clock: str | None, quick: bool, fixed_json: str, models: Sequence[Model]
    ) -> Check:
        """Every mistake in a study; the study, resolved for a clock and scale, if there is none."""

    def run(self, entry_json: str, scratch: Path, tick: Tick | None, databases_json: str = "{}") -> Outcome:
        """Carries out one run; raises `RunFailed(reason, message)` of the engine, or KeyboardInterrupt on Ctrl-C."""

    def load(self, entry_json: str, scratch: Path, tick: Tick | None, databases_json: str) -> None:
        """Loads the data a run begins with; raises as `run`."""

    def describe(self) -> dict[str, Any]:
        """The registries: `kinds`, a list of group, name, summary, manual and keys; `reasons` of failed runs."""

    def catalogue_list(self, models: Paths) -> list[dict[str, Any]]:
        """Every model, those of `models` over the built-in ones: name, kind, title, summary."""

    def catalogue_explain(self, name: str, models: Paths) -> dict[str, Any]:
        """All that is known of a model; raises `BadInput(message)` for a name or file that is none."""

    def build_facts(self) -> dict[str, str]:
        """Version, commit, profile and features of the build."""

    @property
    def BadInput(self) -> type[Exception]:
        """Raised with one argument, a message that says what to do."""

    @property
    def RunFailed(self) -> type[Exception]:
        """Raised by `run` with arguments (reason, message)."""


def core() -> Engine:
    """The extension module.

    Raises:
        FathomError: it was never built.
    """
    try:
        from fathom import _core
    except ImportError as problem:
        raise FathomError(
            f"the extension module is missing ({problem})", "run `make build`, or `pip install .`"
        ) from None
    return cast(Engine, _core)
