"""What the databases of `loss_campaign.py` have in common: what is noted, and what may be missing afterwards."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kill_campaign import Wrong

NOTED = {"orders": "INSERT", "history": "INSERT", "new_order": "DELETE"}
"""Every transaction that writes does one of these: an order, a payment, a delivery."""
LOADED = 2 * 10 * 60
"""Rows of `orders`, and of `history`, that a load makes."""


def lost(committed: Sequence[int], found: Collection[int]) -> int:
    """How many of the committed transactions are not there.

    Args:
        committed: transactions in the order in which they were committed; later ones may be missing here.
        found: transactions that are there, in any order.

    Raises:
        Wrong: one is missing although a later one is there.
    """
    there = set(found)
    kept = next((place for place, one in enumerate(committed) if one not in there), len(committed))
    late = there.difference(committed[:kept])
    if kept < len(committed) and late:
        raise Wrong(f"transaction {committed[kept]} is missing, and {len(late)} that came after it are there")
    return len(committed) - kept
