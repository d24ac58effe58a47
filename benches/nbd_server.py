"""NBD servers side by side: fathomd, nbdkit, qemu-nbd; fio's nbd engine as the client, Unix socket.

What counts is the server's CPU time per request: fio's own client takes 6 to 7 us per request, so that one client
process ends near 150,000 requests per second whatever serves it. The server is pinned to one CPU and the clients to
the others; without that, depth 1 measures how fast a CPU wakes up. Rounds are interleaved: each server once with all
loads, then all again. No server finds pages of its file in the page cache: in what pieces they lie there decides what a
write costs. Everything is written once before it is read or written at random.

`stack` is adapter, write-back cache and stripe on three files, which nbdkit's bare file is held against; what is
destaged meanwhile counts as the server's. Its files are in the page cache as nbdkit's is, and once more, for writes,
with direct I/O. Random writes go to a cache of 4 GiB that has room for all of them and has destaged what was written
before, and to one of 256 MiB, which is full after a few tenths of a second: then every page goes to the files three
times, and nbdkit's once to memory. (In 1.2 s they come to 0.7 GB. In a cache of 1 GiB destaging would hurry after a
third of that.) In the page cache the cache of 4 GiB is filled once first: a log finds its pages there from its second
turn on, and what a page costs that the kernel has to find first depends on the host (1 to 11 us).

    benches/nbd_server.py --fathomd target/release/fathomd [--stack] [--quick] [--json FILE]

Needs fio, nbdkit and qemu-nbd; takes six minutes, with `--stack` two. Ends with code 1 if a bar is missed: CPU per
request at most 0.6 times the better of the two others, and requests per second no lower; for the stack, reads for no
more CPU than nbdkit's on a file, and random writes at its rate at least, for at most 1.2 times its CPU in the page
cache and 0.8 times with direct I/O.
"""

import argparse
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from socket import AF_UNIX, SOCK_STREAM
from socket import socket as Socket

from common import Table, cpu_seconds

VOLUME_MIB = 256
ROOM = 16  # times as large is the cache that has room
BAR_CPU, BAR_PACE = 0.6, 0.97
SERVER_CPU = 0
MEDIA = ("memory", "file")
FULL, FULL_DIRECT = "stack, full cache", "stack, full cache, direct I/O"
DIRECT = "stack, direct I/O"


@dataclass(frozen=True)
class Case:
    """One load. `block` is bytes, `depth` requests outstanding per client."""

    medium: str
    block: int
    depth: int
    clients: int = 1
    rw: str = "randread"


@dataclass(frozen=True)
class Sample:
    """One server under one load: requests per second, CPU microseconds per request."""

    server: str
    case: Case
    iops: float
    cpu_us: float


def forget(file: Path) -> None:
    """Has the page cache give up what it holds of a file."""
    descriptor = os.open(file, os.O_RDWR)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def status_of(socket: Path) -> Path:
    """Fathomd's status socket beside its own."""
    return socket.with_name("status.sock")


def destage(socket: Path) -> None:
    """Has fathomd put in place all that was written."""
    with Socket(AF_UNIX, SOCK_STREAM) as status:
        status.connect(str(status_of(socket)))
        status.sendall(b"POST /drain HTTP/1.1\r\nHost: fathomd\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        answer = status.recv(4096).split(b"\r\n")[0]
    if b" 200" not in answer and b" 204" not in answer:
        raise RuntimeError(f"fathomd did not drain: {answer!r}")


def wait_for(path: Path) -> None:
    """Waits until a socket is there, 10 s at most."""
    end = time.monotonic() + 10
    while not path.exists():
        if time.monotonic() > end:
            raise TimeoutError(f"no socket at {path}")
        time.sleep(0.01)


def fathomd(binary: str, medium: str, file: Path, socket: Path) -> list[str]:
    """Fathomd with one volume, and for a stack with a cache and two members made anew."""
    direct = "require" if medium in (DIRECT, FULL_DIRECT) else "off"
    cache_mib = VOLUME_MIB if medium in (FULL, FULL_DIRECT) else ROOM * VOLUME_MIB

    def on_file(name: str, path: Path, size: int | None = None) -> str:
        return f'[volumes.{name}]\nkind = "file"\npath = "{path}"\ndirect = "{direct}"\n' + (
            f'size = "{size}MiB"\nallocation = "written"\n' if size else ""
        )

    if medium == "memory":
        volumes = f'[volumes.disk]\nkind = "memory"\nsize = "{VOLUME_MIB}MiB"\n'
    elif medium == "file":
        volumes = on_file("disk", file)
    else:
        places = {name: file.with_name(f"{name}.raw") for name in ("one", "two", "fast")}
        for place in places.values():
            place.unlink(missing_ok=True)
        sizes = {"one": VOLUME_MIB, "two": VOLUME_MIB, "fast": cache_mib}
        volumes = "".join(on_file(name, place, sizes[name]) for name, place in places.items())
        volumes += '[volumes.striped]\nkind = "stripe"\nmembers = ["one", "two"]\n'
        volumes += '[volumes.cached]\nkind = "writeback"\nbacking = "striped"\ncache = "fast"\n'
        volumes += "" if cache_mib == VOLUME_MIB else f'dirty_limit = "{cache_mib * 3 // 4}MiB"\n'
        volumes += '[volumes.disk]\nkind = "adapter"\nbacking = "cached"\nmodel = "vmware/pvscsi"\n'
    forget(file)
    settings = socket.with_suffix(".toml")
    text = f'{volumes}[exports.disk]\nvolume = "disk"\n[daemon]\nsocket = "{socket}"\nstatus = "{status_of(socket)}"\n'
    settings.write_text(text, encoding="utf-8")
    if medium in STACKS:
        subprocess.run([binary, "--create", str(settings)], check=True, capture_output=True)
    return [binary, str(settings), "--log-level", "warn"]


def nbdkit(medium: str, file: Path, socket: Path) -> list[str]:
    """Nbdkit with its memory or file plug-in."""
    forget(file)
    plugin = ["memory", f"{VOLUME_MIB}M"] if medium == "memory" else ["file", str(file)]
    return ["nbdkit", "-f", "-e", "disk", "-U", str(socket), *plugin]


def qemu(medium: str, file: Path, socket: Path) -> list[str]:
    """qemu-nbd on a file; for memory the file lies on tmpfs."""
    place = Path("/dev/shm") / file.name if medium == "memory" else file
    if not place.exists():
        shutil.copyfile(file, place)
    forget(file)
    cache = ["--cache=writeback", "--aio=threads" if medium == "memory" else "--aio=io_uring"]
    return ["qemu-nbd", "-f", "raw", "-x", "disk", "-k", str(socket), "-t", "-e", "16", *cache, str(place)]


@contextmanager
def running(command: list[str], socket: Path) -> Iterator[int]:
    """A server on its CPU, for as long as the block lasts; yields its process number."""
    socket.unlink(missing_ok=True)
    server = subprocess.Popen(["taskset", "-c", str(SERVER_CPU), *command])
    try:
        wait_for(socket)
        yield server.pid
    finally:
        server.terminate()
        server.wait()


def load(case: Case, socket: Path, *more: str) -> tuple[float, float]:
    """Runs fio on the other CPUs; requests per second and the number of requests."""
    others = sorted(os.sched_getaffinity(0) - {SERVER_CPU}) or [SERVER_CPU]
    command = [
        "taskset", "-c", ",".join(map(str, others)), "fio", "--name=load", "--ioengine=nbd",
        f"--uri=nbd+unix:///disk?socket={socket}", "--thread",
        f"--size={VOLUME_MIB}m", f"--rw={case.rw}", f"--bs={case.block}", f"--iodepth={case.depth}",
        f"--numjobs={case.clients}", "--group_reporting", "--randrepeat=0", "--output-format=json", *more,
    ]  # fmt: skip
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    job = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["read" if "read" in case.rw else "write"]
    return float(job["iops"]), float(job["total_ios"])


def measure(server: str, command: list[str], cases: list[Case], socket: Path, seconds: float) -> Iterator[Sample]:
    """One server under all loads of a medium: filled, then measured."""
    timed = ("--time_based", f"--runtime={seconds}", "--norandommap")
    with running(command, socket) as pid:
        fills = ROOM if cases[0].medium == "stack" else 1
        for _ in range(fills):
            load(Case(cases[0].medium, 1 << 18, 8, rw="write"), socket)
        if cases[0].medium in ("stack", DIRECT):
            destage(socket)
        for case in cases:
            before = cpu_seconds(pid)
            iops, count = load(case, socket, *timed)
            yield Sample(server, case, iops, (cpu_seconds(pid) - before) / count * 1e6)


LOADS = [(block, depth, 1) for block in (4096, 8192) for depth in (1, 16, 64)] + [(8192, 16, 4)]
STACKS = {
    "stack": [Case("stack", 8192, depth) for depth in (1, 16, 64)] + [Case("stack", 8192, 16, rw="randwrite")],
    **{medium: [Case(medium, 8192, 16, rw="randwrite")] for medium in (DIRECT, FULL, FULL_DIRECT)},
}


def bars(case: Case) -> tuple[float, float | None]:
    """CPU per request at most, and requests per second at least, both by nbdkit's on a file."""
    if case.rw == "randread":
        return 1.0, None
    return (0.8 if case.medium in (DIRECT, FULL_DIRECT) else 1.2), 1.0


def bare_file(case: Case) -> Case:
    """The same load on nbdkit's file, which a stack is held against."""
    return replace(case, medium="file")


def one_round(binary: str, file: Path, socket: Path, seconds: float, media: tuple[str, ...]) -> Iterator[Sample]:
    """Every server once; without media only what the stacks are held against, and those."""
    if not media:
        bare = [bare_file(case) for case in STACKS["stack"]]
        yield from measure("nbdkit", nbdkit("file", file, socket), bare, socket, seconds)
    for medium in media:
        cases = [Case(medium, *numbers) for numbers in LOADS]
        bare = [bare_file(case) for case in STACKS["stack"] if case.rw != "randread"]
        yield from measure("fathomd", fathomd(binary, medium, file, socket), cases, socket, seconds)
        bare = bare if medium == "file" else []
        yield from measure("nbdkit", nbdkit(medium, file, socket), cases + bare, socket, seconds)
        yield from measure("qemu-nbd", qemu(medium, file, socket), cases, socket, seconds)
    for medium, cases in STACKS.items():
        yield from measure("fathomd", fathomd(binary, medium, file, socket), cases, socket, seconds)


def judge(table: Table, samples: list[Sample], media: tuple[str, ...]) -> None:
    """The rows with their bars."""

    def median(server: str, case: Case, pick: Callable[[Sample], float]) -> float:
        return statistics.median(pick(sample) for sample in samples if (sample.server, sample.case) == (server, case))

    def cost(server: str, case: Case) -> tuple[float, float]:
        return median(server, case, lambda sample: sample.cpu_us), median(server, case, lambda sample: sample.iops)

    def cell(figures: tuple[float, float]) -> str:
        return f"{figures[0]:.1f} / {figures[1] / 1e3:.0f} k"

    for case in (Case(medium, *numbers) for medium in media for numbers in LOADS):
        ours, *theirs = (cost(server, case) for server in ("fathomd", "nbdkit", "qemu-nbd"))
        ratio = ours[0] / min(cpu for cpu, _ in theirs)
        pace = ours[1] / max(iops for _, iops in theirs)
        name = f"{case.medium}, {case.block // 1024} KiB, depth {case.depth}, {case.clients} client(s)"
        cells = name, cell(ours), *map(cell, theirs), f"{ratio:.2f}", f"{pace:.2f}"
        met = ratio <= BAR_CPU and pace >= BAR_PACE
        table.row(*cells, bar=f"CPU at most {BAR_CPU:g}, pace at least {BAR_PACE:g}", met=met)
    for case in itertools.chain(*STACKS.values()):
        ours, bare = cost("fathomd", case), cost("nbdkit", bare_file(case))
        ratio, pace = ours[0] / bare[0], ours[1] / bare[1]
        cells = (
            f"{case.medium}, 8 KiB {case.rw}, depth {case.depth}",
            cell(ours),
            cell(bare),
            "",
            f"{ratio:.2f}",
            f"{pace:.2f}",
        )
        most, least = bars(case)
        bar = f"CPU at most {most:g}" + (f", pace at least {least:g}" if least else "")
        table.row(*cells, bar=bar, met=ratio <= most and (least is None or pace >= least))


def main() -> int:
    """Measures, prints a table in Markdown; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fathomd", default="target/release/fathomd")
    parser.add_argument("--seconds", type=float, default=1.2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one short round, to see that it works")
    parser.add_argument("--stack", action="store_true", help="only the stacks, and nbdkit's file")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    media = () if arguments.stack else MEDIA
    rounds, seconds = (1, 0.3) if arguments.quick else (arguments.rounds, arguments.seconds)
    samples: list[Sample] = []
    columns = "fathomd: CPU us per request / requests per s", "nbdkit", "qemu-nbd", "CPU ratio", "pace"
    table = Table("load", *columns, "to reach", "met")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        file, socket = Path(directory) / "fathom-bench.raw", Path(directory) / "nbd.sock"
        file.write_bytes(os.urandom(1 << 20) * VOLUME_MIB)
        try:
            for _ in range(rounds):
                samples += one_round(arguments.fathomd, file, socket, seconds, media)
        finally:
            (Path("/dev/shm") / file.name).unlink(missing_ok=True)
    judge(table, samples, media)
    figures = [{**vars(sample), "case": vars(sample.case)} for sample in samples]
    return table.finish(figures, arguments.json, judge=not arguments.quick)


if __name__ == "__main__":
    sys.exit(main())
