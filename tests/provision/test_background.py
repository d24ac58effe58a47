"""Jobs beside a workload, restoring a server that runs already, and CPUs by their numbers."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from fathom.provision.account import cpu_list, cpu_numbers
from fathom.provision.background import Job, command
from fathom.provision.failure import ProvisionError
from fathom.provision.host import Host, Recorder
from fathom.provision.provide import provided
from provision.conftest import wants

CONNECT: dict[str, Any] = {
    "socket": None, "host": "db1", "port": None, "user": "u", "password_env": None, "database": "d",
    "tls": None, "tls_ca": None, "timeout_ns": None,
}  # fmt: skip


def until(condition: Any) -> None:
    """Waits for it, a minute at most."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_job_runs_again_and_again_and_its_output_is_counted() -> None:
    with Job(["sh", "-c", "printf 12345"]) as job:
        until(lambda: len(job.finished) >= 2)
    metrics = job.metrics()
    assert metrics["background_jobs"] == len(job.finished) >= 2
    assert job.bytes == 5 * len(job.finished)
    assert metrics["background_job_s"] is not None
    assert job.failed is None


def test_a_job_is_ended_with_the_workload_and_counts_for_nothing() -> None:
    with Job(["sleep", "600"]) as job:
        until(lambda: job._running is not None)
        began = time.monotonic()
    assert time.monotonic() - began < 60
    assert job.metrics() == {"background_jobs": 0.0, "background_job_s": None, "background_mb_per_s": None}
    assert job.failed is None, "we ended it ourselves"


@pytest.mark.parametrize(
    ("command", "words"),
    [(["sh", "-c", "echo no right >&2; exit 3"], "no right"), (["/no/such/program"], "No such file")],
)
def test_a_job_that_fails_says_why_and_is_not_begun_again(command: list[str], words: str) -> None:
    with Job(command) as job:
        until(lambda: job.failed is not None)
    assert words in str(job.failed)
    assert job.finished == []


@pytest.mark.parametrize("job", ["backup", "check"])
@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_database_backs_itself_up_and_checks_itself(scratch: Path, kind: str, job: str) -> None:
    wanted = wants({"db": {"kind": kind, "place": "here", "background": job}}, {"here": {}})
    with provided(wanted, scratch, Host()) as around:
        words = command(Host(), around.servers["db"])
        assert words is not None
        with Job(words) as running:
            until(lambda: running.finished or running.failed)
    assert running.failed is None
    assert (running.bytes > 10_000_000) == (job == "backup"), "the whole backup passes, a check says little"


def test_a_server_that_runs_already_is_restored_before_every_run(scratch: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    wanted = wants({"db": {"kind": "postgresql", "connect": CONNECT, "restore": ["sh", "-c", f"echo done >>{told}"]}})
    for number in (1, 2):
        with provided(wanted, scratch, Host()) as around:
            assert around.facts["databases.db.restored"].startswith("by `sh -c")
        assert told.read_text() == "done\n" * number


def test_a_restore_that_fails_fails_the_run_with_its_words(scratch: Path) -> None:
    wanted = wants({"db": {"kind": "mariadb", "connect": CONNECT, "restore": ["sh", "-c", "echo no dump >&2; exit 1"]}})
    with pytest.raises(ProvisionError, match="no dump"), provided(wanted, scratch, Host()):
        pytest.fail("it was not restored")


def test_commands_are_told_without_running_them(tmp_path: Path) -> None:
    recorder = Recorder()
    wanted = wants({"db": {"kind": "sqlserver", "connect": CONNECT, "restore": ["sqlcmd", "-i", "restore it.sql"]}})
    with provided(wanted, tmp_path / "none", recorder):
        pass
    assert "sqlcmd -i 'restore it.sql'" in recorder.lines


def test_cpus_are_named_or_counted() -> None:
    assert cpu_list("0,2,4-7,2") == [0, 2, 4, 5, 6, 7]
    usable = sorted(os.sched_getaffinity(0))
    assert cpu_numbers(1, "db") == usable[:1]
    assert cpu_numbers(str(usable[-1]), "db") == usable[-1:]
    assert cpu_numbers(None, "db") == []
    wanted: tuple[tuple[int | str, str], ...] = (("8191", "names CPU 8191"), (1024, "asks for 1024 CPUs"))
    for cpus, words in wanted:
        with pytest.raises(ProvisionError, match=words) as problem:
            cpu_numbers(cpus, "db")
        assert problem.value.reason == "settings", "no repetition makes them"
