"""A settings file as export reads it: checked by the program that would run it, then a graph of named nodes.

A daemon's file is checked by `fathomd --check --settings-only`, a study by the engine: export never meets a mistake in
a key, and opens no device. Of a study it reads one variant.
"""

from __future__ import annotations

import functools
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fathom.errors import FathomError, UsageError
from fathom.export.variant import chosen

REFERENCES = ("volume", "list of volumes")
"""What a key takes, in its documentation, if it refers to other volumes."""


TABLES = ("volumes", "exports", "daemon")
"""The tables of a daemon's file that are gone through key by key."""


class SettingsError(FathomError):
    """Settings that are wrong in themselves; the checker's own words."""

    exit_code = 2

    def screen(self) -> str:
        """The mistakes, each with its line."""
        return self.what.rstrip()


@dataclass(frozen=True)
class Node:
    """One volume.

    Attributes:
        name: as in `[volumes.NAME]`.
        kind: of the registry.
        keys: everything written but `kind`.
        children: volumes it stands on, in the order of its keys.
    """

    name: str
    kind: str
    keys: Mapping[str, Any]
    children: tuple[str, ...]

    def size(self, key: str = "size") -> int | None:
        """Bytes, if written."""
        from fathom import _core

        value = self.keys.get(key)
        return None if value is None else _core.size_bytes(str(value))

    def time_ms(self, key: str) -> int | None:
        """Milliseconds, if written; rounded up."""
        from fathom import _core

        value = self.keys.get(key)
        return None if value is None else -(-_core.time_ns(str(value)) // 1_000_000)

    def rate(self, key: str = "throughput") -> int | None:
        """Bytes per second, if written."""
        from fathom import _core

        value = self.keys.get(key)
        return None if value is None else _core.rate_bytes(str(value))

    def per_second(self, key: str = "iops") -> float | None:
        """A count per second, if written."""
        from fathom import _core

        value = self.keys.get(key)
        return None if value is None else _core.per_second(str(value))


@dataclass(frozen=True)
class Settings:
    """Volumes and who gets them.

    Attributes:
        path: the file.
        nodes: all volumes, by name.
        roots: what is served, or for a study what the workload uses.
        exports: `[exports.*]`; empty for a study.
        daemon: `[daemon]`; empty for a study.
        serving: further tables of a daemon's file, each a way to serve (`fuse`), by name.
        notes: which variant of a study this is, a line each; `idle` what its other volumes are.
    """

    path: Path
    nodes: Mapping[str, Node]
    roots: tuple[str, ...]
    exports: Mapping[str, Mapping[str, Any]]
    daemon: Mapping[str, Any]
    serving: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    idle: str = "not served"

    def served(self) -> list[Node]:
        """Every volume that is served or stood on, the lower ones first, each once."""
        order: dict[str, Node] = {}

        def visit(name: str) -> None:
            if name not in order:
                for child in self.nodes[name].children:
                    visit(child)
                order[name] = self.nodes[name]

        for root in self.roots:
            visit(root)
        return list(order.values())

    def leaves(self) -> list[Node]:
        """The served volumes that stand on nothing."""
        return [node for node in self.served() if not node.children]

    def of_kind(self, kind: str) -> list[Node]:
        """The served volumes of one kind, the lower ones first."""
        return [node for node in self.served() if node.kind == kind]


def load(path: Path, levels: Mapping[str, str] | None = None) -> Settings:
    """Reads and checks a daemon's settings or a study.

    Args:
        path: the file.
        levels: factor of a study to the level that is exported, as typed.

    Raises:
        UsageError: the file cannot be read, is neither, or holds characters that no target can be given; the levels
            are not those of one variant, or it uses no volume.
        SettingsError, StudyError: it has mistakes.
    """
    levels = levels or {}
    try:
        text = path.read_text(encoding="utf-8")
        tree = tomllib.loads(text)
    except OSError as problem:
        raise UsageError(f"{path}: {problem.strerror}", "give a daemon's settings file or a study") from None
    except ValueError as problem:
        raise UsageError(f"{path}: {problem}", "write it as TOML, in UTF-8") from None
    if "daemon" in tree:
        if levels:
            raise UsageError(f"{path}: --variant is for studies, this file has no factors", "leave --variant out")
        _check_daemon(path)
        return parse(tree, path)
    if "workload" in tree:
        from fathom import study
        from fathom.engine import core

        found = chosen(study.parse(text, path, core()).resolved, levels, path)
        settings = parse(tree | {"volumes": found.volumes}, path)
        return replace(settings, roots=found.roots, notes=found.notes, idle="not used by the workload")
    raise UsageError(f"{path}: neither [daemon] nor [workload]", "give a daemon's settings file or a study")


def parse(tree: Mapping[str, Any], path: Path) -> Settings:
    """A settings tree that is known to be sound, as a graph.

    Raises:
        UsageError: a name or value holds control characters.
    """
    for place, word in _texts(tree, ""):
        if any(ord(letter) < 32 or letter in "\x7f\x85\u2028\u2029" for letter in word):
            raise UsageError(
                f"{path}: {place} holds control characters", "nothing exported could be trusted: rename it"
            )
    refers = references()
    nodes = {}
    for name, table in tree.get("volumes", {}).items():
        keys = {key: value for key, value in table.items() if key != "kind"}
        nodes[name] = Node(name, table["kind"], keys, _children(keys, refers[table["kind"]]))
    exports = tree.get("exports", {})
    if exports:
        roots = tuple(dict.fromkeys(export["volume"] for export in exports.values()))
    else:
        below = {child for node in nodes.values() for child in node.children}
        roots = tuple(name for name in nodes if name not in below)
    daemon = dict(tree.get("daemon", {}))
    tls = daemon.pop("tls", {})
    daemon.update({f"tls.{key}": value for key, value in tls.items()})
    further = {name: table for name, table in tree.items() if name not in TABLES} if daemon else {}
    return Settings(path, nodes, roots, exports, daemon, further)


def without(settings: Settings, left_out: frozenset[str]) -> Settings:
    """The settings as if those dotted keys had not been written."""
    refers = references()

    def node(old: Node) -> Node:
        keys = {key: value for key, value in old.keys.items() if f"{old.name}.{key}" not in left_out}
        return Node(old.name, old.kind, keys, _children(keys, refers[old.kind]))

    exports = {
        name: {key: value for key, value in table.items() if f"exports.{name}.{key}" not in left_out}
        for name, table in settings.exports.items()
    }
    daemon = {key: value for key, value in settings.daemon.items() if f"daemon.{key}" not in left_out}
    nodes = {name: node(old) for name, old in settings.nodes.items()}
    return replace(settings, nodes=nodes, exports=exports, daemon=daemon)


def _children(keys: Mapping[str, Any], refers: frozenset[str]) -> tuple[str, ...]:
    listed = [value for key, value in keys.items() if key in refers]
    names = [name for value in listed for name in ([value] if isinstance(value, str) else value)]
    return tuple(dict.fromkeys(names))


@functools.cache
def references() -> dict[str, frozenset[str]]:
    """By kind, the keys that refer to volumes."""
    from fathom import _core

    kinds = [kind for kind in _core.describe()["kinds"] if kind["group"] == "volume"]
    return {
        kind["name"]: frozenset(key["name"] for key in kind["keys"] if key["takes"] in REFERENCES) for kind in kinds
    }


def _check_daemon(path: Path) -> None:
    from fathom.host.fathomd import program

    done = subprocess.run(
        [program(), "--check", "--settings-only", str(path)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SettingsError(done.stderr or f"{path}: fathomd --check ended {done.returncode}")


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield f"a name under {place or 'the top'}", str(key)
            yield from _texts(inner, f"{place}.{key}".lstrip("."))
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, place)
