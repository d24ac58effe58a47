"""Samples everything a run touches: driver, host, places, the volume daemon's layers, servers and databases."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType

from fathom.host import counters, machine, mounts
from fathom.observe.sample import Key, Observation
from fathom.provision import volumes
from fathom.provision.client import Client, ClientError
from fathom.provision.database import kinds
from fathom.provision.provide import Provided

_LAYER_COUNTERS = {"cached_reads", "log_reads", "origin_reads", "resync_bytes"}
"""Of a write-back cache: reads answered by its read cache, its log, the backing volume. Of a mirror: what it copied."""


class Observer:
    """Holds a client per database open; close it."""

    def __init__(self, around: Provided, scratch: Path) -> None:
        self._around = around
        self._stack = ExitStack()
        self._spent = 0.0
        self.troubles: dict[str, str] = {}
        # The files of a server that ran before may be anywhere, on another machine even: only those of others are seen.
        private = any(server.database.connect is None for server in around.servers.values())
        self._devices = _devices(dict(around.places) if around.places or not private else {"scratch": scratch})
        self._clients: dict[str, tuple[Client, ModuleType, str]] = {}
        for name, server in around.servers.items():
            dialect = kinds()[server.database.kind].sampling
            if server.client is None or dialect is None:
                continue
            client = self._stack.enter_context(Client(server.client, server.client_environment))
            self._asking(name, partial(self._open, name, client, dialect))

    def close(self) -> None:
        """Ends the clients."""
        self._stack.close()

    def observe(self) -> Observation:
        """Everything, once."""
        with self._timed():
            return self._observe()

    def waits(self) -> Observation:
        """What the databases' sessions wait for, at this moment."""
        with self._timed():
            return self._waits()

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Sampling costs time as well: it is reported apart from the driver's."""
        before = time.thread_time()
        try:
            yield
        finally:
            self._spent += time.thread_time() - before

    def _observe(self) -> Observation:
        grown: dict[Key, float] = {
            Key("driver", "cpu_s"): counters.own_cpu_seconds() - self._spent,
            Key("observer", "cpu_s"): self._spent,
        }
        gauges: dict[Key, float] = {Key("host", name): float(value) for name, value in counters.memory().items()}
        self._places(grown)
        self._volumes(grown, gauges)
        for name, server in self._around.servers.items():
            for role, process in server.processes.items():
                spent = None if process.pid is None else counters.cpu_seconds(process.pid)
                if spent is not None:
                    grown[Key(role, "cpu_s", name)] = spent
            spent = None if server.neighbour is None else counters.cpu_seconds(server.neighbour)
            if spent is not None:
                grown[Key("server", "cpu_s", name)] = spent
        usable = self._usable()
        if usable is not None:
            gauges[Key("server", "usable_cpus")] = usable
        for name, (client, dialect, statement) in list(self._clients.items()):
            self._asking(name, partial(_database, name, client, dialect, statement, grown, gauges))
        return Observation(time.monotonic_ns(), grown, gauges)

    def _waits(self) -> Observation:
        gauges: dict[Key, float] = {}
        for name, (client, dialect, _) in list(self._clients.items()):
            self._asking(name, partial(_waits, name, client, dialect, gauges))
        return Observation(time.monotonic_ns(), {}, gauges)

    def _open(self, name: str, client: Client, dialect: ModuleType) -> None:
        self._clients[name] = (client, dialect, dialect.prepare(client))

    def _asking(self, name: str, question: Callable[[], None]) -> None:
        """A database that does not answer is not asked again; the run continues without its samples."""
        try:
            question()
        except (ClientError, IndexError, ValueError) as problem:
            self.troubles[name] = f"not sampled to the end: {problem}"
            self._clients.pop(name, None)

    def _usable(self) -> float | None:
        """Processors that the servers may use, those that several share counted once; None if none runs here."""
        found: set[int] = set()
        for server in self._around.servers.values():
            processes = [server.neighbour, *(process.pid for process in server.processes.values())]
            for process in processes:
                found |= counters.affinity(process) if process is not None else frozenset()
        if not found:
            return None
        return min(float(len(found)), machine.quota_processors() or math.inf)

    def _places(self, grown: dict[Key, float]) -> None:
        table = Path("/proc/diskstats").read_text(encoding="utf-8")
        for name, device in self._devices.items():
            found = counters.requests(device, table)
            if found is None:
                continue
            counted = {
                "reads": found.reads,
                "read_bytes": found.read_bytes,
                "read_latency_s": found.read_s,
                "writes": found.writes,
                "write_bytes": found.write_bytes,
                "write_latency_s": found.write_s,
                "outstanding_s": found.outstanding_s,
                "flushes": found.flushes,
            }
            grown.update({Key("place", what, name): value for what, value in counted.items() if value is not None})

    def _volumes(self, grown: dict[Key, float], gauges: dict[Key, float]) -> None:
        if self._around.status is None:
            return
        process = self._around.daemon
        spent = None if process is None or process.pid is None else counters.cpu_seconds(process.pid)
        if spent is not None:
            grown[Key("fathomd", "cpu_s")] = spent
        told = volumes.statistics(self._around.status)
        for volume in told.get("volumes", ()):
            name = volume["name"]
            gauges[Key("volume", "outstanding", name)] = float(volume["outstanding"])
            for counter in _LAYER_COUNTERS & volume["counters"].keys():
                grown[Key("volume", counter, name)] = float(volume["counters"][counter])
            for kind, counted in volume["requests"].items():
                grown[Key("volume", f"{kind}_requests", name)] = float(counted["count"])
                grown[Key("volume", f"{kind}_errors", name)] = float(counted["errors"])
                grown[Key("volume", f"{kind}_bytes", name)] = float(counted["bytes"])
                grown[Key("volume", f"{kind}_latency_s", name)] = counted["latency_sum_ns"] / 1e9
        for group in told.get("writeback", ()):
            gauges[Key("volume", "dirty_bytes", group["name"])] = float(group["dirty_bytes"])


def _database(
    name: str, client: Client, dialect: ModuleType, statement: str, grown: dict[Key, float], gauges: dict[Key, float]
) -> None:
    counted, standing = dialect.counters(client, statement)
    grown.update({Key("database", measure, name): value for measure, value in counted.items()})
    gauges.update({Key("database", measure, name): value for measure, value in standing.items()})


def _waits(name: str, client: Client, dialect: ModuleType, gauges: dict[Key, float]) -> None:
    gauges.update({Key("waits", "sessions", name, event): count for event, count in dialect.waits(client).items()})


def _devices(places: dict[str, Path]) -> dict[str, str]:
    """Block device numbers of the file systems that hold the places; those on the same one are counted once."""
    found: dict[str, str] = {}
    for name, path in places.items():
        device = mounts.file_system(path).mount.device
        if device not in found.values():
            found[name] = device
    return found
