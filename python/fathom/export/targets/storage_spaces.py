"""Windows Storage Spaces: a pool, its virtual disks and their write-back cache, and the way to stop without losing it.

Storage Spaces loses the whole virtual disk with its cache, so the local disks are retired before every stop of the
instance: their content moves to the other disks of the pool, which must have room for it (about 4 s per GB of cache,
AWS, "Maximizing Microsoft SQL Server Performance Using Amazon EC2 NVMe Instance Store", 2020). SQL Server starts
only after the cache is back.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from fathom.export.common import (
    FAULT,
    MEMORY,
    NULL,
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
from fathom.export.target import File, Target, Wanted, cannot

PASSED = ("throttle", "adapter")
SERIAL = "SERIAL, as Get-PhysicalDisk shows it, or a friendly name that no other disk has"
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


def write(wanted: Wanted) -> list[File]:
    """What the scripts share, and one script per occasion."""
    used_once(wanted.settings, "a pool")
    spaces = [_space(wanted, name) for name in wanted.settings.roots]
    sectors = {node.size("logical_sector") or 512 for node in wanted.settings.of_kind("sector")}
    if len(sectors) > 1:
        node = wanted.settings.of_kind("sector")[-1]
        raise cannot(node, "a pool has one logical sector size", "use one size, or export each volume by itself")
    slow = [node for space in spaces for node in space.disks]
    fast = [node for space in spaces for node in space.cached_by]
    lines = [
        "$Pool = 'Fathom'",
        f"$Slow = @({', '.join(powershell(device(wanted, node, SERIAL)) for node in slow)})",
        f"$Fast = @({', '.join(powershell(device(wanted, node, SERIAL)) for node in fast)})",
        f"$LogicalSector = {sectors.pop() if sectors else 512}",
        "$Spaces = @(",
        *[_table(space) for space in spaces],
        ")",
    ]
    scripts = ("create", "retire", "restore", "register") if fast else ("create",)
    common = File("settings.ps1", "\n".join(lines) + "\n" + _resource("common"))
    return [common, *(File(f"{name}.ps1", _resource(name)) for name in scripts)]


def _resource(name: str) -> str:
    return files("fathom.export").joinpath("scripts", f"storage-spaces-{name}.ps1").read_text(encoding="utf-8")


def _table(space: Space) -> str:
    options = "; ".join(f"{key} = {value}" for key, value in space.options)
    size = "$null" if space.bytes is None else str(space.bytes)
    return (
        f"    @{{ Name = {powershell(space.name)}; Size = {size}; CacheSize = {space.cache}; "
        f"ReadOnly = ${str(space.read_only).lower()}; Options = @{{ {options} }} }}"
    )


def _through(wanted: Wanted, node: Node) -> Node:
    while node.kind in PASSED or node.kind == "sector":
        sector = node.size("logical_sector") or 512
        if node.kind == "sector" and sector not in SECTORS:
            raise cannot(node, f"a pool has sectors of 512 or 4096 bytes, not {sector}", "use one of them")
        node = only_child(wanted.settings, node)
    return node


def _space(wanted: Wanted, root: str) -> Space:
    node = _through(wanted, wanted.settings.nodes[root])
    cached = node.kind == "writeback"
    data = _through(wanted, only_child(wanted.settings, node)) if cached else node
    disks, options, size = _layout(wanted, data)
    cached_by: tuple[Node, ...] = ()
    cache = 0
    if cached:
        cached_by, copies = _cache_disks(wanted, _through(wanted, only_child(wanted.settings, node, "cache")))
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
    exports = [export for export in wanted.settings.exports.values() if export["volume"] == root]
    modes = {bool(export.get("read_only")) for export in exports}
    if len(modes) > 1:
        raise cannot(node, "one export of it is read-only and another is not", "leave one of them out")
    return Space(root, disks, options, size, cache, cached_by, modes == {True})


def _layout(wanted: Wanted, node: Node) -> tuple[tuple[Node, ...], tuple[tuple[str, str], ...], int | None]:
    """Disks, options of New-VirtualDisk and size of a leaf, stripe, mirror, or stripe of mirrors."""
    settings = wanted.settings
    if not node.children:
        return (node,), (("ResiliencySettingName", "'Simple'"), ("NumberOfColumns", "1")), node.size()
    members = [_through(wanted, settings.nodes[name]) for name in node.children]
    if node.kind == "stripe":
        inner = [_layout(wanted, member) for member in members]
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


def _cache_disks(wanted: Wanted, node: Node) -> tuple[tuple[Node, ...], int]:
    if not node.children:
        return (node,), 1
    members = [_through(wanted, wanted.settings.nodes[name]) for name in node.children]
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
            "before a stop all of the cache is moved, about 4 s per GB, not just what is dirty",
            "the disks of the data need as much free room as the cache is large",
        )
    },
    kinds=KINDS,
    options=frozenset({"devices"}),
    write=write,
)
