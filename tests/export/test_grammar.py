"""Everything that is written is read by a real grammar of its language, with hostile names in it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import hcl2
import pytest
import tree_sitter_bash
import tree_sitter_powershell
from tree_sitter import Language, Node, Parser

from fathom.export.settings import parse
from fathom.export.target import CannotSayError, ExportRequest, File, export, targets

TARGETS = {target.name: target for target in targets()}
BASH = Parser(Language(tree_sitter_bash.language()))
POWERSHELL = Parser(Language(tree_sitter_powershell.language()))
EVIL = 'it\'s $(touch pwned) `x` "q" %i ${y} \\ ; #'

DISKS: dict[str, Any] = {
    "ebs": {"kind": "file", "path": f"/dev/{EVIL}"},
    "nvme": {"kind": "file", "path": "/dev/nvme1n1"},
}
CACHED: dict[str, Any] = {
    "volumes": {
        **DISKS,
        "other": {"kind": "file", "path": "/dev/nvme2n1", "size": "1TiB"},
        "stripe": {"kind": "stripe", "members": ["ebs", "other"], "chunk": "256KiB"},
        "data": {"kind": "writeback", "backing": "stripe", "cache": "nvme", "size": "200GiB"},
    },
    "exports": {EVIL: {"volume": "data", "description": EVIL}},
    "daemon": {"socket": f"/run/{EVIL}.sock"},
}


def files(target: str, tree: dict[str, Any], **options: Any) -> dict[str, File]:
    wanted = ExportRequest(parse(tree, Path("fathomd.toml")), **options)
    return {file.name: file for file in export(TARGETS[target], wanted, frozenset())[0]}


def errors(parser: Parser, text: str) -> list[str]:
    tree = parser.parse(text.encode())

    def walk(node: Node) -> list[str]:
        found = [f"line {node.start_point[0] + 1}: {node.type}"] if node.is_error or node.is_missing else []
        return found + [line for child in node.children for line in walk(child)]

    return walk(tree.root_node)


def test_a_grammar_finds_what_is_wrong() -> None:
    assert errors(BASH, "if true; then\n")
    assert errors(POWERSHELL, "if ($x { 'a' }")


def test_lvm_scripts_are_bash_with_every_disk_one_word() -> None:
    made = files("lvm", CACHED)
    assert set(made) == {"create.sh", "attach-cache.sh", "detach-cache.sh", "fathom-lvm-cache.service"}
    for name, file in made.items():
        if name.endswith(".sh"):
            assert file.program
            assert errors(BASH, file.text) == []
            subprocess.run(["bash", "-n"], input=file.text, text=True, check=True)
    line = next(line for line in made["create.sh"].text.splitlines() if line.startswith("disks="))
    done = subprocess.run(["bash", "-c", f"{line}; printf '%s\\0' \"${{disks[@]}}\""], capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == [f"/dev/{EVIL}", "/dev/nvme2n1"]


def test_lvm_makes_the_stripe_and_puts_the_cache_on() -> None:
    made = files("lvm", CACHED)
    create = made["create.sh"].text
    assert "lvcreate --yes --wipesignatures n --type striped --stripes 2 --stripesize 256k --extents 524286" in create
    attach = made["attach-cache.sh"].text
    assert "--extents 51200 --name data_cache" in attach
    assert 'lvconvert --yes --type writecache --cachevol data_cache "$vg/data"' in attach


def run_recorded(script: str, folder: Path, answers: dict[str, str]) -> list[str]:
    """Runs a script with stand-ins for LVM's commands that write down how they were called."""
    log = folder / "calls"
    commands = (
        "pvcreate",
        "vgcreate",
        "vgextend",
        "lvcreate",
        "lvconvert",
        "lvchange",
        "lvremove",
        "vgreduce",
        "pvremove",
    )
    for name in (*commands, "wipefs", "pvs", "vgs", "lvs", "blockdev", "dd"):
        answer = answers.get(name, str(1 << 50) if name == "blockdev" else "")
        record = f'printf "%s\\n" "{name} $*" >> {log}\n' if name in commands else ""
        program = folder / name
        program.write_text(f"#!/bin/sh\n{record}printf '%s' '{answer}'\n")
        program.chmod(0o755)
    # No block devices of these names are here.
    text = script.replace('if [ ! -b "$disk" ]', "if false").replace('[ -b "${disks[n]}" ] &&', "")
    path = folder / "script.sh"
    path.write_text(text)
    (folder / "attach-cache.sh").write_text("#!/bin/sh\n")
    (folder / "attach-cache.sh").chmod(0o755)
    done = subprocess.run(
        ["bash", str(path)], env={"PATH": f"{folder}:/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )
    calls = log.read_text().splitlines() if log.exists() else []
    return [f"exit {done.returncode}", *calls]


def test_lvm_scripts_call_the_commands_in_order(tmp_path: Path) -> None:
    made = files("lvm", CACHED)
    for name in ("create", "attach", "detach"):
        (tmp_path / name).mkdir()
    calls = run_recorded(made["create.sh"].text, tmp_path / "create", {})
    assert [call.split()[0] for call in calls] == ["exit", "pvcreate", "vgcreate", "lvcreate"]
    assert calls[0] == "exit 0"
    attached = run_recorded(made["attach-cache.sh"].text, tmp_path / "attach", {})
    assert [call.split()[0] for call in attached[1:]] == [
        "pvcreate",
        "vgextend",
        "lvcreate",
        "lvchange",
        "lvconvert",
        "lvchange",
    ]
    detached = run_recorded(made["detach-cache.sh"].text, tmp_path / "detach", {"lvs": "  writecache"})
    assert detached == [
        "exit 0",
        "lvchange --yes --cachesettings cleaner=1 fathom/data",
        "lvconvert --yes --splitcache fathom/data",
        "lvremove --yes fathom/data_cache",
        "vgreduce fathom /dev/nvme1n1",
        "pvremove --yes /dev/nvme1n1",
    ]


def test_lvm_begins_nothing_on_a_disk_that_is_too_small(tmp_path: Path) -> None:
    needs = (1 << 20) + 262143 * (4 << 20)
    for size, begun in ((needs, True), (needs - 1, False)):
        (tmp_path / str(size)).mkdir()
        calls = run_recorded(files("lvm", CACHED)["create.sh"].text, tmp_path / str(size), {"blockdev": str(size)})
        assert (calls[0] == "exit 0") == begun
        assert any(call.startswith("pvcreate") for call in calls) == begun


def test_lvm_touches_no_disk_that_holds_something_and_no_group_that_misses_one(tmp_path: Path) -> None:
    made = files("lvm", CACHED)
    (tmp_path / "full").mkdir()
    assert run_recorded(made["create.sh"].text, tmp_path / "full", {"wipefs": "0x438 ext4"}) == ["exit 1"]
    (tmp_path / "bytes").mkdir()
    assert run_recorded(made["create.sh"].text, tmp_path / "bytes", {"dd": "FTHMWCHE"}) == ["exit 1"]
    (tmp_path / "lost").mkdir()
    assert run_recorded(made["attach-cache.sh"].text, tmp_path / "lost", {"vgs": "partial"}) == ["exit 1"]
    (tmp_path / "on").mkdir()
    on = {"pvs": "  fathom", "lvs": "  writecache"}
    assert run_recorded(made["attach-cache.sh"].text, tmp_path / "on", on) == ["exit 0"]
    (tmp_path / "half").mkdir()
    half = {"pvs": "  fathom", "lvs": "  striped"}
    assert run_recorded(made["attach-cache.sh"].text, tmp_path / "half", half) == ["exit 1"]


def test_lvm_calls_nothing_lost_with_a_cache_that_writes_through() -> None:
    lost, differs = "is lost and the volume is not consistent", "if the disk of dm-writecache is lost"
    for more, through in (({}, False), ({"durability": "origin"}, True)):
        data = CACHED["volumes"]["data"] | more
        made = files("lvm", CACHED | {"volumes": CACHED["volumes"] | {"data": data}})
        text = made["attach-cache.sh"].text
        assert ("nothing is lost, every write is on the disks below" in text) == through
        assert (lost in text, differs in text) == (not through, not through)


@pytest.mark.parametrize("at", [None, 0, 3 << 20, (64 << 20) - 8192])
def test_lvm_sees_data_without_a_signature_and_takes_a_disk_that_it_freed(tmp_path: Path, at: int | None) -> None:
    """With files for disks, and the real dd."""
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(64 << 20))
    if at is not None:
        with disk.open("r+b") as file:
            file.seek(at)
            file.write(b"FTHMWORG" * 1024 * (160 if at == 3 << 20 else 1))
    made = files("lvm", CACHED)

    def run(name: str) -> list[str]:
        text = re.sub(r"^disks=.*$", f"disks=({disk})", made[name].text, flags=re.MULTILINE)
        text = re.sub(r"^needs=.*$", "needs=(0)", text, flags=re.MULTILINE)
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        answers = {"blockdev": str(64 << 20), "lvs": "cache" if name.startswith("detach") else "linear"}
        return run_recorded(text.replace("dd if", "/bin/dd if"), folder, answers)

    taken = run("attach-cache.sh")
    assert taken[0] == ("exit 0" if at is None else "exit 1")
    assert any(call.startswith("pvcreate") for call in taken) == (at is None)
    if at is None:
        disk.write_bytes(b"cached" * (64 << 20))
        assert run("detach-cache.sh")[0] == "exit 0"
        assert run("attach-cache.sh")[0] == "exit 0"


def test_one_disk_is_not_used_twice_and_no_root_is_hidden() -> None:
    with pytest.raises(CannotSayError, match="/dev/sdb: two volumes would lie on it"):
        files("lvm", CACHED, devices={"ebs": "/dev/sdb", "nvme": "/dev/sdb", "other": "/dev/sdc"})
    with pytest.raises(CannotSayError, match="the root of the system would be hidden"):
        files("systemd", CACHED, mounts={EVIL: "/"})


def test_storage_spaces_scripts_are_powershell() -> None:
    named = {"devices": {"ebs": EVIL, "nvme": "local:2", "other": "vol2"}, "spare": (EVIL + "2",), "temp": "local:1"}
    made = files("storage-spaces", CACHED, **named)
    assert set(made) == {"settings.ps1", "start.ps1", "stop.ps1", "register.ps1", "user-data.txt"}
    for file in made.values():
        if file.name.endswith(".ps1"):
            assert errors(POWERSHELL, file.text) == [], file.name
    settings = made["settings.ps1"].text
    assert "$Slow = @('it''s $(touch pwned)" in settings
    assert "ResiliencySettingName = 'Simple'; NumberOfColumns = 2; Interleave = 262144" in settings
    assert "$CacheSize = @{ 'data' = 214748364800 }" in settings


def verified(made: dict[str, File], root: Path, extra: dict[str, str]) -> str:
    """What `systemd-analyze verify` says to the units, in a root of their own with stand-ins for the programs."""
    units = root / "etc/systemd/system"
    units.mkdir(parents=True)
    for program in ("usr/bin/fathomd", "usr/sbin/nbd-client", "usr/local/lib/fathom/attach-cache.sh"):
        (root / program).parent.mkdir(parents=True, exist_ok=True)
        (root / program).write_text("#!/bin/sh\n")
        (root / program).chmod(0o755)
    shutil.copy(root / "usr/local/lib/fathom/attach-cache.sh", root / "usr/local/lib/fathom/detach-cache.sh")
    for name, text in extra.items():
        (units / name).write_text(text)
    wanted = []
    for name, file in made.items():
        if name.endswith((".service", ".mount", ".conf")) and not name.startswith("modules"):
            path = units / name.removeprefix("system/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text)
            if path.suffix != ".conf":
                wanted.append(str(path))
    wanted += [str(units / name) for name in extra]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", f"--root={root}", *wanted],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if not line.startswith("Unit ")]
    return "\n".join([f"exit {done.returncode}", *lines])


needs_analyze = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")


@pytest.mark.parametrize(
    ("socket", "place"), [("run/n.sock", "/etc/fathom/run/n.sock"), ("/run/n.sock", "/run/n.sock")]
)
def test_units_reach_the_daemon_where_its_settings_put_the_socket(socket: str, place: str) -> None:
    made = files("systemd", {**CACHED, "exports": {"a": {"volume": "data"}}, "daemon": {"socket": socket}})
    assert f'nbd-client -unix "{place}" ' in made["system/fathom-nbd-a.service"].text


@needs_analyze
def test_units_are_sound_to_systemd(tmp_path: Path) -> None:
    made = files("systemd", CACHED, mounts={EVIL: "/srv/it's 100% data"}, units=("postgresql.service",))
    database = "[Unit]\nDescription=x\n[Service]\nExecStart=/usr/bin/fathomd\n"
    packaged = (Path(__file__).parents[2] / "packaging/systemd/fathomd.service").read_text(encoding="utf-8")
    said = verified(made, tmp_path, {"postgresql.service": database, "fathomd.service": packaged})
    assert said == "exit 0"


@needs_analyze
def test_systemd_finds_what_is_wrong(tmp_path: Path) -> None:
    broken = {"x.service": File("x.service", "[Unit]\nAfterr=y\n[Service]\nType=nothing\n")}
    assert "Afterr" in verified(broken, tmp_path, {})


@needs_analyze
def test_the_unit_of_lvm_is_sound_to_systemd(tmp_path: Path) -> None:
    unit = files("lvm", CACHED)["fathom-lvm-cache.service"]
    assert verified({"fathom-lvm-cache.service": unit}, tmp_path, {}) == "exit 0"


def test_a_shutdown_waits_until_the_cache_is_detached() -> None:
    # systemd.unit(5): of two ordered units, the one that stops does so before the other starts; without, beside it.
    lines = files("lvm", CACHED)["fathom-lvm-cache.service"].text.splitlines()
    stops_for = [line.removeprefix("Conflicts=") for line in lines if line.startswith("Conflicts=")]
    assert stops_for == ["umount.target"]
    assert "Before=umount.target" in lines


def test_units_stop_in_the_reverse_order_and_not_before_the_drain() -> None:
    tree = json.loads(json.dumps(CACHED))
    tree["volumes"]["data"]["drain_target"] = "5min"
    tree["exports"] = {"data": {"volume": "data"}}
    made = files("systemd", tree, mounts={"data": "/srv/data"}, units=("mssql-server.service",))
    assert 'RequiresMountsFor="/srv/data"' in made["system/mssql-server.service.d/10-fathom.conf"].text
    assert "BindsTo=fathom-nbd-data.service\nAfter=fathom-nbd-data.service" in made["system/srv-data.mount"].text
    assert "BindsTo=fathomd.service\nAfter=fathomd.service" in made["system/fathom-nbd-data.service"].text
    assert "TimeoutStopSec=610s" in made["system/fathomd.service.d/10-volumes.conf"].text


def test_all_exports_find_a_place_at_the_daemon() -> None:
    tree = json.loads(json.dumps(CACHED))
    tree["exports"] = {f"data{number}": {"volume": "data"} for number in range(20)}
    units = [file.text for name, file in files("systemd", tree).items() if "fathom-nbd" in name]
    assert [text.count("-connections 3\n") for text in units] == [1] * 20, "64 clients are let in"
    tree["daemon"] = {**tree.get("daemon", {}), "most_clients": 19}
    with pytest.raises(CannotSayError, match="20 exports need a client each, and 19 are let in"):
        files("systemd", tree)


def test_an_export_that_is_a_block_device_already_needs_no_client() -> None:
    tree = json.loads(json.dumps(CACHED))
    tree["exports"] = {"data": {"volume": "data", "ublk": 3}}
    made = files("systemd", tree, mounts={"data": "/srv/data"})
    assert not [name for name in made if "fathom-nbd" in name]
    mount = made["system/srv-data.mount"].text
    assert "What=/dev/ublkb3" in mount
    assert "BindsTo=fathomd.service\nAfter=fathomd.service" in mount
    assert "CapabilityBoundingSet=CAP_SYS_ADMIN" in made["system/fathomd.service.d/10-volumes.conf"].text
    assert "ublk_drv" in made["modules-load.d/fathom.conf"].text


CLOUD: dict[str, Any] = {
    "volumes": {
        "logs": {"kind": "model", "model": "aws/io2-block-express", "size": "1TiB", "iops": 64000},
        "data": {"kind": "model", "model": "aws/gp3", "size": "500GiB", "throughput": "250MiB/s"},
        "nvme": {"kind": "model", "model": "aws/r5d.4xlarge/nvme"},
        "caps": {"kind": "throttle", "backing": "data", "model": "aws/r5d.4xlarge"},
        "cached": {"kind": "writeback", "backing": "caps", "cache": "nvme"},
    },
    "exports": {"a": {"volume": "cached"}, "b": {"volume": "logs"}},
    "daemon": {"socket": "/s"},
}


def plain(value: Any) -> Any:
    return value.strip('"') if isinstance(value, str) else value


def resources(text: str) -> dict[tuple[str, str], Any]:
    """The resources that a text in Terraform's language describes, by kind and name."""
    return {
        (plain(kind), plain(name)): body
        for block in hcl2.loads(text)["resource"]
        for kind, named in block.items()
        for name, body in named.items()
    }


def test_terraform_describes_what_the_catalogue_models() -> None:
    text = files("terraform-aws", CLOUD)["volumes.tf"].text
    blocks = resources(text)
    volume = blocks["aws_ebs_volume", "data"]
    assert volume["lifecycle"][0]["prevent_destroy"]
    assert volume["final_snapshot"]
    assert {key: plain(volume[key]) for key in ("type", "size", "throughput")} == {
        "type": "gp3",
        "size": 500,
        "throughput": 250,
    }
    assert (plain(blocks["aws_ebs_volume", "logs"]["type"]), blocks["aws_ebs_volume", "logs"]["iops"]) == ("io2", 64000)
    devices = {plain(blocks["aws_volume_attachment", name]["device_name"]) for name in ("data", "logs")}
    assert len(devices) == 2
    assert 'self.instance_type == "r5d.4xlarge"' in text
    assert "# not made here: cached (writeback): made on the host" in text


@pytest.mark.parametrize("kind", ["st1", "sc1"])
def test_volumes_on_rotating_disks_have_a_type_and_a_size_alone(kind: str) -> None:
    tree = {"volumes": {"v": {"kind": "model", "model": f"aws/{kind}", "size": "2TiB"}}}
    volume = resources(files("terraform-aws", tree)["volumes.tf"].text)["aws_ebs_volume", "v"]
    assert (plain(volume["type"]), volume["size"]) == (kind, 2048)
    assert not {"iops", "throughput"} & volume.keys()


@pytest.mark.parametrize(("rate", "version"), [("1000MiB/s", ">= 5.0"), ("1500MiB/s", ">= 6.9")])
def test_a_throughput_that_older_providers_refuse_asks_for_a_newer_one(rate: str, version: str) -> None:
    fast = {**CLOUD["volumes"]["data"], "iops": 10_000, "throughput": rate}
    text = files("terraform-aws", CLOUD | {"volumes": CLOUD["volumes"] | {"data": fast}})["volumes.tf"].text
    assert f'version = "{version}"' in text


@pytest.mark.skipif(shutil.which("terraform") is None, reason="Terraform is not installed")
def test_terraform_itself_reads_it(tmp_path: Path) -> None:
    (tmp_path / "volumes.tf").write_text(files("terraform-aws", CLOUD)["volumes.tf"].text)
    done = subprocess.run(
        ["terraform", "fmt", "-check", "-diff", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"size": "500.5GiB"}, "whole GiB"),
        ({"model": "aws/gp2", "iops": 3000}, "gp2 has no 3000 IOPS"),
        ({"model": "aws/io1"}, "io1 needs its IOPS"),
        ({"model": "aws/st1", "throughput": "80MiB/s"}, "only gp3 has throughput"),
        ({"model": "azure/premium-ssd"}, "no EBS volume"),
        ({"model": "aws/io1", "iops": 100, "throughput": "250MiB/s"}, "only gp3 has throughput"),
    ],
)
def test_terraform_refuses_what_aws_does_not_sell(change: dict[str, Any], told: str) -> None:
    tree = {"volumes": {"v": {"kind": "model", "model": "aws/gp3", "size": "500GiB", **change}}}
    with pytest.raises(CannotSayError, match=told):
        files("terraform-aws", tree)


DEEP: dict[str, Any] = {
    "volumes": {
        "lun": {"kind": "model", "size": "100GiB"},
        "log": {"kind": "file", "path": "[ds one] vm/it's $(x).vmdk"},
        "data": {"kind": "adapter", "backing": "lun", "shared": "scsi1", "per_device": 254, "per_adapter": 1024},
        "logs": {"kind": "adapter", "backing": "log", "shared": "scsi1", "per_device": 254, "per_adapter": 1024},
    },
}


def test_vsphere_scripts_are_powershell_and_guests_get_rings_and_depth() -> None:
    made = files("vsphere", DEEP)
    for name in ("adapters.ps1", "guest-windows.ps1"):
        assert errors(POWERSHELL, made[name].text) == [], name
    assert "RequestRingPages=32,MaxQueueDepth=254" in made["guest-windows.ps1"].text
    assert "options vmw_pvscsi ring_pages=32 cmd_per_lun=254" in made["guest-linux.conf"].text
    assert made["adapters.ps1"].text.count("New-ScsiController") == 1
    assert "'[ds one] vm/it''s $(x).vmdk'" in made["adapters.ps1"].text
    keys = [line for line in made["adapters.vmx"].text.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r'[a-zA-Z0-9:.]+ = "[^"]*"', line) for line in keys)
    assert len({line.split(" = ")[0] for line in keys}) == len(keys)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"per_device": 255}, "at most 254"),
        ({"per_adapter": 1000}, "multiple of 32|pages of 32"),
        ({"max_transfer": "1MiB"}, "splits above 512 KiB"),
        ({"split": "parallel"}, "one after the other"),
        ({"model": "vmware/lsi-logic-sas"}, "on one adapter"),
        ({"per_device": 64}, "one ring size and depth"),
    ],
)
def test_vsphere_refuses_what_pvscsi_has_not(change: dict[str, Any], told: str) -> None:
    tree = json.loads(json.dumps(DEEP))
    tree["volumes"]["data"].update(change)
    with pytest.raises(CannotSayError, match=told):
        files("vsphere", tree)
