"""The PowerCLI script of the vSphere target: disks that are made or are there, their adapters, policies and limits.

A disk that is there moves from its adapter to another while the boot disk stays where it is: the guest needs no driver
at boot that it does not have, and a machine on LSI Logic gets its data onto PVSCSI.
"""

from __future__ import annotations

from dataclasses import dataclass

from fathom.export.quote import powershell
from fathom.export.settings import Node
from fathom.export.target import cannot

FORMATS = {"sparse": "Thin", "reserved": "Thick", "written": "EagerZeroedThick"}
TYPES = {"vmware/pvscsi": "ParaVirtual", "vmware/lsi-logic-sas": "VirtualLsiLogicSAS"}

HEAD = """\
#Requires -Modules VMware.VimAutomation.Core, VMware.VimAutomation.Storage
param([Parameter(Mandatory)][string]$VMName)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$vm = Get-VM -Name $VMName
if ($vm.PowerState -ne 'PoweredOff') { throw "$VMName must be off to change its adapters" }
"""

RETROFIT = """
# A snapshot remembers the old adapters; going back to it would undo the change without a word.
if (@(Get-Snapshot -VM $vm).Count) { throw "$VMName has snapshots: delete them first" }

# A disk of the machine that may move: not the one on unit 0 of bus 0, from which it boots.
function Get-DataDisk {
    param([Parameter(Mandatory)][string]$Name)
    $found = @(Get-HardDisk -VM $vm | Where-Object { $_.Name -eq $Name })
    if ($found.Count -ne 1) { throw "$VMName has $($found.Count) disks called $Name; exactly one is needed" }
    $controller = Get-ScsiController -HardDisk $found[0]
    if ($controller.ExtensionData.BusNumber -eq 0 -and $found[0].ExtensionData.UnitNumber -eq 0) {
        throw "$Name is the boot disk of ${VMName}: it stays where it is"
    }
    return $found[0]
}
"""

POLICY = """
# A policy of that name and number of failures, made if it is not there.
function Get-Policy {
    param([Parameter(Mandatory)][string]$Name, [Parameter(Mandatory)][int]$Failures)
    $found = @(Get-SpbmStoragePolicy | Where-Object { $_.Name -eq $Name })
    if ($found.Count) { return $found[0] }
    $rule = New-SpbmRule -Capability (Get-SpbmCapability -Name 'VSAN.hostFailuresToTolerate') -Value $Failures
    New-SpbmStoragePolicy -Name $Name -Description "made by fathom volume export: $Failures failures to tolerate" `
        -AnyOfRuleSets (New-SpbmRuleSet -AllOfRules $rule)
}
"""


@dataclass(frozen=True)
class Disk:
    """One virtual disk.

    Attributes:
        node: the volume: a leaf, or the mirror that becomes a storage policy.
        leaf: what says how large it is and where it lies; the first leg of a mirror.
        adapter: the adapter node above it.
        limit: I/Os per second.
        copies: legs of the mirror; None for what the datastore does by itself.
        existing: the name of a disk that the machine has already.
    """

    node: Node
    leaf: Node
    adapter: Node | None
    limit: float | None
    copies: int | None = None
    existing: str | None = None

    @property
    def bus(self) -> str:
        """The adapter's name: those that are shared have one."""
        if self.adapter is None:
            return ""
        return str(self.adapter.keys.get("shared", self.adapter.name))


def script(disks: list[Disk], kinds: dict[str, str]) -> str:
    """The whole script.

    Args:
        disks: all there are.
        kinds: PowerCLI's type of adapter by bus.

    Raises:
        CannotSayError: nothing says how large a disk is, or a path is none of a datastore.
    """
    text = HEAD
    if any(disk.existing for disk in disks):
        text += RETROFIT
    if any(disk.copies is not None for disk in disks):
        text += POLICY
    text += _room(len(kinds))
    names = [powershell(disk.existing) for disk in disks if disk.existing is not None]
    if names:
        text += "# All of them are looked for before the first one moves.\n"
        text += f"{', '.join(names)} | ForEach-Object {{ Get-DataDisk -Name $_ }} | Out-Null\n"
    for bus, kind in kinds.items():
        first = True
        for disk in (disk for disk in disks if disk.bus == bus):
            text += "\n".join(["", f"# {disk.node.name}", *_lines(disk, kind, first=first)]) + "\n"
            first = False
    return text


def _room(adapters: int) -> str:
    return (
        "\n# The boot disk's adapter stays; a machine has four.\n"
        f"if (@(Get-ScsiController -VM $vm).Count + {adapters} -gt 4) {{\n"
        f'    throw "$VMName has no room for {adapters} more adapters: remove those without disks"\n'
        "}\n"
    )


def _lines(disk: Disk, kind: str, *, first: bool) -> list[str]:
    lines = [_disk(disk)]
    if first:
        lines.append(f"$adapter = New-ScsiController -HardDisk $disk -Type {kind}")
    else:
        lines.append("Set-HardDisk -HardDisk $disk -Controller $adapter -Confirm:$false | Out-Null")
    if disk.copies is not None:
        failures = disk.copies - 1
        lines.append(
            "Set-SpbmEntityConfiguration -Configuration $disk "
            f"-StoragePolicy (Get-Policy -Name 'Fathom FTT={failures}' -Failures {failures}) | Out-Null"
        )
    if disk.limit is not None:
        lines.append(
            "Get-VMResourceConfiguration -VM $vm | Set-VMResourceConfiguration -Disk $disk "
            f"-DiskLimitIOPerSecond {int(disk.limit)} | Out-Null"
        )
    return lines


def _disk(disk: Disk) -> str:
    if disk.existing is not None:
        return f"$disk = Get-DataDisk -Name {powershell(disk.existing)}"
    leaf = disk.leaf
    path = str(leaf.keys.get("path", ""))
    if path.startswith("["):
        if not path.endswith(".vmdk") or "size" in leaf.keys or "allocation" in leaf.keys:
            raise cannot(leaf, f"{path} already exists", "let the path end in .vmdk and leave size and allocation out")
        return f"$disk = New-HardDisk -VM $vm -DiskPath {powershell(path)}"
    if path:
        raise cannot(
            leaf,
            f"{path} is no disk of a datastore",
            f'write "[datastore] folder/disk.vmdk", a model with a size, or --device {disk.node.name}="Hard disk 2"',
        )
    size = leaf.size()
    if size is None:
        raise cannot(leaf, "nothing says how large the disk is", f"write {leaf.name}.size")
    gib = f"{size / (1 << 30):.6f}".rstrip("0").rstrip(".")
    return f"$disk = New-HardDisk -VM $vm -CapacityGB {gib} -StorageFormat {FORMATS[_allocation(leaf)]}"


def _allocation(leaf: Node) -> str:
    return str(leaf.keys.get("allocation", "written"))
