"""Adds one of each plug-in to a copy of the sources, and prints what that touches: files of its own, and lines outside.

    scripts/adding.py [--build] [FOLDER]

With --build the copy is compiled and the tests of what was added run: nothing else had to be touched. FOLDER is
target/adding if left out; what was there is replaced. A metric also needs `make docs`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]

DRIVER = """//! NewDB: PostgreSQL's protocol and SQL, and what differs.

use super::postgresql;
use crate::database::{DatabaseKind, Dialect};

pub static DIALECT: Dialect = Dialect {
    title: "NewDB",
    like: Some(DatabaseKind::Postgresql),
    ..postgresql::DIALECT
};
"""
PROVIDED = '''"""NewDB: servers that run already."""

from __future__ import annotations

from fathom.provision.database import Kind

DATABASE = Kind("newdb", port=26257)
'''


@dataclass
class Added:
    """One plug-in in the copy.

    Attributes:
        copy: top of the copy.
        what: the kind of plug-in.
        own: files of its own.
        outside: lines added to each file that was there.
        tests: arguments of `cargo test` for it.
    """

    copy: Path
    what: str
    own: list[str] = field(default_factory=list)
    outside: dict[str, int] = field(default_factory=dict)
    tests: tuple[str, ...] = ()

    def write(self, path: str, text: str) -> None:
        """A file of its own."""
        target = self.copy / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        self.own.append(path)

    def new(self, kind: str, name: str) -> None:
        """A file of its own, as `fathom new` writes it."""
        command = [sys.executable, "-m", "fathom", "new", kind, name]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        done = subprocess.run(command, cwd=self.copy, env=environment, capture_output=True, text=True, check=True)
        self.own.append(done.stdout.strip())

    def line(self, path: str, before: str, line: str) -> None:
        """Lines outside, in front of the first that begins so."""
        target = self.copy / path
        lines = target.read_text(encoding="utf-8").splitlines()
        place = next((number for number, known in enumerate(lines) if known.lstrip().startswith(before)), None)
        if place is None:
            sys.exit(f"{path}: no line begins with `{before}`: the recipe in CONTRIBUTING.md is out of date")
        lines.insert(place, line)
        target.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.outside[path] = self.outside.get(path, 0) + line.count("\n") + 1


def copied(folder: Path) -> None:
    """The sources, without what is built from them."""
    listed = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    shutil.rmtree(folder, ignore_errors=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def add(folder: Path) -> list[Added]:
    """One of each, in the copy."""
    layer = Added(folder, "layer", tests=("-p", "fathom-layers", "new_layer"))
    layer.new("layer", "new-layer")
    layer.line("crates/layers/src/lib.rs", "mod range_lock;", "pub mod new_layer;")
    layer.line("crates/layers/src/lib.rs", "sector::KIND,", "    new_layer::KIND,")

    device = Added(folder, "device", tests=("-p", "fathom-devices", "new_device"))
    device.new("device", "new-device")
    device.line("crates/devices/src/lib.rs", "pub mod null;", "pub mod new_device;")
    device.line("crates/devices/src/lib.rs", "null::KIND,", "    new_device::KIND,")

    workload = Added(folder, "workload", tests=("-p", "fathom-workload", "new_workload"))
    workload.new("workload", "new-workload")
    workload.line("crates/workload/src/lib.rs", "pub mod io;", "pub mod new_workload;")
    workload.line("crates/study/src/workloads.rs", "#[cfg", "    fathom_workload::new_workload::KIND,")

    metric = Added(folder, "metric of a workload", tests=("-p", "fathom-study", "metrics"))
    path = workload.own[0]
    text = (folder / path).read_text(encoding="utf-8")
    declared = 'metrics::named(&["iops", "latency_ms", "elapsed_s"])'
    if declared not in text:
        sys.exit(f"{path}: no `{declared}`")
    both = f'[{declared}, vec![fathom_job::Metric::higher("reads_per_day", "reads a day", "1/d")]].concat()'
    (folder / path).write_text(text.replace(declared, both), encoding="utf-8")
    metric.line(path, "Ok(Outcome { metrics,", '        metrics.insert("reads_per_day".to_owned(), Some(0.0));')
    metric.outside = {"FILE_OF_THE_WORKLOAD": 1 + metric.outside[path]}

    database = Added(folder, "database", tests=("-p", "fathom-sql", "--lib", "database"))
    database.write("crates/sql/src/drivers/newdb/mod.rs", DRIVER)
    database.write("python/fathom/provision/database/newdb.py", PROVIDED)
    kinds = "crates/job/src/database.rs"
    database.line(kinds, "/// PostgreSQL.", "    /// NewDB.\n    Newdb,")
    database.line(kinds, '("postgresql", Self', '        ("newdb", Self::Newdb),')
    database.line(kinds, "Self::Postgresql =>", "            Self::Newdb => Offers::SERVER,")
    drivers = "crates/sql/src/drivers/mod.rs"
    database.line(drivers, "pub mod postgresql;", "mod newdb;")
    database.line(drivers, "Self::Postgresql =>", "            Self::Newdb => &newdb::DIALECT,")

    section = Added(folder, "report section")
    section.new("section", "new-section")
    command = Added(folder, "command")
    command.new("command", "new-command")
    return [layer, device, workload, metric, database, section, command]


def table(added: list[Added]) -> str:
    """What each touched, as CONTRIBUTING.md has it."""
    lines = ["| one more | files of its own | lines outside | in |", "| --- | --- | --- | --- |"]
    for one in added:
        outside = ", ".join(f"`{path}`" for path in one.outside)
        lines.append(f"| {one.what} | {len(one.own)} | {sum(one.outside.values())} | {outside} |")
    return "\n".join(lines)


def built(folder: Path, added: list[Added]) -> None:
    """Compiles the copy and tests what was added; third-party crates are those of the sources' own build."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    environment = {**os.environ, "CARGO_TARGET_DIR": str(folder / "target"), "CARGO_BUILD_BUILD_DIR": str(target)}
    for one in (one for one in added if one.tests):
        command = ["cargo", "test", "--profile", "quick", "--locked", *one.tests]
        subprocess.run(command, cwd=folder, env=environment, check=True)


def main() -> None:
    """Copies, adds, perhaps builds, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "target" / "adding")
    parser.add_argument("--build", action="store_true", help="compile the copy and test what was added")
    arguments = parser.parse_args()
    copied(arguments.folder)
    added = add(arguments.folder)
    if arguments.build:
        built(arguments.folder, added)
    print(table(added))


if __name__ == "__main__":
    main()
