"""Logical volumes fit on their disks: LVM keeps a MiB of each, and divides the rest into extents of 4 MiB.

What `lvcreate --test` of LVM 2.03.16 made of stripes on four disks of 250 GiB: 255,996 extents fit, 256,000 do not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fathom.export.settings import parse
from fathom.export.target import CannotSayError, ExportRequest, export, targets

LVM = next(target for target in targets() if target.name == "lvm")


def disk(name: str, size: str | None = "250GiB") -> dict[str, Any]:
    return {"kind": "file", "path": f"/dev/{name}"} | ({} if size is None else {"size": size})


def made(volumes: dict[str, Any]) -> tuple[dict[str, str], list[str]]:
    """The scripts for the volume `data`, and what is told of sizes."""
    tree = {"volumes": volumes, "exports": {"e": {"volume": "data"}}, "daemon": {"socket": "/s"}}
    files, notes = export(LVM, ExportRequest(parse(tree, Path("fathomd.toml"))), frozenset())
    return {file.name: file.text for file in files}, [note for note in notes if "extents of" in note]


DISKS = {name: disk(name) for name in "abcd"}
STRIPE = {"kind": "stripe", "members": ["a", "b", "c", "d"]}
PAIRS = {name: {"kind": "mirror", "legs": legs} for name, legs in (("m1", ["a", "b"]), ("m2", ["c", "d"]))}


@pytest.mark.parametrize(
    ("volumes", "extents", "needs", "loss"),
    [
        # A disk of 250 GiB has 63,999 extents of 4 MiB after the first MiB; a leg keeps one for its map.
        (DISKS | {"data": STRIPE}, 4 * 63_999, 63_999, "1,073,725,046,784 bytes, 16 MiB less"),
        ({"data": disk("a")}, 63_999, 63_999, "268,431,261,696 bytes, 4 MiB less"),
        (DISKS | {"data": {"kind": "mirror", "legs": ["a", "b"]}}, 63_998, 63_999, "268,427,067,392 bytes, 8 MiB less"),
        (
            DISKS | PAIRS | {"data": {"kind": "stripe", "members": ["m1", "m2"]}},
            2 * 63_998,
            63_999,
            "536,854,134,784 bytes, 16 MiB less",
        ),
        # 4 KiB a bit: 65,532,928 bits and the superblocks are 7.8 MiB, two extents.
        (
            DISKS | {"data": {"kind": "mirror", "legs": ["a", "b"], "region": "4KiB"}},
            63_997,
            63_999,
            "268,422,873,088 bytes, 12 MiB less",
        ),
        # The smallest disk decides; one of unknown size may be large enough.
        (
            {"a": disk("a", None), "b": disk("b", "100GiB"), "data": {"kind": "stripe", "members": ["a", "b"]}},
            2 * 25_599,
            25_599,
            "214,739,976,192 bytes, 8 MiB less",
        ),
    ],
)
def test_what_is_made_fits_on_the_disks(volumes: dict[str, Any], extents: int, needs: int, loss: str) -> None:
    scripts, told = made(volumes)
    create = scripts["create.sh"].splitlines()
    (line,) = (line for line in create if line.startswith("lvcreate "))
    assert f" --extents {extents} --name data " in line
    assert "--size" not in line
    (sizes,) = (line for line in create if line.startswith("needs="))
    assert set(sizes[7:-1].split()) == {str((1 << 20) + needs * (4 << 20))}
    assert needs * (4 << 20) + (1 << 20) <= 250 << 30
    assert [note.split(" than")[0] for note in told] == [f"data: {loss}"]
    assert f"# {told[0]}" in create
    assert 'vgcreate --physicalextentsize 4m "$vg" "${disks[@]}"' in create


@pytest.mark.parametrize(
    ("cache", "size", "extents", "less"),
    [
        ({"cache": "n"}, "200GiB", 51_199, True),
        ({"cache": "n"}, "150GiB", 38_400, False),
        ({"cache": "n", "cache_copy": "o"}, "200GiB", 51_198, True),
        ({"cache": "n", "cache_copy": "o"}, "150GiB", 38_400, False),
        ({"cache": "unknown"}, "200GiB", 51_200, False),
    ],
)
def test_a_cache_fits_on_its_disk(cache: dict[str, str], size: str, extents: int, less: bool) -> None:
    fast = {"n": disk("n", "200GiB"), "o": disk("o", "200GiB"), "unknown": disk("unknown", None)}
    data = {"kind": "writeback", "backing": "slow", "size": size, **cache}
    scripts, told = made(fast | {"slow": disk("slow", None), "data": data})
    assert f" --extents {extents} --name data_cache " in scripts["attach-cache.sh"]
    assert [note.split(":")[0] for note in told] == ["data_cache"] * less
    assert all(f"# {note}" in scripts["attach-cache.sh"].splitlines() for note in told)


def test_a_disk_of_unknown_size_is_used_whole() -> None:
    scripts, told = made({"data": disk("a", None)})
    assert " --extents 100%PVS --name data " in scripts["create.sh"]
    assert "needs=(0)" in scripts["create.sh"].splitlines()
    assert told == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kind": "stripe", "members": ["a", "b"], "chunk": "8MiB"}, "chunk of 8388608 bytes"),
        ({"kind": "mirror", "legs": ["a", "b"], "region": "2KiB"}, "region of 2048 bytes"),
        ({"kind": "stripe", "members": ["a", "small"]}, "no room"),
    ],
)
def test_what_lvm_would_refuse_or_change_is_refused_before(change: dict[str, Any], told: str) -> None:
    with pytest.raises(CannotSayError, match=told):
        made(DISKS | {"small": disk("small", "4MiB"), "data": change})


def test_an_attempt_that_fails_says_what_the_next_one_needs() -> None:
    lines = made(DISKS | {"data": STRIPE})[0]["create.sh"].splitlines()
    places = [
        next(n for n, line in enumerate(lines) if line.startswith(w)) for w in ("vgcreate ", "trap ", "lvcreate ")
    ]
    # A group that was there before is nobody's to remove.
    assert places == sorted(places)
