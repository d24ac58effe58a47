"""Bad input: one screen that names file, line, key and remedy, the right exit code, and nothing left behind."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

VOLUME = '\n[volumes.disk]\nkind = "null"\nsize = "1GiB"\n'
WORKLOAD = '\n[workload]\nkind = "io"\nvolumes = ["disk"]\nduration = "100ms"\n'
TITLE = 'title = "t"\nclock = "virtual"\n'

MISTAKES: dict[str, tuple[str, tuple[str, ...]]] = {
    "not TOML": ("title = [\n", ("bad.toml:",)),
    "unknown key": (TITLE + VOLUME + WORKLOAD + "outstandng = 4\n", ("outstandng", "outstanding", "bad.toml:12:1")),
    "unknown kind": (TITLE + VOLUME.replace("null", "nul") + WORKLOAD, ('"nul"', "null", "bad.toml:5:8")),
    "negative size": (TITLE + VOLUME.replace("1GiB", "-1GiB") + WORKLOAD, ("volumes.disk.size", "bad.toml:6:8")),
    "negative number": (TITLE + VOLUME + WORKLOAD + "outstanding = -1\n", ("workload.outstanding", "bad.toml:12:")),
    "missing key": (TITLE + VOLUME.replace('size = "1GiB"', "") + WORKLOAD, ("volumes.disk.size",)),
    "impossible geometry": (
        TITLE + VOLUME + '[volumes.odd]\nkind = "sector"\nbacking = "disk"\nlogical = "3000B"\n'
        + WORKLOAD.replace("disk", "odd"),
        ("volumes.odd", "bad.toml:10:"),
    ),
    "cyclic volumes": (
        TITLE
        + '[volumes.a]\nkind = "stripe"\nmembers = ["b"]\n[volumes.b]\nkind = "stripe"\nmembers = ["a"]\n'
        + WORKLOAD.replace("disk", "a"),
        ("cycle", "bad.toml:"),
    ),
    "unknown volume": (TITLE + VOLUME + WORKLOAD.replace('["disk"]', '["dsk"]'), ("dsk", "disk", "bad.toml:10:")),
    "beyond the volume": (TITLE + VOLUME + WORKLOAD + 'start = "2GiB"\n', ("workload.start", "bad.toml:12:")),
    "unknown metric": (
        TITLE + VOLUME + WORKLOAD + '[compare]\nmetric = "iopps"\n', ("iopps", "iops", "bad.toml:13:")
    ),
    "factor nowhere": (TITLE + VOLUME + WORKLOAD + "[factors]\nspeed = [1, 2]\n", ("speed", "bad.toml:13:")),
    "unit missing": (TITLE + VOLUME.replace('"1GiB"', "5.5") + WORKLOAD, ("volumes.disk.size",)),
}  # fmt: skip


def one_screen(done: Any) -> str:
    """The message, which is one screen of standard error, without a traceback, and nothing on standard output."""
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert 1 <= len(done.stderr.splitlines()) <= 40
    assert all(len(line) <= 210 for line in done.stderr.splitlines())
    return done.stderr


@pytest.mark.parametrize("kind", MISTAKES)
def test_mistakes_in_a_study_are_shown_where_they_stand(kind: str, fathom: Any, tmp_path: Path) -> None:
    text, words = MISTAKES[kind]
    (tmp_path / "bad.toml").write_text(text)
    done = fathom("simulate", "bad.toml")
    message = one_screen(done)
    assert done.returncode == 2
    assert all(word in message for word in words), message
    assert {path.name for path in tmp_path.iterdir()} == {"bad.toml"}, "nothing was written"


def test_every_mistake_is_shown_at_once(fathom: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(TITLE + VOLUME + WORKLOAD + "".join(f"key{n} = {n}\n" for n in range(50)))
    done = fathom("plan", "bad.toml")
    assert done.returncode == 2
    assert all(f"key{n}: unknown key" in done.stderr for n in range(50))
    # The first with their lines, the others on one line each.
    assert len(done.stderr.splitlines()) <= 5 * 7 + 45


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "missing.toml"], ("missing.toml", "cannot read")),
        (["run", "."], ("cannot read the study",)),
        (["report", "nowhere"], ("nowhere", "not a campaign directory")),
        (["compare", "a", "b"], ("not a campaign directory",)),
        (["probe", "no/such/place"], ("no/such/place", "No such file")),
        (["catalogue", "aws/gp9"], ("aws/gp9", "aws/gp3")),
        (["catalogue", "--file", "missing.toml"], ("missing.toml",)),
        (["doc", "nothing"], ("nothing", "stripe")),
        (["doc", "write-back"], ("write-back", "did you mean `writeback`?")),
        (["doc", "tprocc"], ("tprocc", "did you mean `tproc-c`?")),
        (["new", "novel", "x"], ("novel", "layer")),
        (["new", "study", "Bad Name"], ("Bad Name", "lower-case")),
        (["run"], ("Missing argument",)),
        (["frobnicate"], ("frobnicate",)),
    ],
)
def test_bad_commands_say_what_to_do(arguments: list[str], words: tuple[str, ...], fathom: Any) -> None:
    done = fathom(*arguments)
    message = one_screen(done)
    assert done.returncode in {2, 4}
    assert all(word in message for word in words), message


@pytest.fixture
def finished(fathom: Any, study: Path) -> Path:
    """A finished campaign."""
    assert fathom("simulate", study, "--quick", "--out", "c").returncode in {0, 3}
    return study.parent / "c"


def test_results_of_a_newer_format_are_refused(fathom: Any, finished: Path) -> None:
    head = json.loads((finished / "campaign.json").read_text())
    (finished / "campaign.json").write_text(json.dumps({**head, "format_version": 99}))
    done = fathom("report", finished)
    assert done.returncode == 4
    assert "format version 99" in one_screen(done)
    assert "newer" in done.stderr


def test_a_damaged_run_is_named_and_can_be_repeated(fathom: Any, finished: Path, study: Path) -> None:
    run = sorted((finished / "runs").iterdir())[0]
    (run / "metrics.json").write_text("{")
    done = fathom("report", finished)
    assert done.returncode == 4
    assert f"delete {run}".replace(str(finished), "") in one_screen(done).replace(str(finished), "")
    shutil.rmtree(run)
    assert fathom("simulate", study, "--quick", "--out", "c").returncode in {0, 3}
    assert run.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_directory_is_refused(fathom: Any, study: Path, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    done = fathom("simulate", study, "--quick", "--out", "locked/c")
    assert done.returncode == 4
    assert "cannot write" in one_screen(done)


def test_an_output_that_is_a_file_is_refused(fathom: Any, study: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("important")
    done = fathom("simulate", study, "--quick", "--out", "file/c")
    assert done.returncode == 4
    assert "cannot write" in one_screen(done)
    assert (tmp_path / "file").read_text() == "important"


def test_another_study_in_the_directory_is_refused(fathom: Any, finished: Path, study: Path) -> None:
    study.write_text(study.read_text() + "\n# a remark\n")
    done = fathom("simulate", study, "--quick", "--out", "c")
    assert done.returncode == 4
    assert "another study text" in one_screen(done)


FILE = """\
title = "t"
[volumes.disk]
kind = "file"
path = "PATH"
size = "1GiB"
[workload]
kind = "io"
volumes = ["disk"]
duration = "1s"
"""


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("small.img", ("volumes.disk.size", "small.img", "1048576 bytes", "ask for less")),
        ("no/such/folder/x", ("volumes.disk.path", "no/such/folder/x", "No such file", "check the folders")),
        ("/dev/null", ("volumes.disk.path", "/dev/null")),
        (".", ("volumes.disk.path", "a directory")),
    ],
)
def test_a_device_that_cannot_be_had_fails_the_run_by_name(
    path: str, words: tuple[str, ...], fathom: Any, tmp_path: Path
) -> None:
    (tmp_path / "small.img").write_bytes(bytes(1 << 20))
    (tmp_path / "file.toml").write_text(FILE.replace("PATH", path if path[0] == "/" else str(tmp_path / path)))
    done = fathom("run", "file.toml", "--rounds", "1", "--out", "c", "--json")
    failed = json.loads(done.stdout)["failed"]
    assert done.returncode == 1
    assert failed[0]["reason"] in {"settings", "unavailable"}
    assert all(word in failed[0]["message"] for word in words), failed[0]["message"]
    assert (tmp_path / "small.img").stat().st_size == 1 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_under_test_is_a_failed_run_and_is_emptied(fathom: Any, insert: Path, small_disk: Path) -> None:
    insert.write_text(insert.read_text().replace("rows = 200", "rows = 100000").replace('"per-row"', "1000"))
    done = fathom("run", insert, "--rounds", "1", "--out", "c", "--scratch", "small", "--json")
    failed = json.loads(done.stdout)["failed"]
    assert done.returncode == 1
    assert [run["reason"] for run in failed] == ["no-space", "no-space"]
    assert list(small_disk.iterdir()) == []


def test_a_disk_that_is_full_from_the_start_is_told_as_full(fathom: Any, study: Path, small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space"):
        (small_disk / "ballast").write_bytes(bytes(4 << 20))
    done = fathom("simulate", study, "--quick", "--out", "small/c")
    assert done.returncode == 4
    assert "free some space" in one_screen(done)


@pytest.mark.parametrize(
    "command",
    [("report", "{}"), ("compare", "{}", "{}"), ("simulate", "study.toml", "--out", "{}")],
    ids=lambda c: c[0],
)
def test_a_path_that_the_system_refuses_is_one_screen(command: tuple[str, ...], fathom: Any, tmp_path: Path) -> None:
    """Too long a name is refused to everybody; a folder one may not enter only to those who are not root."""
    (tmp_path / "study.toml").write_text(TITLE + VOLUME + WORKLOAD)
    done = fathom(*(word.format("x" * 300) for word in command))
    assert done.returncode == 4
    assert "File name too long" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("read", [0, 10], ids=["before the first byte", "after some bytes"])
@pytest.mark.parametrize(
    "command",
    [
        ("report", "{}"),
        ("report", "{}", "--json"),
        ("catalogue", "--json"),
        ("simulate", "study.toml", "--out", "{}-again"),
    ],
    ids=lambda c: " ".join(word for word in c if word.isalpha() or word == "--json"),
)
def test_a_reader_that_leaves_gets_a_code_of_its_own(
    command: tuple[str, ...], read: int, finished: Path, tmp_path: Path
) -> None:
    """`fathom report DIR | head`: neither the code of a failed run, nor "all goals met" of a study that misses one."""
    (tmp_path / "study.toml").write_text(TITLE + VOLUME + WORKLOAD + '[goals]\nlatency_p99_ms = "< 1us"\n')
    words = [sys.executable, "-m", "fathom", *(word.format(finished) for word in command)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "python")}
    # Without its buffer Python takes a write that was cut off for a whole one.
    environment.pop("PYTHONUNBUFFERED", None)
    # No room for more than a page in the pipe: what is printed cannot all be in it before the reader leaves.
    ours, theirs = os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
    with subprocess.Popen(words, stdout=theirs, stderr=subprocess.PIPE, cwd=tmp_path, env=environment) as process:
        os.close(theirs)
        if read:
            os.read(ours, read)
        os.close(ours)
        assert process.stderr is not None
        told = process.stderr.read().decode()
    assert process.returncode == 141
    assert "Traceback" not in told


@pytest.mark.parametrize(
    "command", [("report", "nowhere"), ("list", "."), ("doc",), ("--help",), ("run", "--help")], ids=" ".join
)
def test_what_nobody_reads_at_all_has_that_code_too(command: tuple[str, ...]) -> None:
    """`fathom report nowhere 2>&1 | true`."""
    ours, theirs = os.pipe()
    os.close(ours)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "python")}
    done = subprocess.run(
        [sys.executable, "-m", "fathom", *command],
        stdout=theirs,
        stderr=theirs,
        env=environment,
        check=False,
    )
    os.close(theirs)
    assert done.returncode == 141


def test_a_full_disk_under_the_output_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "fathom", "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 4
    assert done.stderr == "error: cannot print what was asked for: No space left on device\n"


@pytest.mark.parametrize(
    ("closed", "code", "told"),
    [
        (">&-", 4, "error: Bad file descriptor\n  help: standard output is closed"),
        ("2>&-", 0, ""),
        ("<&-", 0, ""),
        (">&- 2>&- <&-", 4, ""),
    ],
)
def test_a_standard_stream_that_is_closed_is_no_traceback(closed: str, code: int, told: str) -> None:
    words = ["bash", "-c", f'"$0" -m fathom catalogue {closed}', sys.executable]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr[: len(told)]) == (code, told)
    assert "Traceback" not in done.stderr
    assert ("aws/gp3" in done.stdout) is (code == 0)


def test_a_full_disk_under_what_a_command_prints_asks_for_space() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "fathom", "catalogue"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 4
    assert "help: free some space" in done.stderr


def test_a_locale_without_a_character_costs_no_output() -> None:
    ascii_only = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    program = (
        "from fathom.cli import app, main, output\n"
        "app.build = lambda: lambda **_: (output.print_json({'a': '\\u2013'}), "
        "print('\\u25b2 \\u25bc \\u2014 8.0 \\u00d7'))\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", program], env=ascii_only, capture_output=True, text=True, check=False)
    assert done.stdout == '{\n  "a": "\\u2013"\n}\n+ - ? 8.0 x\n', done.stderr


def test_an_interrupt_before_a_command_begins_is_no_traceback() -> None:
    begins = (
        "import sys, types; app = types.ModuleType('fathom.cli.app'); sys.modules['fathom.cli.app'] = app\n"
        "def build(): raise KeyboardInterrupt\n"
        "app.build = build\nfrom fathom.cli import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", begins], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "stopped\n")
