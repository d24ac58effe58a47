"""Why provisioning failed: a reason from the closed list of `results.REASONS`, and a message that says what to do."""

from __future__ import annotations


class ProvisionError(Exception):
    """What a run needs is not available.

    Args:
        reason: from `results.REASONS`.
        message: what, where, and what to do.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


_CAUSES = (
    ("no-space", ("no space left", "disk quota exceeded", "disk full", "disk is full", "os error 28", "errno: 28",
                  "error number 28")),
    ("permission", ("permission denied", "operation not permitted", "errcode: 13")),
    ("unavailable", ("address already in use", "could not bind", "cannot allocate memory", "lock file")),
    ("settings", ("unrecognized configuration", "invalid value", "unknown variable", "unknown option",
                  "outside the valid range", "error while setting value",
                  "filesystem is too small", "filesystem too small", "subvolume is too small",
                  "too small to make a usable filesystem")),
    ("input-output", ("input/output error",)),
)  # fmt: skip


def reason_of(said: str, otherwise: str = "unavailable") -> str:
    """The reason of a failed run by what a program said; the first that fits, in the order of what explains most."""
    text = said.lower()
    return next((name for name, parts in _CAUSES if any(part in text for part in parts)), otherwise)
