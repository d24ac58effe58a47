"""The Rust dependencies are what deny.toml allows: licences, sources and bans, by `cargo metadata`."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DENY = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"


@cache
def packages() -> tuple[dict[str, Any], ...]:
    """Every package that any build of the workspace may use."""
    command = ("cargo", "metadata", "--format-version", "1", "--locked")
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return tuple(json.loads(told)["packages"])


def allowed(expression: str, licences: set[str]) -> bool:
    """Whether an SPDX expression can be met by these licences; `/` is how older crates write OR."""
    spelled = re.sub(r"\s*/\s*", " OR ", expression)
    spelled = re.sub(r"([\w.+-]+) WITH ([\w.-]+)", r"\1\0\2", spelled)
    tokens = re.findall(r"[()]|[^\s()]+", spelled)

    def any_of() -> bool:
        return chain(all_of, "OR", any)

    def all_of() -> bool:
        return chain(one, "AND", all)

    def chain(part: Callable[[], bool], word: str, join: Callable[[list[bool]], bool]) -> bool:
        found = [part()]
        while tokens and tokens[0] == word:
            tokens.pop(0)
            found.append(part())
        return join(found)

    def one() -> bool:
        token = tokens.pop(0)
        if token != "(":
            return token.replace("\0", " WITH ") in licences
        inner = any_of()
        assert tokens.pop(0) == ")"
        return inner

    answer = any_of()
    assert not tokens, expression
    return answer


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("MIT", True),
        ("GPL-3.0", False),
        ("MIT/GPL-3.0", True),
        ("GPL-3.0 OR (MIT AND ISC)", True),
        ("(MIT OR GPL-3.0) AND GPL-2.0", False),
        ("MIT AND GPL-3.0 OR ISC", True),
        ("Apache-2.0 WITH LLVM-exception", False),
    ],
)
def test_expressions_are_read_as_they_are_meant(expression: str, answer: bool) -> None:
    assert allowed(expression, {"MIT", "ISC"}) == answer


def test_every_licence_is_allowed() -> None:
    licences = set(DENY["licenses"]["allow"])
    clarified = {entry["crate"]: entry["expression"] for entry in DENY["licenses"]["clarify"]}
    assert len(packages()) > 100
    refused = {
        f"{package['name']} {package['version']}": expression
        for package in packages()
        if not allowed(expression := clarified.get(package["name"]) or package["license"] or "none", licences)
    }
    assert refused == {}
    assert set(clarified) <= {package["name"] for package in packages()}, "deny.toml clarifies what is gone"


def test_every_allowed_licence_is_needed() -> None:
    licences = set(DENY["licenses"]["allow"])
    said = [package["license"] or "" for package in packages()]
    said += [entry["expression"] for entry in DENY["licenses"]["clarify"]]
    unused = {licence for licence in licences if all(allowed(one, licences - {licence}) for one in said if one)}
    assert unused == set()


def test_every_package_is_the_registry_s_and_none_is_banned() -> None:
    assert {package["source"] for package in packages()} == {None, REGISTRY}
    banned = {entry["crate"] for entry in DENY["bans"]["deny"]}
    assert not banned & {package["name"] for package in packages()}
