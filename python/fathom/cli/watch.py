"""`fathom diagnose --watch`: records this host and diagnoses what was recorded so far, again and again.

Reading anew costs more the longer the recording is, so the pauses grow with it: diagnoses take a twentieth of the time.
"""

from __future__ import annotations

import io
import select
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fathom.cli.output import console, note
from fathom.errors import FathomError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fathom.diagnose.diagnose import Diagnosis

_SHARE = 0.05
"""Of the time that diagnoses may take."""
_PAUSE_S = 5.0
_TURN_S = 0.1
_LEAST_LOOKS = 3


@contextmanager
def watched(interval_s: float, out: Path | None, diagnose: Callable[[Path], Diagnosis]) -> Iterator[Path]:
    """Watches until q or Ctrl-C; then the recording, which goes with the block unless it was named.

    Args:
        interval_s: between looks.
        out: a new file that keeps the recording; None for a temporary one.
        diagnose: of the recording.

    Raises:
        RecordError: this host cannot be recorded, or the file exists or cannot be written any more.
        LogError: the recording cannot be read.
    """
    with TemporaryDirectory(prefix="fathom-watch-") as folder:
        place = out or Path(folder) / "host.fathom"
        with _recording(place, interval_s) as problem, _keys() as pressed:
            _loop(place, interval_s, diagnose, pressed, problem)
        if problem:
            raise problem[0]
        yield place


def _loop(
    place: Path,
    interval_s: float,
    diagnose: Callable[[Path], Diagnosis],
    pressed: Callable[[], bool],
    problem: list[BaseException],
) -> None:
    from rich.live import Live

    screen = console()
    begun, due = time.monotonic(), time.monotonic() + _LEAST_LOOKS * interval_s
    last: Diagnosis | None = None
    said = None
    with Live(console=screen, auto_refresh=False, screen=screen.is_terminal) as live, suppress(KeyboardInterrupt):
        while not problem and not pressed():
            if time.monotonic() >= due:
                started = time.monotonic()
                last = diagnose(place)
                took = time.monotonic() - started
                due = time.monotonic() + max(_PAUSE_S, interval_s, took / _SHARE)
            if screen.is_terminal:
                live.update(_screen(last, time.monotonic() - begun, screen.width, screen.height), refresh=True)
            elif last is not None and last.verdict.sentence != said:
                said = last.verdict.sentence
                note(f"{time.monotonic() - begun:,.0f} s: {said}")
            time.sleep(_TURN_S)


def _screen(diagnosis: Diagnosis | None, seconds: float, width: int, height: int) -> RenderableType:
    from rich.console import Console, Group
    from rich.text import Text

    from fathom.cli.diagnosis_view import print_diagnosis

    head = Text(f"Recorded {seconds:,.0f} s. q or Ctrl-C ends with the summary.", style="dim")
    if diagnosis is None:
        return Group(head, Text("Waiting for the first samples."))
    drawn = io.StringIO()
    print_diagnosis(diagnosis, Console(file=drawn, width=width, force_terminal=True))
    lines = Text.from_ansi(drawn.getvalue()).split("\n")[: max(1, height - 2)]
    return Group(head, *lines)


@contextmanager
def _recording(place: Path, interval_s: float) -> Iterator[list[BaseException]]:
    """Records in a thread while the block runs; what stopped it early is in the list."""
    from fathom.host.recorder import record

    stop = threading.Event()
    problem: list[BaseException] = []

    def run() -> None:
        try:
            record(place, interval_s, None, None, None, stop=stop)
        except (FathomError, OSError) as error:
            problem.append(error)

    thread = threading.Thread(target=run, name="recorder")
    thread.start()
    try:
        yield problem
    finally:
        stop.set()
        thread.join()


@contextmanager
def _keys() -> Iterator[Callable[[], bool]]:
    """Whether q was pressed; never where standard input is no terminal."""
    if not sys.stdin.isatty():
        yield lambda: False
        return
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield lambda: bool(select.select([sys.stdin], [], [], 0)[0]) and sys.stdin.read(1) in {"q", "Q"}
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
