"""A campaign over a real server in a process of its own, to be stopped or killed in mid-run.

Usage: process.py DIRECTORY KIND. Says `running` once the run has begun, then does nothing until it is stopped.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from fathom.plan import plan
from fathom.run import Options, execute
from fathom.study import parse
from pipeline.fake import STUDY, FakeEngine, Notes
from provision.conftest import PLAIN


class WaitingEngine(FakeEngine):
    """Wants one server, and keeps its run going until it is stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.wants["databases"] = {"db": {**PLAIN, "kind": sys.argv[2]}}

    def run(self, *arguments: Any) -> dict[str, Any]:
        sys.stdout.write(f"running {sorted(json.loads(arguments[-1]))}\n")
        sys.stdout.flush()
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline:
            time.sleep(0.05)
            arguments[-2](0.5, "half")
        raise AssertionError("nobody stopped it")


def main() -> None:
    """Runs the campaign until it is stopped."""
    engine: Any = WaitingEngine()
    study = parse(STUDY, Path("study.toml"), engine)
    try:
        execute(plan(study, rounds=1), Options(Path(sys.argv[1])), engine, Notes())
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
