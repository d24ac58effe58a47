"""TPROC-C on PostgreSQL: processor seconds per 1,000 transactions of client and server, beside HammerDB and go-tpc.

A private server on a memory file system (the storage is taken out, so that what shows is the work of client and
server), with the settings of `tprocc_server.SETTINGS`. Rounds are interleaved and the median of each program is
printed. CPU time comes first: it changes little when others use the machine.

    python benches/tprocc.py [--warehouses 10] [--users 4] [--seconds 30] [--rounds 1]
        [--interface procedures|statements] [--fidelity hammerdb|spec] [--hammerdb DIRECTORY] [--go-tpc PROGRAM]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tprocc_peers import GoTpc, HammerDB, Round, pgbench, sysbench
from tprocc_server import Cost, Server, measured, server, transactions

HAMMERDB_CLIENT = 0.086
HAMMERDB_SERVER = (0.575, 0.611)
"""CPU s per 1,000 transactions: version 4.12, stored procedures, 4 and 8 virtual users."""

CLIENT_TO_REACH = 0.05
LOAD_TO_REACH = 0.4


def row(name: str, rounds: list[Round]) -> None:
    """The medians of a program's rounds."""

    def median(of: Callable[[Round], float]) -> float:
        return statistics.median(map(of, rounds))

    client = median(lambda one: 1000 * one.cost.client / one.transactions)
    served = median(lambda one: 1000 * one.cost.server / one.transactions)
    each = [one.nopm for one in rounds if one.nopm is not None]
    spread = f" ({min(each):,.0f} to {max(each):,.0f})" if len(each) > 1 else ""
    nopm = f"{statistics.median(each):,.0f}{spread}" if each else "-"
    print(f"{name:42} {client:8.3f} {served:8.3f}  {nopm}", flush=True)


def told_load(name: str, load: Cost, warehouses: int) -> None:
    """What a warehouse costs to load."""
    each = f"client {load.client / warehouses:.3f}, server {load.server / warehouses:.3f} CPU s per warehouse"
    print(f"load, {name}: {each}; {60 * warehouses / load.seconds:.1f} warehouses/min", flush=True)


class Ours:
    """The example `order_entry`, which is the workload `tproc-c` without the rest of Fathom."""

    def __init__(self, program: Path, on: Server, warehouses: int, users: int) -> None:
        self.on = on
        socket = on.directory / f".s.PGSQL.{on.port}"
        keys = [f"warehouses={warehouses}", f"users={users}"]
        self.base = [str(program), "postgresql", str(socket), "fathom", "postgres", *keys]

    def load(self) -> Cost:
        """Makes and fills the tables."""
        return measured([*self.base, 'ramp="0s"', 'duration="1ms"'], self.on)

    def round(self, interface: str, fidelity: str, seconds: int) -> Round:
        """One run, with a second of ramp."""
        run = ['ramp="1s"', f'duration="{seconds}s"', f'interface="{interface}"', f'fidelity="{fidelity}"']
        # Checking the conditions costs the server as much as many transactions do: taken out.
        check = measured([*self.base, 'ramp="0s"', 'duration="1ms"'], self.on)
        before = transactions(self.on)
        cost = measured([*self.base, *run], self.on)
        count = transactions(self.on) - before
        net = Cost(cost.client - check.client, cost.server - check.server, cost.seconds - check.seconds, cost.output)
        return Round(net, count, json.loads(cost.output)["nopm"])


def stopped(*_: object) -> None:
    """Ends by an exception, so that the server is stopped."""
    raise SystemExit(1)


def main() -> None:
    signal.signal(signal.SIGTERM, stopped)
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--warehouses", type=int, default=10)
    parser.add_argument("--users", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=30, help="of a round (HammerDB: a multiple of 6)")
    parser.add_argument("--rounds", type=int, default=1, help="of each program, interleaved")
    parser.add_argument("--interface", nargs="+", default=["procedures", "statements"])
    parser.add_argument("--fidelity", nargs="+", default=["hammerdb", "spec"], help="whose keys: hammerdb, spec")
    parser.add_argument("--hammerdb", type=Path, help="directory of a release of HammerDB 4")
    parser.add_argument("--go-tpc", type=Path, help="program go-tpc")
    parser.add_argument("--only-tproc-c", action="store_true", help="leave out pgbench and sysbench")
    parser.add_argument("--profile", default="release", help="cargo's profile to build the client with")
    options = parser.parse_args()
    build = ["cargo", "build", "--profile", options.profile, "-p", "fathom-sql", "--example", "order_entry"]
    subprocess.run(build, check=True)
    program = Path("target") / options.profile / "examples" / "order_entry"
    print(f"load of the machine: {os.getloadavg()}")
    with server() as on:
        size = (on, options.warehouses, options.users)
        ours = Ours(program, *size)
        told_load(f"fathom (to reach: client {LOAD_TO_REACH})", ours.load(), options.warehouses)
        programs: dict[str, Callable[[int], Round]] = {
            f"fathom {interface}, keys of {fidelity}": partial(ours.round, interface, fidelity)
            for interface in options.interface
            for fidelity in options.fidelity
        }
        for name, peer in (
            ("HammerDB, procedures", options.hammerdb and HammerDB(options.hammerdb.resolve(), *size)),
            ("go-tpc", options.go_tpc and GoTpc(options.go_tpc.resolve(), *size)),
        ):
            if peer:
                told_load(name, peer.load(), options.warehouses)
                programs[name] = peer.round
        on.sql("CHECKPOINT")
        seen: dict[str, list[Round]] = {name: [] for name in programs}
        for _ in range(options.rounds):
            for name, one in programs.items():
                seen[name].append(one(options.seconds))
        print(f"{'CPU s per 1,000 transactions':42} {'client':>8} {'server':>8}  NOPM (medians of {options.rounds})")
        for name, rounds in seen.items():
            row(name, rounds)
        if not options.only_tproc_c:
            on.sql("CREATE DATABASE peers")
            for name, other in (("pgbench, TPC-B-like", pgbench), ("sysbench oltp_read_write", sysbench)):
                found = other(on, options.users, options.seconds)
                if found:
                    row(f"{name} (another transaction)", [found])
    low, high = HAMMERDB_SERVER
    print(f"{'HammerDB 4.12, procedures (quoted)':42} {HAMMERDB_CLIENT:8.3f} {low:8.3f} to {high}")
    print(f"to reach: client {CLIENT_TO_REACH}, server no more than {high}; load of the machine: {os.getloadavg()}")


if __name__ == "__main__":
    main()
