"""`fathom volume export` into a folder that holds an earlier export."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from fathom.cli.app import build

DURABLE = Path(__file__).parents[2] / "packaging/examples/durable.toml"


def export(out: Path, *options: str) -> tuple[int, str]:
    command = ["volume", "export", str(DURABLE), "--to", "systemd", "--out", str(out), *options]
    result = CliRunner().invoke(build(), command)
    return result.exit_code, result.output


def files(out: Path) -> set[str]:
    return {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}


def test_force_leaves_nothing_of_the_earlier_export(tmp_path: Path) -> None:
    assert export(tmp_path, "--mount", "data=/srv/old", "--unit", "postgresql.service")[0] == 0
    assert {"system/srv-old.mount", "system/postgresql.service.d/10-fathom.conf"} < files(tmp_path)
    mine = tmp_path / "system/mine.mount"
    mine.write_text("# [Mount] of another program\n", encoding="utf-8")
    before = files(tmp_path)
    assert export(tmp_path, "--mount", "data=/srv/new")[0] == 2
    assert files(tmp_path) == before
    code, said = export(tmp_path, "--mount", "data=/srv/new", "--force")
    assert (code, "srv-old.mount: removed, of an earlier export" in said.replace("\n", "")) == (0, True)
    gone = {"system/srv-old.mount", "system/postgresql.service.d/10-fathom.conf"}
    assert files(tmp_path) == (before - gone) | {"system/srv-new.mount"}
