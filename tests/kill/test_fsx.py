"""`scripts/fsx_campaign.py` in short: file operations on three file systems, the daemon killed in between."""

from __future__ import annotations

import fsx_campaign as campaign
import pytest


@pytest.mark.parametrize("file_system", ["ext4", "xfs", "btrfs"])
@pytest.mark.usefixtures("possible")
def test_every_byte_is_right_through_kills(file_system: str) -> None:
    done = campaign.campaign(file_system, operations=5000, kills=2, seed=1)
    assert done["unsupported"] == []
    assert len(done["counts"]) == 11


def test_a_byte_that_nobody_wrote_since_the_last_fsync_is_seen() -> None:
    model = campaign.Model()
    model.change(0, b"abcd")
    model.fsynced(len(model.since), bytes(model.now))
    model.change(1, b"xy")
    for found in (b"abcd", b"axyd", b"axcd", b"a\0\0d"):
        model.judge(found)
    with pytest.raises(campaign.Wrong, match="byte 3 is 120 and was 100"):
        model.judge(b"abcx")
    with pytest.raises(campaign.Wrong, match="byte 1 is 122"):
        model.judge(b"azcd")
    with pytest.raises(campaign.Wrong, match="the file has 3 bytes"):
        model.judge(b"abc")


def test_what_was_not_fsynced_when_it_changed_again_may_be_either() -> None:
    model = campaign.Model()
    model.change(0, b"ab")
    number, state = len(model.since), bytes(model.now)
    model.change(0, b"c")
    model.fsynced(number, state)
    for found in (b"ab", b"cb"):
        model.judge(found)
    with pytest.raises(campaign.Wrong):
        model.judge(b"\0c")
