"""HammerDB and go-tpc on the server of benches/tprocc.py, where they are installed, and pgbench and sysbench for scale.

HammerDB's script is the one that it loads itself; only the length of its measured phase, which it takes in whole
minutes, is set to the seconds that all others have.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tprocc_server import Cost, Server, measured, transactions

SLICE_S = 6
"""HammerDB looks at its clock as often: its measured phase is a multiple of this."""


@dataclass(frozen=True)
class Round:
    """What one round of a program was: its cost, its transactions, and its new orders per minute."""

    cost: Cost
    transactions: float
    nopm: float | None


class HammerDB:
    """Its command line (4.9) in a directory of its release, with stored procedures and all warehouses used."""

    def __init__(self, directory: Path, on: Server, warehouses: int, users: int) -> None:
        self.directory, self.on, self.warehouses, self.users = directory, on, warehouses, users

    def load(self) -> Cost:
        """Builds the schema."""
        return self._run(f"""
            diset tpcc pg_count_ware {self.warehouses}
            diset tpcc pg_num_vu 1
            buildschema
            vudestroy
        """)

    def round(self, seconds: int) -> Round:
        """One timed run of it."""
        span = max(1, round(seconds / SLICE_S)) * SLICE_S
        before = transactions(self.on)
        cost = self._run(f"""
            diset tpcc pg_driver timed
            diset tpcc pg_rampup 0
            diset tpcc pg_duration 1
            diset tpcc pg_allwarehouse true
            loadscript
            if {{ [ regsub {{set duration \\d+;}} $_ED(package) {{set duration {span / 60};}} _ED(package) ] != 1 }} {{
                puts "ERROR: its script sets its duration in another way"
            }}
            vuset logtotemp 0
            vuset vu {self.users}
            vucreate
            vurun
            vudestroy
        """)
        done = transactions(self.on) - before
        told = re.search(r"System achieved ([\d.]+) NOPM", cost.output)
        if told is None:
            raise SystemExit(f"HammerDB told no result:\n{cost.output[-3000:]}")
        return Round(cost, done, float(told[1]))

    def _run(self, commands: str) -> Cost:
        login = {
            "connection pg_host": self.on.directory, "connection pg_port": self.on.port,
            "connection pg_sslmode": "disable", "tpcc pg_superuser": "fathom", "tpcc pg_superuserpass": "none",
            "tpcc pg_defaultdbase": "postgres", "tpcc pg_storedprocs": "true",
        }  # fmt: skip
        lines = ["dbset db pg", "dbset bm TPC-C", *(f"diset {key} {value}" for key, value in login.items())]
        lines += [line.strip() for line in commands.strip().splitlines()]
        with tempfile.TemporaryDirectory(prefix="fathom-hammerdb-") as scratch:
            script = Path(scratch) / "run.tcl"
            script.write_text("\n".join(lines) + "\n", encoding="utf-8")
            # Its own interpreter where the release has one, otherwise the system's with the package Pgtcl.
            own = self.directory / "bin" / "tclsh8.6"
            words = [str(own) if own.exists() else "tclsh", "hammerdbcli", "auto", str(script)]
            cost = measured(words, self.on, cwd=self.directory, env={**os.environ, "TMP": scratch})
        # A transaction that fails by a deadlock is tried again and is no failure.
        if "Error:" in cost.output or "FINISHED FAILED" in cost.output:
            raise SystemExit(f"HammerDB failed:\n{cost.output[-3000:]}")
        return cost


class GoTpc:
    """Its program; it asks for statements one by one."""

    def __init__(self, program: Path, on: Server, warehouses: int, users: int) -> None:
        self.program, self.on, self.warehouses, self.users = program, on, warehouses, users

    def load(self) -> Cost:
        """Makes and fills its tables."""
        self.on.sql("CREATE DATABASE gotpc")
        return measured(self._words("prepare", "--no-check"), self.on)

    def round(self, seconds: int) -> Round:
        """One run of it."""
        cost = measured(self._words("run", "--time", f"{seconds}s"), self.on)
        told = re.search(r"tpmC: ([\d.]+), tpmTotal: ([\d.]+)", cost.output)
        if told is None:
            raise SystemExit(f"go-tpc told no result:\n{cost.output[-3000:]}")
        return Round(cost, float(told[2]) * seconds / 60, float(told[1]))

    def _words(self, command: str, *more: str) -> list[str]:
        login = [
            "-d",
            "postgres",
            "-U",
            "fathom",
            "-p",
            "none",
            "-D",
            "gotpc",
            "-H",
            "127.0.0.1",
            "-P",
            str(self.on.port),
        ]
        size = ["--conn-params", "sslmode=disable", "--warehouses", str(self.warehouses), "-T", str(self.users)]
        return [str(self.program), "tpcc", command, *login, *size, *more]


def pgbench(on: Server, users: int, seconds: int) -> Round | None:
    """TPC-B-like: five small statements; None where it is not installed."""
    reach = ["-h", str(on.directory), "-p", str(on.port), "-U", "fathom"]
    if not shutil.which("pgbench"):
        return None
    subprocess.run(["pgbench", *reach, "-i", "-q", "-s", "10", "peers"], check=True, capture_output=True)
    before = transactions(on)
    run = ["pgbench", *reach, "-M", "prepared", "-c", str(users), "-j", "2", "-T", str(seconds), "peers"]
    return Round(measured(run, on), transactions(on) - before, None)


def sysbench(on: Server, users: int, seconds: int) -> Round | None:
    """`oltp_read_write`: 20 statements; None where it is not installed."""
    if not shutil.which("sysbench"):
        return None
    base = ["sysbench", "oltp_read_write", "--db-driver=pgsql", f"--pgsql-host={on.directory}"]
    base += [f"--pgsql-port={on.port}", "--pgsql-user=fathom", "--pgsql-db=peers"]
    base += ["--tables=4", "--table-size=100000", f"--threads={users}"]
    subprocess.run([*base, "prepare"], check=True, capture_output=True)
    before = transactions(on)
    return Round(measured([*base, f"--time={seconds}", "run"], on), transactions(on) - before, None)
