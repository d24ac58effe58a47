"""Data restored between runs: loaded once, copied, and every run begins with it as it was loaded."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fathom.host import leftovers
from fathom.plan import plan
from fathom.run import Options, execute
from fathom.study import Study, parse
from pipeline.fake import FakeEngine, Notes
from provision.conftest import PLAIN

LOADED = 100


class LoadingEngine(FakeEngine):
    """Loads a hundred rows; every run counts them and deletes some."""

    def __init__(self, kind: str, places: dict[str, Any]) -> None:
        super().__init__()
        self.kind = kind
        database = {**PLAIN, "kind": kind, **{name: "log" for name in ("log_place",) if places}}
        self.wants |= {"databases": {"db": database}, "places": places, "loads": {"db": "a hundred rows"}}
        self.loads = 0
        self.found: list[int] = []

    def load(self, *arguments: Any) -> None:
        self.loads += 1
        self._ask(arguments[-1], "CREATE TABLE t (x int)")
        self._ask(arguments[-1], "INSERT INTO t VALUES " + ", ".join(f"({number})" for number in range(LOADED)))

    def run(self, *arguments: Any) -> dict[str, Any]:
        self.found.append(int(self._ask(arguments[-1], "SELECT count(*) FROM t")))
        self._ask(arguments[-1], "DELETE FROM t WHERE x < 50")
        return super().run(*arguments)

    def _ask(self, connections: str, sql: str) -> str:
        to = json.loads(connections)["db"]
        socket = Path(to["address"]["socket"])
        command = (
            ["psql", "-XqAt", "-h", str(socket.parent), "-U", to["user"], "-d", to["database"], "-c", sql]
            if self.kind == "postgresql"
            else ["mariadb", "--no-defaults", "-BN", f"--socket={socket}", "-u", to["user"], to["database"], "-e", sql]
        )
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    ("kind", "places"),
    [("postgresql", {"log": {"kind": "directory", "path": None}}), ("mariadb", {})],
    ids=["postgresql", "mariadb"],
)
def test_every_run_begins_with_the_data_as_they_were_loaded(
    study: Study, tmp_path: Path, kind: str, places: dict[str, Any]
) -> None:
    engine: Any = LoadingEngine(kind, places)
    made = plan(parse(study.text, study.path, engine), rounds=1)
    found = execute(made, Options(tmp_path / "c"), engine, Notes())
    assert [run.message for run in found.runs] == [None] * len(made.runs)
    assert engine.loads == 1
    assert engine.found == [LOADED] * len(made.runs)
    assert found.runs[0].facts["data"].startswith("restored")
    assert not leftovers.find(tmp_path)
    assert not list((tmp_path / "c").glob(".fathom-*"))
