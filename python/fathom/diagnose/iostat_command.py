"""The command line above iostat's reports, as people paste it with them: `[root@db1 ~]# iostat -xzd 1`."""

from __future__ import annotations

import re
from typing import NamedTuple

_CALL = re.compile(r"(?<![\w.-])iostat(?![\w.-])(?P<arguments>[^`|<>;&\"'()]*)")
_OPTION = re.compile(r"-[A-Za-z]+|--[a-z]+(?:=\w+)?")
_OPERAND = re.compile(r"/dev/\S+|(?:sd|vd|xvd|hd|nvme|dm-|md|mmcblk|loop)\w*|ALL|ID|JSON|LABEL|PATH|UUID")
"""Devices, and what options are followed by."""
_PROMPT = re.compile(r"\s*(?:[-*]\s+)?`?(?:\S*\s?\S*[#$%>]\s*)?(?:sudo\s+)?(?:\w+=\S+\s+)*")


class Command(NamedTuple):
    """What a command line of iostat says about the reports below it.

    Attributes:
        text: as in the log.
        seconds: the interval; None if it has none, so that iostat writes the mean since the machine's start only.
        from_now: -y: the first report covers an interval, too.
        used_only: -z: devices without a request in an interval are left out.
        headed: whether sysstat's heading follows, so that nobody left out the first reports.
    """

    text: str
    seconds: int | None
    from_now: bool
    used_only: bool
    headed: bool = False


def command_of(line: str) -> Command | None:
    """The call of iostat in a line; None for a line without one, and for a sentence that names iostat only."""
    found = _CALL.search(line)
    if found is None or line[: found.start()].rstrip().endswith("zpool"):
        return None
    options, numbers, text, alone = "", list[int](), "iostat", True
    for word in found["arguments"].split():
        if _OPTION.fullmatch(word):
            options += word[1:] if word[1] != "-" else ""
        elif word.isdecimal() and len(word) <= 6 and len(numbers) < 2:
            numbers.append(int(word))
        elif not _OPERAND.fullmatch(word):
            alone = False
            break
        text += f" {word}"
    alone = alone and _PROMPT.fullmatch(line[: found.start()]) is not None
    seconds = numbers[0] if numbers and numbers[0] else None
    # "I ran iostat 2 days ago" and "see iostat -x" are no commands.
    if not alone and not (seconds and "-" in text):
        return None
    return Command(text, seconds, "y" in options, "z" in options)
