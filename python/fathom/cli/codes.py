"""Exit codes, for scripts. `fathom --help` and docs/CLI.md show them."""

OK = 0
RUN_FAILED = 1
USAGE = 2
NOT_COMPARABLE = 3
BROKEN = 4
WARNING = 5
CRITICAL = 6
CANNOT_TELL = 7
GOAL_MISSED = 8
STOPPED = 130
UNREAD = 141

MEANINGS = {
    OK: "done; every run finished",
    RUN_FAILED: "at least one run failed or got nothing done (the results say why)",
    USAGE: "a mistake in the command line, a study, settings or models, or no such file of them",
    NOT_COMPARABLE: "no comparison is possible, or the two campaigns must not be compared",
    BROKEN: "results or logs cannot be read or written, or are damaged or of a newer format",
    WARNING: "`diagnose`: storage is limited, and some users wait for it",
    CRITICAL: "`diagnose`: storage is limited, and most waiting is for it",
    CANNOT_TELL: "`diagnose`: the logs do not allow a diagnosis; the counters to collect are listed",
    GOAL_MISSED: "every run finished, but a goal of the study (`[goals]`) was missed, or cannot be judged",
    STOPPED: "stopped by Ctrl-C; finished runs are kept and the same command resumes",
    UNREAD: "whoever read the output left before its end (`| head`)",
}
