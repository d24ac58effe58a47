"""Texts of settings as literals of other languages. Nothing that a name holds may become code.

Control characters are refused before anything is written (`settings.py`), so no literal here spans lines.
"""

from __future__ import annotations

import re
import shlex

POWERSHELL_QUOTES = "'\u2018\u2019\u201a\u201b"
"""PowerShell takes each of these for a single quote."""


def shell(text: str) -> str:
    """One word of a POSIX shell."""
    return shlex.quote(text)


def powershell(text: str) -> str:
    """A verbatim string of PowerShell, in which nothing is expanded."""
    return "'" + re.sub(f"([{POWERSHELL_QUOTES}])", r"\1\1", text) + "'"


def hcl(text: str) -> str:
    """A quoted string of Terraform's language, without interpolation."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("${", "$${").replace("%{", "%%{") + '"'


def systemd(text: str) -> str:
    """One word of a command line in a unit: no specifier, no variable."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def systemd_path(text: str) -> str:
    """A path as the value of a unit's setting that takes one path: only specifiers have a meaning there."""
    return text.replace("%", "%%")


def systemd_name(text: str, *, path: bool = False) -> str:
    """A text as part of a unit's name, as `systemd-escape` writes it; with `path`, as `systemd-escape --path` does."""
    if path:
        text = re.sub(r"/+", "/", text).strip("/")
        if not text:
            return "-"
    escaped = []
    for index, byte in enumerate(text.encode()):
        letter = chr(byte)
        if letter == "/":
            escaped.append("-")
        elif (letter.isascii() and letter.isalnum()) or letter in ":_" or (letter == "." and index > 0):
            escaped.append(letter)
        else:
            escaped.append(f"\\x{byte:02x}")
    return "".join(escaped)


def vmx(text: str) -> str:
    """A value of a .vmx file, which writes bytes as `|` and two hexadecimal digits."""
    return '"' + text.replace("|", "|7C").replace('"', "|22") + '"'


def comment(text: str) -> str:
    """One comment line of any of these languages: a leading `#`, no line ends."""
    return "# " + re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029]", " ", text)
