"""The scripts for Storage Spaces, run through an instance's life on simulated cmdlets, every branch of them.

What a scenario shows is asserted in it; the last test runs them all and finds what none has walked through.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fathom.export.settings import parse
from fathom.export.target import CannotSayError, ExportRequest, export, targets
from powershell.cmdlets import cmdlets
from powershell.interpreter import Interpreter
from powershell.machine import GB, Disk, Machine, Virtual
from powershell.syntax import Walked, branches, syntax
from powershell.values import PowerShellError

TARGET = next(target for target in targets() if target.name == "storage-spaces")
CACHE = 200 << 30
SQL = ("MSSQLSERVER", "SQLSERVERAGENT")
CACHED: dict[str, Any] = {
    "volumes": {
        "first": {"kind": "file", "path": "/dev/a"},
        "second": {"kind": "file", "path": "/dev/b"},
        "nvme": {"kind": "file", "path": "/dev/c"},
        "stripe": {"kind": "stripe", "members": ["first", "second"]},
        "data": {"kind": "writeback", "backing": "stripe", "cache": "nvme", "size": CACHE},
    },
    "exports": {"data": {"volume": "data"}},
    "daemon": {"socket": "/run/s"},
}
PLAIN: dict[str, Any] = {
    "volumes": {"logs": {"kind": "model", "size": "100GiB"}},
    "exports": {"logs": {"volume": "logs", "read_only": True}},
    "daemon": {"socket": "/run/s"},
}
DEVICES = {"first": "vol1", "second": "vol2", "nvme": "local:2"}


def scripts(tree: dict[str, Any] = CACHED, **options: Any) -> dict[str, str]:
    """The exported files; the instance's user data as a script of its own."""
    given = {"devices": DEVICES, "spare": ("vol3",), "temp": "local:1", **options}
    made = export(TARGET, ExportRequest(parse(tree, Path("fathomd.toml")), **given), frozenset())[0]
    # Without the head, whose length depends on what there is to tell.
    texts = {file.name: re.sub(r"\A(# .*\n)+", "", file.text) for file in made}
    data = re.fullmatch(
        r"<powershell>\n(.*)</powershell>\n<persist>true</persist>\n", texts["user-data.txt"], re.DOTALL
    )
    assert data is not None
    return {**texts, "user-data.txt": data[1]}


class Lab:
    """An instance with two data volumes, a spare one and two local drives, and the scripts on it."""

    def __init__(self, walked: Walked) -> None:
        self.walked = walked
        self.files = scripts()
        self.machine = Machine({"vol1-a": 4000 * GB, "vol2-b": 4000 * GB, "vol3-c": 250 * GB}, 2, SQL)

    def run(self, name: str, **parameters: Any) -> str:
        """What a script wrote to the log."""
        before = len(self.machine.log)
        interpreter = Interpreter(cmdlets(self.machine), self.files, self.walked)
        try:
            interpreter.run(name, parameters)
        finally:
            self.said = "\n".join(self.machine.log[before:])
        return self.said

    def refused(self, name: str, words: str, **parameters: Any) -> str:
        """As `run`, for one that must end with an error."""
        with pytest.raises(PowerShellError, match=words):
            self.run(name, **parameters)
        return self.said

    def running(self) -> list[str]:
        return [name for name, service in self.machine.services.items() if service.Status == "Running"]

    def data(self) -> Virtual:
        return next(virtual for virtual in self.machine.virtuals() if virtual.FriendlyName == "data")

    def cache(self) -> dict[str, int]:
        """Bytes of cache by serial number, where there are any."""
        return {disk.SerialNumber: disk.cache for disk in self.machine.disks if disk.cache}


Scenario = Callable[[Lab], None]
SCENARIOS: list[Scenario] = []


def scenario(body: Scenario) -> Scenario:
    SCENARIOS.append(body)
    return body


@scenario
def the_first_start_makes_both_drives_then_starts_sql_server(lab: Lab) -> None:
    said = lab.run("start.ps1")
    assert set(lab.machine.letters()) == {"S", "D"}
    assert lab.running() == list(SQL)
    assert "[MSSQLSERVER started with drives D S]" in said, "the drives come before the database"
    assert lab.cache() == {"AWS011": CACHE}
    usage = {disk.SerialNumber: disk.Usage for disk in lab.machine.disks}
    assert usage == {
        "vol1-a": "Manual-Select",
        "vol2-b": "Manual-Select",
        "vol3-c": "Retired",
        "AWS010": "Auto-Select",
        "AWS011": "Journal",
    }
    assert "S:\\tempdb" in lab.machine.directories
    for when in ("at the start", "with drive S:", "with the cache in place"):
        assert f"state {when}:" in said
    assert re.search(r"virtual disk data: Healthy, OK, cache 214748364800 bytes", said)
    assert re.search(r"disk NVMe Amazon EC2 NVMe AWS011: Healthy, OK, Journal, holds 214748364800 of", said)


@scenario
def user_data_does_what_the_start_script_does(lab: Lab) -> None:
    lab.run("user-data.txt")
    assert lab.running() == list(SQL)
    assert lab.files["user-data.txt"].startswith("$CacheSize = @{ 'data' = 214748364800 }")


@scenario
def a_planned_stop_moves_the_cache_and_the_next_start_brings_it_back(lab: Lab) -> None:
    lab.machine.serial_port = True
    lab.run("start.ps1")
    said = lab.run("stop.ps1", stop=True)
    assert lab.machine.stopped
    assert lab.running() == []
    assert said.index("stopped SQLSERVERAGENT") < said.index("stopped MSSQLSERVER") < said.index("moving a cache")
    assert "moving a cache of 214748364800 bytes; at 4 s per GB this takes about 859 s" in said
    assert "Repair: 50 %" in said
    for when in ("before the stop", "with the cache moved", "safe to stop"):
        assert f"state {when}:" in said
    assert lab.cache() == {"vol3-c": CACHE}
    lab.machine.end(stop=True)
    said = lab.run("start.ps1")
    assert lab.cache() == {"AWS021": CACHE}, "on a drive that was not there before"
    assert lab.machine.disk("vol3-c").Usage == "Retired"
    assert lab.running() == list(SQL)
    assert "made drive D:" not in said


@scenario
def a_second_stop_finds_the_cache_moved_already(lab: Lab) -> None:
    lab.run("start.ps1")
    lab.run("stop.ps1")
    assert "the cache has been moved already" in lab.run("stop.ps1")
    assert not lab.machine.stopped


@scenario
def a_reboot_leaves_the_cache_where_it_is_and_makes_s_anew(lab: Lab) -> None:
    lab.run("start.ps1")
    lab.machine.pool("FathomTemp").IsReadOnly = True  # type: ignore[union-attr]
    lab.machine.end(stop=False)
    said = lab.run("start.ps1")
    assert "the cache is where it was" in said
    assert "dropped the pool FathomTemp of an earlier start" in said
    lab.machine.end(stop=False)
    lab.run("start.ps1")
    assert set(lab.machine.letters()) == {"S", "D"}


@scenario
def after_a_crash_nothing_is_dropped_without_being_asked(lab: Lab) -> None:
    lab.run("start.ps1")
    lab.machine.end(stop=True)
    before = [(disk.SerialNumber, disk.data) for disk in lab.machine.disks if not disk.local]
    said = lab.refused("start.ps1", "cannot be trusted. The way back")
    assert "SQL Server is not started" in said
    assert "the virtual disk data is detached: Incomplete" in said
    assert said.rindex("state at the failure:") > said.index("SQL Server is not started")
    assert lab.running() == []
    assert [(disk.SerialNumber, disk.data) for disk in lab.machine.disks if not disk.local] == before
    assert lab.machine.pool("Fathom") is not None


@scenario
def after_a_crash_recreate_drops_the_pool_and_says_what_is_lost(lab: Lab) -> None:
    lab.run("start.ps1")
    lab.machine.end(stop=True)
    lab.machine.pool("Fathom").IsReadOnly = True  # type: ignore[union-attr]
    said = lab.run("start.ps1", recreate=True)
    assert "WARNING: -Recreate: all virtual disks of the pool Fathom are dropped with everything on them" in said
    assert "read-only: Incomplete" in said
    assert said.index("WARNING") < said.index("state with the pool dropped:") < said.index("made drive D:")
    assert lab.cache() == {"AWS021": CACHE}
    assert lab.running() == list(SQL)


@scenario
def recreate_leaves_a_sound_pool_alone(lab: Lab) -> None:
    lab.run("start.ps1")
    lab.machine.end(stop=False)
    assert "WARNING" not in lab.run("start.ps1", recreate=True)


@scenario
def recreate_drops_a_pool_that_can_be_written_as_well(lab: Lab) -> None:
    lab.run("start.ps1")
    lab.machine.end(stop=True)
    assert "WARNING: -Recreate" in lab.run("start.ps1", recreate=True)


@scenario
def a_detached_or_offline_virtual_disk_is_brought_back(lab: Lab) -> None:
    lab.run("start.ps1")
    virtual = lab.data()
    for manual in (True, False):
        virtual.detached, virtual.IsManualAttach, virtual.IsOffline = "By Policy", manual, True
        said = lab.run("start.ps1")
        assert "attached data, which was detached: By Policy" in said
        assert "data was offline" in said
        assert not virtual.IsManualAttach
    assert lab.running() == list(SQL)


@scenario
def another_size_of_cache_is_told_and_changes_nothing(lab: Lab) -> None:
    lab.run("start.ps1")
    lab.files = {name: text.replace("= 214748364800 }", "= 42949672960 }") for name, text in lab.files.items()}
    said = lab.run("start.ps1")
    assert "warning: data has a cache of 214748364800 bytes, not 42949672960" in said


@scenario
def disks_that_come_late_are_waited_for_but_not_for_ever(lab: Lab) -> None:
    lab.machine.attach_later("vol2-b", 60)
    said = lab.run("start.ps1")
    assert said.count("waiting: 0 disks are called vol2; exactly one is needed") == 12
    other = Lab(lab.walked)
    other.machine.attach_later("vol2-b", 600)
    said = other.refused("start.ps1", "0 disks are called vol2", patience=60)
    assert other.machine.pool("Fathom") is None
    assert said.count("waiting") == 12


@scenario
def a_disk_that_holds_something_is_refused_before_anything_is_made(lab: Lab) -> None:
    lab.machine.disk("vol2-b").formatted = True
    lab.refused("start.ps1", "vol2-b cannot be pooled: Insufficient Capacity")
    assert lab.machine.pool("Fathom") is None
    other = Lab(lab.walked)
    other.machine.disk("AWS010").formatted = True
    other.refused("start.ps1", "cannot be pooled for tempdb")


@scenario
def a_new_local_drive_that_holds_something_is_not_taken(lab: Lab) -> None:
    lab.run("start.ps1")
    lab.run("stop.ps1")
    lab.machine.end(stop=True)
    lab.machine.disk("AWS021").formatted = True
    lab.refused("start.ps1", "AWS021 cannot be pooled")
    assert lab.cache() == {"vol3-c": CACHE}
    assert lab.running() == []


@scenario
def a_spare_disk_smaller_than_the_cache_is_refused(lab: Lab) -> None:
    lab.machine.disk("vol3-c").Size = 100 * GB
    lab.refused("start.ps1", "vol3-c has 100000000000 bytes, the cache needs 214748364800")
    assert lab.machine.pool("Fathom") is None


@scenario
def less_cache_than_asked_for_is_an_error(lab: Lab) -> None:
    made = cmdlets(lab.machine)["New-VirtualDisk"]
    interpreter = Interpreter(
        {**cmdlets(lab.machine), "New-VirtualDisk": lambda call: shrunk(made(call))}, lab.files, lab.walked
    )

    def shrunk(found: list[Any]) -> list[Any]:
        if found[0]["WriteCacheSize"]:
            found[0]["WriteCacheSize"] = GB
        return found

    with pytest.raises(PowerShellError, match="asked for 214748364800 bytes of cache on data, got 1000000000"):
        interpreter.run("start.ps1")


@scenario
def a_stop_refuses_what_it_cannot_do_and_stops_no_server(lab: Lab) -> None:
    lab.refused("stop.ps1", "there is no pool Fathom", stop=True)
    lab.run("start.ps1")
    spare = lab.machine.disk("vol3-c")
    spare.failed = True
    lab.refused("stop.ps1", "the pool Fathom is Warning, Degraded", stop=True)
    pool = lab.machine.pool("Fathom")
    assert pool is not None
    pool.disks.remove(spare)
    said = lab.refused("stop.ps1", "the spare disk vol3-c is not in the pool", stop=True)
    assert "NOT safe to stop" in said
    pool.disks.append(spare)
    spare.failed, spare.Size = False, GB
    lab.refused("stop.ps1", "the spare disk vol3-c is Healthy and has 1000000000 bytes", stop=True)
    assert lab.running() == list(SQL)
    assert not lab.machine.stopped


@scenario
def a_move_that_fails_is_not_safe_and_the_start_script_undoes_it(lab: Lab) -> None:
    lab.run("start.ps1")
    lab.machine.repair_fails = True
    said = lab.refused("stop.ps1", "AWS011 still holds 214748364800 bytes", stop=True)
    assert "NOT safe to stop" in said
    assert not lab.machine.stopped
    assert lab.cache() == {"AWS011": CACHE}
    lab.machine.repair_fails = False
    lab.run("start.ps1")
    assert lab.cache() == {"AWS011": CACHE}
    assert lab.machine.disk("AWS011").Usage == "Journal"
    assert lab.running() == list(SQL)


@scenario
def a_start_cut_short_while_the_cache_moved_is_finished_by_the_next(lab: Lab) -> None:
    lab.run("start.ps1")
    lab.machine.disk("AWS011").cache -= 50 << 30
    lab.machine.disk("vol3-c").cache += 50 << 30
    lab.machine.end(stop=False)
    said = lab.run("start.ps1")
    assert "moving a cache" in said
    assert lab.cache() == {"AWS011": CACHE}
    assert lab.machine.disk("vol3-c").Usage == "Retired"


@scenario
def a_repair_that_cannot_begin_is_an_error(lab: Lab) -> None:
    lab.run("start.ps1")
    taken = cmdlets(lab.machine)["Stop-Service"]

    def detached(call: Any) -> list[Any]:
        lab.data().detached = "By Policy"
        return taken(call)

    with pytest.raises(PowerShellError, match="because it is detached"):
        Interpreter({**cmdlets(lab.machine), "Stop-Service": detached}, lab.files, lab.walked).run("stop.ps1")
    assert not lab.machine.stopped


@scenario
def a_state_that_cannot_be_read_hides_no_reason(lab: Lab) -> None:
    lab.run("start.ps1")

    def unreadable(_call: Any) -> list[Any]:
        raise PowerShellError("access denied")

    with pytest.raises(PowerShellError, match="access denied"):
        Interpreter({**cmdlets(lab.machine), "Get-VirtualDisk": unreadable}, lab.files, lab.walked).run("stop.ps1")
    said = "\n".join(lab.machine.log)
    assert "NOT safe to stop: access denied" in said
    assert "the state cannot be read: access denied" in said


@scenario
def the_drive_of_tempdb_is_waited_for_as_well(lab: Lab) -> None:
    lab.files = scripts(temp="vol4")
    lab.machine.disks.append(Disk("NVMe Amazon Elastic B", "vol4-d", 100 * GB))
    lab.machine.attach_later("vol4-d", 60)
    assert lab.run("start.ps1").count("waiting: 0 disks are called vol4") == 12
    assert lab.running() == list(SQL)


@scenario
def an_emptied_drive_that_is_gone_is_taken_out_of_the_pool(lab: Lab) -> None:
    lab.run("start.ps1")
    lab.run("stop.ps1")
    pool, drive = lab.machine.pool("Fathom"), lab.machine.disk("AWS011")
    assert pool is not None
    pool.disks.append(drive)  # as if the stop had been cut short before it took the drive out
    drive.pool = pool
    drive.Usage = "Retired"
    lab.machine.end(stop=True)
    said = lab.run("start.ps1")
    assert "AWS011 is gone and held nothing; it is out of the pool" in said
    assert lab.cache() == {"AWS021": CACHE}


@scenario
def a_virtual_disk_that_is_missing_or_unhealthy_is_a_problem(lab: Lab) -> None:
    lab.run("start.ps1")
    virtual = lab.data()
    virtual.lost = True
    assert "the virtual disk data is Unhealthy, OK" in lab.refused("start.ps1", "cannot be trusted")
    virtual.pool.virtuals.remove(virtual)
    assert "the pool has 0 virtual disks data" in lab.refused("start.ps1", "cannot be trusted")


@scenario
def without_its_drive_sql_server_does_not_start(lab: Lab) -> None:
    lab.run("start.ps1")
    lab.machine.end(stop=False)
    next(one for one in lab.machine.virtuals() if one.letter == "D").letter = None
    lab.refused("start.ps1", "there is no drive D: of data")
    assert lab.running() == []


@scenario
def an_instance_without_the_agent_or_the_server_is_none_the_worse(lab: Lab) -> None:
    lab.machine.services.clear()
    lab.run("start.ps1")
    lab.run("stop.ps1")


@scenario
def too_few_local_drives_are_told(lab: Lab) -> None:
    lab.machine.disks = [disk for disk in lab.machine.disks if disk.SerialNumber != "AWS011"]
    lab.refused("start.ps1", "1 local NVMe drives are here; local:2 is not among them", patience=0)


@scenario
def pools_without_a_cache_need_neither_spare_disk_nor_tempdb_drive(lab: Lab) -> None:
    lab.files = scripts(PLAIN, devices={"logs": "eui.vol3-c"}, spare=(), temp=None)
    assert "stop.ps1" not in lab.files
    lab.run("start.ps1")
    logs = lab.machine.letters()["D"]
    assert (logs.Size, logs.IsReadOnly, logs.WriteCacheSize) == (100 << 30, True, 0)
    lab.machine.end(stop=False)
    lab.run("start.ps1")
    assert lab.running() == list(SQL)


@scenario
def sql_server_waits_for_the_start_script(lab: Lab) -> None:
    lab.run("register.ps1")
    assert {service.StartupType for service in lab.machine.services.values()} == {"Manual"}
    assert lab.machine.tasks == []
    assert "stop.ps1 -Stop alone" in lab.run("register.ps1", task=True)
    assert lab.machine.tasks == ['powershell.exe -NoProfile -ExecutionPolicy Bypass -File "C:\\f\\start.ps1"']
    assert list(lab.machine.registry.values()) == [3600]


@pytest.mark.parametrize("walk", SCENARIOS, ids=lambda walk: walk.__name__)
def test_in_the_life_of_an_instance(walk: Scenario) -> None:
    walk(Lab(Walked()))


def test_every_statement_and_both_sides_of_every_condition_are_walked_through() -> None:
    walked = Walked()
    for walk in SCENARIOS:
        walk(Lab(walked))
    lacking = []
    # The user data is the start script over again: its branches are counted there.
    for name in ("settings.ps1", "start.ps1", "stop.ps1", "register.ps1"):
        script = scripts()[name]
        lines = script.splitlines()
        ran, outcomes = branches(name, script)
        lacking += [f"{place[0]}:{place[1] + 1}: {lines[place[1]].strip()}" for place in sorted(ran - walked.ran)]
        missed = sorted(outcomes - walked.outcomes)
        lacking += [f"{place[0]}:{place[1] + 1}: never {place[3]}: {lines[place[1]].strip()}" for place in missed]
    assert lacking == []


def test_the_walk_notices_a_branch_that_nobody_takes() -> None:
    files = {"a.ps1": "if ($true) { 1 } else { 2 }\n"}
    walked = Walked()
    Interpreter({}, files, walked).run("a.ps1")
    ran, outcomes = branches("a.ps1", files["a.ps1"])
    assert len(ran - walked.ran) == 1
    assert len(outcomes - walked.outcomes) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"spare": ()}, "moves the cache from 1 local disks to as many spare ones, not 0"),
        ({"spare": ("vol3", "vol4")}, "not 2"),
        ({"spare": ("vol1",)}, "vol1 is named twice"),
        ({"temp": "local:2"}, "local:2 is named twice"),
    ],
)
def test_disks_have_one_place_each_and_the_cache_one_to_go_to(options: dict[str, Any], words: str) -> None:
    with pytest.raises(CannotSayError, match=words):
        scripts(**options)


def test_user_data_that_ec2_would_not_take_is_refused() -> None:
    tree = json.loads(json.dumps(PLAIN))
    names = [f"a-volume-with-a-rather-long-name-{number}" for number in range(18)]
    tree["volumes"] = {name: {"kind": "model", "size": "100GiB"} for name in names}
    tree["exports"] = {name: {"volume": name} for name in names}
    with pytest.raises(CannotSayError, match="EC2 takes 16384"):
        scripts(tree, devices={name: name for name in names}, spare=(), temp=None)


def test_every_script_is_powershell_and_scopes_hide_nothing() -> None:
    """PowerShell's variables know no case: `$pool` inside a function is another `$Pool`."""
    shared = {"cachesize", "slow", "fast", "spare", "temp", "pool", "temppool", "spaces", "services"}
    for name, script in scripts().items():
        syntax(script)
        body = script.split("Set-StrictMode")[-1]
        assigned = {found.lower() for found in re.findall(r"(?m)^\s*\$(\w+)\s*=", body)}
        assert not assigned & shared, name
