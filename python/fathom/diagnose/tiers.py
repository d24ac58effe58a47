"""What the user says a disk is: most logs do not tell whether it rotates, and healthy means another latency then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fathom.errors import UsageError

if TYPE_CHECKING:
    from fathom.diagnose.evidence.limits import Limits
    from fathom.diagnose.log import Log

WORDS = {"nvme": "local NVMe", "flash": "flash array", "cloud": "cloud volume", "hdd": "rotating disk"}
"""Short forms of the tiers that come with the program."""
_MOST = 8


def tell(log: Log, said: Sequence[str], limits: Limits) -> None:
    """Adds what the user says to the facts of the first log.

    Args:
        log: what was read.
        said: `DISK=KIND`, or `KIND` for all disks.
        limits: the known tiers.

    Raises:
        UsageError: there is no such tier or no such disk.
    """
    if not said:
        return
    tiers = {tier.name for tier in limits.tiers}
    disks = [name for name in log.series["device"].cast(str).unique(maintain_order=True).to_list() if name]
    for each in said:
        disk, _, word = each.rpartition("=")
        kind = WORDS.get(word.casefold(), word)
        if kind not in tiers:
            known = [*WORDS, *sorted(tiers - set(WORDS.values()))]
            raise UsageError(f'--tier "{each}": there is no kind "{word}"', f"one of {', '.join(known)}")
        if disk and disk not in disks:
            names = ", ".join(disks[:_MOST]) + (", ..." if len(disks) > _MOST else "")
            raise UsageError(f'--tier "{each}": the logs have no disk "{disk}"', f"they have {names or 'none'}")
        log.notes[0].fact("tier", kind, disk or None)
