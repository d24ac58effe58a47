"""`fathom volume`: the commands against a stand-in for the daemon's status socket, and the arithmetic of `top`."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fathom.cli.app import build
from fathom.cli.commands.volume_status import text
from fathom.cli.commands.volume_top import rates
from fathom.errors import FathomError, UsageError
from fathom.host.fathomd import ask, status_socket


def counted(count: int, size: int, spent: int) -> dict[str, int]:
    return {"count": count, "bytes": size, "errors": 0, "latency_sum_ns": spent}


STATUS: dict[str, Any] = {
    "version": "0.1.0",
    "process": 7,
    "phase": "serving",
    "uptime_ns": 2_000_000_000,
    "socket": "/run/nbd.sock",
    "clients": [{"id": 1, "export": "data"}],
    "exports": [{"name": "data", "size": 4096, "read_only": False, "failures": 0}],
    "writeback": [{"name": "data", "dirty_bytes": 50, "dirty_limit_bytes": 200, "lag_ns": 1_500_000_000}],
    "volumes": [
        {"name": "data", "kind": "writeback", "outstanding": 3, "requests": {"write": counted(5, 20480, 10_000_000)}}
    ],
}


class StandIn:
    """Answers each request with the next reply and remembers what was asked."""

    def __init__(self, path: Path, replies: list[tuple[int, dict[str, Any]]]) -> None:
        self.asked: list[str] = []
        self._replies = replies
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        for code, body in self._replies:
            client, _ = self._socket.accept()
            with client:
                self.asked.append(client.recv(4096).split(b" HTTP")[0].decode())
                data = json.dumps(body).encode()
                client.sendall(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (code, len(data), data))

    def close(self) -> None:
        self._thread.join(10)
        self._socket.close()


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    file = tmp_path / "fathomd.toml"
    file.write_text(f'[daemon]\nsocket = "s"\nstatus = "{tmp_path / "status.sock"}"\n')
    return file


@pytest.fixture
def runner() -> Iterator[CliRunner]:
    return CliRunner()


def test_status_is_found_by_the_settings_file_and_shown(settings: Path, runner: CliRunner) -> None:
    server = StandIn(settings.with_name("status.sock"), [(200, STATUS)])
    done = runner.invoke(build(), ["volume", "status", str(settings)])
    server.close()
    assert done.exit_code == 0, done.output
    assert server.asked == ["GET /status"]
    assert "write-back data: 50 bytes dirty (25 % of the limit), lag 1.5 s" in done.output
    assert "data (writeback): 5 write" in done.output


def test_drain_asks_and_then_stops(settings: Path, runner: CliRunner) -> None:
    server = StandIn(settings.with_name("status.sock"), [(200, {"drained": True}), (202, {"stopping": True})])
    done = runner.invoke(build(), ["volume", "drain", str(settings), "--stop"])
    server.close()
    assert done.exit_code == 0, done.output
    assert server.asked == ["POST /drain", "POST /stop"]


def test_what_the_daemon_refuses_is_an_error_with_its_words(settings: Path) -> None:
    path = settings.with_name("status.sock")
    server = StandIn(path, [(500, {"error": "the cache is gone"})])
    with pytest.raises(FathomError, match="the cache is gone"):
        ask(path, "POST", "/drain")
    server.close()


def test_nobody_there_and_no_status_socket_are_told(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="no answer from a daemon"):
        ask(tmp_path / "nothing.sock", "GET", "/status")
    silent = tmp_path / "silent.toml"
    silent.write_text('[daemon]\nsocket = "s"\n')
    with pytest.raises(UsageError, match="no `status`"):
        status_socket(silent)


def test_rates_are_differences_over_time() -> None:
    before = {"requests": {"read": counted(10, 40960, 1_000_000)}}
    now = {"requests": {"read": counted(110, 450560, 21_000_000), "write": counted(0, 0, 0)}}
    found = rates(before, now, 2.0)
    assert found["read_iops"] == 50
    assert found["read_mb_s"] == pytest.approx(0.2048)
    assert found["read_ms"] == pytest.approx(0.2)
    assert (found["write_iops"], found["write_ms"]) == (0, None)


def test_a_status_without_requests_says_so() -> None:
    quiet = {**STATUS, "volumes": [{"name": "v", "kind": "memory", "requests": {}}], "writeback": []}
    assert "v (memory): no requests yet" in text(quiet)
