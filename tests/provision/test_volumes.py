"""Places on volumes: fathomd, FUSE, loop device, mkfs and mount for real; nothing left, whatever ends it."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fathom.host import block, leftovers, mounts
from fathom.observe.observer import Observer
from fathom.observe.sample import Key
from fathom.provision.failure import ProvisionError
from fathom.provision.host import Host
from fathom.provision.provide import provided
from provision.conftest import needs_root, wants

pytestmark = needs_root

DISK = {"kind": "file", "path": "disk.img", "size": "512MiB"}


@pytest.mark.parametrize(
    ("filesystem", "kib", "sector"),
    [("ext4", 4, 512), ("ext4", 1, 512), ("xfs", 4, 4096), ("xfs", 1, 512), ("btrfs", 4, 4096)],
)
def test_a_place_has_its_file_system(scratch: Path, tmp_path: Path, filesystem: str, kib: int, sector: int) -> None:
    place = {
        "volume": "disk",
        "filesystem": filesystem,
        "block_bytes": kib * 1024,
        "mount_options": "noatime",
        "sector": sector,
    }
    wanted = wants({"lite": {"kind": "sqlite", "place": "data"}}, {"data": place}, {"disk": DISK})
    with provided(wanted, scratch, Host()) as around:
        path = around.places["data"]
        system = mounts.file_system(path)
        assert (system.mount.kind, system.allocation_unit) == (filesystem, kib * 1024)
        assert "noatime" in system.mount.options
        device = block.device_of(system.mount.device) if filesystem != "btrfs" else None
        assert device is None or device.logical_sector == sector
        (path / "file").write_bytes(os.urandom(1 << 20))
        os.sync()
        observer = Observer(around, scratch)
        counters = observer.observe().counters
        observer.close()
        assert counters[Key("volume", "write_bytes", "disk")] >= 1 << 20
        assert filesystem == "btrfs" or counters[Key("place", "writes", "data")] > 0
    assert not leftovers.find(tmp_path)
    assert not (scratch / "places/data/file").exists()


def test_what_a_cache_may_lose_is_a_fact_of_the_run(scratch: Path) -> None:
    volumes: dict[str, Any] = {
        "disk": DISK,
        "drive": {"kind": "memory", "size": "512MiB"},
        "cached": {"kind": "writeback", "backing": "disk", "cache": "drive"},
    }
    places = {"data": {"volume": "cached", "filesystem": "ext4"}}
    wanted = wants({"lite": {"kind": "sqlite", "place": "data"}}, places, volumes)
    with provided(wanted, scratch, Host()) as around:
        assert "loss of the cache device" in around.facts["volumes.cached.may_lose"]


def test_data_and_log_of_a_server_lie_on_volumes_of_their_own(scratch: Path, tmp_path: Path) -> None:
    places = {"data": {"volume": "disk", "filesystem": "xfs"}, "log": {"volume": "second", "filesystem": "ext4"}}
    volumes: dict[str, Any] = {"disk": DISK, "second": {"kind": "memory", "size": "512MiB"}}
    wanted = wants({"pg": {"kind": "postgresql", "place": "data", "log_place": "log"}}, places, volumes)
    with provided(wanted, scratch, Host()) as around:
        client = around.servers["pg"].client
        assert client is not None
        subprocess.run([*client, "-c", "CREATE TABLE t AS SELECT generate_series(1, 1000)"], check=True)
        assert {system.mount.kind for system in map(mounts.file_system, around.places.values())} == {"xfs", "ext4"}
        assert around.facts["places.log.file_system"] == "ext4"
    assert not leftovers.find(tmp_path)


def test_what_no_kernel_mounts_is_a_failed_run(scratch: Path, tmp_path: Path) -> None:
    place = {"volume": "disk", "mount_options": "no-such-option"}
    wanted = wants({"lite": {"kind": "sqlite", "place": "data"}}, {"data": place}, {"disk": DISK})
    with pytest.raises(ProvisionError, match=r"places\.data: this kernel") as failed, provided(wanted, scratch, Host()):
        pytest.fail("it must not mount")
    assert failed.value.reason == "unavailable"
    assert not leftovers.find(tmp_path)


def test_a_volume_too_small_for_the_database_is_a_failed_run(scratch: Path, tmp_path: Path) -> None:
    place = {"volume": "disk", "filesystem": "ext4"}
    wanted = wants({"pg": {"kind": "postgresql", "place": "data"}}, {"data": place}, {"disk": DISK | {"size": "32MiB"}})
    with pytest.raises(ProvisionError) as failed, provided(wanted, scratch, Host()):
        pytest.fail("it must not start")
    assert failed.value.reason == "no-space"
    assert not leftovers.find(tmp_path)


def test_a_killed_daemon_is_noticed_and_cleared_away(scratch: Path, tmp_path: Path) -> None:
    wanted = wants({"lite": {"kind": "sqlite", "place": "data"}}, {"data": {"volume": "disk"}}, {"disk": DISK})
    with provided(wanted, scratch, Host()) as around:
        assert around.daemon is not None
        assert around.daemon.pid is not None
        os.kill(around.daemon.pid, signal.SIGKILL)
        os.waitid(os.P_PID, around.daemon.pid, os.WEXITED | os.WNOWAIT)
        assert "fathomd" in (around.died() or "")
    assert not leftovers.find(tmp_path)
