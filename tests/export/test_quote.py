"""Hostile texts stay texts: read back by the shells, parsers and tools that would run what is written."""

from __future__ import annotations

import shutil
import subprocess

import hcl2
import pytest
import tree_sitter_powershell
from hypothesis import given
from hypothesis import strategies as st
from tree_sitter import Language, Parser

from fathom.export import quote

HOSTILE = [
    "plain",
    "two words",
    "'; rm -rf / #",
    '"; Remove-Item C:\\ -Recurse; "',
    "$(touch pwned)",
    "`touch pwned`",
    "${HOME}",
    "%{ for x in y }",
    "%i%n%%",
    "a\\",
    "\\x2f",
    "-rf",
    "*",
    "\u2018quoted\u2019",
    "\u201aa\u201b; Stop-Computer",
    "ü\u200b漢",
    "|22",
    "~root",
    "{a,b}",
    "!!",
    ";",
    "]]>",
    "#",
]
PRINTED = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=40)
POWERSHELL = Parser(Language(tree_sitter_powershell.language()))


def bash(words: str) -> list[str]:
    done = subprocess.run(
        ["/bin/bash", "--norc", "-c", f"printf '%s\\0' {words}"],
        capture_output=True,
        check=True,
        env={"PATH": "/nowhere"},
    )
    return done.stdout.decode().split("\0")[:-1]


def test_a_shell_reads_every_word_as_it_was() -> None:
    assert bash(" ".join(quote.shell(text) for text in HOSTILE)) == HOSTILE


@pytest.mark.parametrize("text", HOSTILE)
def test_terraform_reads_every_string_as_it_was(text: str) -> None:
    written = hcl2.loads(f"x = {quote.hcl(text)}\n")["x"]
    body = written[1:-1] if written.startswith('"') else written
    assert body == quote.hcl(text)[1:-1]
    # Terraform's own rules for what stands between the quotes.
    assert unescaped(body) == text


def unescaped(body: str) -> str:
    """A quoted template without interpolation, as the language's specification reads it."""
    result, index = "", 0
    while index < len(body):
        if body[index] == "\\":
            result += body[index + 1]
            index += 2
        elif body.startswith(("$${", "%%{"), index):
            result += body[index + 1 : index + 3]
            index += 3
        else:
            assert not body.startswith(("${", "%{"), index), "interpolation"
            assert body[index] != '"', "the string ends"
            result += body[index]
            index += 1
    return result


@given(PRINTED)
def test_terraform_strings_hold_any_text(text: str) -> None:
    assert unescaped(quote.hcl(text)[1:-1]) == text


@given(PRINTED)
def test_powershell_strings_end_where_they_should(text: str) -> None:
    written = quote.powershell(text)
    assert (written[0], written[-1]) == ("'", "'")
    assert verbatim(written) == text


def verbatim(written: str) -> str:
    """What PowerShell's tokenizer makes of a verbatim string: any two of its single quotes are one."""
    body, result, index = written[1:], "", 0
    while True:
        if body[index] in quote.POWERSHELL_QUOTES:
            if index + 1 == len(body):
                return result
            assert body[index + 1] in quote.POWERSHELL_QUOTES, "the string ends early"
            index += 1
        result += body[index]
        index += 1


@pytest.mark.parametrize("text", [text for text in HOSTILE if not set(text) & set(quote.POWERSHELL_QUOTES[1:])])
def test_powershell_sees_one_string(text: str) -> None:
    tree = POWERSHELL.parse(f"Write-Host {quote.powershell(text)}".encode())
    assert not tree.root_node.has_error
    words = tree.root_node.text or b""
    found = [node for node in descend(tree.root_node) if node.type == "verbatim_string_characters"]
    assert len(found) == 1, words
    assert found[0].text == quote.powershell(text).encode()


def descend(node):  # type: ignore[no-untyped-def]
    yield node
    for child in node.children:
        yield from descend(child)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("path", [False, True])
def test_names_of_units_are_those_of_systemd_escape(text: str, path: bool) -> None:
    if shutil.which("systemd-escape") is None:
        pytest.skip("systemd-escape is not installed")
    if path:
        text = "/" + text
    options = ["--path"] if path else []
    done = subprocess.run(["systemd-escape", *options, "--", text], capture_output=True, text=True, check=True)
    assert quote.systemd_name(text, path=path) == done.stdout.rstrip("\n")


def test_a_comment_is_one_line() -> None:
    assert len(quote.comment("a\nrm -rf /\r\x85\u2028b").splitlines()) == 1


def test_vmx_values_end_at_their_quote() -> None:
    assert quote.vmx('a" | b') == '"a|22 |7C b"'
