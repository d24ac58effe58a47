"""NBD servers side by side: fathomd, nbdkit, qemu-nbd; fio's nbd engine as the client, Unix socket, random reads.

What counts is the server's CPU time per request: fio's own client takes 6 to 7 us per request, so that one client
process ends near 150,000 requests per second whatever serves it. The server is pinned to one CPU and the clients to
the others; without that, depth 1 measures how fast a CPU wakes up. Rounds are interleaved: each server once, then
all again.

    benches/nbd_server.py --fathomd target/release/fathomd [--quick] [--json FILE]

Needs fio, nbdkit and qemu-nbd. Ends with code 1 if a bar is missed: CPU per request at most 0.6 times the better of the
two others, and requests per second no lower.
"""

from __future__ import annotations

import argparse
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
from dataclasses import asdict, dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
VOLUME_MIB = 512
BAR_CPU = 0.6
SERVER_CPU = 0


@dataclass(frozen=True)
class Case:
    """One load. `block` is bytes, `depth` requests outstanding per client."""

    medium: str
    block: int
    depth: int
    clients: int


@dataclass(frozen=True)
class Sample:
    """One server under one load: requests per second, CPU microseconds per request."""

    server: str
    case: Case
    iops: float
    cpu_us: float


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and all its threads, those that have ended too, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def wait_for(path: Path) -> None:
    """Waits until a socket is there, 10 s at most."""
    end = time.monotonic() + 10
    while not path.exists():
        if time.monotonic() > end:
            raise TimeoutError(f"no socket at {path}")
        time.sleep(0.01)


def fathomd(binary: str, medium: str, file: Path, socket: Path) -> list[str]:
    """Fathomd with one volume."""
    volume = (
        f'kind = "memory"\nsize = "{VOLUME_MIB}MiB"'
        if medium == "memory"
        else f'kind = "file"\npath = "{file}"\ndirect = "off"'
    )
    settings = socket.with_suffix(".toml")
    settings.write_text(
        f'[volumes.disk]\n{volume}\n[exports.disk]\nvolume = "disk"\n[daemon]\nsocket = "{socket}"\n', encoding="utf-8"
    )
    return [binary, str(settings), "--log-level", "warn"]


def nbdkit(medium: str, file: Path, socket: Path) -> list[str]:
    """Nbdkit with its memory or file plug-in."""
    plugin = ["memory", f"{VOLUME_MIB}M"] if medium == "memory" else ["file", str(file)]
    return ["nbdkit", "-f", "-e", "disk", "-U", str(socket), *plugin]


def qemu(medium: str, file: Path, socket: Path) -> list[str]:
    """qemu-nbd on a file; for memory the file lies on tmpfs."""
    place = Path("/dev/shm") / file.name if medium == "memory" else file
    if not place.exists():
        shutil.copyfile(file, place)
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


def load(case: Case, socket: Path, seconds: float, rw: str = "randread") -> tuple[float, float]:
    """Runs fio on the other CPUs; requests per second and the number of requests."""
    others = sorted(os.sched_getaffinity(0) - {SERVER_CPU}) or [SERVER_CPU]
    command = [
        "taskset", "-c", ",".join(map(str, others)), "fio", "--name=load", "--ioengine=nbd",
        f"--uri=nbd+unix:///disk?socket={socket}", "--thread",
        f"--size={VOLUME_MIB}m", f"--rw={rw}", f"--bs={case.block}", f"--iodepth={case.depth}",
        f"--numjobs={case.clients}", f"--runtime={seconds}", "--time_based", "--group_reporting",
        "--randrepeat=0", "--norandommap", "--output-format=json",
    ]  # fmt: skip
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    read = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["read" if "read" in rw else "write"]
    return float(read["iops"]), float(read["total_ios"])


def measure(server: str, command: list[str], case: Case, socket: Path, seconds: float) -> Sample:
    """One sample: warmed up, then measured."""
    with running(command, socket) as pid:
        load(case, socket, 0.5)
        before = cpu_seconds(pid)
        iops, count = load(case, socket, seconds)
        return Sample(server, case, iops, (cpu_seconds(pid) - before) / count * 1e6)


def cases(quick: bool) -> list[Case]:
    """The loads of the bars."""
    media = ("memory", "file")
    if quick:
        return [Case("memory", 8192, depth, 1) for depth in (1, 16)]
    one = [Case(medium, block, depth, 1) for medium in media for block in (4096, 8192) for depth in (1, 16, 64)]
    return one + [Case(medium, 8192, 16, 4) for medium in media]


def verdict(samples: list[Sample], case: Case) -> tuple[str, bool]:
    """One row of the table, and whether the bars are met."""

    def median(server: str, pick: Callable[[Sample], float]) -> float:
        return statistics.median(pick(sample) for sample in samples if (sample.server, sample.case) == (server, case))

    servers = ("fathomd", "nbdkit", "qemu-nbd")
    cpu = {server: median(server, lambda sample: sample.cpu_us) for server in servers}
    iops = {server: median(server, lambda sample: sample.iops) for server in servers}
    ratio = cpu["fathomd"] / min(cpu["nbdkit"], cpu["qemu-nbd"])
    pace = iops["fathomd"] / max(iops["nbdkit"], iops["qemu-nbd"])
    met = ratio <= BAR_CPU and pace >= 0.97
    cells = " | ".join(f"{cpu[server]:5.1f} / {iops[server] / 1e3:4.0f} k" for server in servers)
    name = f"{case.medium}, {case.block // 1024} KiB, depth {case.depth}, {case.clients} client(s)"
    return f"| {name} | {cells} | {ratio:.2f} | {pace:.2f} |", met


def main() -> int:
    """Measures, prints a table in Markdown; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fathomd", default="target/release/fathomd")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory() as directory:
        file, socket = Path(directory) / "fathom-bench.raw", Path(directory) / "nbd.sock"
        file.write_bytes(os.urandom(1 << 20) * VOLUME_MIB)
        copy = Path("/dev/shm") / file.name
        try:
            for _ in range(arguments.rounds):
                for case in cases(arguments.quick):
                    commands = {
                        "fathomd": fathomd(arguments.fathomd, case.medium, file, socket),
                        "nbdkit": nbdkit(case.medium, file, socket),
                        "qemu-nbd": qemu(case.medium, file, socket),
                    }
                    for server, command in commands.items():
                        samples.append(measure(server, command, case, socket, arguments.seconds))
        finally:
            copy.unlink(missing_ok=True)
    print("| load | fathomd: CPU us per request / requests per s | nbdkit | qemu-nbd | CPU ratio | pace |")
    print("|---|---|---|---|---|---|")
    rows = [verdict(samples, case) for case in cases(arguments.quick)]
    print("\n".join(row for row, _ in rows))
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(sample) for sample in samples], indent=1), encoding="utf-8")
    missed = sum(not met for _, met in rows)
    print(f"bars missed: {missed} of {len(rows)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
