"""The cmdlets that the scripts call, on a simulated machine. Parameters that a cmdlet does not document are errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from powershell.documented import stands_together
from powershell.interpreter import Call, Cmdlet
from powershell.machine import USAGES, Disk, Job, Machine, Pool, Repair, Service, Virtual
from powershell.values import PowerShellError, Table, enumerated, member, number, text

SEEN = (Disk, Job, Pool, Service, Virtual)
Body = Callable[..., Any]
TABLE: dict[str, tuple[frozenset[str], tuple[str, ...], Body]] = {}
"""By name: the parameters, those that may go without their names in order, and what it does."""


class Snapshot(Table):
    """What a CIM cmdlet hands out: the properties as they were then, and which object they are of."""

    def __init__(self, live: Any) -> None:
        names = [name for name in dir(live) if name[0].isupper() and not callable(getattr(live, name))]
        super().__init__({name: getattr(live, name) for name in names})
        self.live = live


def live(found: Any) -> Any:
    """The object itself."""
    return found.live if isinstance(found, Snapshot) else found


def cmdlet(name: str, parameters: str = "", positional: str = "") -> Callable[[Body], Body]:
    def register(body: Body) -> Body:
        TABLE[name] = (frozenset(parameters.lower().split()), tuple(positional.lower().split()), body)
        return body

    return register


def cmdlets(machine: Machine) -> dict[str, Cmdlet]:
    """All of them, bound to a machine."""

    def bind(name: str) -> Cmdlet:
        known, places, body = TABLE[name]

        def called(call: Call) -> list[Any]:
            given = {**dict(zip(places, call.positional, strict=False)), **call.parameters}
            unknown = [one for one in given if one not in known]
            if unknown or len(call.positional) > len(places):
                raise AssertionError(f"{name} has no parameters {unknown or call.positional}")
            if not stands_together(name, given, piped=call.inputs is not None):
                raise AssertionError(f"{name} has no parameter set with {sorted(given)}")
            inputs = None if call.inputs is None else [live(one) for one in call.inputs]
            outputs = enumerated(body(machine, inputs, **given))
            return [Snapshot(one) if isinstance(one, SEEN) else one for one in outputs]

        return called

    return {name: bind(name) for name in TABLE}


def one_of(found: list[Any], kind: str, key: str, value: str) -> Any:
    """As CIM cmdlets do it: a name that is not there is an error."""
    if not found:
        raise PowerShellError(f"No {kind} objects found with property '{key}' equal to '{value}'.")
    return found[0]


# Storage.


@cmdlet("Get-PhysicalDisk", "uniqueid friendlyname")
def get_physical_disk(machine: Machine, inputs: list[Any] | None, uniqueid: str | None = None) -> Any:
    if inputs is not None:
        return [disk for pool in inputs for disk in pool.disks]
    found = list(machine.present())
    if uniqueid is None:
        return found
    return one_of([disk for disk in found if disk.UniqueId == uniqueid], "MSFT_PhysicalDisk", "UniqueId", uniqueid)


@cmdlet("Set-PhysicalDisk", "uniqueid usage friendlyname mediatype newfriendlyname description")
def set_physical_disk(machine: Machine, _: Any, uniqueid: str, usage: str) -> None:
    disk: Disk = get_physical_disk(machine, None, uniqueid)
    disk.Usage = USAGES[usage]


@cmdlet("Get-StoragePool", "friendlyname isprimordial")
def get_storage_pool(machine: Machine, _: Any) -> list[Pool]:
    return list(machine.pools)


@cmdlet(
    "New-StoragePool",
    "friendlyname storagesubsystemuniqueid physicaldisks logicalsectorsizedefault provisioningtypedefault",
)
def new_storage_pool(machine: Machine, _: Any, friendlyname: str, physicaldisks: Any, **given: Any) -> Pool:
    assert given["storagesubsystemuniqueid"] == "windows-storage"
    disks = [live(disk) for disk in enumerated(physicaldisks)]
    if not all(disk.CanPool for disk in disks):
        raise PowerShellError("one of the physical disks specified is not supported by this operation")
    pool = Pool(friendlyname, disks=disks)
    for disk in disks:
        disk.pool, disk.Usage = pool, "Auto-Select"
    machine.pools.append(pool)
    return pool


@cmdlet("Set-StoragePool", "friendlyname isreadonly")
def set_storage_pool(machine: Machine, _: Any, friendlyname: str, isreadonly: bool) -> None:
    one_of([machine.pool(friendlyname)], "MSFT_StoragePool", "FriendlyName", friendlyname).IsReadOnly = isreadonly


@cmdlet("Remove-StoragePool", "friendlyname confirm")
def remove_storage_pool(machine: Machine, _: Any, friendlyname: str, confirm: bool) -> None:
    pool = one_of([machine.pool(friendlyname)], "MSFT_StoragePool", "FriendlyName", friendlyname)
    assert confirm is False, "nobody is there to confirm"
    if pool.IsReadOnly or pool.virtuals:
        raise PowerShellError("the storage pool is read-only or holds virtual disks")
    for disk in pool.disks:
        disk.pool, disk.Usage = None, "Auto-Select"
    machine.disks = [disk for disk in machine.disks if not disk.lost]
    machine.pools.remove(pool)


@cmdlet("Get-StorageSubSystem", "model friendlyname")
def get_storage_subsystem(_machine: Machine, _: Any, model: str) -> Table:
    assert model == "Windows Storage"
    return Table({"UniqueId": "windows-storage"})


@cmdlet("Add-PhysicalDisk", "storagepoolfriendlyname physicaldisks usage")
def add_physical_disk(
    machine: Machine, _: Any, storagepoolfriendlyname: str, physicaldisks: Any, usage: str = "AutoSelect"
) -> None:
    pool = one_of([machine.pool(storagepoolfriendlyname)], "MSFT_StoragePool", "FriendlyName", storagepoolfriendlyname)
    for disk in [live(disk) for disk in enumerated(physicaldisks)]:
        if not disk.CanPool:
            raise PowerShellError("the physical disk cannot be pooled")
        disk.pool, disk.Usage = pool, USAGES[usage]
        pool.disks.append(disk)


@cmdlet("Remove-PhysicalDisk", "storagepoolfriendlyname physicaldisks confirm")
def remove_physical_disk(
    machine: Machine, _: Any, storagepoolfriendlyname: str, physicaldisks: Any, confirm: bool
) -> None:
    pool = one_of([machine.pool(storagepoolfriendlyname)], "MSFT_StoragePool", "FriendlyName", storagepoolfriendlyname)
    assert confirm is False, "nobody is there to confirm"
    for disk in [live(disk) for disk in enumerated(physicaldisks)]:
        if disk not in pool.disks or disk.VirtualDiskFootprint or disk.Usage != "Retired":
            raise PowerShellError("the physical disk is in use or not retired")
        pool.disks.remove(disk)
        disk.pool = None
        if disk.lost:
            machine.disks.remove(disk)


@cmdlet(
    "New-VirtualDisk",
    "storagepoolfriendlyname friendlyname provisioningtype physicaldiskstouse resiliencysettingname numberofdatacopies "
    "numberofcolumns interleave size usemaximumsize writecachesize",
)
def new_virtual_disk(
    machine: Machine, _: Any, storagepoolfriendlyname: str, friendlyname: str, **given: Any
) -> Virtual:
    pool = one_of([machine.pool(storagepoolfriendlyname)], "MSFT_StoragePool", "FriendlyName", storagepoolfriendlyname)
    assert given["provisioningtype"] == "Fixed", "a cache needs fixed provisioning"
    disks = [live(disk) for disk in enumerated(given.get("physicaldiskstouse", list(pool.disks)))]
    if any(disk not in pool.disks or disk.Usage in {"Retired", "Journal"} for disk in disks):
        raise PowerShellError("a disk that was asked for is not eligible")
    copies = int(given.get("numberofdatacopies", 1))
    room = sum(disk.Size - disk.VirtualDiskFootprint for disk in disks) // copies
    size = room if given.get("usemaximumsize") else number(given["size"])
    if size > room:
        raise PowerShellError("there is not enough eligible capacity")
    cache = int(given.get("writecachesize", 0))
    if cache:
        machine.place_cache(pool, cache, copies)
    for disk in disks:
        disk.data += size * copies // len(disks)
    machine.numbers += 1
    virtual = Virtual(friendlyname, pool, int(size), cache, machine.numbers)
    pool.virtuals.append(virtual)
    return virtual


def virtual_of(machine: Machine, name: str) -> Virtual:
    found = [one for one in machine.virtuals() if name in (one.FriendlyName, one.UniqueId)]
    virtual: Virtual = one_of(found, "MSFT_VirtualDisk", "FriendlyName", name)
    return virtual


@cmdlet("Get-VirtualDisk", "friendlyname uniqueid")
def get_virtual_disk(machine: Machine, inputs: list[Any] | None, friendlyname: str | None = None) -> Any:
    if inputs is not None:
        return [virtual for pool in inputs for virtual in pool.virtuals]
    return machine.virtuals() if friendlyname is None else virtual_of(machine, friendlyname)


@cmdlet("Remove-VirtualDisk", "friendlyname uniqueid confirm")
def remove_virtual_disk(machine: Machine, _: Any, uniqueid: str, confirm: bool) -> None:
    assert confirm is False, "nobody is there to confirm"
    virtual = virtual_of(machine, uniqueid)
    if virtual.pool.IsReadOnly:
        raise PowerShellError("the storage pool is read-only")
    virtual.pool.virtuals.remove(virtual)
    for disk in virtual.pool.disks:
        disk.data = disk.cache = 0


@cmdlet("Set-VirtualDisk", "friendlyname ismanualattach")
def set_virtual_disk(machine: Machine, _: Any, friendlyname: str, ismanualattach: bool) -> None:
    virtual_of(machine, friendlyname).IsManualAttach = ismanualattach


@cmdlet("Connect-VirtualDisk", "friendlyname storagenodename")
def connect_virtual_disk(machine: Machine, _: Any, friendlyname: str) -> None:
    virtual = virtual_of(machine, friendlyname)
    if virtual.lost:
        raise PowerShellError("its health does not permit it")
    virtual.detached = None


@cmdlet("Repair-VirtualDisk", "friendlyname asjob")
def repair_virtual_disk(machine: Machine, _: Any, friendlyname: str, asjob: bool = False) -> Repair | None:
    """Comes back when all is done, as MSFT_VirtualDisk's Repair does unless it is asked for a job."""
    begun = machine.repair(virtual_of(machine, friendlyname))
    if asjob:
        return begun
    while begun.State == "Running":
        machine.work()
    receive_job(machine, None, begun)
    return None


@cmdlet("Receive-Job", "job wait", "job")
def receive_job(_machine: Machine, _: Any, job: Repair) -> None:
    if job.error:
        raise PowerShellError(job.error)


@cmdlet("Get-StorageJob")
def get_storage_job(machine: Machine, _: Any) -> list[Any]:
    machine.work()
    return list(machine.jobs)


@cmdlet("Get-Disk")
def get_disk(_machine: Machine, inputs: list[Any]) -> list[Virtual]:
    if any(virtual.detached for virtual in inputs):
        raise PowerShellError("No MSFT_Disk objects found")
    return inputs


@cmdlet("Set-Disk", "number isoffline isreadonly")
def set_disk(machine: Machine, inputs: list[Any] | None, **given: Any) -> None:
    found = inputs or [virtual for virtual in machine.virtuals() if virtual.Number == given.get("number")]
    for key, name in (("isoffline", "IsOffline"), ("isreadonly", "IsReadOnly")):
        if key in given:
            setattr(one_of(found, "MSFT_Disk", "Number", text(given.get("number"))), name, given[key])


@cmdlet("Initialize-Disk", "partitionstyle passthru")
def initialize_disk(_machine: Machine, inputs: list[Any], partitionstyle: str, passthru: bool = False) -> list[Any]:
    assert partitionstyle == "GPT"
    if inputs[0].partition:
        raise PowerShellError("the disk has already been initialized")
    return inputs if passthru else []


@cmdlet("New-Partition", "usemaximumsize driveletter assigndriveletter")
def new_partition(machine: Machine, inputs: list[Any], driveletter: str, usemaximumsize: bool) -> list[Any]:
    if driveletter in machine.letters():
        raise PowerShellError("the requested access path is already in use")
    inputs[0].partition, inputs[0].letter = usemaximumsize, driveletter
    return inputs


@cmdlet("Format-Volume", "filesystem allocationunitsize newfilesystemlabel confirm")
def format_volume(_machine: Machine, inputs: list[Any], **given: Any) -> list[Any]:
    assert given["filesystem"] == "NTFS"
    assert given["allocationunitsize"] in {4096, 8192, 16384, 32768, 65536}
    assert given["confirm"] is False
    return inputs


# Services, files, time.


@cmdlet("Set-StrictMode", "version")
def set_strict_mode(_machine: Machine, _: Any, version: float) -> None:
    assert version == 3.0, "what the interpreter does"


@cmdlet("Get-Service")
def get_service(machine: Machine, _: Any) -> list[Any]:
    return list(machine.services.values())


@cmdlet("Start-Service", "name")
def start_service(machine: Machine, _: Any, name: str) -> None:
    machine.services[name].Status = "Running"
    machine.log.append(f"[{name} started with drives {' '.join(sorted(machine.letters()))}]")


@cmdlet("Stop-Service", "name force")
def stop_service(machine: Machine, _: Any, name: str, force: bool = False) -> None:
    assert force, "services that depend on it would stop it from stopping"
    machine.services[name].Status = "Stopped"


@cmdlet("Set-Service", "name startuptype")
def set_service(machine: Machine, _: Any, name: str, startuptype: str) -> None:
    machine.services[name].StartupType = startuptype


@cmdlet("Stop-Computer", "force")
def stop_computer(machine: Machine, _: Any, force: bool = False) -> None:
    machine.stopped = force


@cmdlet("Get-Date")
def get_date(machine: Machine, _: Any) -> Any:
    return machine.now


@cmdlet("Start-Sleep", "seconds")
def start_sleep(machine: Machine, _: Any, seconds: int) -> None:
    import datetime

    machine.now += datetime.timedelta(seconds=seconds)


@cmdlet("Add-Content", "path value")
def add_content(machine: Machine, _: Any, path: str, value: str) -> None:
    assert path == "C:\\ProgramData\\Fathom\\storage-spaces.log"
    machine.log.append(value)


@cmdlet("Write-Host", "object", "object")
def write_host(_machine: Machine, _: Any, object: str) -> None:
    assert object


@cmdlet("Write-Verbose", "message", "message")
def write_verbose(_machine: Machine, _: Any, message: str) -> None:
    assert message


@cmdlet("Out-Null")
def out_null(_machine: Machine, _inputs: Any) -> None:
    return None


@cmdlet("New-Item", "itemtype force path")
def new_item(machine: Machine, _: Any, itemtype: str, path: str, force: bool) -> list[str]:
    assert (itemtype, force) == ("Directory", True)
    if path[0] != "C" and path[0] not in machine.letters():
        raise PowerShellError(f"cannot find drive {path[0]}")
    machine.directories.add(path)
    return [path]


@cmdlet("Join-Path", "path childpath", "path childpath")
def join_path(_machine: Machine, _: Any, path: str, childpath: str) -> str:
    return f"{path}\\{childpath}"


@cmdlet("Split-Path", "path", "path")
def split_path(_machine: Machine, _: Any, path: str) -> str:
    return path.rsplit("\\", 1)[0]


@cmdlet("Test-Path", "path", "path")
def path_exists(machine: Machine, _: Any, path: str) -> bool:
    return path[0] in machine.letters()


@cmdlet("Sort-Object", "property", "property")
def sort_object(_machine: Machine, inputs: list[Any], property: str) -> list[Any]:
    return sorted(inputs, key=lambda one: text(member(one, property)))


@cmdlet("Measure-Object", "sum property")
def measure_object(_machine: Machine, inputs: list[Any], sum: bool) -> Table:
    assert sum
    total = 0
    for value in inputs:
        total += int(number(value))
    return Table({"Sum": total})


class SerialPort:
    """The console of the instance."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def Open(self) -> None:
        """Nothing to do."""

    def WriteLine(self, line: str) -> None:
        self.lines.append(line)

    def Dispose(self) -> None:
        """Nothing to do."""


@cmdlet("New-Object", "typename argumentlist", "typename argumentlist")
def new_object(machine: Machine, _: Any, typename: str, argumentlist: list[Any]) -> SerialPort:
    assert (typename, argumentlist) == ("System.IO.Ports.SerialPort", ["COM1", 115200])
    if not machine.serial_port:
        raise PowerShellError("the port 'COM1' does not exist")
    return SerialPort()


@cmdlet("New-ScheduledTaskAction", "execute argument")
def new_scheduled_task_action(_machine: Machine, _: Any, execute: str, argument: str) -> str:
    return f"{execute} {argument}"


@cmdlet("New-ScheduledTaskTrigger", "atstartup")
def new_scheduled_task_trigger(_machine: Machine, _: Any, atstartup: bool) -> bool:
    return atstartup


@cmdlet("Register-ScheduledTask", "taskname action trigger user runlevel force")
def register_scheduled_task(machine: Machine, _: Any, **given: Any) -> str:
    assert given["trigger"] is True
    machine.tasks.append(given["action"])
    return str(given["taskname"])


@cmdlet("Set-ItemProperty", "path name type value")
def set_item_property(machine: Machine, _: Any, path: str, name: str, value: Any, **given: Any) -> None:
    assert given["type"] in {"DWord", "String"}
    machine.registry[f"{path}\\{name}"] = value
