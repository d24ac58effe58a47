"""`fathom plan --commands`: the same steps as for real, written down; nothing is touched."""

from __future__ import annotations

from pathlib import Path

from fathom.provision.host import Recorder
from fathom.provision.provide import provided
from provision.conftest import wants


def test_the_commands_are_told_in_order_and_undone_in_reverse(tmp_path: Path) -> None:
    place = {"volume": "disk", "filesystem": "xfs", "block_bytes": 16384, "mount_options": "noatime", "sector": 4096}
    wanted = wants(
        {"pg": {"kind": "postgresql", "place": "data", "settings": {"shared_buffers": "1GB"}, "cpus": 1}},
        {"data": place},
        {"disk": {"kind": "memory", "size": "1GiB", "read": {"latency": "1ms"}}},
    )
    recorder = Recorder()
    with provided(wanted, tmp_path / "none", recorder):
        recorder.lines.append("# run")
    text = "\n".join(recorder.lines)
    steps = (
        '[volumes."disk"]', "setpriv --pdeathsig=TERM fathomd", "losetup --find --show --direct-io=on",
        "mkfs.xfs -q -f -K -b size=16384", "mount -t xfs -o noatime", "initdb", "shared_buffers = '1GB'",
        "taskset --cpu-list", "# run", "kill -INT", "umount", "losetup --detach", "kill -TERM",
    )  # fmt: skip
    places = [text.find(step) for step in steps]
    assert -1 not in places, dict(zip(steps, places, strict=True))
    assert places == sorted(places)
    assert not (tmp_path / "none").exists()


def test_settings_of_volumes_are_written_as_toml() -> None:
    import tomllib

    from fathom.provision.volumes import settings_text

    volumes = {"disk": {"kind": "model", "size": "1GiB", "read": {"latency": "1ms"}, "members": ["a", "b"], "n": 3}}
    text = settings_text(volumes, ["disk"], Path("/m"), Path("/s/nbd.sock"), Path("/s/status.sock"))
    found = tomllib.loads(text)
    assert found["volumes"] == volumes
    assert found["exports"] == {"disk": {"volume": "disk"}}
    assert found["fuse"] == {"mount": "/m"}
