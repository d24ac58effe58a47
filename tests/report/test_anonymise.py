"""With `anonymise`, no name of a machine, a person or a device is left anywhere, and one name keeps one alias."""

from __future__ import annotations

import base64
import dataclasses
import gzip
from pathlib import Path

import page_reader
import pytest
import report_scenes

from fathom.report import Report
from fathom.report.anonymise import Anonymiser

NAMES = (
    "db-host-01.example.net",
    "db-host-01",
    "alice",
    "vol0a1b2c3d4",
    "10.20.30.40",
    "robertson",
    "nvme-Samsung_S4EV123",
)


@pytest.fixture
def named(pair: report_scenes.Scene) -> report_scenes.Scene:
    """The pair with names in every place where names can stand."""
    message = "DB-HOST-01: /home/alice/results is full; see 10.20.30.40 and C:\\Users\\robertson\\x"
    run = dataclasses.replace(pair.campaign.runs[0], status="failed", reason="no-space", message=message)
    study = {**pair.campaign.study, "volumes": {"d": {"kind": "file", "path": "/dev/disk/by-id/nvme-Samsung_S4EV123"}}}
    text = 'title = "x" # on db-host-01\npath = "/dev/disk/by-id/nvme-Samsung_S4EV123"\n'
    campaign = dataclasses.replace(
        pair.campaign,
        directory=Path("/home/alice/results/x"),
        study=study,
        study_text=text,
        runs=(run, *pair.campaign.runs[1:]),
    )
    warned = ("db-host-01.example.net was busy", "vol0a1b2c3d4 is slow")
    return report_scenes.Scene(dataclasses.replace(pair.analysis, warnings=warned), campaign)


def everything(html: str) -> str:
    """The page and, unpacked, all it carries."""
    parts = [html]
    for link in page_reader.read(html).all("a"):
        kind, _, content = (link.attributes["href"] or "").partition(",")
        if kind.startswith("data:"):
            carried = base64.b64decode(content)
            parts.append((gzip.decompress(carried) if "gzip" in kind else carried).decode())
    return "\n".join(parts)


def test_names_stand_in_the_plain_report(named: report_scenes.Scene, tmp_path: Path) -> None:
    text = everything(Report(named.analysis, named.campaign).page(tmp_path / "a.html").read_text("utf-8"))
    assert [name for name in NAMES if name not in text] == []


def test_no_name_is_left(named: report_scenes.Scene, tmp_path: Path) -> None:
    html = Report(named.analysis, named.campaign, anonymise=True).page(tmp_path / "a.html").read_text("utf-8")
    text = everything(html).lower()
    assert [name for name in NAMES if name.lower() in text] == []
    assert "names replaced" in html
    for path in Report(named.analysis, named.campaign, anonymise=True).export(tmp_path / "out", ["csv"]):
        assert not [name for name in NAMES if name.lower() in path.read_text("utf-8").lower()]


def test_one_name_keeps_one_alias(named: report_scenes.Scene) -> None:
    change = Anonymiser(named.campaign).text
    assert change("db-host-01.example.net DB-HOST-01") == "host-1 host-1"
    assert change("/home/alice/x and alice's") == "/home/user-1/x and user-1's"
    assert change("vol0a1b2c3d4, vol0a1b2c3d4x") == "serial-1, vol0a1b2c3d4x"
    assert change("localhost 127.0.0.1 root") == "localhost 127.0.0.1 root"


def test_aliases_do_not_depend_on_the_order_of_use(named: report_scenes.Scene) -> None:
    first, second = Anonymiser(named.campaign), Anonymiser(named.campaign)
    second.text("vol0a1b2c3d4")
    assert first.text("robertson alice") == second.text("robertson alice")
