"""systemd: fathomd's volumes attached, mounted, and waited for by databases; the other way round at a shutdown.

`packaging/systemd` has the daemon's unit; here come the units around it. The order at a start is disks, fathomd, NBD
device, mount, database; at a shutdown it is the reverse, so that the cache is drained last, when nobody writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from fathom.export.common import FAULT, MEMORY, NULL
from fathom.export.quote import comment, systemd, systemd_name, systemd_path
from fathom.export.rules import Carried, Kind, Refused
from fathom.export.target import CannotSayError, ExportRequest, File, Target

SERVED = Kind(whole=Carried())
IMITATED = Refused(
    "a model imitates a device and keeps its bytes in memory", 'put kind = "file" with the device in its place'
)

KINDS = {
    "adapter": SERVED,
    "fault": FAULT,
    "file": SERVED,
    "memory": MEMORY,
    "mirror": SERVED,
    "model": Kind(whole=IMITATED),
    "nbd": SERVED,
    "null": NULL,
    "pool": SERVED,
    "sector": SERVED,
    "stripe": SERVED,
    "throttle": SERVED,
    "writeback": SERVED,
    "exports": SERVED,
    "daemon": SERVED,
}

SETTINGS = PurePosixPath("/etc/fathom")
"""Where the packaged units have the settings file, and relative paths of it begin."""

CONNECTIONS = 4
"""Connections of the kernel's client to one export; more bring nothing on one daemon thread."""

DRAIN_MS = 30_000
"""`drain_target` of a cache that names none."""

CLIENTS = 64
"""`most_clients` of a daemon that names none."""

PATIENCE_MS = 10_000
"""`client_patience` of a daemon that names none."""

STEP_MS = 120_000
"""The limit of the packaged unit for one step without a sign of life."""


OWN_FILE_SYSTEM = (
    "PrivateTmp",
    "ProtectHome",
    "ProtectKernelModules",
    "ProtectKernelTunables",
    "ProtectControlGroups",
)
"""Options of the packaged unit that give the daemon a view of the file system that others do not share."""


def write(request: ExportRequest) -> list[File]:
    """A drop-in for the daemon, a unit per export, a mount per mount, a drop-in per database."""
    if not request.settings.daemon:
        raise CannotSayError(
            [
                (
                    str(request.settings.path),
                    "a study serves nothing",
                    "write a daemon's settings file with these volumes",
                )
            ]
        )
    stem = request.settings.path.stem
    daemon = "fathomd.service" if stem == "fathomd" else f"fathomd@{systemd_name(stem)}.service"
    kernel = {"ublk_drv" if "ublk" in export else "nbd" for export in request.settings.exports.values()}
    result = [
        File("modules-load.d/fathom.conf", "".join(f"{module}\n" for module in sorted(kernel))),
        File(f"system/{daemon}.d/10-volumes.conf", _daemon(request)),
    ]
    connections = _connections(request)
    for number, (name, export) in enumerate(request.settings.exports.items()):
        unit, device = _unit_of(daemon, name, export), _device(export, number)
        place = request.mounts.get(name)
        if place is not None and not place.strip("/"):
            what, why = f"--mount {name}={place}", "the root of the system would be hidden behind it"
            raise CannotSayError([(what, why, "name a directory of its own")])
        if unit != daemon:
            result.append(File(f"system/{unit}", _attached(request, daemon, name, device, place is None, connections)))
        if place is not None:
            mount = f"system/{systemd_name(place, path=True)}.mount"
            result.append(File(mount, _mount(name, export, unit, device, place)))
    for unit in request.units:
        result.append(File(f"system/{_unit(unit)}.d/10-fathom.conf", _database(request, daemon)))
    return result


def _unit_of(daemon: str, name: str, export: Mapping[str, Any]) -> str:
    """The unit that makes an export a block device: the daemon itself where the kernel's ublk does."""
    return daemon if "ublk" in export else f"fathom-nbd-{systemd_name(name)}.service"


def _device(export: Mapping[str, Any], number: int) -> str:
    return f"/dev/ublkb{export['ublk']}" if "ublk" in export else f"/dev/nbd{number}"


def _daemon(request: ExportRequest) -> str:
    """What the daemon waits for, and how long a stop may take."""
    lines = ["[Unit]"]
    for node in request.settings.of_kind("file"):
        path = str(node.keys["path"])
        if path.startswith("/dev/"):
            device = f"{systemd_name(path, path=True)}.device"
            lines += [f"Wants={_specifiers(device)}", f"After={_specifiers(device)}"]
        elif path.startswith("/"):
            lines.append(f"RequiresMountsFor={systemd(path)}")
    targets = [node.time_ms("drain_target") or DRAIN_MS for node in request.settings.of_kind("writeback")]
    patience = _daemon_ms(request, "client_patience", PATIENCE_MS)
    # Twice what the drain is kept to: the volume below may be slower at a shutdown than it was before.
    limit = max([STEP_MS, *(2 * target + patience for target in targets)])
    lines += [
        "",
        "[Service]",
        comment(
            "For one step without a sign of life: the daemon asks for more while it drains. Not less than the drain."
        ),
        f"TimeoutStopSec={-(-limit // 1000)}s",
        *(f"RuntimeDirectory={systemd(folder)}" for folder in _runtime_folders(request)),
    ]
    if "fuse" in request.settings.serving:
        lines += [
            comment(
                "Other processes must see what the daemon mounts: no private mount namespace, and the right to mount."
            ),
            *(f"{option}=no" for option in OWN_FILE_SYSTEM),
        ]
    if "fuse" in request.settings.serving or any("ublk" in export for export in request.settings.exports.values()):
        lines += [
            comment("The kernel gives mounts and block devices to those who may administer it."),
            "CapabilityBoundingSet=CAP_SYS_ADMIN",
        ]
    return "\n".join(lines) + "\n"


def _runtime_folders(request: ExportRequest) -> list[str]:
    """Folders of sockets in /run, which is empty after a start, that the packaged unit does not make."""
    sockets = [request.settings.daemon[key] for key in ("socket", "status") if key in request.settings.daemon]
    folders = [PurePosixPath(str(socket)).parent for socket in sockets]
    stem = request.settings.path.stem
    made = {".", "fathomd" if stem == "fathomd" else f"fathomd-{stem}"}
    inside = [str(folder.relative_to("/run")) for folder in folders if folder.is_relative_to("/run")]
    return [folder for folder in dict.fromkeys(inside) if folder not in made]


def _daemon_ms(request: ExportRequest, key: str, otherwise: int) -> int:
    from fathom import _core

    value = request.settings.daemon.get(key)
    return otherwise if value is None else -(-_core.time_ns(str(value)) // 1_000_000)


def _connections(request: ExportRequest) -> int:
    """Connections to each export, so that all of them find a place at the daemon."""
    exports = [export for export in request.settings.exports.values() if "ublk" not in export]
    places = int(request.settings.daemon.get("most_clients", CLIENTS))
    if len(exports) > places:
        what, why = "daemon.most_clients", f"{len(exports)} exports need a client each, and {places} are let in"
        raise CannotSayError([(what, why, f"set it to {CONNECTIONS * len(exports)}")])
    return min(CONNECTIONS, places // max(1, len(exports)))


def _attached(request: ExportRequest, daemon: str, name: str, device: str, alone: bool, connections: int) -> str:
    socket = str(SETTINGS / str(request.settings.daemon["socket"]))
    read_only = " -readonly" if request.settings.exports[name].get("read_only") else ""
    install = "\n[Install]\nWantedBy=multi-user.target\n" if alone else ""
    return (
        "[Unit]\n"
        f"Description=Export {_specifiers(name)} of fathomd as {device}\n"
        f"BindsTo={_specifiers(daemon)}\nAfter={_specifiers(daemon)} systemd-modules-load.service\n"
        "\n[Service]\nType=oneshot\nRemainAfterExit=yes\n"
        f"ExecStart=/usr/sbin/nbd-client -unix {systemd(socket)} {device} -name {systemd(name)} "
        f"-connections {connections}{read_only}\n"
        f"ExecStop=/usr/sbin/nbd-client -d {device}\n{install}"
    )


def _mount(name: str, export: Mapping[str, Any], unit: str, device: str, place: str) -> str:
    options = "_netdev,noatime" + (",ro" if export.get("read_only") else "")
    return (
        "[Unit]\n"
        f"Description=Export {_specifiers(name)} of fathomd on {_specifiers(place)}\n"
        f"BindsTo={_specifiers(unit)}\nAfter={_specifiers(unit)}\n"
        "\n[Mount]\n"
        f"What={device}\nWhere={systemd_path(place)}\nOptions={options}\n"
        "# File systems flush when they are unmounted, at the speed of the volume.\nTimeoutSec=5min\n"
        "\n[Install]\nWantedBy=multi-user.target\n"
    )


def _database(request: ExportRequest, daemon: str) -> str:
    if not request.mounts:
        exports = request.settings.exports.items()
        units = " ".join(dict.fromkeys(_specifiers(_unit_of(daemon, name, export)) for name, export in exports))
        return f"[Unit]\nRequires={units}\nAfter={units}\n"
    places = "\n".join(f"RequiresMountsFor={systemd(place)}" for place in request.mounts.values())
    return f"[Unit]\n{places}\n"


def _unit(name: str) -> str:
    if "/" in name or not PurePosixPath(name).suffix or any(letter.isspace() for letter in name):
        raise CannotSayError(
            [(f"--unit {name}", "no name of a unit", "write it as systemctl lists it: postgresql.service")]
        )
    return name


def _specifiers(text: str) -> str:
    """A name or free text in a unit: only specifiers have a meaning there."""
    return text.replace("%", "%%")


TARGET = Target(
    name="systemd",
    title="systemd",
    order=30,
    differs={},
    kinds=KINDS,
    options=frozenset({"mounts", "units"}),
    write=write,
)
