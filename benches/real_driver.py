"""The real driver against fio: CPU per I/O on a null device and a page-cached file, IOPS and latency past the cache.

Fathom runs its `io` workload (crates/workload/examples/drive_volume.rs) with all counters and histograms on; fio runs
its io_uring or null engine with the same load, and a second time with registered files and buffers (`tuned`), which
Fathom uses by itself. All are pinned to one CPU: unpinned, small depths measure how fast a CPU wakes up. Rounds are
interleaved, figures are medians over the rounds. The file is read once before anything is measured, because cold
reads of a cloud disk are another thing.

    benches/real_driver.py [--quick] [--file PATH] [--json FILE]

Needs fio, taskset and cargo. Ends with code 1 if a bar is missed, all at depth 32: CPU per I/O on the null device at
most 0.4 times fio's; on a page-cached file user time per I/O at most 0.3 times and all CPU time at most 0.85 times
fio's; O_DIRECT IOPS no more than 3 % below fio's, and latency percentiles no more than 3 % above.
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


def misses(case: Case, ours: Sample, theirs: Sample) -> list[str]:
    """Which bars a case misses, in words."""
    if case.device == "null":
        checks = [("CPU per I/O", ours.cpu_ns / theirs.cpu_ns, BAR_NULL)]
    elif case.device == "buffered":
        checks = [("user time per I/O", ours.user_ns / theirs.user_ns, BAR_USER)]
        checks += [("CPU per I/O", ours.cpu_ns / theirs.cpu_ns, BAR_WHOLE)]
    else:
        checks = [("time per I/O", theirs.iops / ours.iops, 1 + BAR_DIRECT)]
        for percent in PERCENTILES:
            name = f"p{percent}_us"
            checks.append((f"p{percent}", getattr(ours, name) / getattr(theirs, name), 1 + BAR_DIRECT))
    return [f"{name} is {ratio:.2f} of fio's, and {bar:g} was to be had" for name, ratio, bar in checks if ratio > bar]


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


def measure(case: Case, binary: Path, file: Path, rounds: int, seconds: int) -> dict[str, Sample]:
    """Medians of all programs, each once per round."""
    samples: dict[str, list[Sample]] = {"fathom": [], "fio": []}
    tuned = ["--fixedbufs", "--registerfiles"]
    for _ in range(rounds):
        samples["fathom"].append(fathom(binary, case, file, seconds))
        samples["fio"].append(fio(case, file, seconds))
        if case.device == "buffered":
            samples.setdefault("tuned", []).append(fio(case, file, seconds, *tuned))
    return {name: median(runs) for name, runs in samples.items()}


def main() -> int:
    """Runs all cases, prints a table, tells whether the bars hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="one short round, to see that it works")
    parser.add_argument("--file", type=Path, help="the file to read; made and removed if it is not given")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args()
    rounds, seconds = (1, 1) if options.quick else (7, 3)
    binary = build()
    figures, missed = [], []
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:
        file = options.file or Path(folder) / "disk"
        if not options.file:
            prepare(file)
        print("device    block depth program       IOPS  user ns system ns   p50 us   p95 us   p99 us")
        for case in CASES:
            medians = measure(case, binary, file, rounds, seconds)
            for name, sample in medians.items():
                print(
                    f"{case.device:8} {case.block:6} {case.depth:5} {name:7} {sample.iops:10.0f} {sample.user_ns:8.0f}"
                    f" {sample.system_ns:9.0f} {sample.p50_us:8.2f} {sample.p95_us:8.2f} {sample.p99_us:8.2f}"
                )
                figures.append({"case": vars(case), "program": name, **vars(sample)})
            missed += [f"{case}: {why}" for why in misses(case, medians["fathom"], medians["fio"])]
    print("\n".join(missed) if missed else "the bars are met")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 1 if missed and not options.quick else 0


if __name__ == "__main__":
    sys.exit(main())
