"""`fathom volume`: the commands against a stand-in for the daemon's status socket, and the arithmetic of `top`."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import socket
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fathom.cli.app import build
from fathom.cli.commands.volume_status import text
from fathom.cli.top_view import Line, View, bar, percentile, rates, tree, trend
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
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            with client:
                self.asked.append(client.recv(4096).split(b" HTTP")[0].decode())
                data = json.dumps(body).encode()
                client.sendall(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (code, len(data), data))

    def close(self) -> None:
        # Ends the wait for requests that never came.
        self._socket.shutdown(socket.SHUT_RDWR)
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


def test_what_a_lost_cache_cost_is_shown() -> None:
    loss = {
        "incarnation": 4,
        "stands_at_write": 1234,
        "least_bytes": 4096,
        "most_bytes": 1 << 20,
        "least_flushes": 2,
        "least_span_ns": 1_500_000_000,
        "most_span_ns": 30_100_000_000,
    }
    shown = text({**STATUS, "writeback": [{**STATUS["writeback"][0], "last_loss": loss}]})
    assert "without the cache of incarnation 4, from write 1,234: lost 4,096 to 1,048,576 bytes of log" in shown
    assert "2 flushes or more, 1.5 to 30.1 s of writes" in shown
    assert "no one moment" not in shown
    torn = text({**STATUS, "writeback": [{**STATUS["writeback"][0], "last_loss": {**loss, "torn": True}}]})
    assert "the volumes may be of no one moment: restore databases from a backup" in torn


def test_two_cache_devices_and_what_each_is_good_for_are_shown() -> None:
    legs = [{"name": "nvme", "standing": "current"}, {"name": "copy", "standing": "returning"}]
    shown = text({**STATUS, "writeback": [{**STATUS["writeback"][0], "legs": legs, "copying_bytes": 8192}]})
    assert "cache devices: nvme current, copy returning; 8,192 bytes to copy" in shown


def test_drain_asks_and_then_stops(settings: Path, runner: CliRunner) -> None:
    server = StandIn(settings.with_name("status.sock"), [(200, {"drained": True}), (202, {"stopping": True})])
    done = runner.invoke(build(), ["volume", "drain", str(settings), "--stop"])
    server.close()
    assert done.exit_code == 0, done.output
    assert server.asked == ["POST /drain", "POST /stop"]


def test_a_drain_that_stalls_is_told_and_the_daemon_is_stopped_all_the_same(settings: Path, runner: CliRunner) -> None:
    stalled = (504, {"error": "no device has completed anything for 3s: not drained", "stalled": True})
    for options, asked in (([], ["POST /drain"]), (["--stop"], ["POST /drain", "POST /stop"])):
        path = settings.with_name("status.sock")
        path.unlink(missing_ok=True)
        server = StandIn(path, [stalled, (202, {"stopping": True})])
        done = runner.invoke(build(), ["volume", "drain", str(settings), *options])
        server.close()
        assert done.exit_code == 4, done.output
        assert "no device has completed anything for 3s" in done.output
        assert server.asked == asked


def test_a_daemon_that_does_not_answer_ends_a_drain(
    settings: Path, runner: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathom.host.fathomd.PATIENCE_S", 0.3)
    monkeypatch.setattr("fathom.host.fathomd.PROBE_S", 0.1)
    monkeypatch.setattr("fathom.host.fathomd.ask.__defaults__", (0.3,))
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(settings.with_name("status.sock")))
        silent.listen()
        done = runner.invoke(build(), ["volume", "drain", str(settings), "--stop"])
    assert done.exit_code == 4, done.output
    assert "does not answer" in done.output
    assert "SIGSTOP" in done.output


@pytest.mark.parametrize("body", [{}, {"version": 7}, {**STATUS, "exports": "none"}])
@pytest.mark.parametrize("command", [["status"], ["drain"], ["top", "--count", "1"]])
def test_what_answers_otherwise_is_no_daemon(
    settings: Path, runner: CliRunner, command: list[str], body: dict[str, Any]
) -> None:
    server = StandIn(settings.with_name("status.sock"), [(200, body)])
    done = runner.invoke(build(), ["volume", command[0], str(settings), *command[1:]])
    server.close()
    assert done.exit_code == 4, done.output
    assert "this is no fathomd" in done.output


def test_an_answer_without_an_end_is_given_up(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fathom.host.fathomd.LARGEST_ANSWER", 10)
    path = settings.with_name("status.sock")
    server = StandIn(path, [(200, STATUS)])
    with pytest.raises(FathomError, match="more than"):
        ask(path, "GET", "/status")
    server.close()


def test_a_fenced_group_is_shown_with_its_reason() -> None:
    shown = text({**STATUS, "writeback": [{**STATUS["writeback"][0], "fenced": "group `data` is fenced: no disk"}]})
    assert "FENCED, nothing more is accepted: group `data` is fenced: no disk" in shown


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


def test_a_relative_status_socket_lies_beside_its_settings(tmp_path: Path) -> None:
    for written, meant in (("status.sock", tmp_path / "status.sock"), ("/run/s.sock", Path("/run/s.sock"))):
        settings = tmp_path / "fathomd.toml"
        settings.write_text(f'[daemon]\nsocket = "s"\nstatus = "{written}"\n')
        assert status_socket(settings) == meant


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


def test_volumes_stand_below_their_users() -> None:
    settings = {
        "ebs": {"kind": "model"},
        "nvme": {"kind": "file", "path": "data"},
        "data": {"kind": "writeback", "backing": "ebs", "cache": "nvme"},
        "pair": {"kind": "mirror", "legs": ["nvme"]},
    }
    names = ["ebs.device", "ebs", "nvme", "data"]
    assert tree(names, settings) == [
        Line("", "data"),
        Line("├─ ", "ebs"),
        Line("│  └─ ", "ebs.device"),
        Line("└─ ", "nvme"),
    ]
    assert [line.name for line in tree(names, None)] == ["data", "nvme", "ebs", "ebs.device"]


def test_every_volume_is_shown_once_though_two_stand_on_it() -> None:
    group = {"kind": "writeback", "cache": "nvme"}
    found = tree(["nvme", "a", "b"], {"nvme": {}, "a": group, "b": group})
    assert sorted(line.name for line in found) == ["a", "b", "nvme"]


def test_percentiles_come_from_what_was_counted_between_the_looks() -> None:
    def counts(*numbers: int) -> dict[str, Any]:
        return {"requests": {"read": {"count": numbers[-1], "latency_counts": list(numbers[:-1])}}}

    bounds = [1_000_000, 5_000_000]
    before, now = counts(90, 90, 100), counts(90, 189, 200)
    assert percentile(before, now, "read", bounds, 0.5) == "≤5"
    assert percentile(before, now, "read", bounds, 0.999) == ">5"
    assert percentile(now, now, "read", bounds, 0.5) == ""
    assert percentile(before, now, "write", bounds, 0.5) == ""


def test_trends_and_bars_are_as_tall_and_long_as_their_values() -> None:
    assert trend([0, 1, 4, 8]) == " ▁▄█"
    assert trend([0.0, 0.0]) == "  "
    assert trend([1e-9, 1e9]) == "▁█"
    assert (bar(0), bar(0.5), bar(7)) == ("░" * 20, "█" * 10 + "░" * 10, "█" * 20)


@pytest.mark.parametrize("width", [60, 100, 120, 200])
def test_the_screen_shows_volumes_caches_mirrors_and_exports(width: int) -> None:
    from rich.console import Console

    mirror = {"name": "[red]m", "kind": "mirror", "outstanding": 0, "requests": {}}
    before = {**STATUS, "volumes": [*STATUS["volumes"], {**mirror, "counters": {"legs_in_sync": 1, "resync_bytes": 0}}]}
    left = {"legs_in_sync": 1, "resync_bytes": 4_000_000, "resync_left_bytes": 8_000_000, "legs_dropped": 1}
    now = {**before, "uptime_ns": 4_000_000_000, "volumes": [*STATUS["volumes"], {**mirror, "counters": left}]}
    console = Console(width=width, record=True, force_terminal=True, file=io.StringIO())
    console.print(View({"data": {"kind": "writeback"}}).show(before, now, width))
    shown = " ".join(console.export_text().split())
    assert "[red]m" in shown
    assert "25 %" in shown
    assert "rebuilding: 8 MB left at 2 MB/s, 4 s to go" in shown
    assert "1 dropped" in shown
    assert ("p99" in shown) == (width >= 150)
    assert ("trend" in shown) == (width >= 110)


def test_a_pool_tells_what_is_left_to_move() -> None:
    from rich.console import Console

    pool = {"name": "p", "kind": "pool", "outstanding": 0, "requests": {}}
    counted = {"extents_moved": 1, "resync_bytes": 1_000_000, "resync_left_bytes": 9_000_000}
    before = {**STATUS, "volumes": [*STATUS["volumes"], {**pool, "counters": {**counted, "resync_bytes": 0}}]}
    now = {**before, "uptime_ns": 4_000_000_000, "volumes": [*STATUS["volumes"], {**pool, "counters": counted}]}
    console = Console(width=120, record=True, force_terminal=True, file=io.StringIO())
    console.print(View({}).show(before, now, 120))
    assert "pool p 1 extents moved since the start rebalancing: 9 MB left" in " ".join(console.export_text().split())
    assert "rebalancing: 1 extents moved since the start, 9,000,000 bytes left" in text(now)


def busy(name: str, number: int) -> dict[str, Any]:
    """A volume that did that many requests of a megabyte each."""
    requests = {kind: counted(number, number * 1_000_000, number * 12_345_678) for kind in ("read", "write")}
    return {"name": name, "kind": "throttle", "outstanding": 123_456, "requests": requests, "counters": {}}


@pytest.mark.parametrize("width", [60, 72, 80, 100, 160])
def test_no_digit_is_dropped_on_any_screen(width: int) -> None:
    from rich.console import Console

    names = ["instance", "a-volume-with-quite-a-long-name"]
    before = {**STATUS, "volumes": [busy(name, 0) for name in names], "writeback": []}
    now = {**before, "uptime_ns": STATUS["uptime_ns"] + 1_000_000_000, "volumes": [busy(n, 1_234_567) for n in names]}
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(View().show(before, now, width))
    shown = console.export_text()
    assert shown.count("1,234,567") >= 4, "reads and writes of both volumes"
    assert shown.count("123,456") == 2
    assert "…" not in shown
    assert all(len(line.rstrip()) <= width for line in shown.splitlines())
    assert ("MB/s" in shown) == (width >= 80)


def test_traffic_by_files_and_devices_counts_too() -> None:
    from rich.console import Console

    fuse = {"mount": "/srv/volumes", "by": "io_uring", "outstanding": 7, "answered": 1000}
    device = {"path": "/dev/ublkb0", "export": "data", "outstanding": 2}
    before = {**STATUS, "fuse": fuse, "devices": [device], "clients": []}
    now = {**before, "uptime_ns": before["uptime_ns"] + 2_000_000_000, "fuse": {**fuse, "answered": 5000}}
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(View().show(before, now, 120))
    assert "0 clients, files at /srv/volumes 2,000/s, 9 outstanding" in console.export_text()


@pytest.mark.parametrize("terminal", ["xterm", "dumb"])
def test_q_ends_top_and_a_dumb_terminal_sees_its_looks(terminal: str, settings: Path) -> None:
    looks = [(200, {**STATUS, "uptime_ns": number * 1_000_000_000}) for number in range(1, 200)]
    server = StandIn(settings.with_name("status.sock"), looks)
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    command = [sys.executable, "-m", "fathom", "volume", "top", str(settings), "--interval", "0.1"]
    environment = {**os.environ, "TERM": terminal, "PYTHONPATH": str(Path(__file__).parents[2] / "python")}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        try:
            shown = b""
            until = time.monotonic() + 120
            while shown.count(b"fathomd") < 2 and time.monotonic() < until:
                if select.select([ours], [], [], 1)[0]:
                    shown += os.read(ours, 1 << 16)
            os.write(ours, b"xq")
            while process.poll() is None and time.monotonic() < until:
                if select.select([ours], [], [], 0.1)[0]:
                    shown += os.read(ours, 1 << 16)
        finally:
            process.kill()
    assert process.returncode == 0
    assert b"serving" in shown
    assert (b"\x1b[" in shown) == (terminal == "xterm")
    assert termios.tcgetattr(theirs) == before, "the terminal is as it was"
    os.close(ours)
    os.close(theirs)
    server.close()


def test_top_looks_as_often_as_it_is_told(settings: Path, runner: CliRunner) -> None:
    later = {**STATUS, "uptime_ns": 3_000_000_000}
    server = StandIn(settings.with_name("status.sock"), [(200, STATUS), (200, later)])
    done = runner.invoke(build(), ["volume", "top", str(settings), "--count", "1", "--interval", "0.1"])
    server.close()
    assert done.exit_code == 0, done.output
    assert server.asked == ["GET /status"] * 2


def test_two_cache_devices_are_shown_with_their_standing() -> None:
    from rich.console import Console

    legs = [{"name": "nvme1", "standing": "in-sync"}, {"name": "nvme2", "standing": "copying"}]
    group = {**STATUS["writeback"][0], "legs": legs, "copying_bytes": 5_000_000}
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(View().show(STATUS, {**STATUS, "writeback": [group]}, 200))
    assert "nvme1 in-sync, nvme2 copying  5 MB to copy" in console.export_text()
