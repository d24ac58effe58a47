"""What users feel of a write-back cache in front of a cloud volume, in virtual time: evenness, reads, throughput.

Each cell is one load on the plain volume and on the same volume behind the cache: `aws/gp3`, `aws/gp2` and
`aws/io2-block-express`, 1 TiB each, behind 50 GB of `aws/r5d.2xlarge/nvme`; 8 KiB, 50, 70 or 95 % reads, uniform or
Zipf offsets (0.99); a closed loop of 32 users, or an open one (Poisson) at 80 % of the volume's IOPS; steady, or with
two bursts of ten seconds. In a burst an open loop writes twice as much, a closed one has 64 users. One minute passes
before anything is measured, then one minute, two with bursts.

Bars: every second outside of bursts within 10 % of their mean; 99th percentile of reads at most 1.3 times that of the
same rate of reads on the plain volume while no write is held back; throughput no lower than before, which is what a
file written by `--json` holds.

The same rate of reads: for an open loop, the same load on the plain volume (without bursts, which only add writes). In
a closed loop the cache answers writes at once, so that all users wait for reads of the volume, and by Little's law
their mean latency is users by rate. The reference is therefore as many users who only read, on the plain volume limited
to the rate at which it served reads below the cache. The ratio to the same closed loop on the plain volume is printed,
too.

`--model file` is the same in real time, in a short form: a file of this machine, throttled to 1,000 IOPS, with another
file as the cache. It wants a machine with nothing else to do, eight minutes and 12 GB.

Usage: python benches/cache_feel.py [--full] [--model gp3] [--seed 13] [--before FILE] [--json FILE]
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
from common import Table

EVENNESS, READS = 0.10, 1.3
# Writes that wait this long on average within a second are held back: the cache is full.
HELD_MS = 0.5


CACHE_MODEL = """
[volumes.nvme]
kind  = "model"
model = "aws/r5d.2xlarge/nvme"
[volumes.cached]
kind    = "writeback"
backing = "ebs"
cache   = "nvme"
size    = "50GB"
"""


@dataclass(frozen=True)
class Model:
    """A volume to cache: I/Os per second, tables, what users touch of it; clock, seconds of ramp and measurement."""

    iops: int
    tables: str
    length: str = "800GiB"
    clock: str = "virtual"
    ramp: int = 60
    measured: int = 60


def cloud(name: str, iops: int, keys: str = "") -> Model:
    """An entry of the catalogue behind 50 GB of NVMe."""
    ebs = f'[volumes.ebs]\nkind = "model"\nmodel = "{name}"\nsize = "1TiB"\n{keys}'
    return Model(iops, ebs + CACHE_MODEL)


# The dirty limit is a quarter of the cache: as many seconds of writes as 50 GB are on gp3.
FILES = """
[volumes.disk]
kind = "file"
path = "disk.img"
size = "8GiB"
[volumes.ebs]
kind    = "throttle"
backing = "disk"
iops    = 1000
[volumes.nvme]
kind = "file"
path = "nvme.img"
size = "4GiB"
[volumes.cached]
kind    = "writeback"
backing = "ebs"
cache   = "nvme"
"""

MODELS = {
    "gp3": cloud("aws/gp3", 3000),
    "gp2": cloud("aws/gp2", 3072),
    "io2": cloud("aws/io2-block-express", 16_000, "iops = 16_000\n"),
    # The ramp is as long as it takes until as much is destaged as users write.
    "file": Model(1000, FILES, "6GiB", "real", 40, 20),
}
CLOUD = ["gp3", "gp2", "io2"]


@dataclass(frozen=True)
class Load:
    """One load: share of reads in percent, kind of loop, offsets, with or without bursts."""

    model: str
    reads: int
    loop: str
    offsets: str
    bursts: bool
    seed: int = 13

    def study(self, volume: str, reads_per_s: float = 0.0) -> str:
        """The study of one run on `ebs`, on `cached`, or of reads alone on `ebs` limited to a rate, which is `left`."""
        model = MODELS[self.model]
        plain_reference = volume == "ebs" and self.loop == "open"
        return f"""
title = "cache feel"
clock = "{model.clock}"
seed  = {self.seed}
{model.tables}
{
            f'''[volumes.left]
kind    = "throttle"
backing = "ebs"
iops    = {reads_per_s:.3f}'''
            if volume == "left"
            else ""
        }
[workload]
kind    = "io"
volumes = ["{volume}"]
size    = "8KiB"
read    = "{100 if volume == "left" else self.reads}%"
offsets = "{self.offsets}"
length  = "{model.length}"
ramp    = "{model.ramp}s"
interval = "1s"
{self._profile(burst=False)}
{self._phases() if self.bursts and not plain_reference else f'duration = "{model.measured}s"'}
[compare]
metric   = "iops"
baseline = {{}}
rounds   = 1
"""

    def _profile(self, burst: bool) -> str:
        if self.loop == "closed":
            return f"outstanding = {64 if burst else 32}"
        rate = MODELS[self.model].iops * 0.8
        if not burst:
            return f"rate = {rate:.0f}"
        reads, writes = rate * self.reads / 100, 2 * rate * (1 - self.reads / 100)
        return f'rate = {reads + writes:.0f}\nread = "{100 * reads / (reads + writes):.3f}%"'

    def _phases(self) -> str:
        parts = [("calm", 40), ("burst", 10), ("calm", 40), ("burst", 10), ("calm", 20)]
        return "\n".join(
            f'[[workload.phases]]\nname = "{name}{at}"\nduration = "{seconds}s"\n{self._profile(name == "burst")}'
            for at, (name, seconds) in enumerate(parts)
        )

    def in_burst(self, second: float) -> bool:
        """Whether a second of the measured phase lies in a burst."""
        return self.bursts and (40 <= second < 50 or 90 <= second < 100)


@dataclass
class Feel:
    """What was felt: mean rate and furthest second (outside of bursts), reads, writes held back."""

    iops: float
    furthest: float
    variation: float
    read_p99_ms: float
    held_seconds: int
    dirty_mb: float
    # Reads per second that the cloud volume served.
    volume_reads: float = 0.0

    @classmethod
    def of(cls, load: Load, run: Path, volume: str) -> Feel:
        """Reads a run's directory."""
        samples = pl.read_parquet(run / "samples.parquet").filter(pl.col("phase") == "measure")
        done = samples.filter((pl.col("node") == "workload") & pl.col("op").is_in(["read", "write"]))
        seconds = done.group_by("t_s", "seconds").agg(pl.col("count").sum()).sort("t_s")
        calm = [
            row["count"] / row["seconds"]
            for row in seconds.iter_rows(named=True)
            if row["seconds"] > 0.9 and not load.in_burst(row["t_s"])
        ]
        mean = sum(calm) / len(calm)
        latency = pl.read_parquet(run / "histograms.parquet").filter(
            (pl.col("node") == "workload") & (pl.col("op") == "read") & (pl.col("measure") == "latency")
        )
        counted = latency.sort("low").with_columns(pl.col("count").cum_sum().alias("upto"))
        p99 = counted.filter(pl.col("upto") >= 0.99 * latency["count"].sum())["high"][0] / 1e6
        node = samples.filter(pl.col("node") == volume)
        held = node.filter((pl.col("op") == "write") & (pl.col("waiting_mean_ns") > HELD_MS * 1e6)).height
        below = samples.filter((pl.col("node") == "ebs") & (pl.col("op") == "read"))
        dirty = node.filter(pl.col("op") == "dirty_bytes")["bytes"]
        return cls(
            iops=sum(seconds["count"]) / sum(seconds["seconds"]),
            furthest=max(abs(rate - mean) for rate in calm) / mean,
            variation=(sum((rate - mean) ** 2 for rate in calm) / len(calm)) ** 0.5 / mean,
            read_p99_ms=p99,
            held_seconds=held if volume == "cached" else 0,
            dirty_mb=float(dirty.max() or 0) / 1e6 if len(dirty) else 0.0,
            volume_reads=below["count"].sum() / sum(seconds["seconds"]),
        )


def reads_alone(load: Load, cached: Future[Feel]) -> Feel:
    """As many users who only read, at the rate at which the volume served reads below the cache."""
    return play(load, "left", cached.result().volume_reads)


def play(load: Load, volume: str, reads_per_s: float = 0.0) -> Feel:
    """Simulates one load on one volume."""
    with tempfile.TemporaryDirectory() as folder:
        study, out = Path(folder, "feel.toml"), Path(folder, "out")
        study.write_text(load.study(volume, reads_per_s), encoding="utf-8")
        verb = "simulate" if MODELS[load.model].clock == "virtual" else "run"
        command = [str(Path(sys.executable).with_name("fathom")), verb, str(study), "-o", str(out), "-q"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{load}: {done.stderr}{done.stdout}")
        return Feel.of(load, next((out / "runs").iterdir()), volume)


def loads(full: bool, model: str | None, seed: int) -> list[Load]:
    """The matrix, or its short form."""
    if model == "file":
        kinds = ((70, "closed", "random"), (50, "open", "random"), (95, "open", "zipf"))
        return [Load("file", *kind, False, seed) for kind in kinds]
    if not full:
        short = [
            Load("gp3", 70, "closed", "zipf", False),
            Load("gp3", 70, "open", "random", False),
            Load("gp2", 50, "open", "zipf", True),
            Load("io2", 95, "closed", "random", False),
            Load("gp3", 50, "closed", "random", False),
        ]
        return [replace(load, seed=seed) for load in short if model in (None, load.model)]
    models = [model] if model else CLOUD
    axes = (models, (50, 70, 95), ("closed", "open"), ("random", "zipf"), (False, True))
    return [Load(*cell, seed) for cell in itertools.product(*axes)]


def main() -> int:
    """Simulates the cells and prints the table; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="the whole matrix of 72 cells instead of five")
    parser.add_argument("--model", choices=list(MODELS), help="this volume alone")
    parser.add_argument("--seed", type=int, default=13, help="of the users' requests; the figures are those of 13")
    parser.add_argument("--before", type=Path, help="figures of an earlier run, to compare with")
    parser.add_argument("--json", type=Path, help="write all figures here")
    arguments = parser.parse_args()
    cells = loads(arguments.full, arguments.model, arguments.seed)
    before = json.loads(arguments.before.read_text("utf-8")) if arguments.before else []
    earlier = {tuple(entry["load"].values()): entry for entry in before}
    table = Table(
        "load", "plain IOPS", "cached IOPS", "before", "furthest second", "before", "p99 of reads, plain",
        "same reads", "cached", "before", "by plain", "held back, s", "by same reads", "met",
    )  # fmt: skip
    # By the clock on the wall, runs beside each other would disturb each other.
    with ThreadPoolExecutor(1 if arguments.model == "file" else 2) as pool:
        known = {load: earlier.get(tuple(asdict(load).values())) for load in cells}
        # What the plain volume does does not change from one run to the next.
        plain = {
            load: None if known[load] else pool.submit(play, load, "ebs") for load in cells
        }  # fmt: skip
        cached = {load: pool.submit(play, load, "cached") for load in cells}
        # Submitted last: each waits for its figures, and no thread is left without work for that.
        alone = {load: pool.submit(reads_alone, load, cached[load]) for load in cells if load.loop == "closed"}
        entries = []
        for load in cells:
            old = Feel(**known[load]["cached"]) if known[load] else None
            without = plain[load].result() if plain[load] else Feel(**known[load]["plain"])
            same = alone[load].result() if load in alone else without
            feel = cached[load].result()
            entry = {"load": load, "plain": without, "same_reads": same, "cached": feel}
            entries.append({name: asdict(part) for name, part in entry.items()})
            _row(table, load, (without, same), feel, old)
    missed = table.finish(entries, arguments.json)
    if arguments.full:
        print(*summary(entries), sep="\n")
    return missed


def summary(entries: list[dict[str, Any]]) -> list[str]:
    """The table of docs/BENCHMARKS.md: from the least to the most over shares of reads and offsets."""
    lines = [
        "| load | IOPS by plain | furthest second | even | p99 of reads | by plain | by same reads | held back, s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[str, list[tuple[Feel, Feel, Feel]]] = {}
    for entry in entries:
        load = Load(**entry["load"])
        name = f"{load.model}, {load.loop} loop{', bursts' if load.bursts else ''}"
        parts = (Feel(**entry[part]) for part in ("plain", "same_reads", "cached"))
        groups.setdefault(name, []).append(tuple(parts))  # type: ignore[arg-type]
    for name, cells in sorted(groups.items()):
        pace = sorted(cached.iops / plain.iops for plain, _, cached in cells)
        furthest = sorted(100 * cached.furthest for _, _, cached in cells)
        even = sum(cached.furthest <= EVENNESS for _, _, cached in cells)
        reads = sorted(cached.read_p99_ms for _, _, cached in cells)
        ratios = sorted(cached.read_p99_ms / plain.read_p99_ms for plain, _, cached in cells)
        same = sorted(cached.read_p99_ms / alone.read_p99_ms for _, alone, cached in cells)
        lines.append(
            f"| {name} | {pace[0]:.2f} to {pace[-1]:.2f} | {furthest[0]:.0f} to {furthest[-1]:.0f} % "
            f"| {even} of {len(cells)} | {reads[0]:.1f} to {reads[-1]:.1f} ms | {ratios[0]:.1f} to {ratios[-1]:.1f} "
            f"| {same[0]:.2f} to {same[-1]:.2f} | {max(cached.held_seconds for _, _, cached in cells)} |"
        )
    return lines


def _row(table: Table, load: Load, without: tuple[Feel, Feel], cached: Feel, old: Feel | None) -> None:
    plain, same = without
    ratio = cached.read_p99_ms / same.read_p99_ms
    full = cached.held_seconds > 0
    even, felt = cached.furthest <= EVENNESS, full or ratio <= READS
    pace = old is None or cached.iops >= 0.99 * old.iops
    missed = [word for word, met in (("even", even), ("reads", felt), ("pace", pace)) if not met]
    bursts = ", bursts" if load.bursts else ""
    table.row(
        f"{load.model} {load.reads} % {load.loop} {load.offsets}{bursts}",
        f"{plain.iops:,.0f}",
        f"{cached.iops:,.0f}",
        f"{old.iops:,.0f}" if old else "",
        f"{100 * cached.furthest:.1f} %",
        f"{100 * old.furthest:.1f} %" if old else "",
        f"{plain.read_p99_ms:.1f} ms",
        f"{same.read_p99_ms:.1f} ms",
        f"{cached.read_p99_ms:.1f} ms",
        f"{old.read_p99_ms:.1f} ms" if old else "",
        f"{cached.read_p99_ms / plain.read_p99_ms:.2f}",
        str(cached.held_seconds),
        bar=f"{ratio:.2f}{' (full)' if full else ''}",
        met=not missed,
    )


if __name__ == "__main__":
    sys.exit(main())
