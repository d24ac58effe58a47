"""`scripts/loss_campaign.py` in short: TPROC-C on a write-back volume; the cache is lost, or the server killed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import loss_campaign
import pytest
from loss_notes import lost


@pytest.mark.usefixtures("possible")
@pytest.mark.parametrize(("database", "file_system"), [("postgresql", "xfs"), ("mariadb", "ext4"), ("sqlite", "ext4")])
def test_after_the_loss_of_the_cache_the_database_is_as_it_was_at_some_moment(database: str, file_system: str) -> None:
    done = loss_campaign.campaign(database, "cache", file_system, times=1, seed=1)
    assert int(done["there"]) > 0
    assert int(done["lost"]) > 0


@pytest.mark.usefixtures("possible")
@pytest.mark.parametrize("database", ["postgresql", "mariadb"])
def test_a_server_that_was_killed_has_every_committed_transaction(database: str) -> None:
    done = loss_campaign.campaign(database, "server", "ext4", times=1, seed=1)
    assert int(done["there"]) > 0
    assert done["lost"] == 0


@pytest.mark.parametrize(
    ("committed", "found", "missing"),
    [([], [], 0), ([3, 1, 2], [1, 2, 3], 0), ([3, 1, 2], [3], 2), ([3, 1, 2], [], 3), ([3, 1], [1, 3, 9], 0)],
)
def test_the_end_may_be_missing(committed: Sequence[int], found: Collection[int], missing: int) -> None:
    assert lost(committed, found) == missing


@pytest.mark.parametrize(
    ("committed", "found"),
    [([3, 1, 2], [3, 2]), ([3, 1, 2], [1, 2]), ([3, 1, 2], [3, 9])],
    ids=["hole", "head", "later"],
)
def test_a_transaction_that_is_missing_before_one_that_is_there_is_seen(
    committed: Sequence[int], found: Collection[int]
) -> None:
    with pytest.raises(loss_campaign.Wrong, match="that came after it are there"):
        lost(committed, found)
