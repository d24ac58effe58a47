"""The real driver against fio: CPU per I/O on a null device and a page-cached file, IOPS and latency past the cache.

Fathom runs its `io` workload (crates/workload/examples/drive_volume.rs) with all counters and histograms on; fio runs
its io_uring or null engine with the same load, and a second time with registered files and buffers (`tuned`), which
Fathom uses by itself. All are pinned to one CPU: unpinned, small depths measure how fast a CPU wakes up. Rounds are
interleaved. Figures are medians over the rounds, a ratio is the median of the rounds' ratios: what changes from one
round to the next is in both programs' figures, and not in their ratio. The file is read once before anything is
measured, because cold reads of a cloud disk are another thing; offsets are uniform over it, other ones in each run,
in both.

Latency is the same in both: fio's from the moment it fills a request in until it sees the completion (submission
latency plus completion latency), Fathom's from the moment a request is at the volume until its completion is seen.
Each user begins its next request as soon as the last one has ended, so by Little's law mean latency is depth / IOPS;
programs that reach the same IOPS can differ only in the shape of the distribution.

    benches/real_driver.py [--quick] [--file PATH] [--json FILE]

Needs fio, taskset and cargo; takes nine minutes beside the build. Ends with code 1 if a bar is missed, all at depth
32: CPU per I/O on the null device at most 0.4 times fio's; on a page-cached file user time per I/O at most 0.3 times
and all CPU time at most 0.85 times fio's; O_DIRECT IOPS no more than 3 % below fio's, and latency percentiles no more
than 3 % above. User time is counted by the kernel's ticks (4 ms where there are 250 a second), so a page-cached run is
the longest: some fifty ticks of ours fall into it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, fields
from pathlib import Path

from common import Table

ROOT = Path(__file__).resolve().parent.parent
CPU = str((os.cpu_count() or 1) - 1)
FILE_MIB = 512
PERCENTILES = (50, 95, 99)
BAR_NULL, BAR_USER, BAR_WHOLE, BAR_DIRECT = 0.4, 0.3, 0.85, 0.03


@dataclass(frozen=True)
class Case:
    """One load: `device` is null, buffered or direct; block in bytes."""

    device: str
    block: int
    depth: int

    @property
    def seconds(self) -> int:
        """How long a run is."""
        return {"null": 1, "buffered": 3, "direct": 2}[self.device]

    @property
    def rounds(self) -> int:
        """How many there are: the disk is another's, too, and a percentile differs by a third from round to round."""
        return {"null": 7, "buffered": 9, "direct": 21}[self.device]


@dataclass(frozen=True)
class Sample:
    """One run: I/Os per second, CPU ns per I/O, latency in us."""

    iops: float
    user_ns: float
    system_ns: float
    p50_us: float
    p95_us: float
    p99_us: float

    @property
    def cpu_ns(self) -> float:
        """All CPU time per I/O."""
        return self.user_ns + self.system_ns


CASES = [
    Case("null", 4096, 32),
    Case("null", 8192, 32),
    Case("buffered", 4096, 32),
    Case("buffered", 8192, 32),
    Case("direct", 4096, 32),
    Case("direct", 8192, 32),
]


def run(words: list[str]) -> dict[str, object]:
    """A program on the one CPU; its standard output is JSON."""
    done = subprocess.run(["taskset", "-c", CPU, *words], check=True, capture_output=True, text=True)
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def fathom(binary: Path, case: Case, file: Path, seconds: int) -> Sample:
    """The `io` workload on one device."""
    device = "null" if case.device == "null" else f"{case.device}:{file}"
    answer = run([str(binary), device, str(case.depth), str(case.block), "1.0", str(seconds)])
    return Sample(**{field.name: answer[field.name] for field in fields(Sample)})  # type: ignore[arg-type]


def fio(case: Case, file: Path, seconds: int, *more: str) -> Sample:
    """The same load as a thread of fio. A map of blocks already read is left out on both sides."""
    null = case.device == "null"
    words = ["fio", "--name=run", "--thread", "--rw=randread", "--norandommap", "--randrepeat=0", "--invalidate=0"]
    words += [f"--bs={case.block}", f"--iodepth={case.depth}", f"--direct={int(case.device == 'direct')}"]
    words += ["--time_based", f"--runtime={seconds}", f"--size={FILE_MIB}m", "--lat_percentiles=1"]
    words += ["--clat_percentiles=0", "--percentile_list=" + ":".join(map(str, PERCENTILES))]
    words += ["--ioengine=null"] if null else ["--ioengine=io_uring", f"--filename={file}"]
    job = run([*words, *more, "--output-format=json"])["jobs"][0]  # type: ignore[index]
    read = job["read"]
    per_io = job["job_runtime"] * 1e6 / 100 / read["total_ios"]
    at = read["lat_ns"].get("percentile", {})
    percentiles = [at.get(f"{percent:.6f}", 0) / 1e3 for percent in PERCENTILES]
    return Sample(read["iops"], job["usr_cpu"] * per_io, job["sys_cpu"] * per_io, *percentiles)


def median(samples: list[Sample]) -> Sample:
    """Field by field."""
    return Sample(*(statistics.median(getattr(sample, field.name) for sample in samples) for field in fields(Sample)))


def judge(table: Table, case: Case, samples: dict[str, list[Sample]]) -> None:
    """The rows of a case, each figure with its bar."""
    medians = {program: median(runs) for program, runs in samples.items()}
    name = f"{case.device}, {case.block // 1024} KiB"

    def row(what: str, pick: str, unit: str, bar: float, least: bool = False) -> None:
        values = {program: getattr(sample, pick) for program, sample in medians.items()}
        pairs = zip(samples["fathom"], samples["fio"], strict=True)
        ratio = statistics.median(getattr(our, pick) / getattr(their, pick) for our, their in pairs)
        others = [f"{values[program]:,.0f} {unit}" if program in values else "" for program in ("fio", "tuned")]
        met = ratio >= bar if least else ratio <= bar
        reach = f"at {'least' if least else 'most'} {bar:g}"
        table.row(name, what, f"{values['fathom']:,.0f} {unit}", *others, f"{ratio:.2f}", bar=reach, met=met)

    if case.device == "null":
        row("CPU per I/O", "cpu_ns", "ns", BAR_NULL)
    elif case.device == "buffered":
        row("user time per I/O", "user_ns", "ns", BAR_USER)
        row("CPU per I/O", "cpu_ns", "ns", BAR_WHOLE)
    else:
        row("I/Os per second", "iops", "", 1 - BAR_DIRECT, least=True)
        for percent in PERCENTILES:
            row(f"p{percent}", f"p{percent}_us", "us", 1 + BAR_DIRECT)
        costs = [f"{medians[program].cpu_ns:,.0f} ns" for program in ("fathom", "fio", "tuned")]
        table.row(name, "CPU per I/O", *costs, "")


def build() -> Path:
    """The example of crates/workload, built for speed."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "fathom-workload", "--example", "drive_volume"]
    subprocess.run(command, check=True, cwd=ROOT)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / "drive_volume"


def prepare(file: Path) -> None:
    """A file of random bytes, on the disk and read once."""
    with file.open("wb") as out:
        for _ in range(FILE_MIB):
            out.write(os.urandom(1 << 20))
        out.flush()
        os.fsync(out.fileno())
    subprocess.run(["dd", f"if={file}", "of=/dev/null", "bs=1M", "iflag=direct"], check=True, capture_output=True)
    subprocess.run(["dd", f"if={file}", "of=/dev/null", "bs=1M"], check=True, capture_output=True)


def measure(case: Case, binary: Path, file: Path, rounds: int, seconds: int) -> dict[str, list[Sample]]:
    """Samples of all programs, each once per round, who is first taking turns."""
    samples: dict[str, list[Sample]] = {"fathom": [], "fio": []}
    runs = {"fathom": lambda: fathom(binary, case, file, seconds), "fio": lambda: fio(case, file, seconds)}
    if case.device != "null":
        samples["tuned"] = []
        runs["tuned"] = lambda: fio(case, file, seconds, "--fixedbufs", "--registerfiles")
    for index in range(rounds):
        names = list(runs)
        for name in names if index % 2 == 0 else reversed(names):
            samples[name].append(runs[name]())
    return samples


def main() -> int:
    """Runs all cases, prints a table, tells whether the bars hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="one short round, to see that it works")
    parser.add_argument("--file", type=Path, help="the file to read; made and removed if it is not given")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args()
    binary = build()
    figures: list[dict[str, object]] = []
    table = Table("load", "figure", "Fathom", "fio", "fio, tuned", "ratio", "to reach", "met")
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:
        file = options.file or Path(folder) / "disk"
        if not options.file:
            prepare(file)
        for case in CASES:
            rounds, seconds = (1, 1) if options.quick else (case.rounds, case.seconds)
            samples = measure(case, binary, file, rounds, seconds)
            judge(table, case, samples)
            for program, runs in samples.items():
                figures += [{**vars(case), "program": program, **vars(sample)} for sample in runs]
    return table.finish(figures, options.json, judge=not options.quick)


if __name__ == "__main__":
    sys.exit(main())
