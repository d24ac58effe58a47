"""Rules and shapes that several targets share."""

from __future__ import annotations

from collections.abc import Iterable

from fathom.export.rules import Elsewhere, Keys, Kind, Only, Refused, Rule, Told, Used
from fathom.export.settings import Node, Settings
from fathom.export.target import CannotSayError, ExportRequest, cannot

TUNING = Refused("this is how Fathom's own log works", "leave the key out")
ONE_START = Refused("this is for one start of fathomd", "leave the key out")
MODELLED = Told("matters only while the device is modelled")

FAULT = Kind(whole=Refused("faults on purpose are for tests", "export the volume below it"))
NULL = Kind(whole=Refused("it keeps nothing", "put a real device in its place"))
MEMORY = Kind(whole=Refused("its data would be gone with the process", "put a real device in its place"))
REMOTE = Kind(
    whole=Refused(
        "volumes of other hosts come over NBD with fathomd only",
        "attach it by the system's own means (iSCSI, NVMe over TCP) and name it as a file",
    )
)
POOL = Kind(
    whole=Refused(
        "nothing there rebalances extents onto added volumes automatically",
        "serve it with fathomd (--to systemd), or put a stripe in its place",
    )
)
SERVING = Kind(whole=Elsewhere("how fathomd serves; its file stays as it is"))

MODEL_FIGURES = ("servers", "read", "write", "distribution", "flush", "slack", "data", "assumed")
"""Keys of `model` that say how the device is imitated."""

MODEL_PROPERTIES = ("volatile_cache", "logical_sector", "physical_sector", "max_transfer", "atomic_write")
"""Keys of `model` that say what the device is like."""


def disk_given(why: str = "a property of the disk that takes its place") -> Keys:
    """Rules for a `model` in whose place the user names a disk: its figures are that disk's own."""
    told = Told(why)
    figures = dict.fromkeys(MODEL_FIGURES, MODELLED)
    properties = dict.fromkeys(MODEL_PROPERTIES, told)
    return {**figures, **properties, "model": told, "iops": told, "throughput": told, "size": Used()}


def instance_caps(remedy: str) -> Kind:
    """A throttle that stands for an instance's caps is passed; any other is refused.

    Args:
        remedy: where limits can be set.
    """
    refused = Refused("it has no limits on I/Os or bytes per second", remedy)
    limits = ("iops", "throughput", "quantum", "merge", "iops_burst", "throughput_burst", "slack", "shared")
    return Kind(
        {"backing": Used(), "model": Told("caps of the instance, which hold anyway"), **dict.fromkeys(limits, refused)}
    )


def adapter_outside() -> Kind:
    """An adapter belongs to the virtual machine, not to what runs in it."""
    keys = ("per_device", "per_adapter", "shared", "max_transfer", "split", "model")
    where = Elsewhere("the virtual machine's: --to vsphere")
    return Kind({"backing": Used(), **dict.fromkeys(keys, where)})


def writeback_elsewhere(*, lag: Refused, depth: Refused) -> dict[str, Used | Refused | Only]:
    """Rules for the keys of `writeback` that no other cache has.

    Args:
        lag: said to `lag_target`, unless the target overrides it.
        depth: said to `destage_depth`, likewise.
    """
    unordered = Refused(
        "it writes back in no order, so that the volume below is not consistent without the cache",
        "serve it with fathomd (--to systemd)",
    )
    full = Refused(
        "a full cache is not slowed down to a bound of its own", "leave the key out, or serve it with fathomd"
    )
    ring = Refused("it has no redo ring", "leave the key out")
    return {
        "backing": Used(),
        "cache": Used(),
        "size": Used(),
        "group": Refused("every volume has a cache and an order of its own", "put data and log on one volume"),
        "cache_copy": Refused("a cache has as many copies as the data", "let `cache` be a mirror with as many legs"),
        "read_cache": Refused("it keeps no part of the cache for reads", "leave the key out, or serve it with fathomd"),
        "scrub": Refused("nothing verifies the cache in the background", "leave the key out"),
        "mode": unordered,
        "ring": ring,
        "ring_size": ring,
        "dirty_limit": full,
        "drain_target": full,
        "lag_max": full,
        "lag_target": lag,
        "destage_depth": depth,
        "backing_size": Refused("it shows all of the volume below", "give that volume the size, or leave the key out"),
        **dict.fromkeys(("segment", "batch", "memory", "log_depth", "mark_every"), TUNING),
        **dict.fromkeys(("accept_loss", "accept_rollback", "roll_forward", "discard_cache"), ONE_START),
    }


def mirror_elsewhere() -> dict[str, Rule]:
    """Rules for the keys of `mirror` that no other mirror has."""
    share = Refused("a rebuild has no guaranteed share of the disks' time", "leave the key out")
    keys = (
        "resync_share",
        "resync_io",
        "resync_depth",
        "leg_iops",
        "leg_throughput",
        "resync_window",
        "resync_careful",
    )
    return {
        "legs": Used(),
        "bitmap": Only((True,), Refused("what may differ is always noted", "leave the key out")),
        "region": Refused("it divides a copy as it pleases", "leave the key out"),
        "clean_after": Refused("what may differ is cleared when it pleases", "leave the key out"),
        "initial": Only(("copy",), Refused("copies are made alike at the start", "leave the key out")),
        "retry": Refused("a copy that is gone is looked for in its own way", "leave the key out"),
        **dict.fromkeys(keys, share),
        **dict.fromkeys(("force", "discard"), ONE_START),
    }


def only_child(settings: Settings, node: Node, key: str = "backing") -> Node:
    """The volume a key refers to."""
    return settings.nodes[node.keys[key]]


def used_once(settings: Settings, what: str) -> None:
    """A disk belongs to one volume.

    Raises:
        CannotSayError: two volumes stand on the same one.
    """
    users: dict[str, list[str]] = {}
    for node in settings.served():
        for child in node.children:
            users.setdefault(child, []).append(node.name)
    for name, found in users.items():
        if len(found) > 1:
            raise cannot(
                settings.nodes[name],
                f"{what} cannot share it between {' and '.join(found)}",
                "give each a volume of its own",
            )


def disks_of(settings: Settings, node: Node, passed: Iterable[str]) -> list[Node]:
    """The leaf under layers that are passed through, as a list of one; otherwise the node itself."""
    while node.kind in passed:
        node = only_child(settings, node)
    return [node]


def device(request: ExportRequest, node: Node, what: str) -> str:
    """The disk a leaf is on.

    Raises:
        CannotSayError: it is a model or file and no `--device` names one.
    """
    given = request.devices.get(node.name)
    if given is None:
        raise cannot(node, "nothing says which disk it is", f"--device {node.name}={what}")
    return given


__all__ = [
    "FAULT",
    "MEMORY",
    "MODELLED",
    "NULL",
    "POOL",
    "SERVING",
    "CannotSayError",
    "adapter_outside",
    "device",
    "disk_given",
    "disks_of",
    "instance_caps",
    "mirror_elsewhere",
    "only_child",
    "used_once",
    "writeback_elsewhere",
]
