"""Writes python/fathom/metrics.json, the table of all metrics, from their declarations in Rust; part of `make docs`."""

from __future__ import annotations

import json
from pathlib import Path

from fathom import _core

TABLE = Path(__file__).parents[1] / "python" / "fathom" / "metrics.json"


def main() -> None:
    """Writes the table, a metric a line."""
    lines = ",\n".join(f"  {json.dumps(metric)}" for metric in _core.describe()["metrics"])
    TABLE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
