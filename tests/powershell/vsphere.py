"""The PowerCLI cmdlets that the exported script calls, on a simulated machine. Nothing was compared with vSphere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from powershell.interpreter import Call, Cmdlet
from powershell.values import PowerShellError, Table, enumerated, text


@dataclass(eq=False)
class Controller:
    """An adapter of the machine."""

    Type: str
    bus: int

    @property
    def ExtensionData(self) -> Table:
        return Table({"BusNumber": self.bus})


@dataclass(eq=False)
class HardDisk:
    """A virtual disk on an adapter."""

    Name: str
    controller: Controller
    unit: int
    gib: float = 0
    path: str | None = None
    policy: str | None = None
    limit: int | None = None

    @property
    def ExtensionData(self) -> Table:
        return Table({"UnitNumber": self.unit})


@dataclass
class Guest:
    """A machine with a boot disk on LSI Logic."""

    PowerState: str = "PoweredOff"
    snapshots: list[str] = field(default_factory=list)
    controllers: list[Controller] = field(default_factory=lambda: [Controller("VirtualLsiLogicSAS", 0)])
    disks: list[HardDisk] = field(default_factory=list)
    policies: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.add("Hard disk 1")

    def add(self, name: str, **keys: Any) -> HardDisk:
        """A disk on the first adapter, at the next place: 7 is the adapter's own."""
        taken = sum(disk.controller is self.controllers[0] for disk in self.disks)
        disk = HardDisk(name, self.controllers[0], taken if taken < 7 else taken + 1, **keys)
        self.disks.append(disk)
        return disk

    def move(self, disk: HardDisk, controller: Controller) -> None:
        taken = sum(one.controller is controller for one in self.disks)
        disk.controller, disk.unit = controller, taken if taken < 7 else taken + 1


def cmdlets(guest: Guest) -> dict[str, Cmdlet]:
    """All of them, with the parameters that are documented."""
    known: dict[str, set[str]] = {}

    def take(call: Call, *names: str) -> list[Any]:
        unknown = set(call.parameters) - {name.lower() for name in names} - known.get(call.name, {"confirm"})
        if unknown or call.positional:
            raise AssertionError(f"{call.name} has no parameters {sorted(unknown)} {call.positional}")
        return [call.parameters.get(name.lower()) for name in names]

    def get_vm(call: Call) -> list[Any]:
        take(call, "Name")
        return [guest]

    def new_hard_disk(call: Call) -> list[Any]:
        _, gib, _, path = take(call, "VM", "CapacityGB", "StorageFormat", "DiskPath")
        return [guest.add(f"Hard disk {len(guest.disks) + 1}", gib=gib or 0, path=path)]

    def new_controller(call: Call) -> list[Any]:
        disk, kind = take(call, "HardDisk", "Type")
        buses = {one.bus for one in guest.controllers}
        free = [bus for bus in range(4) if bus not in buses]
        if not free:
            raise PowerShellError("no free bus for another controller")
        controller = Controller(text(kind), free[0])
        guest.controllers.append(controller)
        guest.move(disk, controller)
        return [controller]

    def set_hard_disk(call: Call) -> list[Any]:
        disk, controller = take(call, "HardDisk", "Controller")
        guest.move(disk, controller)
        return [disk]

    def get_controller(call: Call) -> list[Any]:
        _, disk = take(call, "VM", "HardDisk")
        return list(guest.controllers) if disk is None else [disk.controller]

    def get_policies(call: Call) -> list[Any]:
        take(call)
        return [Table({"Name": name}) for name in guest.policies]

    def new_policy(call: Call) -> list[Any]:
        name, _, rules = take(call, "Name", "Description", "AnyOfRuleSets")
        guest.policies[name] = rules["Failures"]
        return [Table({"Name": name})]

    def new_rule(call: Call) -> list[Any]:
        capability, value = take(call, "Capability", "Value")
        assert capability["Name"] == "VSAN.hostFailuresToTolerate"
        return [Table({"Failures": value})]

    def configure(call: Call) -> list[Any]:
        disk, policy = take(call, "Configuration", "StoragePolicy")
        disk.policy = policy["Name"]
        return [disk]

    def limit(call: Call) -> list[Any]:
        disk, most = take(call, "Disk", "DiskLimitIOPerSecond")
        assert call.inputs is not None
        disk.limit = most
        return call.inputs

    return {
        "Set-StrictMode": lambda call: [],
        "Get-VM": get_vm,
        "Get-Snapshot": lambda call: [take(call, "VM") and one for one in guest.snapshots],
        "Get-HardDisk": lambda call: [take(call, "VM") and one for one in guest.disks],
        "New-HardDisk": new_hard_disk,
        "New-ScsiController": new_controller,
        "Set-HardDisk": set_hard_disk,
        "Get-ScsiController": get_controller,
        "Get-SpbmStoragePolicy": get_policies,
        "New-SpbmStoragePolicy": new_policy,
        "Get-SpbmCapability": lambda call: [Table({"Name": take(call, "Name")[0]})],
        "New-SpbmRule": new_rule,
        "New-SpbmRuleSet": lambda call: enumerated(take(call, "AllOfRules")[0]),
        "Set-SpbmEntityConfiguration": configure,
        "Get-VMResourceConfiguration": lambda call: [take(call, "VM")[0]],
        "Set-VMResourceConfiguration": limit,
        "Out-Null": lambda call: [],
    }
