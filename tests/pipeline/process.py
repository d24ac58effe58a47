"""A campaign in a process of its own, to be killed or starved. Usage: process.py DIRECTORY SECONDS_PER_RUN ROUNDS"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from fathom.errors import FathomError
from fathom.plan import plan
from fathom.run import Options, execute
from fathom.study import parse
from pipeline.fake import STUDY, FakeEngine, Notes


class SlowEngine(FakeEngine):
    """Takes its time over every run."""

    def run(self, *arguments: Any) -> Any:
        time.sleep(float(sys.argv[2]))
        return super().run(*arguments)


def main() -> None:
    """Runs the campaign; an error for people goes to standard error as the command line would print it."""
    engine: Any = SlowEngine()
    study = parse(STUDY, Path("study.toml"), engine)
    try:
        execute(plan(study, rounds=int(sys.argv[3])), Options(Path(sys.argv[1])), engine, Notes())
    except FathomError as error:
        sys.exit(error.screen())


if __name__ == "__main__":
    main()
