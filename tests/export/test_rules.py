"""Every key of every kind has been considered for every target, and what is used shows in what is written."""

from __future__ import annotations

import copy
import functools
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fathom import _core
from fathom.export.rules import Carried, Elsewhere, Kind, Only, Refused, Told, Used
from fathom.export.settings import parse, references
from fathom.export.target import CannotSayError, ExportRequest, Target, export, targets
from fathom.host.fathomd import program

ROOT = Path(__file__).parents[2]
TARGETS = {target.name: target for target in targets()}
KEYS: dict[str, list[str]] = {
    kind["name"]: [key["name"] for key in kind["keys"]]
    for kind in _core.describe()["kinds"]
    if kind["group"] == "volume"
}


@functools.cache
def daemon_tables() -> dict[str, list[str]]:
    """The keys of the daemon's own tables, as the daemon lists them."""
    listed = subprocess.run([program(), "--keys"], capture_output=True, text=True, check=True).stdout
    return {table: [key["name"] for key in keys] for table, keys in json.loads(listed).items()}


def test_every_table_of_a_daemons_file_is_known() -> None:
    assert set(daemon_tables()) == {"exports", "daemon", "fuse"}, "decide what `volume export` makes of it"
    manual = (ROOT / "docs/FATHOMD.md").read_text(encoding="utf-8")
    for table, keys in daemon_tables().items():
        assert [key for key in keys if not re.search(rf"\b{re.escape(key)}\b", manual)] == [], table


def test_other_ways_to_serve_are_told() -> None:
    tree = base("lvm") | {"fuse": {"mount": "/srv"}}
    files, notes = export(TARGETS["lvm"], ExportRequest(parse(tree, Path("fathomd.toml"))), frozenset())
    assert any(note.startswith("not made here: fuse:") for note in notes)
    mounted = {"exports": {"data": {"volume": "a"}}, "volumes": {"a": {"kind": "file", "path": "/dev/a"}}}
    tree = mounted | {"daemon": {"socket": "/s"}, "fuse": {"mount": "/srv"}}
    files, _ = export(TARGETS["systemd"], ExportRequest(parse(tree, Path("fathomd.toml"))), frozenset())
    drop_in = next(file.text for file in files if file.name.endswith("10-volumes.conf"))
    packaged = (ROOT / "packaging/systemd/fathomd.service").read_text(encoding="utf-8")
    assert "CapabilityBoundingSet=CAP_SYS_ADMIN" in drop_in
    for option in re.findall(r"^((?:Private|Protect)\w+)=yes", packaged, re.MULTILINE):
        assert f"{option}=no" in drop_in, "what it mounts would be seen by nobody else"


@pytest.mark.parametrize("name", TARGETS)
def test_every_key_of_every_kind_has_a_rule(name: str) -> None:
    kinds = TARGETS[name].kinds
    tables = {**KEYS, **{table: daemon_tables()[table] for table in ("daemon", "exports")}}
    assert set(kinds) <= set(tables)
    for kind, keys in tables.items():
        if kind in kinds and isinstance(kinds[kind].whole, Used):
            wanted = {key for key in keys if key != "tls"}
            assert set(kinds[kind].keys) == wanted, f"{kind}: decide what the target makes of a new key"


@pytest.mark.parametrize("name", TARGETS)
def test_every_refusal_says_why_and_what_to_do(name: str) -> None:
    for kind in TARGETS[name].kinds.values():
        for rule in (kind.whole, *kind.keys.values()):
            refused = rule.refused if isinstance(rule, Only) else rule
            if isinstance(refused, Refused):
                assert refused.why
                assert refused.remedy


LEAVES = {
    "lvm": {"kind": "file", "path": "/dev/sda"},
    "storage-spaces": {"kind": "model", "size": "100GiB"},
    "vsphere": {"kind": "model", "size": "10GiB"},
    "terraform-aws": {"kind": "model", "model": "aws/gp3", "size": "10GiB"},
}


def base(target: str) -> dict[str, Any]:
    """Settings with every kind and shape that a target makes something of."""
    leaf = LEAVES[target]
    volumes: dict[str, Any] = {name: dict(leaf) for name in ("a", "b", "c", "d", "e", "f", "spare", "spare2")}
    if target == "lvm":
        for name, volume in volumes.items():
            volume["path"] = f"/dev/disk-{name}"
    if target in {"lvm", "storage-spaces"}:
        volumes |= {
            "striped": {"kind": "stripe", "members": ["a", "b"]},
            "data": {"kind": "writeback", "backing": "striped", "cache": "c", "size": "10GiB"},
            "mirrored": {"kind": "mirror", "legs": ["d", "e"]},
            "hba": {"kind": "adapter", "backing": "f", "per_device": 1},
            "caps": {"kind": "throttle", "backing": "hba"},
        }
    if target == "storage-spaces":
        volumes["sectors"] = {"kind": "sector", "backing": "mirrored"}
    if target in {"vsphere", "terraform-aws"}:
        volumes["caps"] = {"kind": "throttle", "backing": "f", "model": "aws/r5d.large"}
    if target == "vsphere":
        volumes |= {
            "caps": {"kind": "throttle", "backing": "f", "iops": 5000},
            "hba": {"kind": "adapter", "backing": "e"},
            "hba2": {"kind": "adapter", "backing": "d"},
            "existing": {"kind": "file", "path": "[ds] x/y.vmdk"},
            "mirrored": {"kind": "mirror", "legs": ["a", "b"]},
        }
    below = {name for volume in volumes.values() for name in _referred(volume)}
    roots = [
        name
        for name in volumes
        if name not in below and (not name.startswith("spare") or target in {"vsphere", "terraform-aws"})
    ]
    exports = {f"e-{name}": {"volume": name} for name in roots}
    return {"volumes": volumes, "exports": exports, "daemon": {"socket": "/run/s"}}


def _referred(volume: dict[str, Any]) -> list[str]:
    values = [value for key, value in volume.items() if key in references()[volume["kind"]]]
    return [name for value in values for name in ([value] if isinstance(value, str) else value)]


def made(target: str, tree: dict[str, Any]) -> str:
    """All files, without their heads."""
    settings = parse(tree, Path("fathomd.toml"))
    devices = {}
    if target == "storage-spaces":
        devices = {node.name: f"disk-{node.name}" for node in settings.leaves()}
    if target == "lvm":
        devices = {node.name: f"/dev/model-{node.name}" for node in settings.leaves() if node.kind == "model"}
    spare = ("disk-before-a-stop",) if target == "storage-spaces" else ()
    files, _ = export(TARGETS[target], ExportRequest(settings, devices, spare=spare), frozenset())
    return "\n".join(
        f"== {file.name}\n" + "\n".join(line for line in file.text.splitlines() if not line.startswith("# "))
        for file in files
    )


VALUES: dict[tuple[str, str], tuple[Any, Any]] = {
    ("file", "path"): ("/dev/x", "/dev/y"),
    ("file", "size"): ("1GiB", "2GiB"),
    ("file", "allocation"): ("sparse", "reserved"),
    ("model", "size"): ("1GiB", "2GiB"),
    ("model", "model"): ("aws/gp2", "aws/gp3"),
    ("model", "iops"): (4000, 5000),
    ("model", "throughput"): ("200MiB/s", "300MiB/s"),
    ("stripe", "chunk"): ("64KiB", "128KiB"),
    ("stripe", "members"): (["a", "b"], ["b", "a"]),
    ("mirror", "legs"): (["d", "e"], ["e", "d"]),
    ("mirror", "read"): ("balanced", "first"),
    ("mirror", "region"): ("1MiB", "2MiB"),
    ("mirror", "initial"): ("copy", "blank"),
    ("writeback", "size"): ("1GiB", "2GiB"),
    ("writeback", "cache"): ("c", "spare"),
    ("writeback", "backing"): ("striped", "spare"),
    ("writeback", "durability"): ("cache", "origin"),
    ("writeback", "cache_copy"): ("spare", "spare2"),
    ("writeback", "lag_target"): ("1s", "2s"),
    ("writeback", "destage_depth"): (1, 2),
    ("throttle", "backing"): ("f", "spare"),
    ("throttle", "iops"): (1000, 2000),
    ("throttle", "model"): ("aws/r5d.large", "aws/r5d.xlarge"),
    ("sector", "backing"): ("mirrored", "spare"),
    ("sector", "logical_sector"): ("512B", "4KiB"),
    ("adapter", "backing"): ("f", "spare"),
    ("adapter", "model"): ("vmware/pvscsi", "vmware/lsi-logic-sas"),
    ("adapter", "per_device"): (64, 254),
    ("adapter", "per_adapter"): (256, 1024),
    ("adapter", "shared"): ("own", "other"),
    ("exports", "volume"): ("mirrored", "spare"),
    ("exports", "read_only"): (False, True),
}
"""Two values of each key that some target uses; they must not come out the same."""

NODES = {
    "file": "a",
    "model": "a",
    "stripe": "striped",
    "mirror": "mirrored",
    "writeback": "data",
    "throttle": "caps",
    "sector": "sectors",
    "adapter": "hba",
}
"""The volume of each kind in `base`."""

USED = [
    (name, kind, key)
    for name, target in TARGETS.items()
    for kind, rules in target.kinds.items()
    for key, rule in rules.keys.items()
    if isinstance(rules.whole, Used) and isinstance(rule, Used)
]


def with_value(target: str, kind: str, key: str, value: Any) -> dict[str, Any]:
    tree = copy.deepcopy(base(target))
    if kind == "exports":
        root = "sectors" if target == "storage-spaces" else "mirrored"
        tree["exports"][f"e-{root}"][key] = root if value == "mirrored" else value
        return tree
    # In vSphere the first disks are the legs of a mirror, which becomes one disk.
    place = "c" if target == "vsphere" and NODES[kind] == "a" else NODES[kind]
    node = tree["volumes"][place]
    if target == "lvm" and kind == "model":
        node.clear()
    if target == "vsphere" and kind == "file":
        node.clear()
        value = "[ds] x.vmdk" if value == "/dev/x" else "[ds] y.vmdk" if value == "/dev/y" else value
    if target == "vsphere" and (kind, key) == ("file", "allocation"):
        node["size"] = "1GiB"
    if target == "vsphere" and kind == "adapter":
        value = "a" if value == "f" else value
        node = tree["volumes"]["hba2"] if key != "shared" else node
        if key == "shared":
            tree["volumes"]["hba2"]["shared"] = "own"
        elif key.startswith("per_"):
            tree["volumes"]["hba"][key] = value
    if target == "vsphere" and (kind, key) == ("mirror", "legs"):
        value = ["a", "b"] if value == ["d", "e"] else ["a"]  # legs are alike: how many there are is what shows
    node.update({"kind": kind, key: value})
    return tree


@pytest.mark.parametrize(("target", "kind", "key"), USED)
def test_what_is_used_shows_in_what_is_written(target: str, kind: str, key: str) -> None:
    one, other = (made(target, with_value(target, kind, key, value)) for value in VALUES[kind, key])
    assert one != other


@pytest.mark.parametrize("name", LEAVES)
def test_what_is_refused_is_named_with_a_remedy(name: str) -> None:
    for kind, rules in TARGETS[name].kinds.items():
        for key, rule in rules.keys.items():
            refused = rule.refused if isinstance(rule, Only) else rule
            if kind not in NODES or not isinstance(refused, Refused):
                continue
            tree = base(name)
            tree["volumes"]["odd"] = {"kind": kind, key: "spare"}
            tree["exports"]["odd"] = {"volume": "odd"}
            with pytest.raises(CannotSayError) as told:
                made(name, tree)
            assert f"odd.{key}" in told.value.screen()
            assert refused.remedy in told.value.screen()
            assert f"--leave-out odd.{key}" in told.value.screen()


def test_what_is_left_out_is_told_and_no_longer_refused() -> None:
    tree = base("lvm")
    tree["volumes"]["data"]["segment"] = "8MiB"
    with pytest.raises(CannotSayError, match=r"data\.segment"):
        made("lvm", tree)
    settings = parse(tree, Path("fathomd.toml"))
    devices = {"f": "/dev/f"}
    files, notes = export(TARGETS["lvm"], ExportRequest(settings, devices), frozenset({"data.segment"}))
    assert "left out as asked: data.segment = 8MiB" in notes
    assert "# left out as asked: data.segment = 8MiB" in files[0].text.splitlines()


def test_facts_and_others_business_stand_at_the_head() -> None:
    tree = base("lvm")
    tree["volumes"]["f"] = {"kind": "model", "model": "aws/gp3", "size": "1TiB"}
    settings = parse(tree, Path("fathomd.toml"))
    files, _ = export(TARGETS["lvm"], ExportRequest(settings, {"f": "/dev/f"}), frozenset())
    head = "\n".join(line for line in files[0].text.splitlines() if line.startswith("# "))
    assert "f.model = aws/gp3" in head
    assert "not made here: hba.per_device = 1: the virtual machine's: --to vsphere" in head
    assert "not served, not exported: spare" in head


@pytest.mark.parametrize("rule", [Told("w"), Elsewhere("w"), Carried(), Refused("w", "r")])
def test_a_rule_for_a_whole_kind_needs_none_for_its_keys(rule: Any) -> None:
    assert Kind(whole=rule).keys == {}


def test_targets_have_names_and_orders_of_their_own() -> None:
    found: list[Target] = targets()
    assert len({target.order for target in found}) == len(TARGETS) == len(found) == 5


@pytest.mark.parametrize("name", ["lvm", "storage-spaces"])
def test_only_volumes_with_a_cache_are_warned_of_losing_one(name: str) -> None:
    disks = {f"d{n}": {"kind": "file", "path": f"/dev/d{n}"} for n in range(3)}
    stripe = {"kind": "stripe", "members": ["d0", "d1"]}
    cached = {"kind": "writeback", "backing": "data", "cache": "d2", "size": "1GiB"}
    for volumes, warned in (({"data": stripe}, False), ({"data": stripe, "fast": cached}, True)):
        root = list(volumes)[-1]
        tree = {"exports": {"e": {"volume": root}}, "volumes": disks | volumes, "daemon": {"socket": "/s"}}
        used = disks if warned else ("d0", "d1")
        devices = {disk: f"serial-{disk}" for disk in used} if name == "storage-spaces" else {}
        spare = ("serial-spare",) if devices and warned else ()
        wanted = ExportRequest(parse(tree, Path("fathomd.toml")), devices, spare=spare)
        files, notes = export(TARGETS[name], wanted, frozenset())
        told = any("is lost" in note for note in notes)
        assert told == warned
        assert any("is lost" in line for line in files[0].text.splitlines()[:12]) == warned
