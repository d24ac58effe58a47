"""Cases as files: perfmon CSV and BLG, iostat text and JSON, esxtop, CloudWatch, traces, views of databases."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import numpy as np
from make_nfsiostat import SINCE_MOUNT, report
from make_pdh import pdh, stamps

from cases import database
from cases.traces import blktrace, wpa
from cases.windows import blg, windows_counters
from cases.world import START, Case, Disk, World


def export(case: Case, world: World, folder: Path) -> list[Path]:
    """The case as one or more files, in a format that can hold it."""
    files = []
    if case.disks or case.counters:
        linux = case.linux_only or not (case.windows_only or world.chance(0.6))
        makers = (_iostat_json, _iostat_text) if linux else (_perfmon, blg)
        if linux and world.chance(0.5):
            _count_at_completion(case.disks)
        files.append(makers[int(world.random.integers(len(makers)))](case, world, folder))
    if case.devices:
        files.append(_esxtop(case, folder))
    if case.mounts:
        files.append(_nfsiostat(case, folder))
    if case.cloud:
        files.append(_cloudwatch(case, folder))
    if case.trace is not None:
        files.append((wpa, blktrace)[int(world.random.integers(2))](case.trace, folder))
    files += database.views(case, folder)
    if case.facts:
        path = folder / "volume.json"
        path.write_text(json.dumps({"Volumes": [case.facts]}))
        files.append(path)
    if case.allocation:
        path = folder / "volumes.txt"
        drives = (f"DriveLetter        : {letter}\nFileSystem         : NTFS\nAllocationUnitSize : {unit}\n"
                  for letter, unit in case.allocation.items())  # fmt: skip
        path.write_text("\n" + "\n".join(drives), "utf-16")
        files.append(path)
    return files


def _perfmon(case: Case, world: World, folder: Path) -> Path:
    columns = windows_counters(case, world)
    table = np.array(list(columns.values())).T
    lost = world.random.random(table.shape) < 0.01
    rows = [
        [" " if gone else f"{value:.12g}" for value, gone in zip(*pair, strict=True)]
        for pair in zip(table, lost, strict=True)
    ]
    path = folder / "perfmon.csv"
    times = stamps(len(rows), START, case.interval_s)
    names = [rf"\\SQL01\{name}" for name in columns]
    path.write_text(pdh(rows, names, zone="(PDH-CSV 4.0) (UTC)(0)", times=times))
    return path


def _count_at_completion(disks: list[Disk]) -> None:
    """Linux since 5.0 adds the time of a request to the queue's when it ends: what hangs is in no queue."""
    for disk in disks:
        disk.mean_queue = disk.reads * disk.read_s + disk.writes * disk.write_s
        if disk.flushes is not None and disk.flush_s is not None:
            disk.mean_queue = disk.mean_queue + disk.flushes * disk.flush_s


_KERNELS = {None: "6.1.0", "aws": "6.1.0-1036-aws", "azure": "6.1.0-1019-azure"}


def _names(case: Case, disk: Disk, place: int) -> str:
    if case.platform == "aws":
        return f"nvme{place}n1"
    return disk.name if disk.name.startswith(("sd", "dm-")) else f"sd{'abcdef'[place]}"


def _columns(disk: Disk, at: int) -> dict[str, float]:
    flushes = (
        {}
        if disk.flushes is None or disk.flush_s is None
        else {"f/s": disk.flushes[at], "f_await": disk.flush_s[at] * 1e3}
    )
    return {
        "r/s": disk.reads[at], "rkB/s": disk.reads[at] * disk.read_bytes[at] / 1024, "r_await": disk.read_s[at] * 1e3,
        "rareq-sz": disk.read_bytes[at] / 1024, "w/s": disk.writes[at],
        "wkB/s": disk.writes[at] * disk.write_bytes[at] / 1024,
        "w_await": disk.write_s[at] * 1e3, "wareq-sz": disk.write_bytes[at] / 1024, **flushes,
        "aqu-sz": disk.mean_queue[at], "%util": min(100.0, 100 * disk.mean_queue[at]),
    }  # fmt: skip


def _cpu(case: Case, at: int) -> tuple[float, float]:
    used = 20.0 if case.cpu is None else float(case.cpu[at])
    return 0.8 * used, 0.2 * used


def _iostat_text(case: Case, world: World, folder: Path) -> Path:
    lines = [f"Linux {_KERNELS[case.platform]} (db1) \t03/02/26 \t_x86_64_\t(8 CPU)", ""]
    for at in range(world.count):
        moment = START + timedelta(seconds=case.interval_s * (at + 1))
        user, system = _cpu(case, at)
        lines += [f"{moment:%m/%d/%y %H:%M:%S}", "avg-cpu:  %user   %nice %system %iowait  %steal   %idle",
                  f"{user:.2f} 0.00 {system:.2f} 0.00 0.00 {100 - user - system:.2f}", ""]  # fmt: skip
        rows = [(_names(case, disk, place), _columns(disk, at)) for place, disk in enumerate(case.disks)]
        heads = list(dict.fromkeys(name for _, row in rows for name in row))
        lines.append(f"Device {' '.join(heads)}")
        lines += [f"{name} {' '.join(f'{row.get(head, 0.0):.2f}' for head in heads)}" for name, row in rows]
        lines += ["", ""]
    path = folder / "iostat.txt"
    path.write_text("\n".join(lines))
    return path


def _iostat_json(case: Case, world: World, folder: Path) -> Path:
    reports = []
    for at in range(world.count):
        moment = START + timedelta(seconds=case.interval_s * (at + 1))
        user, system = _cpu(case, at)
        disks = []
        for place, disk in enumerate(case.disks):
            row = {name.replace("%util", "util"): round(float(value), 2) for name, value in _columns(disk, at).items()}
            disks.append({"disk_device": _names(case, disk, place), **row})
        cpu = {"user": user, "nice": 0.0, "system": system, "iowait": 0.0, "steal": 0.0, "idle": 100 - user - system}
        reports.append({"timestamp": f"{moment:%Y-%m-%dT%H:%M:%S}+0000", "avg-cpu": cpu, "disk": disks})
    host = {"nodename": "db1", "sysname": "Linux", "release": _KERNELS[case.platform], "machine": "x86_64",
            "number-of-cpus": 8, "date": "2026-03-02", "statistics": reports}  # fmt: skip
    path = folder / "iostat.json"
    path.write_text(json.dumps({"sysstat": {"hosts": [host]}}))
    return path


def _esxtop(case: Case, folder: Path) -> Path:
    columns = {
        rf"\\esx1\Physical Disk SCSI Device({device})\{name}": values
        for device, counters in case.devices.items() for name, values in counters.items()
    }  # fmt: skip
    rows = [[f"{value:.6f}" for value in row] for row in np.array(list(columns.values())).T]
    path = folder / "esxtop.csv"
    times = stamps(len(rows), START, case.interval_s)
    path.write_text(pdh(rows, list(columns), zone="(PDH-CSV 4.0) (UTC)(0)", times=times))
    return path


def _nfsiostat(case: Case, folder: Path) -> Path:
    """As `nfsiostat | ts` of all mounts; the report since the mount has no noise of the case's own."""
    firsts = "".join(report(SINCE_MOUNT, point, seconds=86411.0) for point in case.mounts)
    texts = [firsts] + [
        "".join(report(load, point, seconds=case.interval_s) for point, load in zip(case.mounts, loads, strict=True))
        for loads in zip(*case.mounts.values(), strict=True)
    ]
    path = folder / "nfsiostat.txt"
    moments = (START + timedelta(seconds=case.interval_s * at) for at in range(len(texts)))
    lines = (
        f"{moment:%Y-%m-%d %H:%M:%S} {line}\n"
        for moment, text in zip(moments, texts, strict=True)
        for line in text.splitlines()
    )
    path.write_text("".join(lines))
    return path


def _cloudwatch(case: Case, folder: Path) -> Path:
    results = []
    for name, values in case.cloud.items():
        resource = "i-0123456789abcdef0" if name.startswith("EBS") else "vol-0123456789abcdef0"
        times = [f"{START + timedelta(seconds=60 * n):%Y-%m-%dT%H:%M:%S}+00:00" for n in range(len(values))]
        entry = {
            "Id": f"m{len(results)}",
            "Label": f"{name} {resource}",
            "Timestamps": times,
            "Values": [float(v) for v in values],
        }
        results.append(entry)
    path = folder / "cloudwatch.json"
    path.write_text(json.dumps({"MetricDataResults": results}))
    return path
