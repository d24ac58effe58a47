"""`fathom simulate`: a study in virtual time, on modelled devices."""

from __future__ import annotations

from fathom.cli.campaigns import (
    AsJson,
    FindFirst,
    FindMax,
    Jobs,
    Models,
    Out,
    Quick,
    Quiet,
    Request,
    Resume,
    RetryFailed,
    Rounds,
    Seed,
    Sensitivity,
    StudyPath,
    carry_out,
)
from fathom.cli.command import Command


def simulate(
    study: StudyPath,
    rounds: Rounds = None,
    seed: Seed = None,
    out: Out = None,
    resume: Resume = True,
    models: Models = None,
    quick: Quick = False,
    sensitivity: Sensitivity = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    jobs: Jobs = None,
    retry_failed: RetryFailed = False,
    find_max: FindMax = None,
    find_first: FindFirst = None,
) -> None:
    """Simulate a study in virtual time.

    Runs the same volume code as `fathom run`, on modelled devices of any size. CPU time grows with the number of
    requests, not with the simulated time (docs/BENCHMARKS.md). The same study and seed give the same digest of the
    event log, on any machine.
    """
    from fathom.cli.finding import asked
    from fathom.host.machine import processors

    carry_out(
        Request(
            study,
            "virtual",
            rounds,
            seed,
            out,
            resume,
            None,
            models or (),
            quick,
            as_json,
            quiet,
            anonymise=False,
            jobs=jobs or processors(),
            sensitivity=sensitivity,
            retry_failed=retry_failed,
            search=asked(find_max, find_first),
        )
    )


COMMAND = Command(
    "simulate",
    20,
    simulate,
    (
        "fathom simulate studies/hci-profiles.toml",
        "fathom simulate studies/write-back-cache-raw.toml --sensitivity",
        "fathom simulate studies/adapter-queue-depth.toml --json | jq .analysis.headline",
        "fathom simulate load.toml --find-max workload.rate=500..20000   # within its [goals]",
        'fathom simulate load.toml --find-first "volumes.data.size=1TiB,2TiB,4TiB"',
    ),
)
