"""`scripts/kill_campaign.py` in short: the daemon killed under SQLite and PostgreSQL, on ext4 and XFS."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from fathom.errors import UsageError
from fathom.host import fathomd

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def campaign() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("kill_campaign", ROOT / "scripts" / "kill_campaign.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def possible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root, FUSE, and the daemon that the Rust tests have built."""
    if os.geteuid() != 0 or not Path("/dev/fuse").exists() or not Path("/dev/loop-control").exists():
        pytest.skip("needs root, /dev/fuse and loop devices")
    built = ROOT / "target" / "quick" / fathomd.PROGRAM
    if "FATHOMD" not in os.environ and built.exists():
        monkeypatch.setenv("FATHOMD", str(built))
    try:
        fathomd.program()
    except UsageError as problem:
        pytest.skip(f"{problem.what}: {problem.remedy}")


@pytest.mark.parametrize(("database", "file_system"), [("sqlite", "ext4"), ("postgresql", "xfs")])
def test_nothing_acknowledged_is_lost_when_the_daemon_is_killed(
    campaign: ModuleType, database: str, file_system: str
) -> None:
    done = campaign.campaign(database, file_system, kills=2, seed=1)
    assert done["kills"] == 2
    assert done["acknowledged"] > 0


def test_a_ledger_with_a_row_missing_is_seen(campaign: ModuleType, tmp_path: Path) -> None:
    class Stand:
        home = system = tmp_path

    ledger = campaign.Sqlite(Stand())
    database = campaign.sqlite3.connect(tmp_path / "ledger.db")
    with database:
        database.executemany("INSERT INTO ledger VALUES (?, ?)", [(n, campaign.digest(n)) for n in (1, 2, 3)])
    ledger._acknowledged = 3
    assert ledger.check() == 0
    ledger._acknowledged = 4
    with pytest.raises(campaign.Wrong, match="4 rows were acknowledged, 3 are there"):
        ledger.check()
    with database:
        database.execute("UPDATE ledger SET text = 'other' WHERE number = 2")
    ledger._acknowledged = 3
    with pytest.raises(campaign.Wrong, match="other text"):
        ledger.check()
    with database:
        database.execute("DELETE FROM ledger WHERE number = 2")
    database.close()
    with pytest.raises(campaign.Wrong, match="in between"):
        ledger.check()
