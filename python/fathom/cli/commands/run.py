"""`fathom run`: a study on the real clock, on this machine's disk."""

from __future__ import annotations

from fathom.cli.campaigns import (
    Anonymous,
    AsJson,
    FindFirst,
    FindMax,
    Models,
    Out,
    Quick,
    Quiet,
    Request,
    Resume,
    RetryFailed,
    Rounds,
    Scratch,
    Seed,
    StudyPath,
    carry_out,
)
from fathom.cli.command import Command


def run(
    study: StudyPath,
    rounds: Rounds = None,
    seed: Seed = None,
    out: Out = None,
    resume: Resume = True,
    scratch: Scratch = None,
    models: Models = None,
    quick: Quick = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    anonymise: Anonymous = False,
    retry_failed: RetryFailed = False,
    find_max: FindMax = None,
    find_first: FindFirst = None,
) -> None:
    """Measure a study here and give a verdict.

    Every variant runs once per round, in random order. The verdict carries its interval; the report is one HTML
    file. Ctrl-C keeps the finished runs; the same command resumes with the rest.
    """
    from fathom.cli.finding import asked

    carry_out(
        Request(
            study,
            "real",
            rounds,
            seed,
            out,
            resume,
            scratch,
            models or (),
            quick,
            as_json,
            quiet,
            anonymise,
            retry_failed=retry_failed,
            search=asked(find_max, find_first),
        )
    )


COMMAND = Command(
    "run",
    10,
    run,
    (
        "fathom run studies/batch-insert.toml",
        "fathom run studies/batch-insert.toml --scratch /mnt/nvme --out results/nvme",
        "fathom run studies/batch-insert.toml --rounds 12        # extend by more rounds",
        "fathom run studies/batch-insert.toml --retry-failed     # repeat failed runs",
    ),
)
