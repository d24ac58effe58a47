"""diagnose, plan, simulate, report and compare where nothing of Linux is there: as on a DBA's own machine.

Modules that only POSIX or Linux has cannot be imported, calls that only they have are gone, and /proc and /sys cannot
be read. Windows' own locking stands in for `fcntl`. FATHOM_CORE names an extension module that was built without the
real driver, to be used instead (`make any-system`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

STRIPPED = """
import builtins, importlib.util, io, os, pathlib, signal, sys, types

if place := os.environ.get("FATHOM_CORE"):
    spec = importlib.util.spec_from_file_location("fathom._core", place)
    core = sys.modules["fathom._core"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)

GONE = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "posix_ipc", "syslog", "spwd", "crypt", "nis"}
for name in GONE:
    # None makes `import` fail with ImportError.
    sys.modules[name] = None
# Looks for Windows by this name, and then wants all of it.
import subprocess
sys.modules["msvcrt"] = types.SimpleNamespace(LK_LOCK=1, LK_NBLCK=2, locking=lambda descriptor, mode, count: None)

for name in dir(os):
    if name.startswith(("sched_", "getx", "setx", "listx", "eventfd", "preadv", "pwritev", "posix_f")) or name in {
        "geteuid", "getuid", "getgid", "getegid", "setuid", "setgid", "sysconf", "pread", "pwrite", "O_DIRECT",
        "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "mkfifo", "mknod", "chown", "lchown", "getloadavg", "statvfs",
        "killpg", "setsid", "getpgid", "sendfile", "copy_file_range", "memfd_create", "splice", "major", "minor",
    }:
        delattr(os, name)
for name in ("SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "setitimer", "pthread_kill", "pthread_sigmask", "sigwait"):
    delattr(signal, name)

READ = io.open
def guarded(file, *arguments, **named):
    if str(file).startswith(("/proc", "/sys/")):
        raise FileNotFoundError(2, "No such file or directory", str(file))
    return READ(file, *arguments, **named)
builtins.open = io.open = guarded
"""

RUN = (
    STRIPPED
    + """
from fathom.cli import main
sys.argv = ["fathom", *sys.argv[1:]]
main()
"""
)


def fathom(*arguments: object, directory: Path) -> subprocess.CompletedProcess[str]:
    """Runs the command line without anything of Linux."""
    return subprocess.run(
        [sys.executable, "-c", RUN, *map(str, arguments)],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize("name", ["perfmon.csv", "iostat.json", "cloudwatch.csv"])
def test_logs_are_diagnosed(tmp_path: Path, name: str) -> None:
    log = ROOT / "tests" / "diagnose" / "samples" / name
    done = fathom("diagnose", log, "--list", "--table", "out.csv", directory=tmp_path)
    assert done.returncode in {0, 1}, done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "out.csv").stat().st_size > 100


def test_a_study_is_planned_simulated_reported_and_compared(tmp_path: Path) -> None:
    study = ROOT / "studies" / "adapter-queue-depth.toml"
    for arguments in (("plan", study), ("simulate", study, "--quick", "--out", "one"), ("report", "one")):
        done = fathom(*arguments, directory=tmp_path)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    done = fathom("compare", "one", "two", "--html", "both.html", directory=tmp_path)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert (tmp_path / "both.html").stat().st_size > 10_000


@pytest.mark.skipif("FATHOM_CORE" not in os.environ, reason="needs another extension: make any-system")
def test_a_study_of_what_only_the_real_driver_has_says_so(tmp_path: Path) -> None:
    for study, kind in (("consolidation.toml", "file"), ("tproc-c.toml", "tproc-c")):
        done = fathom("plan", ROOT / "studies" / study, directory=tmp_path)
        assert done.returncode not in {0, 1}, done.stdout
        assert f'"{kind}"' in done.stderr
        assert "built without the real driver" in done.stderr


def test_the_surroundings_are_really_stripped(tmp_path: Path) -> None:
    code = STRIPPED + (
        "import fathom\n"
        "for module in ('fcntl', 'pwd', 'termios', 'resource'):\n"
        "    try:\n        __import__(module)\n    except ImportError:\n        print('no', module)\n"
        "print(hasattr(os, 'sched_getaffinity'), hasattr(os, 'geteuid'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["no", "fcntl", "no", "pwd", "no", "termios", "no", "resource", "False", "False"]
