"""What is packaged is sound: settings to fathomd, units to systemd, and the guide's commands to the command line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from fathom.export.settings import load
from fathom.export.target import ExportRequest, export, targets
from fathom.host.fathomd import Serving, ask, program

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "packaging/examples").glob("*.toml"))
UNITS = ROOT / "packaging/systemd"
SYSTEMD = next(target for target in targets() if target.name == "systemd")
GUIDE = (ROOT / "docs/CACHE-YOUR-CLOUD-VOLUME.md").read_text(encoding="utf-8")


def test_the_guide_and_the_folder_name_the_same_examples() -> None:
    table = re.search(r"\| file \| for \|\n.*?\n\n", GUIDE, re.DOTALL)
    assert table is not None
    assert set(re.findall(r"`([a-z-]+\.toml)`", table.group())) == {path.name for path in EXAMPLES}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_pass_the_daemons_check(path: Path) -> None:
    done = subprocess.run(
        [program(), "--check", "--settings-only", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_volumes_of_one_database_are_in_one_group(path: Path) -> None:
    caches = [volume for volume in tomllib.loads(path.read_text())["volumes"].values() if volume["kind"] == "writeback"]
    assert len(caches) <= 1 or {volume.get("group") for volume in caches} == {caches[0]["group"]}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_packaged_units_and_those_around_them_are_sound(path: Path, tmp_path: Path) -> None:
    settings = load(path)
    mounts = {name: f"/srv/{name}" for name in settings.exports}
    files, _ = export(SYSTEMD, ExportRequest(settings, {}, mounts, ("postgresql.service",)), frozenset())
    units = tmp_path / "etc/systemd/system"
    units.mkdir(parents=True)
    for name in ("usr/bin/fathomd", "usr/sbin/nbd-client"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    (units / "postgresql.service").write_text("[Service]\nExecStart=/usr/bin/fathomd\n")
    for unit in UNITS.glob("*.service"):
        shutil.copy(unit, units)
    for file in files:
        if file.name.startswith("system/"):
            place = units / file.name.removeprefix("system/")
            place.parent.mkdir(exist_ok=True)
            place.write_text(file.text)
    named = [str(unit) for unit in units.iterdir() if unit.suffix in {".service", ".mount"} and "@." not in unit.name]
    done = subprocess.run(
        [
            "systemd-analyze",
            "verify",
            "--man=no",
            "--recursive-errors=no",
            f"--root={tmp_path}",
            *named,
            str(units / "fathomd@x.service"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if " not found." not in line]
    assert (done.returncode, said) == (0, [])


@pytest.mark.parametrize("folder", ["/run/fathomd", "/run/fathomd-sql-server", "/run/100% mine", "/var/lib/fathom"])
def test_the_unit_of_a_settings_file_finds_it_and_makes_the_folder_of_its_sockets(tmp_path: Path, folder: str) -> None:
    path = tmp_path / "sql-server.toml"
    text = (ROOT / "packaging/examples/sql-server.toml").read_text(encoding="utf-8")
    path.write_text(text.replace("/run/fathomd/", f"{folder}/"), encoding="utf-8")
    files, _ = export(SYSTEMD, ExportRequest(load(path)), frozenset())
    (drop_in,) = (file for file in files if file.name.endswith(".service.d/10-volumes.conf"))
    assert drop_in.name == "system/fathomd@sql\\x2dserver.service.d/10-volumes.conf"
    packaged = (UNITS / "fathomd@.service").read_text(encoding="utf-8")
    # systemd.unit(5): %I is the instance's name without its escapes, %i with them.
    unit = (packaged + drop_in.text).replace("%i", "sql\\x2dserver").replace("%I", "sql-server")
    assert "ExecStart=/usr/bin/fathomd --log json /etc/fathom/sql-server.toml" in unit
    made = re.findall(r'^RuntimeDirectory="?(.*?)"?$', unit, re.MULTILINE)
    assert len(made) == len(set(made))
    assert folder.startswith("/var") or folder in {f"/run/{name.replace('%%', '%')}" for name in made}


def small(example: Path, at: Path) -> Path:
    """An example's settings with files of 64 MiB instead of devices, laid out anew."""
    device = r'\[volumes\.(.+)\]\nkind = "file"\npath = ".*"'
    file = r'[volumes.\1]\nkind = "file"\npath = "\1"\nsize = "64MiB"'
    text = re.sub(device, file, example.read_text(encoding="utf-8"))
    text = re.sub(r"^(durability = .*)$", r'\1\nsegment = "1MiB"', text, flags=re.MULTILINE)
    settings = at / "fathomd.toml"
    settings.write_text(text.replace("/run/fathomd", str(at)), encoding="utf-8")
    subprocess.run([program(), "--create", str(settings)], check=True)
    # From here on a file that is missing is a device that is missing.
    settings.write_text(settings.read_text().replace('size = "64MiB"\n', ""), encoding="utf-8")
    return settings


def standings(status: Path) -> set[str]:
    """How the drives of the caches stand."""
    return {leg["standing"] for group in ask(status, "GET", "/status")["writeback"] for leg in group["legs"]}


def test_one_of_two_drives_may_be_lost_as_the_example_says(tmp_path: Path) -> None:
    settings = small(ROOT / "packaging/examples/sql-server.toml", tmp_path)
    uri = f"nbd+unix:///data?socket={tmp_path}/nbd.sock"
    with Serving.start(settings, tmp_path / "log"):
        subprocess.run(["qemu-io", "-f", "raw", "-c", "write -P 5 0 64k", "-c", "flush", uri], check=True)

    def holds_it(*, both: bool = True) -> bool:
        with Serving.start(settings, tmp_path / "log"):
            done = subprocess.run(
                ["qemu-io", "-f", "raw", "-c", "read -P 5 0 64k", uri], capture_output=True, text=True, check=False
            )
            # A drive counts again once it was brought the log.
            until = time.monotonic() + 120
            while both and standings(tmp_path / "status.sock") != {"current"} and time.monotonic() < until:
                time.sleep(0.02)
        return done.returncode == 0 and "failed" not in done.stdout

    (tmp_path / "nvme2").write_bytes(bytes(64 << 20))
    assert holds_it(), "a blank drive is done without"
    (tmp_path / "nvme1").unlink()
    assert holds_it(both=False), "a drive that is gone is done without"
    text = re.sub(r"^cache_copy = .*\n", "", settings.read_text(), flags=re.MULTILINE)
    settings.write_text(text.replace('cache = "nvme1"', 'cache = "nvme2"').replace("cache-mirrored", "cache"))
    assert holds_it(), "what the example says to do"


@pytest.mark.parametrize("unit", ["fathomd.service", "fathomd@.service"])
def test_a_stop_may_take_as_long_as_a_drain(unit: str) -> None:
    text = (UNITS / unit).read_text(encoding="utf-8")
    limit = re.search(r"^TimeoutStopSec=(\d+)min$", text, re.MULTILINE)
    # A drain is kept to 30 s unless the settings say more, and then the exported drop-in says more.
    assert limit is not None
    assert int(limit.group(1)) * 60 >= 2 * 30 + 10
    assert "Type=notify" in text
    assert "--settings-only" in text, "verifying the devices twice would only make a start longer"


def capabilities() -> list[str]:
    """What the unit leaves the daemon, in `setpriv`'s words."""
    listed = re.search(r"^CapabilityBoundingSet=(.*)$", (UNITS / "fathomd.service").read_text(), re.MULTILINE)
    assert listed is not None
    return [f"+{name.removeprefix('CAP_').lower()}" for name in listed.group(1).split()]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give capabilities away")
def test_the_daemon_serves_a_cache_with_no_more_than_the_units_capabilities(tmp_path: Path) -> None:
    volumes = "".join(
        f'[volumes.{name}]\nkind = "file"\npath = "{tmp_path}/{name}"\nsize = "64MiB"\n' for name in ("ebs", "nvme")
    )
    settings = tmp_path / "fathomd.toml"
    settings.write_text(
        f'{volumes}[volumes.data]\nkind = "writeback"\nbacking = "ebs"\ncache = "nvme"\nsegment = "1MiB"\n'
        f'[exports.data]\nvolume = "data"\n[daemon]\nsocket = "{tmp_path}/nbd.sock"\n'
        f'status = "{tmp_path}/status.sock"\n'
    )
    bounded = ["setpriv", "--no-new-privs", f"--bounding-set=-all,{','.join(capabilities())}", "--inh-caps=-all"]
    subprocess.run([*bounded, program(), "--create", str(settings)], check=True)
    with subprocess.Popen([*bounded, program(), str(settings)]) as daemon:
        until = time.monotonic() + 120
        while not (tmp_path / "status.sock").exists() and daemon.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        size = subprocess.run(
            ["nbdinfo", "--size", f"nbd+unix:///data?socket={tmp_path}/nbd.sock"], capture_output=True, check=False
        )
        daemon.terminate()
        assert daemon.wait(120) == 0
    assert size.returncode == 0, size.stderr
    assert int(size.stdout) > 0


def test_the_two_units_differ_in_their_settings_only() -> None:
    one, many = ((UNITS / name).read_text(encoding="utf-8") for name in ("fathomd.service", "fathomd@.service"))

    def lines(text: str) -> set[str]:
        code = [line for line in text.splitlines() if line and not line.startswith(("#", "["))]
        return {
            line.replace("fathomd-%I", "fathomd").replace("%I.toml", "fathomd.toml").replace(" (%I)", "")
            for line in code
        } - {"Documentation=file:/usr/share/doc/fathom/FATHOMD.md"}

    assert lines(one) == lines(many)


def test_commands_of_the_guide_exist() -> None:
    commands = set(re.findall(r"`?fathom ((?:volume )?[a-z]+)\b", GUIDE))
    assert {"volume export", "volume top", "volume drain", "simulate"} <= commands
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", "fathom", *command.split(), "--help"], capture_output=True, check=False
        )
        assert done.returncode == 0, command
    options = set(re.findall(r"fathomd (--[a-z-]+)", GUIDE))
    told = subprocess.run([program(), "--help"], capture_output=True, text=True, check=True).stdout
    assert options
    assert all(option in told for option in options)
