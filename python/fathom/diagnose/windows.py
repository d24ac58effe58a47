"""Windows performance counters as metrics: what an object, instance and counter are in the table.

Shared by all formats that name counters so: PDH text, `Get-Counter`, BLG. Localised names are brought back to English
by the table in `data/windows_names.json`, whose sources it names; letters with diacritics count as those without.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fathom.diagnose.metrics import METRICS, Kind, Layer
from fathom.diagnose.table import Series

MIB = 1 << 20
TOTAL = "_Total"
"""Device of the sum over all disks of a host; used where a log has no other device."""


@dataclass(frozen=True)
class Path:
    r"""A counter's path taken apart: `\\HOST\Object(instance)\Counter`; host and instance None where not given."""

    host: str | None
    object: str
    instance: str | None
    counter: str


@dataclass(frozen=True)
class Mapped:
    """What one counter is in the table.

    Attributes:
        series: host, device, layer and metric.
        scale: what one unit of the counter is in the metric's.
        inverted: percentages that count the opposite: the value is 100 less it.
        cumulative: the counter only rises: the value is its growth since the sample before.
    """

    series: Series
    scale: float = 1.0
    inverted: bool = False
    cumulative: bool = False

    @property
    def zero_is_missing(self) -> bool:
        """Whether 0 means that there was nothing to average: Windows and ESXi print means over no events as 0."""
        return METRICS[self.series.metric].kind is Kind.AVERAGE


@dataclass(frozen=True)
class _Counter:
    metric: str
    scale: float = 1.0
    inverted: bool = False
    cumulative: bool = False


_C = _Counter
_DISK = {
    "avg. disk sec/read": _C("read_latency_s"),
    "avg. disk sec/write": _C("write_latency_s"),
    "avg. disk sec/transfer": _C("latency_s"),
    "disk reads/sec": _C("read_iops"),
    "disk writes/sec": _C("write_iops"),
    "disk transfers/sec": _C("iops"),
    "disk read bytes/sec": _C("read_bytes_per_s"),
    "disk write bytes/sec": _C("write_bytes_per_s"),
    "disk bytes/sec": _C("bytes_per_s"),
    "avg. disk bytes/read": _C("read_size_bytes"),
    "avg. disk bytes/write": _C("write_size_bytes"),
    "avg. disk bytes/transfer": _C("size_bytes"),
    "current disk queue length": _C("outstanding"),
    "avg. disk queue length": _C("outstanding_mean"),
    "avg. disk read queue length": _C("read_outstanding_mean"),
    "avg. disk write queue length": _C("write_outstanding_mean"),
    "% idle time": _C("busy_percent", inverted=True),
    "split io/sec": _C("split_iops"),
    "% free space": _C("free_percent"),
    "free megabytes": _C("free_bytes", MIB),
}
_VIRTUAL_DISK = {
    "read operations/sec": _C("read_iops"),
    "write operations/sec": _C("write_iops"),
    "read bytes/sec": _C("read_bytes_per_s"),
    "write bytes/sec": _C("write_bytes_per_s"),
    "latency": _C("latency_s"),
    "queue length": _C("outstanding"),
}
_CPU = {
    "% processor time": _C("cpu_percent"),
    "% user time": _C("cpu_user_percent"),
    "% privileged time": _C("cpu_system_percent"),
}
_MEMORY = {
    "available bytes": _C("memory_available_bytes"),
    "available kbytes": _C("memory_available_bytes", 1024),
    "available mbytes": _C("memory_available_bytes", MIB),
    "pages input/sec": _C("hard_faults_per_s"),
}
_NETWORK = {
    "bytes received/sec": _C("network_in_bytes_per_s"),
    "bytes sent/sec": _C("network_out_bytes_per_s"),
}
_SQL_SERVER = {
    "buffer manager": {
        "lazy writes/sec": _C("lazy_writes_per_s"),
        "page reads/sec": _C("page_reads_per_s"),
        "page writes/sec": _C("page_writes_per_s"),
        "page lookups/sec": _C("page_lookups_per_s"),
        "readahead pages/sec": _C("readahead_pages_per_s"),
        "checkpoint pages/sec": _C("checkpoint_pages_per_s"),
        "page life expectancy": _C("page_life_s"),
        "buffer cache hit ratio": _C("buffer_hit_percent"),
        "free list stalls/sec": _C("free_list_stalls_per_s"),
    },
    "databases": {
        "transactions/sec": _C("transactions_per_s"),
        "log flushes/sec": _C("log_flushes_per_s"),
        "log bytes flushed/sec": _C("log_bytes_per_s"),
        "log flush waits/sec": _C("log_flush_waits_per_s"),
        "log flush wait time": _C("log_flush_wait_s_per_s", 1e-3),
        "data file(s) size (kb)": _C("data_grown_bytes", 1024, cumulative=True),
        "log file(s) size (kb)": _C("log_grown_bytes", 1024, cumulative=True),
        "log growths": _C("log_growths", cumulative=True),
        "log shrinks": _C("log_shrinks", cumulative=True),
        "percent log used": _C("log_used_percent"),
        "backup/restore throughput/sec": _C("backup_bytes_per_s"),
        "dbcc logical scan bytes/sec": _C("check_bytes_per_s"),
    },
    "sql statistics": {"batch requests/sec": _C("batches_per_s")},
    "general statistics": {"user connections": _C("sessions"), "processes blocked": _C("blocked_sessions")},
    "memory manager": {
        "target server memory (kb)": _C("memory_target_bytes", 1024),
        "total server memory (kb)": _C("memory_used_bytes", 1024),
        "memory grants pending": _C("memory_grants_pending"),
    },
    "locks": {
        "lock waits/sec": _C("lock_waits_per_s"),
        "lock wait time (ms)": _C("lock_wait_s_per_s", 1e-3),
        "number of deadlocks/sec": _C("deadlocks_per_s"),
    },
    "database replica": {"log send queue": _C("replica_queue_bytes", 1024)},
}
_TOTAL_ONLY = {"locks"}
"""Objects of SQL Server of which the total over all instances is wanted."""
_MAINTENANCE = {"backup/restore throughput/sec", "dbcc logical scan bytes/sec"}
_WAITS = {
    "cumulative wait time (ms) per second": _C("wait_s_per_s", 1e-3),
    "waits in progress": _C("active_sessions"),
    "waits started per second": _C("waits_per_s"),
    "average wait time (ms)": _C("wait_latency_s", 1e-3),
}
_WAIT_NAMES = {
    "log write waits": "WRITELOG",
    "page io latch waits": "PAGEIOLATCH",
    "page latch waits": "PAGELATCH",
    "log buffer waits": "LOGBUFFER",
    "lock waits": "LCK",
    "memory grant queue waits": "RESOURCE_SEMAPHORE",
    "network io waits": "ASYNC_NETWORK_IO",
    "wait for the worker": "THREADPOOL",
}

_PATH = re.compile(
    r"^(?:\\\\(?P<host>[^\\]+))?\\(?P<object>[^\\(]+?)(?:\((?P<instance>.*)\))?\\(?P<counter>[^\\]*)$", re.DOTALL
)


def path_of(text: str) -> Path | None:
    r"""A path taken apart; None for what is none.

    An instance may hold backslashes and parentheses (`\\?\Volume{...}`): it ends at the last `)\`.
    """
    match = _PATH.match(text.strip())
    if not match:
        return None
    return Path(match["host"], match["object"].strip(), match["instance"], match["counter"].strip())


def mapped(path: Path) -> Mapped | None:
    """What a counter is in the table; None if it is not in it."""
    group = english_object(path.object)
    counter = english_counter(path.counter)
    instance = None if path.instance is None else path.instance.strip()
    if group in {"physicaldisk", "logicaldisk"}:
        if instance is None:
            return None
        instance = TOTAL if is_total(instance) else instance
        layer = Layer.GUEST_DISK if group == "physicaldisk" else Layer.GUEST_VOLUME
        return _made(_DISK.get(counter), path.host, instance, layer)
    if group in {"processor", "processor information"}:
        total = instance is not None and is_total(instance) and "," not in instance
        return _made(_CPU.get(counter), path.host, None, Layer.HOST) if total else None
    if group == "memory":
        return _made(_MEMORY.get(counter), path.host, None, Layer.HOST)
    if group == "system":
        known = _C("run_queue") if counter == "processor queue length" else None
        return _made(known, path.host, None, Layer.HOST)
    if group == "network interface":
        return _made(_NETWORK.get(counter), path.host, instance, Layer.HOST) if instance else None
    if group == "hyper-v virtual storage device":
        return _made(_VIRTUAL_DISK.get(counter), path.host, instance, Layer.VIRTUAL_DISK)
    return _sql_server(path, group, counter, instance)


def _sql_server(path: Path, group: str, counter: str, instance: str | None) -> Mapped | None:
    server, colon, part = group.partition(":")
    if not colon or not (server == "sqlserver" or server.startswith("mssql$")):
        return None
    # The named instance in its own capitals; the default one has no name.
    name = path.object.partition(":")[0].partition("$")[2] or None
    if part == "wait statistics":
        wait = _WAIT_NAMES.get(counter, path.counter)
        known = _WAITS.get((instance or "").casefold())
        return _made(known, path.host, f"{name}/{wait}" if name else wait, Layer.DATABASE_WAIT)
    known = _SQL_SERVER.get(part, {}).get(counter)
    if part in _TOTAL_ONLY:
        return _made(known, path.host, name, Layer.DATABASE) if instance and is_total(instance) else None
    if instance is not None and is_total(instance):
        # What maintenance moves tells of it without the database's name, too. Other sums would count twice.
        if counter not in _MAINTENANCE:
            return None
        instance = TOTAL
    device = "/".join(word for word in (name, instance) if word) or None
    return _made(known, path.host, device, Layer.DATABASE)


def is_total(instance: str) -> bool:
    """Whether an instance is the sum over all others; in Windows it has this name in every language."""
    return instance.casefold() in {"_total", "total", "0,_total"}


def _made(known: _Counter | None, host: str | None, device: str | None, layer: Layer) -> Mapped | None:
    if known is None:
        return None
    return Mapped(Series(host, device, layer, known.metric), known.scale, known.inverted, known.cumulative)


_LETTERS = str.maketrans({"ł": "l", "ı": "i", "ø": "o", "đ": "d", "ß": "ss", "\u2019": "'"})


def folded(name: str) -> str:
    """A name in lower case without diacritics, with straight apostrophes and single spaces."""
    text = unicodedata.normalize("NFKD", name.casefold().translate(_LETTERS))
    return " ".join("".join(letter for letter in text if not unicodedata.combining(letter)).split())


@cache
def english_object(name: str) -> str:
    """An object's English name in lower case; other names only in lower case."""
    lower = folded(name)
    return _names()[0].get(lower, lower)


@cache
def english_counter(name: str) -> str:
    """A counter's English name in lower case; other names only in lower case."""
    lower = folded(name)
    return _names()[1].get(lower, lower)


@cache
def _names() -> tuple[dict[str, str], dict[str, str]]:
    """Localised objects and counters to English ones."""
    text = (files("fathom.diagnose") / "data" / "windows_names.json").read_text(encoding="utf-8")
    table = json.loads(text)
    objects = {folded(local): english for english, names in table["objects"].items() for local in names}
    counters = {folded(local): english for english, names in table["counters"].items() for local in names}
    return objects, counters
