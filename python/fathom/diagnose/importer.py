"""What an importer's file declares, and how the right one is found: by a log's content, never by its name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from fathom.diagnose.damage import damage
from fathom.diagnose.source import Head, LogError, NoLogError, Source, printable
from fathom.diagnose.unsupported import archive, unsupported_format
from fathom.errors import UsageError

if TYPE_CHECKING:
    from fathom.diagnose.table import Block


@dataclass(frozen=True)
class Importer:
    """One format of logs.

    Attributes:
        name: as typed after `--format`.
        title: what writes it, a few words.
        recognise: how sure the head is of this format: 0 is no, 1 is certain. Never raises.
        read: the log as blocks of samples, streamed; facts and what is left out go to
            `source.notes`. Raises `LogError` with the place where the log is not what it should be.
        record: the command that records such a log, shown where counters are missing; None where there is none.
        facts_only: whether such logs hold no samples.
        looks: whether they are looks at counters that only rise, so that one look alone holds no sample.
    """

    name: str
    title: str
    recognise: Callable[[Head], float]
    read: Callable[[Source], Iterator[Block]]
    record: str | None = None
    facts_only: bool = False
    looks: bool = False


@cache
def importers() -> tuple[Importer, ...]:
    """Every importer, by name; the folder is scanned, and a file that cannot be imported stops the program."""
    from fathom.diagnose import importers as folder

    names = [f"{folder.__name__}.{found.name}" for found in pkgutil.iter_modules(folder.__path__)]
    found: list[Importer] = [importlib.import_module(name).IMPORTER for name in names]
    return tuple(sorted(found, key=lambda importer: importer.name))


def importer_named(name: str) -> Importer:
    """The importer of a name.

    Raises:
        UsageError: there is none.
    """
    for importer in importers():
        if importer.name == name:
            return importer
    raise UsageError(
        f'there is no format "{printable(name)}"', f"one of {', '.join(each.name for each in importers())}"
    )


def recognised(source: Source) -> Importer:
    """The importer that is surest of a log.

    Raises:
        LogError: the log cannot be read, is empty, or no importer knows it.
    """
    head = source.head()
    if not head.data and not head.directory:
        raise source.error("the file is empty", "record again, and copy the file after the recording has ended")
    if not head.directory and not head.text.strip("\ufeff\0 \t\r\n"):
        raise source.error("the file holds no text", "record again, and copy the file after the recording has ended")
    packed = archive(head)
    if packed is not None:
        raise source.error(*packed)
    ranked = sorted(((each.recognise(head), each) for each in importers()), key=lambda pair: (-pair[0], pair[1].name))
    if not ranked or ranked[0][0] <= 0:
        raise unknown(source, head)
    return ranked[0][1]


def unknown(source: Source, head: Head) -> LogError:
    """The error for a log that no importer knows."""
    if head.directory:
        return source.error("this directory is no campaign of Fathom", "name the logs in it one by one")
    stranger = unsupported_format(head)
    named = None if "\0" in head.text else damage(source.lines())
    if named is not None:
        # No latency matters before the data is safe.
        problem, remedy = stranger or ("it is no known format", "record the disk")
        first = f"{named.remedy}; only then {remedy}"
        return source.error(f"{named.problem}; besides, {problem}", first, line=named.line)
    if stranger is not None:
        return NoLogError(source.path, *stranger)
    start = printable(head.text[:80]) if head.text.isprintable() or "\n" in head.text else head.data[:16].hex(" ")
    remedy = "`fathom diagnose --formats` lists what is understood; --format NAME reads it as one of them"
    return NoLogError(source.path, f'no known format; it begins with "{start}"', remedy)
