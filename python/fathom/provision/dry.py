"""What provisioning would do, without doing it: the commands of every variant, as a shell script."""

from __future__ import annotations

from pathlib import Path

from fathom.plan import Plan, PlannedRun
from fathom.provision import background, provide, requirements
from fathom.provision.host import Recorder, words

SCRATCH = Path("SCRATCH")
"""Stands for the run's scratch directory."""


def commands(plan: Plan, run: PlannedRun) -> list[str]:
    """Lines of commands before and after a run; empty for one that needs nothing.

    Raises:
        ProvisionError: this machine lacks what it needs, as far as can be seen without trying.
    """
    recorder = Recorder()
    with provide.provided(requirements.read(plan.entry(run)["wants"]), SCRATCH, recorder) as around:
        if around.servers:
            recorder.lines.append(f"# here the workload runs on {', '.join(around.servers)}")
            for server in around.servers.values():
                beside = background.command(recorder, server)
                if beside is not None:
                    recorder.lines.append(f"{words(beside)} >/dev/null    # over and over beside it")
    return recorder.lines
