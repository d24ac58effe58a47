"""The PowerCLI script on a simulated machine: mirrors as policies, and disks that move while the boot disk stays."""

from __future__ import annotations

import contextlib
import copy
from pathlib import Path
from typing import Any

import pytest

from fathom.export.settings import parse
from fathom.export.target import CannotSayError, ExportRequest, File, export, targets
from powershell.interpreter import Interpreter
from powershell.syntax import Walked, branches
from powershell.values import PowerShellError
from powershell.vsphere import Guest, cmdlets

TARGET = next(target for target in targets() if target.name == "vsphere")
DISKS: dict[str, Any] = {
    "volumes": {
        "copy1": {"kind": "model", "size": "100GiB"},
        "copy2": {"kind": "model", "size": "100GiB"},
        "both": {"kind": "mirror", "legs": ["copy1", "copy2"]},
        "data": {"kind": "adapter", "backing": "both", "shared": "scsi1", "per_device": 254, "per_adapter": 1024},
        "only": {"kind": "model", "size": "10GiB"},
        "staging": {"kind": "mirror", "legs": ["only"]},
        "caps": {"kind": "throttle", "backing": "staging", "iops": 5000},
        "temp": {"kind": "adapter", "backing": "caps", "shared": "scsi1", "per_device": 254, "per_adapter": 1024},
        "log": {"kind": "model", "size": "20GiB"},
        "logs": {"kind": "adapter", "backing": "log", "per_device": 254, "per_adapter": 1024},
    }
}
MOVED = {"copy1": "Hard disk 2", "only": "Hard disk 3", "log": "Hard disk 4"}


def made(tree: dict[str, Any] = DISKS, devices: dict[str, str] | None = None) -> dict[str, File]:
    files, _ = export(TARGET, ExportRequest(parse(tree, Path("fathomd.toml")), devices or {}), frozenset())
    return {file.name: file for file in files}


def run(guest: Guest, text: str, walked: Walked | None = None) -> None:
    Interpreter(cmdlets(guest), {"adapters.ps1": text}, walked or Walked()).run("adapters.ps1", {"vmname": "db"})


def test_a_mirror_is_a_storage_policy_with_as_many_failures_as_legs_less_one() -> None:
    guest = Guest()
    files = made()
    run(guest, files["adapters.ps1"].text)
    assert guest.policies == {"Fathom FTT=1": 1, "Fathom FTT=0": 0}
    _, data, staging, log = guest.disks
    assert (data.policy, data.gib, data.limit) == ("Fathom FTT=1", 100, None)
    assert (staging.policy, staging.gib, staging.limit) == ("Fathom FTT=0", 10, 5000)
    assert log.policy is None
    assert data.controller is staging.controller is not log.controller
    assert {data.controller.Type, log.controller.Type} == {"ParaVirtual"}
    assert "adapters.vmx" not in files, "a policy cannot be written there"


def test_one_copy_says_what_is_lost() -> None:
    head = made()["adapters.ps1"].text
    assert "# both: 1 failures to tolerate, 3 hosts at least, 2 times its size." in head
    assert "# staging: ONE COPY. When the host or the drive that holds it fails, the whole disk is lost" in head
    assert head.count("ONE COPY") == 1


def test_disks_that_are_there_move_and_the_boot_disk_stays() -> None:
    guest = Guest()
    for name in MOVED.values():
        guest.add(name)
    run(guest, made(devices=MOVED)["adapters.ps1"].text)
    boot, *moved = guest.disks
    assert len(moved) == 3, "no disk was made"
    assert (boot.controller.Type, boot.controller.bus, boot.unit) == ("VirtualLsiLogicSAS", 0, 0)
    assert [disk.controller.Type for disk in moved] == ["ParaVirtual"] * 3
    assert [disk.controller.bus for disk in moved] == [1, 1, 2]
    assert "Set-Disk -IsOffline $false" in made()["guest-windows.ps1"].text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda guest: setattr(guest, "PowerState", "PoweredOn"), "must be off"),
        (lambda guest: guest.snapshots.append("before"), "has snapshots"),
        (lambda guest: guest.disks.pop(), "has 0 disks called Hard disk 4"),
        (lambda guest: guest.controllers.extend(guest.controllers * 2), "no room for 2 more adapters"),
        (lambda guest: setattr(guest.disks[1], "unit", 0), "Hard disk 2 is the boot disk of db"),
    ],
)
def test_what_cannot_move_is_refused_before_anything_moves(change: Any, words: str) -> None:
    guest = Guest()
    for name in MOVED.values():
        guest.add(name)
    change(guest)
    with pytest.raises(PowerShellError, match=words):
        run(guest, made(devices=MOVED)["adapters.ps1"].text)
    assert {disk.controller.Type for disk in guest.disks} == {"VirtualLsiLogicSAS"}


def test_every_branch_of_the_script_is_walked_through() -> None:
    text = made(devices=MOVED)["adapters.ps1"].text
    walked = Walked()
    changes: list[Any] = [
        lambda guest: setattr(guest, "PowerState", "PoweredOn"),
        lambda guest: guest.snapshots.append("before"),
        lambda guest: guest.disks.pop(),
        lambda guest: guest.controllers.extend(guest.controllers * 2),
        lambda guest: setattr(guest.disks[1], "unit", 0),
        lambda guest: guest.policies.update({"Fathom FTT=1": 1}),
        lambda _: None,
    ]
    for change in changes:
        guest = Guest()
        for name in MOVED.values():
            guest.add(name)
        change(guest)
        with contextlib.suppress(PowerShellError):
            run(guest, text, walked)
    ran, outcomes = branches("adapters.ps1", text)
    assert (sorted(ran - walked.ran), sorted(outcomes - walked.outcomes)) == ([], [])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"copy2": {"kind": "model", "size": "50GiB"}}, "places the copies of one disk"),
        ({"copy2": {"kind": "file", "path": "[ds] x.vmdk"}}, "places the copies of one disk"),
    ],
)
def test_legs_that_are_not_copies_of_one_disk_are_refused(change: dict[str, Any], words: str) -> None:
    tree = copy.deepcopy(DISKS)
    tree["volumes"].update(change)
    with pytest.raises(CannotSayError, match=words):
        made(tree)


def test_more_copies_than_vsan_keeps_are_refused() -> None:
    tree = copy.deepcopy(DISKS)
    tree["volumes"] |= {f"copy{number}": {"kind": "model", "size": "100GiB"} for number in (3, 4, 5)}
    tree["volumes"]["both"]["legs"] = [f"copy{number}" for number in (1, 2, 3, 4, 5)]
    with pytest.raises(CannotSayError, match="at most 4 copies, not 5"):
        made(tree)


def test_a_mirror_is_named_by_its_first_leg() -> None:
    with pytest.raises(CannotSayError, match="its legs are one disk"):
        made(devices={"copy2": "Hard disk 2"})
