"""What the comparisons of this folder share: a process's CPU time, FUSE's switch, the table with its bars."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
SWITCH = Path("/sys/module/fuse/parameters/enable_uring")


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and all its threads, those that have ended too, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@contextmanager
def ways_to_fuse() -> Iterator[list[str]]:
    """How FUSE can be served here: `read`, and `io_uring` where the kernel has it; switched on meanwhile, and back."""
    if not SWITCH.exists():
        yield ["read"]
        return
    before = SWITCH.read_text()
    SWITCH.write_text("1")
    try:
        yield ["read", "io_uring"]
    finally:
        SWITCH.write_text(before)


class Table:
    """Rows in Markdown with the bar beside each figure, and the machine's load around them."""

    def __init__(self, *columns: str) -> None:
        self._rows = [columns, tuple("---" for _ in columns)]
        self._load = os.getloadavg()[0]
        self._judged = self._missed = 0

    def row(self, *cells: str, bar: str = "", met: bool | None = None) -> None:
        """A row; `bar` says what is to be reached, `met` whether it is; None where there is none."""
        verdict = {None: "", True: "yes", False: "**no**"}[met]
        self._rows.append((*cells, bar, verdict))
        self._judged += met is not None
        self._missed += met is False

    def finish(self, samples: list[dict[str, object]], file: Path | None, judge: bool = True) -> int:
        """Prints everything, writes the samples to `file`; 1 if a bar is missed and the run is one to judge by."""
        print("\n".join(f"| {' | '.join(cells)} |" for cells in self._rows))
        print(f"load of the machine: {self._load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end")
        if file:
            file.write_text(json.dumps(samples, indent=1), encoding="utf-8")
        print(f"bars missed: {self._missed} of {self._judged}", file=sys.stderr)
        return 1 if self._missed and judge else 0
