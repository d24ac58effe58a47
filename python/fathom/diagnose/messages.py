"""What a server or a kernel says in a log of messages, without the text of users' statements that stands in it.

Sources: PostgreSQL documentation, "Error Reporting and Logging" (forms of lines; continuation lines begin with a tab;
syslog numbers the parts of a message); MySQL reference manual, "The General Query Log", "The Slow Query Log" and "Error
Log Output Format"; AWS, RDS for PostgreSQL, `log_line_prefix`; Azure Database for PostgreSQL, "Logs".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fathom.diagnose.postgresql_words import LABELS, SEVERITIES

STAMP = r"\d{4}[-/]\d\d[-/]\d\d[ T] ?\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
"""A moment at the beginning of a line."""


class Said(NamedTuple):
    """One message.

    Attributes:
        line: where it is, 1-based.
        raw: that line.
        shown: what to show of it.
        text: what is said; of PostgreSQL without severity.
        postgresql: whether PostgreSQL says it.
        state: its SQLSTATE; empty where the line has none.
    """

    line: int
    raw: str
    shown: str
    text: str
    postgresql: bool = False
    state: str = ""


ENTRY = rf"(?<!\w)(?P<name>{SEVERITIES}|{LABELS})\s?:  "
"""What is before each message of PostgreSQL, and each line about one."""
_ENTRY = re.compile(ENTRY)
_LABEL = re.compile(LABELS)
_KERNEL = re.compile(r"^(?:<\d+>)?\[ *\d+\.\d{6}\] |^(?:\w{3} +\d+ [\d:]{8}|\d{4}-\S+) \S+ kernel: ")
_PART_OF_SYSLOG = re.compile(r"\bpostgres\S*\[\d+\]: \[\d+-(?:[2-9]|\d{2,})\] ")
_CELL = r'(?:"(?:[^"]|"")*"|[^,"]*)'
CSV = rf'^{STAMP} ?[^,"]*,(?:{_CELL},){{10}}(?P<severity>[^\W_]+\d?),(?P<state>[0-9A-Z]{{5}}),'
"""What a line of PostgreSQL's csvlog begins with: ten columns between the time and the severity."""
_CSV = re.compile(rf'{CSV}"?(?P<message>(?:[^"]|"")*)')
_SLOW = re.compile(r"^# (?:User@Host|Query_time|Time): |^MySQL thread id \d+")
"""Lines above a statement: of the slow log, and of InnoDB's monitor."""
_GENERAL = re.compile(rf"^(?:{STAMP}|\d{{6}} +[\d:]+)?\s+\d+ (?:Query|Execute|Prepare|Connect|Init DB|Quit)\b")
_MYSQL = re.compile(rf"^{STAMP} \d+ \[|^\d{{6}} +[\d:]+ |^InnoDB: ")
"""The error log's own lines, also of versions before 5.7."""
_DOCUMENT = re.compile(r'^\s*[\[{"]')
_STRING = r' ?: ?"((?:[^"\\]|\\.)*)"'
_MESSAGE = re.compile(rf'"(?:message|msg|log|textPayload|MESSAGE|@message)"{_STRING}')
_SEVERITY = re.compile(rf'"error_severity"{_STRING}')
_STATE = re.compile(r'"(?:state_code|sql_state_code|sqlerrcode)" ?: ?"([0-9A-Z]{5})"')
_SUBSYSTEM = re.compile(rf'"subsystem"{_STRING}')


EVENTS = (
    r'^"?(?:Level|Ebene|Niveau|Livello|Nivel)"?[,;\t].*\b(?:Event ID|Ereignis-ID|ID)\b|"ProviderName"|^Event\[\d+\]'
)
"""The head of an event log of Windows: of the Event Viewer in some languages, of Get-WinEvent, of wevtutil."""


def said(lines: Iterable[tuple[int, str]]) -> Iterator[Said]:
    """Every message of numbered lines; what users wrote is left out."""
    postgresql = quoted = users = False
    for number, line in lines:
        if quoted:
            # A record of csvlog goes on until its quotes are closed.
            quoted = line.count('"') % 2 == 0
            continue
        if _DOCUMENT.match(line) and _MESSAGE.search(line):
            yield from _of_document(number, line)
            continue
        if record := _CSV.match(line):
            quoted = line.count('"') % 2 == 1
            message = record["message"]
            yield Said(number, line, f"{record['severity']} {record['state']}: {message}", message, True,
                       record["state"])  # fmt: skip
            continue
        if postgresql and line.startswith(("\t", " ", "#011")):
            continue
        entry = None if ":  " not in line or _KERNEL.match(line) else _ENTRY.search(line)
        postgresql = entry is not None
        if entry is not None:
            users = False
            if not _LABEL.fullmatch(entry["name"]) and not _PART_OF_SYSLOG.search(line):
                yield Said(number, line, line.strip(), line[entry.end() :].rstrip(), True)
            continue
        if _PART_OF_SYSLOG.search(line):
            continue
        if _SLOW.match(line) or _GENERAL.match(line):
            users = True
        elif users and _MYSQL.match(line):
            users = False
        if not users:
            yield Said(number, line, line.strip(), line.rstrip())


def _of_document(number: int, line: str) -> Iterator[Said]:
    """Messages within a line of JSON: of PostgreSQL and MySQL themselves, or of what collects lines."""
    found = [_unescaped(each) for each in _MESSAGE.findall(line)]
    severity, subsystem, states = _SEVERITY.search(line), _SUBSYSTEM.search(line), _STATE.findall(line)
    # A document of several messages does not tell here which state is whose.
    state = states[0] if len(states) == 1 else ""
    for text in found:
        if severity is not None and len(found) <= 2:
            if text and text != "record":
                yield Said(number, line, f"{severity[1]}:  {text}", text, True, state)
            continue
        if text.startswith("\t"):
            # What collects lines puts each line of a message into a document of its own.
            continue
        whole = f"[{_unescaped(subsystem[1])}] {text}" if subsystem is not None else text
        for each in said(enumerate(whole.split("\n"))):
            yield each._replace(line=number, raw=line, state=each.state or state)


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


OF_RDS = r":[^:@\s]*@[^:\s]*:\[\d+\]:\w+:  "
OF_AZURE = r'\bUTC-[0-9a-f]+\.[0-9a-f]+-\w+:  |"LogicalServerName"|"category" ?: ?"PostgreSQL'
OF_GOOGLE = r"cloudsql\.googleapis\.com%2Fpostgres"
"""Forms that RDS and Aurora, Azure and Google Cloud give the lines of their PostgreSQL."""
_MANAGED = re.compile(f"{OF_RDS}|{OF_AZURE}|{OF_GOOGLE}")


def managed(message: Said) -> bool:
    """Whether a provider runs the server, so that nobody else gets at its files."""
    return _MANAGED.search(message.raw) is not None
