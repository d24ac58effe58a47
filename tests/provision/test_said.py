"""Of what a program said the cause is kept, wherever it stands."""

from __future__ import annotations

import re

import pytest

from fathom.provision.failure import ProvisionError, reason_of
from fathom.provision.host import Host
from fathom.provision.said import cause

XFS = """max log size 245 smaller than min log size 512, filesystem is too small
Usage: mkfs.xfs
/* blocksize */\t\t[-b size=num]
/* config file */\t[-c options=xxx]
      xxxm (xxx MiB), xxxg (xxx GiB), xxxt (xxx TiB) or xxxp (xxx PiB)
<value> is xxx (512 byte blocks)."""

INITDB = """2026-11-30 12:00:00.000 UTC [1] FATAL:  could not write to file "base/4/1247": No space left on device
2026-11-30 12:00:00.000 UTC [1] STATEMENT:  CREATE DATABASE template0;
child process exited with exit code 1
initdb: removing contents of data directory "/data"
initdb: removing contents of WAL directory "/log\""""

MARIADB = """FATAL ERROR: Could not find /usr/sbin/mariadbd

If you compiled from source, you need to either run 'make install' to
copy the software into the correct location ready for operation.
If you don't want to do a full install, you can use the --srcdir option."""


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (XFS, "max log size 245 smaller than min log size 512, filesystem is too small"),
        (INITDB, INITDB.splitlines()[0]),
        (MARIADB, "FATAL ERROR: Could not find /usr/sbin/mariadbd"),
        ("a\nb\n\nc\nd", "a; b; d"),
        ("Usage: it FILE", "Usage: it FILE"),
        ("", ""),
    ],
)
def test_the_cause_is_kept(text: str, kept: str) -> None:
    assert cause(text) == kept


@pytest.mark.parametrize(
    "said",
    [
        XFS,
        "size 2048 of data subvolume is too small, minimum 4096 blocks",
        "ERROR: '/dev/loop0' is too small to make a usable filesystem",
        "Filesystem too small for a journal",
    ],
)
def test_a_place_too_small_is_the_studys(said: str) -> None:
    assert reason_of(said) == "settings"


@pytest.mark.parametrize("where", ["", " >&2"])
def test_a_command_that_failed_says_why_on_either_output(where: str) -> None:
    script = f"{{ echo 'ERROR: why'; for n in 1 2 3 4; do echo line $n; done; }}{where}; echo tidied up >&2; exit 1"
    with pytest.raises(ProvisionError, match=re.escape("failed: ERROR: why") + "$"):
        Host().run(["sh", "-c", script])
