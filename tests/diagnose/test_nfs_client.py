"""D35 and what else is told of NFS mounts: slots, the network, the file server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from make_iostat import disk, iostat
from make_nfsiostat import EXPORT, HEALTHY, LOST, POINT, SLOTS, SLOW, Load, report, reports, varied
from make_nfsiostat import SINCE_MOUNT as FIRST
from test_surroundings import advice, diagnosed

from fathom.diagnose.diagnose import Diagnosis, Outcome
from fathom.diagnose.report.names import cleaned


def of(tmp_path: Path, load: Load | list[Load], **options: bool) -> Diagnosis:
    path = tmp_path / "nfsiostat.txt"
    path.write_text(reports(load if isinstance(load, list) else varied(load), **options))
    return diagnosed(path)


def rules(found: Diagnosis) -> set[str]:
    return {each.rule for each in found.findings}


def test_a_healthy_mount(tmp_path: Path) -> None:
    found = of(tmp_path, HEALTHY)
    assert (found.verdict.outcome, found.verdict.rule) == (Outcome.HEALTHY, "D25"), found.verdict


def test_a_mount_whose_requests_wait_for_slots(tmp_path: Path) -> None:
    found = of(tmp_path, SLOTS)
    assert (found.verdict.rule, found.findings[0].subject) == ("D35", POINT), found.verdict
    assert "for a free slot of its connection" in found.verdict.sentence
    assert found.findings[0].confidence == 0.85
    evidence = "\n".join(each.sentence for each in found.findings[0].evidence)
    assert "are spent in the client" in evidence
    assert "Each request sent meets 90.0 without a slot" in evidence
    for command in (
        f"umount {POINT}; mount -t nfs -o OPTIONS,nconnect=8 {EXPORT} {POINT}",
        "sysctl -w sunrpc.tcp_max_slot_table_entries=128",
        "options nfs max_session_slots=180",
        f"ss -tn dst {EXPORT.partition(':')[0]}",
    ):
        assert command in advice(found)
    assert not {"D1", "D2", "D26", "L2"} & rules(found)
    for other in ("pvscsi", "queue_depth", "az disk", "esxcli"):
        assert other not in advice(found)


def test_before_queue_times_were_printed_they_are_what_the_round_trip_leaves(tmp_path: Path) -> None:
    found = of(tmp_path, SLOTS, queue=False, errors=False)
    assert found.verdict.rule == "D35", found.verdict
    assert "they wait 21" in found.verdict.sentence or "they wait 22" in found.verdict.sentence


def test_requests_wait_although_no_slot_of_the_connection_is_short(tmp_path: Path) -> None:
    """NFSv4.1's session: 64 requests on their way all the time."""
    found = of(tmp_path, varied(replace(SLOTS, backlog=0.0, reads=31000)))
    assert found.verdict.rule == "D35", found.verdict
    assert found.findings[0].confidence == 0.7
    assert "NFSv4.1's session" in found.findings[0].evidence[1].sentence
    assert advice(found).index("max_session_slots") < advice(found).index("tcp_max_slot_table_entries")


def test_a_mount_with_several_connections_is_not_told_to_have_them(tmp_path: Path) -> None:
    found = of(tmp_path, replace(SLOTS, connections=4))
    assert found.verdict.rule == "D35", found.verdict
    assert "nconnect" not in advice(found)
    assert "It has at least 4 connections already" in advice(found)


def test_a_mount_that_is_slow_for_a_part_of_the_time(tmp_path: Path) -> None:
    found = of(tmp_path, [*varied(HEALTHY, 60), *varied(SLOTS, 20)])
    assert found.verdict.rule == "D35", found.verdict
    assert "in 100 s of" in found.verdict.sentence


@pytest.mark.parametrize(
    "load",
    [
        replace(HEALTHY, queue_ms=1.5, backlog=4.0),  # waits, and is still fast
        replace(SLOW, queue_ms=9.0, backlog=4.0),  # waits for less than half of its time
    ],
)
def test_a_queue_that_is_not_what_takes_the_time(tmp_path: Path, load: Load) -> None:
    assert "D35" not in rules(of(tmp_path, load))


def test_seven_intervals_are_too_few(tmp_path: Path) -> None:
    assert "D35" not in rules(of(tmp_path, varied(SLOTS, 7)))


def test_a_slow_file_server_or_network(tmp_path: Path) -> None:
    found = of(tmp_path, SLOW)
    assert (found.verdict.outcome, found.verdict.rule) == (Outcome.LIMIT, "L2"), found.verdict
    assert "is in the network or on the file server" in found.verdict.sentence
    assert f"ping -c 20 {EXPORT.partition(':')[0]}" in advice(found)
    assert "D35" not in rules(found)
    assert "esxi" not in advice(found)


def test_requests_that_are_sent_again(tmp_path: Path) -> None:
    found = of(tmp_path, [replace(each, again=90 if at % 4 == 0 else 0) for at, each in enumerate(varied(LOST))])
    assert found.verdict.rule == "D35", found.verdict
    assert "The network to the file server" in found.verdict.sentence
    assert "were sent again" in found.verdict.sentence
    assert "in 25 % of the intervals" in found.findings[0].evidence[0].sentence
    assert "nstat -az TcpRetransSegs" in advice(found)
    assert "nconnect" not in advice(found)


def test_what_is_lost_comes_before_the_slots_that_it_fills(tmp_path: Path) -> None:
    found = of(tmp_path, replace(SLOTS, again=300))
    assert [each.rule for each in found.findings].count("D35") == 1
    assert "sent again" in found.verdict.sentence


def test_requests_that_end_with_an_error(tmp_path: Path) -> None:
    found = of(tmp_path, replace(LOST, again=0, errors=60))
    assert found.verdict.rule == "D35", found.verdict
    assert "ended with an error" in found.verdict.sentence


@pytest.mark.parametrize("load", [replace(HEALTHY, again=1), replace(HEALTHY, errors=1)])
def test_few_of_them_are_no_cause(tmp_path: Path, load: Load) -> None:
    """One in 4,500."""
    assert of(tmp_path, load).verdict.rule == "D25"


def test_a_link_that_is_full_is_a_limit_and_no_lack_of_slots(tmp_path: Path) -> None:
    """1.25 GB/s: 10 Gbit/s, at 128 KiB."""
    rate = 1.25e9
    loads = []
    for at in range(80):
        waiting = 4 + 3 * (at % 40)
        latency_ms = max(0.9, waiting * 128 * 1024 / rate * 1e3)
        reads = round(5 * min(rate / (128 * 1024), waiting / latency_ms * 1e3))
        loads.append(Load(reads, 0, 0.55 * latency_ms, 0.43 * latency_ms, 0.5 * waiting))
    path = tmp_path / "log"
    path.write_text(reports(loads).replace("           8.262", "         128.000"))
    text = "".join(
        line.replace(line.split()[1], f"{float(line.split()[0]) * 128:.3f}", 1) if "128.000" in line else line
        for line in path.read_text().splitlines(keepends=True)
    )
    path.write_text(text)
    found = diagnosed(path)
    assert found.verdict.rule == "D5", found.verdict


def test_a_mount_beside_the_disks_of_its_machine(tmp_path: Path) -> None:
    """Idle disks clear no slow mount, and the mount is none of an adapter's disks."""
    import numpy as np

    local = iostat(tmp_path / "iostat.txt", {"sda": disk(np.full(80, 40.0), np.full(80, 0.4))})
    local.write_text(local.read_text().partition("\n")[2])
    stamped = tmp_path / "nfsiostat.txt"
    parts = [report(FIRST, seconds=86412.0), *map(report, varied(SLOTS, 79))]
    lines = (
        f"2026-03-02 22:{5 * at // 60:02d}:{5 * at % 60:02d} {line}\n"
        for at, part in enumerate(parts) for line in part.splitlines()
    )  # fmt: skip
    stamped.write_text("".join(lines))
    found = diagnosed(local, stamped)
    assert (found.verdict.rule, found.findings[0].subject) == ("D35", POINT), found.verdict


def test_two_mounts_of_equal_load_are_no_stripe(tmp_path: Path) -> None:
    path = tmp_path / "log"
    text = report(FIRST, seconds=86412.0) + report(FIRST, "/log", "nas:/log", seconds=86412.0)
    for one, other in zip(varied(HEALTHY), varied(replace(HEALTHY, trip_ms=19.0)), strict=True):
        text += report(one) + report(other, "/log", "nas:/log")
    path.write_text(text)
    found = diagnosed(path)
    assert "D27" not in rules(found)
    assert (found.verdict.rule, found.findings[0].subject) == ("L2", "/log"), found.verdict


@pytest.mark.parametrize("name", ["/mnt/$(reboot)", "/mnt/a;b", "/mnt/`id`"])
def test_names_that_a_shell_would_take_for_more_are_not_in_commands(tmp_path: Path, name: str) -> None:
    path = tmp_path / "log"
    path.write_text(reports(varied(SLOTS)).replace(POINT, name).replace(EXPORT, f"srv:{name}"))
    found = diagnosed(path)
    assert found.verdict.rule == "D35", found.verdict
    commands = [command for each in found.findings for remedy in each.remedies for command in remedy.commands]
    assert commands
    assert not any(name in command for command in commands)
    assert any("SERVER:/EXPORT MOUNT_POINT" in command for command in commands)


def test_server_and_mount_point_are_replaced_where_names_must_not_be_told(tmp_path: Path) -> None:
    found = cleaned(of(tmp_path, SLOTS), anonymise=True)
    assert "pgsql" not in repr(found)
    assert "0123456789abcdef0" not in repr(found)
