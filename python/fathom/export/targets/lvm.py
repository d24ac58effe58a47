"""LVM: stripes, mirrors and caches as logical volumes, with scripts that put the cache on and take it off.

`durability = "cache"` becomes dm-writecache, `durability = "origin"` becomes dm-cache in mode writethrough. The
instance may be stopped only after `detach-cache.sh`; the unit beside the scripts calls it in time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fathom.export.common import (
    FAULT,
    MEMORY,
    NULL,
    POOL,
    REMOTE,
    SERVING,
    adapter_outside,
    disk_given,
    instance_caps,
    mirror_elsewhere,
    only_child,
    used_once,
    writeback_elsewhere,
)
from fathom.export.logical_volume import EXTENT, LEAST_REGION, LogicalVolume
from fathom.export.quote import shell
from fathom.export.rules import Kind, Only, Refused, Told, Used
from fathom.export.settings import Node
from fathom.export.target import CannotSayError, ExportRequest, File, Target, cannot

_PAGE = 4096
"""The least bytes of a chunk or region that LVM takes."""

PASSED = ("throttle", "adapter")
"""Layers that are the surroundings' business, not a logical volume."""

SECTORS = Refused(
    "volumes have the sectors of their disks", "format the disks with that sector size (nvme format --lbaf)"
)
WRITTEN_ONCE = Refused("volumes stand on whole block devices", "leave the key out")

KINDS = {
    "adapter": adapter_outside(),
    "fault": FAULT,
    "file": Kind(
        {
            "path": Used(),
            "size": Used(),
            "allocation": WRITTEN_ONCE,
            "direct": Only(("prefer", "require"), Refused("it always passes the page cache by", "leave the key out")),
            "read_only": Only(
                (False,), Refused("nothing can be put on a disk that is not written", "leave the key out")
            ),
        }
    ),
    "memory": MEMORY,
    "mirror": Kind({**mirror_elsewhere(), "read": Used(), "region": Used(), "initial": Used()}),
    "model": Kind(disk_given()),
    "nbd": REMOTE,
    "null": NULL,
    "pool": POOL,
    "sector": Kind(whole=SECTORS),
    "stripe": Kind({"members": Used(), "chunk": Used()}),
    "throttle": instance_caps("limit the database's unit (IOReadIOPSMax=, see systemd.resource-control)"),
    "writeback": Kind(
        {
            **writeback_elsewhere(
                lag=Refused("it has no such key", "leave it out"), depth=Refused("it has no such key", "leave it out")
            ),
            "durability": Used(),
            "cache_copy": Used(),
            "lag_target": Used(),
            "destage_depth": Used(),
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

HEAD = """\
#!/bin/bash
set -euo pipefail
vg=${VG:-fathom}
"""

WRITECACHE = (
    "unlike Fathom: if the disk of dm-writecache is lost, the volume is inconsistent (Fathom: at an earlier moment)",
    "unlike Fathom: dm-writecache lets writes pass to the slow disk when it is full",
)

PLACES = """
# Where a disk is looked at: 17 places of 64 KiB, from its first to its last. What has no signature, as a cache of
# fathomd or a database's raw volume, is seen by its bytes.
places() {
    local size part
    size=$(blockdev --getsize64 "$1")
    for part in {0..16}; do
        echo $(((size - 65536) * part / 16))
    done
}
"""

CHECKED = (
    PLACES
    + """
# Nothing is begun that does not fit.
for n in "${!disks[@]}"; do
    if [ -b "${disks[n]}" ] && [ "$(blockdev --getsize64 "${disks[n]}")" -lt "${needs[n]}" ]; then
        echo "error: ${disks[n]} has less than ${needs[n]} bytes: write its size into the settings, export again" >&2
        exit 1
    fi
done
# Nothing is overwritten: a disk that holds anything is refused.
for disk in "${disks[@]}"; do
    if [ ! -b "$disk" ]; then
        echo "error: $disk is no block device" >&2
        exit 1
    fi
    if [ -n "$(wipefs --noheadings "$disk")" ]; then
        echo "error: $disk holds something already (wipefs $disk shows what)" >&2
        exit 1
    fi
    for at in $(places "$disk"); do
        used=$(dd if="$disk" bs=64K count=1 iflag=skip_bytes skip="$at" status=none | tr -d '\\0' | wc --bytes)
        if [ "$used" -gt 0 ]; then
            echo "error: $disk holds data at byte $at; if nobody needs it, clear it: blkdiscard --zeroout $disk" >&2
            exit 1
        fi
    done
done
"""
)


UNFINISHED = """
# From here on the disks hold what this script makes, and another attempt would refuse them.
trap 'echo "help: before another attempt: vgremove --force $vg; pvremove ${disks[*]}" >&2' ERR"""

ENDED = "trap - ERR"


def _volumes(request: ExportRequest) -> dict[str, tuple[LogicalVolume, LogicalVolume | None]]:
    """Each volume that is served, and its cache."""
    found: dict[str, tuple[LogicalVolume, LogicalVolume | None]] = {}
    for root in request.settings.roots:
        node = _through(request, request.settings.nodes[root])
        cached = node.kind == "writeback"
        below = _volume(request, _through(request, only_child(request.settings, node)) if cached else node)
        found[root] = below, _cache(request, node) if cached else None
    return found


def notes(request: ExportRequest) -> list[str]:
    """What of the sizes does not fit into extents, and how dm-writecache differs."""
    lines = []
    for root, (below, cache) in _volumes(request).items():
        named = {root: below} | ({f"{root}_cache": cache} if cache is not None else {})
        lines += [f"{name}: {volume.loss}" for name, volume in named.items() if volume.loss is not None]
    caches = [node for node in request.settings.of_kind("writeback") if not _writes_through(node)]
    return [*lines, *(WRITECACHE if caches else ())]


def write(request: ExportRequest) -> list[File]:
    """The scripts, and the unit that calls them."""
    used_once(request.settings, "LVM")
    create: list[str] = []
    attach: list[str] = []
    detach: list[str] = []
    slow: list[tuple[str, int]] = []
    fast: list[tuple[str, int]] = []
    cached: dict[str, bool] = {}
    for root, (below, cache) in _volumes(request).items():
        slow += [(disk, below.needs) for disk in below.disks]
        create += below.commands(root)
        if cache is not None:
            fast += [(disk, cache.needs) for disk in cache.disks]
            node = _through(request, request.settings.nodes[root])
            cached[root] = _writes_through(node)
            attach += _attach(node, root, cache)
            detach += _detach(root)
        create += [
            f'lvchange --permission r "$vg/{root}"'
            for name, export in request.settings.exports.items()
            if export["volume"] == root and export.get("read_only") and _only_export(request, name, root)
        ]
    twice = next((disk for disk, count in Counter(disk for disk, _ in slow + fast).items() if count > 1), None)
    if twice is not None:
        raise CannotSayError([(twice, "two volumes would lie on it", "give each a disk of its own (--device)")])
    files = [File("create.sh", _create(slow, create, bool(fast)), program=True)]
    if fast:
        files += [
            File("attach-cache.sh", _attach_script(fast, attach, cached), program=True),
            File("detach-cache.sh", _detach_script(fast, detach), program=True),
            File("fathom-lvm-cache.service", UNIT),
        ]
    return files


def _only_export(request: ExportRequest, name: str, root: str) -> bool:
    others = [other for other, export in request.settings.exports.items() if export["volume"] == root and other != name]
    if others:
        node = request.settings.nodes[root]
        raise cannot(node, f"it is read-only as {name} and not as {others[0]}", "leave one of the exports out")
    return True


def _through(request: ExportRequest, node: Node) -> Node:
    while node.kind in PASSED:
        node = only_child(request.settings, node)
    return node


def _disk(request: ExportRequest, node: Node) -> str:
    path = request.devices.get(node.name, str(node.keys.get("path", "")))
    if not path.startswith("/dev/"):
        raise cannot(
            node, f"{path or 'a model'} is no block device", f"--device {node.name}=/dev/… names the disk in its place"
        )
    return path


def _volume(request: ExportRequest, node: Node, limit: int | None = None) -> LogicalVolume:
    """A leaf, a stripe, a mirror, or a stripe of mirrors."""
    settings = request.settings
    if not node.children:
        size = node.size()
        return LogicalVolume(
            node, ("--type linear",), (_disk(request, node),), (size,), size if limit is None else limit
        )
    members = [_through(request, settings.nodes[name]) for name in node.children]
    kinds = {member.kind for member in members}
    if node.kind == "stripe" and kinds == {"mirror"}:
        sets = [_volume(request, member) for member in members]
        legs = {len(one.disks) for one in sets}
        if len(legs) != 1 or any(one.mostly_written for one in sets):
            raise cannot(
                node, "its mirrors differ in legs, or read the first leg only", "make them alike, with balanced reads"
            )
        if len({_mirrored(member) for member in members}) != 1:
            raise cannot(node, "its mirrors differ in region or initial", "make them alike")
        layout = ("--type raid10", f"--stripes {len(sets)}", f"--mirrors {legs.pop() - 1}", _chunk(node))
        options = (*layout, *_mirrored(members[0]))
        size = _together([one.bytes for one in sets], len(sets)) if limit is None else limit
        disks = tuple(disk for one in sets for disk in one.disks)
        sizes = tuple(size for one in sets for size in one.sizes)
        return LogicalVolume(node, options, disks, sizes, size, len(sets), sets[0].region)
    if node.kind not in {"stripe", "mirror"} or any(member.children for member in members):
        inner = ", ".join(sorted(kinds))
        raise cannot(
            node,
            f"LVM has no {node.kind} over {inner} here",
            "use disks, a stripe, a mirror, or a stripe of mirrors, with at most one cache on top",
        )
    disks = tuple(_disk(request, member) for member in members)
    sizes = tuple(member.size() for member in members)
    if node.kind == "stripe":
        size = _together(sizes, len(sizes)) if limit is None else limit
        striped = ("--type striped", f"--stripes {len(disks)}", _chunk(node))
        return LogicalVolume(node, striped, disks, sizes, size, len(disks))
    size = _together(sizes, 1) if limit is None else limit
    mostly = disks[1:] if node.keys.get("read") == "first" else ()
    if len(disks) == 1:
        return LogicalVolume(node, ("--type linear",), disks, sizes, size)
    copies = ("--type raid1", f"--mirrors {len(disks) - 1}", *_mirrored(node))
    region = node.size("region") or LEAST_REGION
    return LogicalVolume(node, copies, disks, sizes, size, region=region, mostly_written=mostly)


def _mirrored(node: Node) -> tuple[str, ...]:
    """What a bit stands for, and whether the copies are made alike at the start."""
    region = node.size("region")
    if region is not None and (region & (region - 1) or region < _PAGE):
        raise cannot(node, f"its region of {region} bytes is no power of two from 4 KiB", "use 512KiB, 1MiB, 2MiB, …")
    size = () if region is None else (f"--regionsize {region >> 10}k",)
    return (*size, "--nosync") if node.keys.get("initial") == "blank" else size


def _cache(request: ExportRequest, node: Node) -> LogicalVolume:
    """The volume of a cache; two devices that hold the same are a mirror."""
    first = _volume(request, _through(request, only_child(request.settings, node, "cache")), node.size())
    if "cache_copy" not in node.keys:
        return first
    other = _volume(request, _through(request, only_child(request.settings, node, "cache_copy")), node.size())
    if len(first.disks) > 1 or len(other.disks) > 1:
        raise cannot(node, "LVM has no mirror of mirrors", "let each of the two cache devices be one disk")
    sizes = [size for size in (first.bytes, other.bytes) if size is not None]
    options = ("--type raid1", "--mirrors 1", "--nosync")
    both = (*first.disks, *other.disks)
    every = (*first.sizes, *other.sizes)
    return LogicalVolume(node, options, both, every, min(sizes, default=None), region=LEAST_REGION)


def _chunk(node: Node) -> str:
    chunk = node.size("chunk") or 64 << 10
    if chunk & (chunk - 1) or not _PAGE <= chunk <= EXTENT:
        raise cannot(
            node, f"its chunk of {chunk} bytes is no power of two from 4 KiB to 4 MiB", "use 64KiB, 128KiB, 256KiB, …"
        )
    return f"--stripesize {chunk >> 10}k"


def _together(sizes: Sequence[int | None], count: int) -> int | None:
    known = [size for size in sizes if size is not None]
    return min(known) * count if known else None


def _writes_through(node: Node) -> bool:
    return node.keys.get("durability") == "origin"


def _attach(node: Node, root: str, cache: LogicalVolume) -> list[str]:
    lines = cache.commands(f"{root}_cache")
    if _writes_through(node):
        for key in ("lag_target", "destage_depth"):
            if key in node.keys:
                raise cannot(
                    node, f"nothing waits to be destaged with durability origin, so {key} says nothing", "leave it out"
                )
        return [*lines, *_offline(root, f'--type cache --cachemode writethrough --cachevol {root}_cache "$vg/{root}"')]
    settings = []
    if (age := node.time_ms("lag_target")) is not None:
        settings.append(f"max_age={age}")
    if (depth := node.keys.get("destage_depth")) is not None:
        settings.append(f"writeback_jobs={int(depth)}")
    option = f" --cachesettings {shell(' '.join(settings))}" if settings else ""
    return [*lines, *_offline(root, f'--type writecache{option} --cachevol {root}_cache "$vg/{root}"')]


def _offline(root: str, conversion: str) -> list[str]:
    """Older LVM puts a cache on inactive volumes only; none is in use when this runs."""
    return [
        f'lvchange --activate n "$vg/{root}"',
        f"lvconvert --yes {conversion}",
        f'lvchange --activate y "$vg/{root}"',
    ]


def _detach(root: str) -> list[str]:
    return [f"detach {root}"]


def _listed(disks: Sequence[tuple[str, int]]) -> str:
    """Disks, and the bytes that each needs, as the scripts have them."""
    return f"disks=({' '.join(shell(disk) for disk, _ in disks)})\nneeds=({' '.join(str(need) for _, need in disks)})"


def _create(disks: Sequence[tuple[str, int]], commands: list[str], cached: bool) -> str:
    lines = [_listed(disks), CHECKED, 'pvcreate --yes "${disks[@]}"']
    lines += [f'vgcreate --physicalextentsize {EXTENT >> 20}m "$vg" "${{disks[@]}}"', UNFINISHED, *commands, ENDED]
    if cached:
        lines.append('"$(dirname "$0")/attach-cache.sh"')
    return HEAD + "\n".join(lines) + "\n"


def _attach_script(disks: Sequence[tuple[str, int]], commands: list[str], cached: dict[str, bool]) -> str:
    """`cached`: each cached volume, and whether its cache writes through: its loss loses nothing then."""
    return HEAD + (
        "# At every start: after a stop of the instance its local disks are empty, after a reboot the cache is on.\n"
        f"{_listed(disks)}\nvolumes=({' '.join(shell(root) for root in cached)})\n"
        'if vgs --noheadings -o vg_partial "$vg" | grep --quiet partial; then\n'
        '    echo "error: a disk of $vg is missing. If it was the cache\'s:" >&2\n'
        + "".join(f'    echo "{_without_cache(root, through)}" >&2\n' for root, through in cached.items())
        + '    echo "help: then vgreduce --removemissing $vg, and run this again" >&2\n'
        "    exit 1\nfi\n"
        "without=()\n"
        'for volume in "${volumes[@]}"; do\n'
        '    case "$(lvs --noheadings -o segtype "$vg/$volume" | tr -d \' \')" in\n'
        '        writecache | cache) ;;\n        *) without+=("$volume") ;;\n    esac\ndone\n'
        'if [ ${#without[@]} -eq 0 ]; then\n    echo "the cache is on already"\n    exit 0\nfi\n'
        'if [ "$(pvs --noheadings -o vg_name "${disks[0]}" 2>/dev/null | tr -d \' \')" = "$vg" ]; then\n'
        '    echo "error: ${disks[*]} is in $vg, and ${without[*]} has no cache: an attempt was cut off" >&2\n'
        '    echo "help: lvremove what is there of ${without[*]/%/_cache}, vgreduce $vg ${disks[*]}," \\\n'
        '        "pvremove ${disks[*]}, and run this again" >&2\n'
        "    exit 1\nfi\n"
        f"{CHECKED}\n"
        'pvcreate --yes "${disks[@]}"\nvgextend "$vg" "${disks[@]}"\n' + "\n".join(commands) + "\n"
    )


def _without_cache(root: str, through: bool) -> str:
    """What a volume is worth whose cache is lost, and what to do.

    Source: kernel documentation, `device-mapper/cache.rst` (writethrough) and `writecache.rst`; lvmcache(7).
    """
    if through:
        return f"  {root}: nothing is lost, every write is on the disks below: lvconvert --uncache --force $vg/{root}"
    return (
        f"  {root}: what was dirty in it is lost and the volume is not consistent: restore it from a backup"
        f" (lvconvert --uncache --force $vg/{root})"
    )


def _detach_script(disks: Sequence[tuple[str, int]], commands: list[str]) -> str:
    return HEAD + (
        "# Before the instance stops: writes everything dirty back, however long it takes, and frees the local disks.\n"
        f"disks=({' '.join(shell(disk) for disk, _ in disks)})\n"
        "detach() {\n"
        '    if [ "$(lvs --noheadings -o segtype "$vg/$1" | tr -d \' \')" = writecache ]; then\n'
        '        lvchange --yes --cachesettings cleaner=1 "$vg/$1"\n'
        "    fi\n"
        '    lvconvert --yes --splitcache "$vg/$1"\n'
        '    lvremove --yes "$vg/$1_cache"\n'
        "}\n" + "\n".join(commands) + '\nvgreduce "$vg" "${disks[@]}"\npvremove --yes "${disks[@]}"\n'
        f"{PLACES}\n"
        "# What is left was written back: cleared where attach-cache.sh looks, which takes no disk with data.\n"
        'for disk in "${disks[@]}"; do\n'
        '    for at in $(places "$disk"); do\n'
        '        dd if=/dev/zero of="$disk" bs=64K count=1 oflag=seek_bytes seek="$at" conv=notrunc,fsync status=none\n'
        "    done\ndone\n"
    )


UNIT = """\
[Unit]
Description=Cache of the volumes of Fathom on local disks, by LVM
DefaultDependencies=no
# Before file systems are mounted; at a shutdown the reverse: they are unmounted first, then the cache is written back.
After=lvm2-monitor.service systemd-udev-settle.service
Wants=systemd-udev-settle.service
# The last line makes the shutdown wait: without an order it would go on beside the detaching and power off too early.
Before=local-fs-pre.target
Conflicts=umount.target
Before=umount.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/lib/fathom/attach-cache.sh
ExecStop=/usr/local/lib/fathom/detach-cache.sh
# All of the dirty data must be written back before the instance goes.
TimeoutStopSec=infinity

[Install]
WantedBy=local-fs-pre.target
"""

TARGET = Target(
    name="lvm",
    title="LVM",
    order=20,
    differs={},
    kinds=KINDS,
    options=frozenset({"devices"}),
    write=write,
    notes=notes,
)
