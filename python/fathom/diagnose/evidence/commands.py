"""Commands for the very resource that a finding is about: with its identifier where the logs name it, and for the
service that sells it. RDS and FSx keep their volumes to themselves: EBS's commands cannot change them.

Rules write the commands of EBS, EC2 and Azure, with placeholders.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from fathom.diagnose.metrics import Layer
from fathom.diagnose.windows import TOTAL
from fathom.finding import Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System
    from fathom.finding import Finding

RDS, FSX = "RDS", "FSx"
PAUSE = "allows four changes of a volume in 24 hours, each after the one before it has completed"
"""What EBS says of changes that follow one another (ModifyVolume)."""

_CLOUD = (Layer.CLOUD_VOLUME, Layer.CLOUD_INSTANCE)
_ID = r"[0-9a-f]{8,17}\b"
_VOLUME = re.compile(rf"(?<![a-z])vol-?({_ID})")
"""Also in a name of /dev/disk/by-id, which has no dash."""
_INSTANCE = re.compile(rf"(?<![\w-])i-({_ID})")
_FILES = re.compile(rf"(?<![a-z])fs-({_ID})")
_AROUND = ("aws ec2 stop-instances ", "aws ec2 start-instances ")
"""What a change of an EC2 instance needs before and after it, and the services that own theirs do themselves."""
_AZURE_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
"""Names that no shell takes for anything else."""
_PLACE = re.compile(r"(?<=\bDATABASE )x(?= )|(?<=\bCHECKDB \()x(?=\))")
"""Where a statement of SQL Server names the database."""
_OF_DATABASES = (
    "log_flushes_per_s",
    "data_grown_bytes",
    "log_grown_bytes",
    "log_growths",
    "backup_bytes_per_s",
    "check_bytes_per_s",
)
"""Counters that each database of SQL Server has of its own."""
_OF_VOLUME, _OF_INSTANCE = "aws ec2 modify-volume ", "aws ec2 modify-instance-attribute "
_DEFAULTS = " --iops 3000 --throughput 125"
"""What gp3 has as sold: RDS accepts no figures for that size."""
_RDS_RISK = (
    "More IOPS or throughput than gp3 has as sold cost more. Storage is optimised afterwards, which can take hours: "
    "latency may be higher, and the next change has to wait. gp3 below 400 GiB (Oracle: 200 GiB; SQL Server: none) "
    "stays at 3,000 IOPS, so more needs a larger size."
)
_CLASS_RISK = "Minutes without service while the class changes; with Multi-AZ as long as a failover takes."
_FSX_RISK = (
    "Costs more. A change of throughput replaces the file server: minutes without service, with Multi-AZ two failovers."
)


def addressed(finding: Finding, system: System) -> Finding:
    """The finding with commands that can be copied as far as the logs allow."""
    database = _database_of(finding, system)
    if database is not None:
        finding = replace(finding, remedies=tuple(_of_database(each, database) for each in finding.remedies))
    commands = [command for remedy in finding.remedies for command in remedy.commands]
    if not any(command.startswith(("aws ", "az ")) for command in commands):
        return finding
    service, name = _resource(finding, system)
    remedies = (_of_service(each, service) for each in finding.remedies)
    return replace(finding, remedies=tuple(_named(each, finding, system, name) for each in remedies))


def _database_of(finding: Finding, system: System) -> str | None:
    """The database that a finding is about, by its file or its own counters; None where that may be several."""
    of_file = system.fact("database", finding.subject)
    if of_file is not None and of_file != "NULL":
        return of_file
    own = {each.name: each.device for each in system.databases if any(each.has(metric) for metric in _OF_DATABASES)}
    places = {own.get(name) for name in (finding.subject, *(each.where for each in finding.evidence)) if name in own}
    names = {(place or TOTAL).rpartition("/")[2] for place in places}
    return names.pop() if len(names) == 1 and TOTAL not in names else None


def _of_database(remedy: Remedy, name: str) -> Remedy:
    quoted = f"[{name.replace(']', ']]')}]"
    return replace(remedy, commands=tuple(_PLACE.sub(lambda _: quoted, command) for command in remedy.commands))


def _resource(finding: Finding, system: System) -> tuple[str | None, str | None]:
    """Service and name of what a finding is about; the only service of the logs where they do not tell whose it is."""
    device = next((each for each in system.of(*_CLOUD) if each.name == finding.subject), None)
    stated = {fact.subject: fact.value for fact in system.facts if fact.name == "cloud_service"}
    only = next(iter(stated.values())) if len(set(stated.values())) == 1 else None
    if device is None:
        return (None if system.disks else only), None
    return stated.get(device.device, only), device.device


def _of_service(remedy: Remedy, service: str | None) -> Remedy:
    """The remedy with the service's own commands in place of EBS's and EC2's."""
    told = " ".join(remedy.commands)
    if service not in {RDS, FSX} or not any(each in told for each in (_OF_VOLUME, _OF_INSTANCE)):
        return remedy
    kept = (command for command in remedy.commands if not command.startswith(_AROUND))
    if service == FSX:
        return replace(remedy, commands=tuple(map(_of_fsx, kept)), risk=_FSX_RISK)
    remedy = replace(remedy, commands=tuple(map(_of_rds, kept)))
    if _OF_VOLUME in told:
        return replace(remedy, risk=_RDS_RISK)
    return replace(remedy, action="Take a larger instance class.", risk=_CLASS_RISK)


def _of_rds(command: str) -> str:
    if command.startswith(_OF_VOLUME):
        storage = command.removeprefix(_OF_VOLUME).replace(_DEFAULTS, "")
        storage = storage.replace("--volume-id vol-ID", "").replace("--throughput", "--storage-throughput")
        return f"{_database()}{storage.replace('--volume-type', '--storage-type')} --apply-immediately"
    if command.startswith(_OF_INSTANCE):
        return f"{_database()} --db-instance-class CLASS --apply-immediately"
    return command


def _database() -> str:
    return "aws rds modify-db-instance --db-instance-identifier DB-ID"


def _of_fsx(command: str) -> str:
    if command.startswith((_OF_VOLUME, _OF_INSTANCE)):
        disks = "'ThroughputCapacity=M,DiskIopsConfiguration={Mode=USER_PROVISIONED,Iops=N}'"
        return f"aws fsx update-file-system --file-system-id fs-ID --windows-configuration {disks}"
    return command


def _named(remedy: Remedy, finding: Finding, system: System, name: str | None) -> Remedy:
    """The remedy with identifiers in place of `vol-ID` and its like, where only one can be meant."""
    known = {
        "vol-ID": _found(
            _VOLUME, "vol-", finding, _volumes(system) if name is None and _is_cloud(finding, system) else []
        ),
        "i-ID": _found(_INSTANCE, "i-", finding, _instances(system)),
        "fs-ID": _found(_FILES, "fs-", finding, []),
        "DB-ID": name,
        **_of_azure(finding, system),
    }
    commands = remedy.commands
    for placeholder, found in known.items():
        if found is not None:
            commands = tuple(re.sub(rf"(?<=\s){placeholder}(?!\S)", found, each) for each in commands)
    return replace(remedy, commands=commands)


def _of_azure(finding: Finding, system: System) -> dict[str, str | None]:
    """The machine and its group; of its disks the metrics tell the LUN alone."""
    device = next((each for each in system.of(*_CLOUD) if each.name == finding.subject), None)
    if device is None:
        return {}
    found = {"GROUP": system.fact("resource_group", device.host), "VM": device.host}
    return {holder: name for holder, name in found.items() if name and _AZURE_NAME.fullmatch(name)}


def _found(pattern: re.Pattern[str], prefix: str, finding: Finding, others: list[str]) -> str | None:
    """The identifier in the finding's subject, else the only one there is among others."""
    for texts in ([finding.subject], others):
        ids = {f"{prefix}{each}" for text in texts for each in pattern.findall(text)}
        if len(ids) == 1:
            return ids.pop()
    return None


def _is_cloud(finding: Finding, system: System) -> bool:
    return any(each.name == finding.subject for each in system.of(Layer.CLOUD_VOLUME))


def _volumes(system: System) -> list[str]:
    """Volumes that are described. A disk of the guest may be any of them, an unnamed volume only one."""
    return [fact.subject for fact in system.facts if fact.name == "volume_type" and fact.subject]


def _instances(system: System) -> list[str]:
    devices = system.of(Layer.CLOUD_INSTANCE, Layer.HOST)
    return [name for each in devices for name in (each.device, each.host) if name]
