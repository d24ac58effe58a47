"""`scripts/kill_campaign.py` in short: the daemon killed under SQLite and PostgreSQL, on ext4 and XFS."""

from __future__ import annotations

from pathlib import Path

import kill_campaign as campaign
import pytest


@pytest.mark.parametrize(("database", "file_system"), [("sqlite", "ext4"), ("postgresql", "xfs")])
@pytest.mark.usefixtures("possible")
def test_nothing_acknowledged_is_lost_when_the_daemon_is_killed(database: str, file_system: str) -> None:
    done = campaign.campaign(database, file_system, kills=2, seed=1)
    assert done["kills"] == 2
    assert done["acknowledged"] > 0


def test_a_ledger_with_a_row_missing_is_seen(tmp_path: Path) -> None:
    class MountedVolume:
        home = system = tmp_path

    ledger = campaign.Sqlite(MountedVolume())
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
