"""Windows Storage Spaces: a pool, its virtual disks and their write-back cache, and the way to stop without losing it.

Storage Spaces loses the whole virtual disk with its cache, so the cache moves before every stop of the instance from
the local disks to a spare volume that is set aside for that (about 4 s per GB), and back at the next start. A local
disk may carry tempdb, on a drive of its own that is made anew at every start. SQL Server starts after its drives.
(AWS, "Maximizing Microsoft SQL Server Performance Using Amazon EC2 NVMe Instance Store", 2020.)
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from fathom.export.common import (
    FAULT,
    MEMORY,
    NULL,
    POOL,
    REMOTE,
    SERVING,
    adapter_outside,
    device,
    disk_given,
    instance_caps,
    mirror_elsewhere,
    only_child,
    used_once,
    writeback_elsewhere,
)
from fathom.export.quote import powershell
from fathom.export.rules import Kind, Only, Refused, Told, Used
from fathom.export.settings import Node
from fathom.export.target import CannotSayError, ExportRequest, File, Target, cannot

PASSED = ("throttle", "adapter")
SERIAL = "SERIAL, as Get-PhysicalDisk shows it, a friendly name that no other disk has, or local:N"
USER_DATA_BYTES = 16 << 10
"""Bytes of user data that an EC2 instance takes."""

LETTERS = "DEFGHIJKLMNOPQRTUVWXYZ"
"""Letters of drives in the order in which virtual disks get them; S is tempdb's."""
SECTORS = (4096, 512)
FOREIGN = Refused("the file is another system's", "leave the key out")

KINDS = {
    "adapter": adapter_outside(),
    "fault": FAULT,
    "file": Kind(
        {
            "path": Told("another system's name; --device says which disk it is"),
            "size": Used(),
            "allocation": FOREIGN,
            "direct": FOREIGN,
            "read_only": Only((False,), Refused("a disk of a pool is written", "leave the key out")),
        }
    ),
    "memory": MEMORY,
    "mirror": Kind(
        {
            **mirror_elsewhere(),
            "read": Only(("balanced",), Refused("reads go to all copies", "write balanced")),
        }
    ),
    "model": Kind(disk_given()),
    "nbd": REMOTE,
    "null": NULL,
    "pool": POOL,
    "sector": Kind(
        {
            "backing": Used(),
            "logical_sector": Used(),
            "physical_sector": Refused("it follows from the disks", "leave the key out"),
        }
    ),
    "stripe": Kind({"members": Used(), "chunk": Used()}),
    "throttle": instance_caps("limit it where the volume is bought, or in the virtual machine (--to vsphere)"),
    "writeback": Kind(
        {
            **writeback_elsewhere(
                lag=Refused("nothing says how old dirty data may get", "leave the key out"),
                depth=Refused("nothing says how much is written back at once", "leave the key out"),
            ),
            "durability": Only(
                ("cache",), Refused("a flush means the cache device", "serve it with fathomd (--to systemd)")
            ),
        }
    ),
    "exports": Kind(
        {
            "volume": Used(),
            "description": Told("shown to NBD clients only"),
            "read_only": Used(),
            "ublk": Told("how fathomd serves it"),
        }
    ),
    "daemon": SERVING,
}


@dataclass(frozen=True)
class Space:
    """One virtual disk.

    Attributes:
        name: of the served volume.
        disks: volumes its data lies on.
        options: of New-VirtualDisk.
        bytes: its size; None for the most there is.
        cache: bytes of write-back cache.
        cached_by: volumes the cache lies on.
        read_only: whether it is set so.
    """

    name: str
    disks: tuple[Node, ...]
    options: tuple[tuple[str, str], ...]
    bytes: int | None
    cache: int
    cached_by: tuple[Node, ...]
    read_only: bool


def write(request: ExportRequest) -> list[File]:
    """The settings with what the scripts share, a script per occasion, and the start as an instance's user data."""
    used_once(request.settings, "a pool")
    spaces = [_space(request, name) for name in request.settings.roots]
    if len(spaces) > len(LETTERS):
        raise cannot(request.settings.nodes[spaces[-1].name], "there are no letters left for drives", "export fewer")
    sectors = {node.size("logical_sector") or 512 for node in request.settings.of_kind("sector")}
    if len(sectors) > 1:
        node = request.settings.of_kind("sector")[-1]
        raise cannot(node, "a pool has one logical sector size", "use one size, or export each volume separately")
    _check_disks(request, spaces)
    settings = "\n".join(_settings(request, spaces, sectors.pop() if sectors else 512)) + "\n" + _resource("common")
    start = _resource("start")
    head = "#Requires -RunAsAdministrator\nparam([switch]$Recreate, [int]$Patience = 300)\n"
    scripts = [
        File("settings.ps1", settings),
        File("start.ps1", head + ". (Join-Path $PSScriptRoot 'settings.ps1')\n\n" + start),
    ]
    if any(space.cached_by for space in spaces):
        scripts.append(File("stop.ps1", _resource("stop")))
    return [*scripts, File("register.ps1", _resource("register")), _user_data(settings + start)]


def _settings(request: ExportRequest, spaces: list[Space], sector: int) -> list[str]:
    """The variables of all scripts, the size of the cache first."""
    sizes = "; ".join(f"{powershell(space.name)} = {space.cache}" for space in spaces)
    lists = {
        "Slow": [device(request, node, SERIAL) for space in spaces for node in space.disks],
        "Fast": [device(request, node, SERIAL) for space in spaces for node in space.cached_by],
        "Spare": list(request.spare),
    }
    return [
        f"$CacheSize = @{{ {sizes} }}  # bytes of write-back cache by virtual disk; holds for a pool that is made",
        *(f"${name} = @({', '.join(map(powershell, disks))})" for name, disks in lists.items()),
        f"$Temp = {powershell(request.temp or '')}",
        "$Pool = 'Fathom'",
        "$TempPool = 'FathomTemp'",
        f"$LogicalSector = {sector}",
        "$AllocationUnit = 65536",
        "# In the order in which they start.",
        "$Services = @('MSSQLSERVER', 'SQLSERVERAGENT')",
        "$Spaces = @(",
        *[_table(request, space, letter) for space, letter in zip(spaces, LETTERS, strict=False)],
        ")",
    ]


def _check_disks(request: ExportRequest, spaces: list[Space]) -> None:
    """Every disk has one place, and the cache one to go to.

    Raises:
        CannotSayError: a disk is named twice, or there are not as many spare disks as the cache lies on.
    """
    cached = [space for space in spaces if space.cached_by]
    fast = [device(request, node, SERIAL) for space in spaces for node in space.cached_by]
    if len(fast) != len(request.spare):
        node = request.settings.nodes[(cached or spaces)[0].name]
        raise cannot(
            node,
            f"a stop moves the cache from {len(fast)} local disks to as many spare ones, not {len(request.spare)}",
            "name the smallest volume that holds the cache, and nothing else: --spare-disk SERIAL"
            if cached
            else "leave --spare-disk out",
        )
    slow = [device(request, node, SERIAL) for space in spaces for node in space.disks]
    named = [*slow, *fast, *request.spare, *([request.temp] if request.temp else [])]
    twice = sorted({name for name in named if named.count(name) > 1})
    if twice:
        raise cannot(
            request.settings.nodes[spaces[0].name], f"{twice[0]} is named twice", "give each place its own disk"
        )


def _user_data(script: str) -> File:
    """The start as an EC2 instance's user data, which runs at every start; without comments, for the room they take.

    The first line is the size of the cache, which is what people change.

    Raises:
        CannotSayError: it is longer than EC2 takes.
    """
    first, rest = script.split("\n", 1)
    lines = [first, "$Recreate = $false", "$Patience = 300", *(line.strip() for line in rest.splitlines())]
    kept = "\n".join(line for line in lines if line and not line.startswith("#"))
    text = f"<powershell>\n{kept}\n</powershell>\n<persist>true</persist>\n"
    if len(text.encode()) > USER_DATA_BYTES:
        raise CannotSayError(
            [("user data", f"{len(text.encode())} bytes, EC2 takes {USER_DATA_BYTES}", "export volumes one by one")]
        )
    return File("user-data.txt", text, head=False)


def _resource(name: str) -> str:
    return files("fathom.export").joinpath("scripts", f"storage-spaces-{name}.ps1").read_text(encoding="utf-8")


def _table(request: ExportRequest, space: Space, letter: str) -> str:
    options = "; ".join(f"{key} = {value}" for key, value in space.options)
    size = "$null" if space.bytes is None else str(space.bytes)
    disks = ", ".join(powershell(device(request, node, SERIAL)) for node in space.disks)
    return (
        f"    @{{ Name = {powershell(space.name)}; Letter = '{letter}'; Disks = @({disks}); Size = {size}; "
        f"ReadOnly = ${str(space.read_only).lower()}; Options = @{{ {options} }} }}"
    )


def _through(request: ExportRequest, node: Node) -> Node:
    while node.kind in PASSED or node.kind == "sector":
        sector = node.size("logical_sector") or 512
        if node.kind == "sector" and sector not in SECTORS:
            raise cannot(node, f"a pool has sectors of 512 or 4096 bytes, not {sector}", "use one of them")
        node = only_child(request.settings, node)
    return node


def _space(request: ExportRequest, root: str) -> Space:
    node = _through(request, request.settings.nodes[root])
    cached = node.kind == "writeback"
    data = _through(request, only_child(request.settings, node)) if cached else node
    disks, options, size = _layout(request, data)
    cached_by: tuple[Node, ...] = ()
    cache = 0
    if cached:
        cached_by, copies = _cache_disks(request, _through(request, only_child(request.settings, node, "cache")))
        wanted_copies = dict(options).get("NumberOfDataCopies", "1")
        if copies != int(wanted_copies):
            raise cannot(
                node,
                f"the cache has as many copies as the data, and those are {copies} and {wanted_copies}",
                "give both a mirror with as many legs, or neither",
            )
        sizes = [one.size() for one in cached_by]
        cache = node.size() or min((size for size in sizes if size is not None), default=0)
        if not cache:
            raise cannot(node, "nothing says how large the cache is", f"write {node.name}.size")
    exports = [export for export in request.settings.exports.values() if export["volume"] == root]
    modes = {bool(export.get("read_only")) for export in exports}
    if len(modes) > 1:
        raise cannot(node, "one export of it is read-only and another is not", "leave one of them out")
    return Space(root, disks, options, size, cache, cached_by, modes == {True})


def _layout(request: ExportRequest, node: Node) -> tuple[tuple[Node, ...], tuple[tuple[str, str], ...], int | None]:
    """Disks, options of New-VirtualDisk and size of a leaf, stripe, mirror, or stripe of mirrors."""
    settings = request.settings
    if not node.children:
        return (node,), (("ResiliencySettingName", "'Simple'"), ("NumberOfColumns", "1")), node.size()
    members = [_through(request, settings.nodes[name]) for name in node.children]
    if node.kind == "stripe":
        inner = [_layout(request, member) for member in members]
        copies = {dict(options).get("NumberOfDataCopies", "1") for _, options, _ in inner}
        if len(copies) != 1 or any(member.kind not in {"mirror"} and member.children for member in members):
            raise cannot(node, "its members differ, or are more than disks and mirrors", "make them alike")
        disks = tuple(disk for found, _, _ in inner for disk in found)
        sizes = [size for _, _, size in inner if size is not None]
        options = (*_resilience(int(copies.pop())), ("NumberOfColumns", str(len(members))), _interleave(node))
        return disks, options, min(sizes) * len(members) if sizes else None
    if node.kind == "mirror":
        if any(member.children for member in members):
            raise cannot(node, "a mirror here stands on disks", "put the stripe over the mirrors")
        if len(members) > 3:
            raise cannot(node, f"a mirror has two or three copies, not {len(members)}", "leave legs out")
        sizes = [size for size in (member.size() for member in members) if size is not None]
        options = (*_resilience(len(members)), ("NumberOfColumns", "1"))
        return tuple(members), options, min(sizes) if sizes else None
    raise cannot(
        node, f"there is no {node.kind} at this place in a pool", "put one cache on top of stripes and mirrors"
    )


def _resilience(copies: int) -> tuple[tuple[str, str], ...]:
    if copies == 1:
        return (("ResiliencySettingName", "'Simple'"),)
    return (("ResiliencySettingName", "'Mirror'"), ("NumberOfDataCopies", str(copies)))


def _interleave(node: Node) -> tuple[str, str]:
    return ("Interleave", str(node.size("chunk") or 64 << 10))


def _cache_disks(request: ExportRequest, node: Node) -> tuple[tuple[Node, ...], int]:
    if not node.children:
        return (node,), 1
    members = [_through(request, request.settings.nodes[name]) for name in node.children]
    if node.kind != "mirror" or any(member.children for member in members):
        raise cannot(node, f"there is no {node.kind} under a cache", "let the cache be disks or a mirror of disks")
    return tuple(members), len(members)


TARGET = Target(
    name="storage-spaces",
    title="Storage Spaces",
    order=10,
    differs={
        "writeback": (
            "if the disk of the cache is lost, the whole virtual disk is lost; Fathom opens it at an earlier moment",
            "before a stop all of the cache is moved to the spare disk, about 4 s per GB, not just what is dirty",
        )
    },
    kinds=KINDS,
    options=frozenset({"devices", "spare", "temp"}),
    write=write,
)
