"""Writes a study with HCIBench's parameters as parameters: hosts, virtual machines, disks, threads, sizes, the profile.

HCIBench deploys virtual machines on a cluster and has each drive its own disks with Vdbench. The study written here has
as many disks, named after their machines (`vm1-disk1`), so that the report tells each machine's figures. Two forms:

- the default, in virtual time: a cluster that keeps two copies of every disk on two of its hosts (FTT=1). A host
  takes so many operations per second and passes so many bytes over its uplink, whatever disk they are for;
- `--path`, by the real clock: a file or block device for each disk, for instance `/dev/mapper/vm{vm}-disk{disk}`.

    python scripts/hcibench_study.py > studies/hcibench.toml
    python scripts/hcibench_study.py --vms 12 --disks 8 --threads 4 --size 100GiB --working-set 20GiB > mine.toml
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

HOST_OPERATION_US = 238
"""What one operation keeps one of a host's places busy, fitted in studies/hci-profiles.toml."""

HOST_PLACES = 16
UPLINK_MB_PER_S = 1666
"""10 GbE with three of four accesses from another host: see studies/hci-profiles.toml."""


@dataclass(frozen=True)
class Parameters:
    """HCIBench's own, and where the disks are if they are real."""

    hosts: int
    vms: int
    disks: int
    threads: int
    size: str
    working_set: str | None
    read: str
    block: str
    pattern: str
    seconds: int
    path: str | None

    def names(self) -> list[tuple[int, int, str]]:
        """Machine, disk and name of every disk."""
        pairs = [(vm, disk) for vm in range(1, self.vms + 1) for disk in range(1, self.disks + 1)]
        return [(vm, disk, f"vm{vm}-disk{disk}") for vm, disk in pairs]


def study(wanted: Parameters) -> str:
    """The study as TOML."""
    text = _head(wanted)
    for number, (vm, disk, name) in enumerate(wanted.names()):
        if wanted.path is None:
            text += _mirrored(wanted, name, number)
        else:
            path = wanted.path.format(vm=vm, disk=disk)
            text += f'[volumes.{name}]\nkind       = "file"\npath       = "{path}"\n\n'
    return text + _workload(wanted)


def _head(wanted: Parameters) -> str:
    clock = "virtual" if wanted.path is None else "real"
    return f"""\
# HCIBench's parameters: {wanted.hosts} hosts; {wanted.vms} virtual machines, each with {wanted.disks} disks
# of {wanted.size}, each with {wanted.threads} threads.
# Written by scripts/hcibench_study.py; its options are HCIBench's. Do not edit: write it again.
#
# The model of the cluster is that of hci-profiles.toml, which fits {HOST_OPERATION_US} us per host operation to the
# published 206,778 IOPS, but with every disk for itself: two copies on two hosts, and what a host can do shared by
# all that lies on it.

title    = "HCIBench: {wanted.vms} machines with {wanted.disks} disks each on {wanted.hosts} hosts"
question = "What does the cluster do under HCIBench's load, and does every virtual machine get the same?"
clock    = "{clock}"
seed     = 22

"""


def _mirrored(wanted: Parameters, name: str, number: int) -> str:
    """Two copies on two hosts; the disks take the pairs of hosts by turns."""
    first = number % wanted.hosts
    second = (first + 1 + (number // wanted.hosts) % max(1, wanted.hosts - 1)) % wanted.hosts
    text = f'[volumes.{name}]\nkind    = "mirror"\nlegs    = ["{name}-a", "{name}-b"]\ninitial = "blank"\n\n'
    for leg, host in (("a", first), ("b", second)):
        operations = round(HOST_PLACES * 1e6 / HOST_OPERATION_US)
        text += (
            f'[volumes.{name}-{leg}]\nkind       = "throttle"\nbacking    = "{name}-{leg}-store"\n'
            f'shared     = "host{host + 1}"\niops       = {operations}\nthroughput = "{UPLINK_MB_PER_S}MB/s"\n\n'
            f'[volumes.{name}-{leg}-store]\nkind         = "model"\nsize         = "{wanted.size}"\n'
            f"servers      = {HOST_PLACES}\n"
            f'read         = {{ latency = "{HOST_OPERATION_US}us" }}\n'
            'distribution = { kind = "exponential" }\n\n'
        )
    return text


def _workload(wanted: Parameters) -> str:
    names = [name for _, _, name in wanted.names()]
    rows = [names[at : at + wanted.disks] for at in range(0, len(names), wanted.disks)]
    listed = ",\n  ".join(", ".join(f'"{name}"' for name in row) for row in rows)
    length = f'length      = "{wanted.working_set}"\n' if wanted.working_set else ""
    where = "each machine's own" if wanted.path else "of a model in virtual time"
    return f"""\
[workload]
kind        = "io"
volumes     = [
  {listed},
]
workers     = {len(names)}
outstanding = {wanted.threads}
size        = "{wanted.block}"
read        = "{wanted.read}"
offsets     = "{wanted.pattern}"
{length}ramp        = "2s"
duration    = "{wanted.seconds}s"

[compare]
metric   = "iops"
baseline = {{}}
rounds   = 3

[scale]
{"real" if wanted.path else "virtual"} = "{len(names)} disks {where}; one process drives all, HCIBench one per machine."

[published]
source = "VMware, SQL Server 2016 Database Performance and Improvements on vSAN 6.7 (HCIBench 1.6.7.1)"

[[published.cells]]
name   = "all machines: IOPS"
metric = "iops"

[quick]
"workload.duration" = "20ms"
"workload.ramp"     = "10ms"
"compare.rounds"    = 2
"""


def main() -> None:
    """Reads the options and prints the study."""
    own = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    own.add_argument("--hosts", type=int, default=4, help="hosts of the cluster (4)")
    own.add_argument("--vms", type=int, default=8, help="virtual machines (8)")
    own.add_argument("--disks", type=int, default=4, help="disks of each machine (4)")
    own.add_argument("--threads", type=int, default=8, help="threads per disk: requests outstanding (8)")
    own.add_argument("--size", default="5GB", help="size of a disk (5GB)")
    own.add_argument("--working-set", help="part of each disk that is used (all of it)")
    own.add_argument("--read", default="70%", help="share of reads (70%%)")
    own.add_argument("--block", default="8KiB", help="size of a request (8KiB)")
    own.add_argument("--pattern", choices=("random", "sequential"), default="random")
    own.add_argument("--seconds", type=int, default=10, help="length of the measured phase (10)")
    own.add_argument("--path", help="files or devices instead of a model, with {vm} and {disk}")
    given = own.parse_args()
    counts = ("hosts", "vms", "disks", "threads", "seconds")
    for name in counts:
        if getattr(given, name) < 1:
            own.error(f"--{name} {getattr(given, name)}: at least 1")
    if given.path is None and given.hosts < 2:
        own.error("--hosts 1: two copies need two hosts")
    if given.path is not None and not ("{vm}" in given.path and "{disk}" in given.path):
        own.error(f"--path {given.path}: needs {{vm}} and {{disk}}, or all disks would be one")
    print(study(Parameters(**vars(given))), end="")


if __name__ == "__main__":
    main()
