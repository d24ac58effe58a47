"""The virtual driver against SimPy: the same closed loop, one model device, every counter and histogram on.

Clients think for an exponential time, queue for one of several exponential servers, and think again. Both programs
run the same model on the same machine, turn by turn; what counts is CPU time per simulated request, the best of the
rounds, because other load on a machine only ever adds. The throughput of both is held against the exact solution of
the network.

    benches/simulate_vs_simpy.py [--quick] [--json FILE]

Needs SimPy and cargo. Ends with code 1 if a bar is missed: 5 million simulated requests per CPU second, 30 times SimPy,
throughput within 0.5 % of the exact one.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Generator
from dataclasses import asdict, dataclass
from pathlib import Path

import simpy

ROOT = Path(__file__).resolve().parent.parent
BAR_RATE = 5e6
BAR_RATIO = 30
BAR_EXACT = 0.005


@dataclass(frozen=True)
class Model:
    """A closed network; times are seconds."""

    clients: int
    think: float
    servers: int
    service: float


@dataclass(frozen=True)
class Result:
    """One run: simulated requests per second of CPU time, and throughput per simulated second."""

    rate: float
    throughput: float


def exact(model: Model) -> float:
    """Throughput per second: the birth-death chain on the number at the device, solved in logarithms."""
    if model.think == 0:
        return min(model.clients, model.servers) / model.service
    logs = [0.0]
    for k in range(model.clients):
        birth = (model.clients - k) / model.think
        death = min(k + 1, model.servers) / model.service
        logs.append(logs[-1] + math.log(birth / death))
    largest = max(logs)
    weights = [math.exp(log - largest) for log in logs]
    busy = sum(min(k, model.servers) * weight for k, weight in enumerate(weights))
    return busy / sum(weights) / model.service


def by_simpy(model: Model, seconds: float) -> Result:
    """The model as SimPy's users write it, with a list of latencies instead of a histogram."""
    environment = simpy.Environment()
    device = simpy.Resource(environment, capacity=model.servers)
    latencies: list[float] = []

    def client() -> Generator[simpy.Event, None, None]:
        while True:
            if model.think > 0:
                yield environment.timeout(random.expovariate(1 / model.think))
            start = environment.now
            with device.request() as place:
                yield place
                yield environment.timeout(random.expovariate(1 / model.service))
            latencies.append(environment.now - start)

    for _ in range(model.clients):
        environment.process(client())
    begin = time.process_time()
    environment.run(until=seconds)
    spent = time.process_time() - begin
    return Result(len(latencies) / spent, len(latencies) / seconds)


def by_fathom(binary: Path, model: Model, seconds: int) -> Result:
    """The same on a `model` volume in virtual time."""
    nanos = [round(model.think * 1e9), model.servers, round(model.service * 1e9), seconds]
    words = [str(binary), str(model.clients), *(str(number) for number in nanos)]
    answer = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return Result(answer["requests_per_cpu_s"], answer["throughput"])


def build() -> Path:
    """The example of crates/devices, built for speed."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "fathom-devices", "--example", "closed_loop"]
    subprocess.run(command, check=True, cwd=ROOT)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / "closed_loop"


def main() -> int:
    """Runs all models, prints a table, tells whether the bars hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="one short round, to see that it works")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args()
    rounds, simpy_seconds, fathom_seconds = (1, 0.5, 10) if options.quick else (7, 4.0, 100)
    binary = build()
    models = [Model(233, 0.01, 32, 0.001), Model(1024, 0.0, 64, 0.001)]
    met, figures = True, []
    print("clients  think  servers   Fathom M/s   SimPy k/s   ratio   throughput off exact (Fathom, SimPy)")
    for model in models:
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(by_fathom(binary, model, fathom_seconds))
            theirs.append(by_simpy(model, simpy_seconds))
        rate, peer = max(run.rate for run in ours), max(run.rate for run in theirs)
        off = [runs[0].throughput / exact(model) - 1 for runs in (ours, theirs)]
        print(
            f"{model.clients:7} {model.think * 1e3:4.0f} ms {model.servers:8} {rate / 1e6:12.2f} {peer / 1e3:11.0f}"
            f" {rate / peer:7.0f} {off[0]:16.2%}, {off[1]:.2%}"
        )
        # The bar on speed is for the loop that waits and thinks; both must be exact.
        if model is models[0]:
            met = met and rate >= BAR_RATE and rate / peer >= BAR_RATIO
        met = met and abs(off[0]) <= BAR_EXACT
        figures.append({**asdict(model), "requests_per_cpu_s": rate, "simpy_requests_per_cpu_s": peer, "off": off[0]})
    print("the bars are met" if met else "a bar is missed")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0 if met or options.quick else 1


if __name__ == "__main__":
    sys.exit(main())
