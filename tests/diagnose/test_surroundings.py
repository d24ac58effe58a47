"""Advice is for the system that the log is of: no other cloud, no ESXi on NVMe, no SQL Server on plain Linux."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from make_pdh import pdh, stamps

from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import Diagnosis, Outcome, diagnose

COUNT = 60
RANDOM = np.random.default_rng(7)


def iostat(
    path: Path, *, iops: np.ndarray, queue: np.ndarray, device: str, kernel: str = "6.1.0-13-amd64", cpu: float = 10.0
) -> Path:
    """Reports of `iostat -xt 5` of one disk that is read in 8 KiB."""
    lines = [f"Linux {kernel} (db1) \t03/02/2026 \t_x86_64_\t(8 CPU)\n"]
    for at, (rate, load) in enumerate(zip(iops, queue, strict=True)):
        lines += [
            f"03/02/2026 {10 + at // 720:02}:{at // 12 % 60:02}:{at * 5 % 60:02} AM",
            "avg-cpu:  %user   %nice %system %iowait  %steal   %idle",
            f"     {cpu:.2f}    0.00    0.00    0.00    0.00   {100 - cpu:.2f}\n",
            "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util",
            f"{device} {rate:.2f} 0.00 {8 * rate:.2f} 0.00 {1000 * load / rate:.3f} 0.00 {load:.3f} 90.00\n",
        ]
    path.write_text("\n".join(lines) + "\n")
    return path


def diagnosed(*paths: Path) -> Diagnosis:
    with reader.read(paths) as log:
        return diagnose(log)


def advice(found: Diagnosis) -> str:
    remedies = [remedy for finding in found.findings for remedy in finding.remedies]
    return "\n".join(text for each in remedies for text in (each.action, *each.commands, each.risk or ""))


def throttled() -> tuple[np.ndarray, np.ndarray]:
    load = np.where(np.arange(COUNT) % 20 < 10, RANDOM.uniform(2, 10, COUNT), RANDOM.uniform(40, 90, COUNT))
    return np.minimum(3000 * RANDOM.normal(1, 0.002, COUNT), load / 0.0012), load


@pytest.mark.parametrize(
    ("kernel", "there", "absent"),
    [
        ("6.1.0-13-cloud-aws", "aws ec2 modify-volume", "az disk"),
        ("6.1.0-1019-azure", "az disk update", "aws ec2"),
        ("6.1.0-13-amd64", "aws ec2 modify-volume", "az disk"),  # 3,000 IOPS are what AWS sells
    ],
)
def test_a_kernel_of_a_cloud_gets_the_commands_of_that_cloud(
    tmp_path: Path, kernel: str, there: str, absent: str
) -> None:
    iops, load = throttled()
    found = diagnosed(iostat(tmp_path / "log", iops=iops, queue=load, device="nvme1n1", kernel=kernel))
    assert found.verdict.rule == "D5", found.verdict
    assert there in advice(found)
    assert absent not in advice(found)
    tools = " ".join(each.collect for each in found.missing)
    assert ("esxtop" in tools) is (kernel == "6.1.0-13-amd64"), tools
    assert "SQLServer:" not in tools


@pytest.mark.parametrize(
    ("kernel", "own"),
    [
        ("5.15.0-1051-gcp", "gcloud compute disks update"),
        ("5.15.0-1051-gke", "gcloud compute disks update"),
        ("5.15.0-1051-aws", "aws ec2 modify-volume"),
        ("5.15.0-1051-azure", "az disk update"),
    ],
)
def test_no_cloud_gets_the_commands_of_another(tmp_path: Path, kernel: str, own: str) -> None:
    """A round number, which any of them may sell."""
    load = np.where(np.arange(COUNT) % 20 < 10, RANDOM.uniform(2, 10, COUNT), RANDOM.uniform(140, 290, COUNT))
    iops = np.minimum(15000 * RANDOM.normal(1, 0.002, COUNT), load / 0.0012)
    found = diagnosed(iostat(tmp_path / "log", iops=iops, queue=load, device="sdc", kernel=kernel))
    assert (found.verdict.rule, found.verdict.confidence) == ("D5", 0.6), found.verdict
    commands = [command for each in found.findings for remedy in each.remedies for command in remedy.commands]
    assert any(command.startswith(own) for command in commands)
    clouds = {command.split()[0] for command in commands} & {"aws", "az", "gcloud"}
    assert clouds == {own.split(maxsplit=1)[0]}
    assert ("EBS" in advice(found)) is kernel.endswith("aws")
    assert ("pd-ssd has 30 IOPS" in advice(found)) is own.startswith("gcloud")


@pytest.mark.parametrize(("device", "host"), [("nvme1n1", False), ("sdb", False), ("sdb", True), ("nvme1n1", True)])
def test_a_full_queue_is_one_of_pvscsi_only_where_something_says_vmware(
    tmp_path: Path, device: str, *, host: bool
) -> None:
    queue = np.where(np.arange(COUNT) % 3 == 0, RANDOM.integers(5, 40, COUNT), 64.0)
    latency = np.where(queue == 64, 0.020, 0.012)
    logs = [iostat(tmp_path / "log", iops=queue / latency, queue=queue, device=device)]
    if host:
        counters = [r"\\esx1\Physical Cpu(_Total)\% Util Time", r"\\esx1\Group Cpu(71:sql01)\% Ready"]
        logs.append(tmp_path / "host")
        logs[1].write_text(pdh([("30", "3")] * COUNT, counters, zone="(PDH-CSV 4.0) (UTC)(0)", times=stamps(COUNT)))
    found = diagnosed(*logs)
    assert any(finding.rule == "D1" for finding in found.findings), found.verdict
    vmware = host and device == "sdb"
    assert ("PVSCSI" in advice(found)) is vmware
    said = " ".join(each.sentence for finding in found.findings for each in finding.evidence)
    assert ("PVSCSI" in said) is vmware, said
    assert ("the queues of many drivers" in said) is (device == "sdb" and not host)
    assert ("See which depth the driver gives the disk" in advice(found)) is not vmware
    assert "REG ADD" not in advice(found), "no registry on Linux"


@pytest.mark.parametrize(
    ("device", "file"),
    [
        ("nvme1n1", "/sys/module/nvme/parameters/io_queue_depth"),
        ("vdb", "nr_requests\n"),
        ("sdb", "device/queue_depth"),
    ],
)
def test_the_depth_of_a_driver_is_where_the_driver_has_it(tmp_path: Path, device: str, file: str) -> None:
    queue = np.where(np.arange(COUNT) % 3 == 0, RANDOM.integers(5, 40, COUNT), 64.0)
    latency = np.where(queue == 64, 0.020, 0.012)
    found = diagnosed(iostat(tmp_path / "log", iops=queue / latency, queue=queue, device=device))
    assert any(finding.rule == "D1" for finding in found.findings), found.verdict
    assert file in advice(found)
    assert ("device/queue_depth" in advice(found)) is (device == "sdb")


@pytest.mark.parametrize(
    ("device", "there", "absent"), [("vda", "virsh domblklist", "esxi"), ("sdb", "record --print esxi", "virsh")]
)
def test_what_to_record_next_is_what_is_below(tmp_path: Path, device: str, there: str, absent: str) -> None:
    iops = 600 * RANDOM.normal(1, 0.05, COUNT)
    found = diagnosed(iostat(tmp_path / "log", iops=iops, queue=iops * 0.021, device=device))
    assert "L2" in {each.rule for each in found.findings}, found.verdict
    assert there in advice(found)
    assert absent not in advice(found)
    assert ("esxtop" in str(found.missing)) is (device == "sdb")


def test_linux_without_sql_server_gets_no_statements_of_it(tmp_path: Path) -> None:
    calm = np.full(COUNT, 900.0)
    found = diagnosed(iostat(tmp_path / "log", iops=calm, queue=calm / 1000, device="sdb", cpu=97.0))
    assert found.verdict.rule == "D25"
    assert "sys.dm_" not in advice(found)
    assert "pg_stat_statements" in advice(found)


def test_windows_gets_what_is_of_windows(tmp_path: Path) -> None:
    queue = np.where(np.arange(200) % 3 == 0, RANDOM.integers(5, 40, 200), 64.0)
    latency = np.where(queue == 64, 0.020, 0.012) * RANDOM.normal(1, 0.05, 200)
    counters = ("Disk Reads/sec", "Disk Read Bytes/sec", "Avg. Disk sec/Read", "Current Disk Queue Length")
    rows = [
        [f"{value:.9f}" for value in (load / slow, load / slow * 8192, slow, load)]
        for load, slow in zip(queue, latency, strict=True)
    ]
    paths = [rf"\\SQL01\PhysicalDisk(1 D:)\{counter}" for counter in counters]
    (tmp_path / "log").write_text(pdh(rows, paths, times=stamps(200)))
    said = advice(diagnosed(tmp_path / "log"))
    assert "REG ADD" in said
    assert "Linux:" not in said


@pytest.mark.parametrize("cpu", [90.0, 88.0])
def test_busy_processors_are_the_cause_even_where_a_disk_is_slow(tmp_path: Path, cpu: float) -> None:
    """No log of waits, and requests that take longer than they should: the processors have no time left to wait."""
    iops = 60 * RANDOM.normal(1, 0.05, COUNT)
    found = diagnosed(iostat(tmp_path / "log", iops=iops, queue=iops * 0.009, device="sdb", cpu=cpu))
    assert (found.verdict.outcome, found.verdict.rule) == (Outcome.HEALTHY, "D25")
    assert "the processors are" in found.verdict.sentence


def test_a_device_that_only_passes_on_is_no_second_disk(tmp_path: Path) -> None:
    iops, load = throttled()
    path = iostat(tmp_path / "log", iops=iops, queue=load, device="nvme1n1")
    lines = []
    for line in path.read_text().splitlines():
        lines += [line.replace("nvme1n1", "dm-0"), line] if line.startswith("nvme1n1") else [line]
    path.write_text("\n".join(lines) + "\n")
    found = diagnosed(path)
    assert [disk.device for disk in found.system.disks] == ["nvme1n1"]
    assert not any("dm-0" in finding.what for finding in found.findings)
    # A cache answers sooner than what is below it: that is another device.
    slower = [line.split() for line in lines if line.startswith("nvme1n1")]
    text = "\n".join(lines)
    for cells in slower:
        text = text.replace(" ".join(cells), " ".join([*cells[:5], str(5 * float(cells[5])), *cells[6:]]))
    path.write_text(text + "\n")
    assert {disk.device for disk in diagnosed(path).system.disks} == {"nvme1n1", "dm-0"}


def test_idle_processors_clear_no_slow_disk(tmp_path: Path) -> None:
    iops = 60 * RANDOM.normal(1, 0.05, COUNT)
    found = diagnosed(iostat(tmp_path / "log", iops=iops, queue=iops * 0.009, device="sdb", cpu=40.0))
    assert found.verdict.rule != "D25"


def cloudwatch(path: Path, values: dict[str, np.ndarray], resource: str = "") -> Path:
    """An answer of get-metric-data with one value a minute."""
    times = [f"2026-03-02T{8 + at // 60:02}:{at % 60:02}:00Z" for at in range(COUNT)]
    results = [
        {"Id": f"m{at}", "Label": f"{name} {resource}".strip(), "Timestamps": times, "Values": list(series)}
        for at, (name, series) in enumerate(values.items())
    ]
    path.write_text(json.dumps({"MetricDataResults": results}))
    return path


@pytest.mark.parametrize(
    ("resource", "identifier"), [("", "DB-ID"), ("DBInstanceIdentifier=orders", "orders"), ("orders", "DB-ID")]
)
def test_rds_gets_commands_of_rds(tmp_path: Path, resource: str, identifier: str) -> None:
    """Its volumes cannot be changed by EBS's commands, and its operating system cannot be reached."""
    iops, load = throttled()
    values = {"ReadIOPS": iops, "ReadLatency": load / iops, "DiskQueueDepth": load, "ReadThroughput": iops * 8192}
    found = diagnosed(cloudwatch(tmp_path / "log", values, resource))
    assert found.verdict.rule == "D5", found.verdict
    said = advice(found)
    assert "More IOPS or throughput than gp3 has as sold cost more." in said
    assert "Costs more." not in said, "gp3 itself costs RDS no more than gp2"
    assert (
        f"aws rds modify-db-instance --db-instance-identifier {identifier} --storage-type gp3 --iops N "
        "--storage-throughput M --apply-immediately"
    ) in said
    assert "400 GiB" in said
    assert not any(word in said for word in ("aws ec2", "EBS", "az disk", "Linux:", "REG ADD"))


def test_rds_gets_a_larger_class_and_no_figures_of_gp3_as_sold(tmp_path: Path) -> None:
    calm = np.full(COUNT, 900.0)
    values = {"ReadIOPS": calm, "ReadLatency": calm / 1e6, "EBSIOBalance%": np.linspace(50, -20, COUNT).clip(0)}
    found = diagnosed(cloudwatch(tmp_path / "log", values, "DBInstanceIdentifier=orders"))
    assert found.verdict.rule == "D6", found.verdict
    assert "--db-instance-identifier orders --db-instance-class CLASS" in advice(found)
    assert "while the class changes" in advice(found)
    assert not any(word in advice(found) for word in ("tempdb", "aws ec2", "instance store"))
    values["BurstBalance"] = values.pop("EBSIOBalance%")
    found = diagnosed(cloudwatch(tmp_path / "log", values, "DBInstanceIdentifier=orders"))
    assert found.verdict.rule == "D7", found.verdict
    assert "--db-instance-identifier orders --storage-type gp3 --apply-immediately" in advice(found)


@pytest.mark.parametrize(("balance", "name"), [(None, "gp3 as sold by default"), (99.0, "gp2 while it bursts")])
def test_a_volume_with_a_balance_of_credits_is_no_gp3(tmp_path: Path, balance: float | None, name: str) -> None:
    iops, load = throttled()
    values = {"ReadIOPS": iops, "ReadLatency": load / iops, "DiskQueueDepth": load, "ReadThroughput": iops * 8192}
    values |= {} if balance is None else {"BurstBalance": np.full(COUNT, balance)}
    found = diagnosed(cloudwatch(tmp_path / "log", values, "DBInstanceIdentifier=orders"))
    assert found.verdict.rule == "D5", found.verdict
    assert f"a known limit ({name}" in found.verdict.sentence


def test_azure_has_no_balance_of_that_name(tmp_path: Path) -> None:
    used = {"Data Disk Read Operations/Sec": np.full(COUNT, 500.0)}
    used["Data Disk Used Burst IO Credits Percentage"] = np.full(COUNT, 100.0)
    found = diagnosed(azure(tmp_path / "log", "virtualMachines/sql1", used))
    assert found.verdict.rule == "D7", found.verdict
    assert "BurstBalance" not in str(found.findings)


def test_a_premium_ssd_of_azure_gets_its_next_tier(tmp_path: Path) -> None:
    """IOPS cannot be set for it: only Ultra Disk and Premium SSD v2 have such a setting."""
    load = throttled()[1]
    iops = np.minimum(5000 * RANDOM.normal(1, 0.002, COUNT), load / 0.0012)
    values = {"Data Disk Read Operations/Sec": iops, "Data Disk Queue Depth": load}
    found = diagnosed(azure(tmp_path / "log", "virtualMachines/sql1", values))
    assert found.verdict.rule == "D5", found.verdict
    said = advice(found)
    assert "az disk update --name DISK --resource-group shop --set tier=P40" in said
    assert "--disk-iops-read-write" not in said
    assert "az vm show --resource-group shop --name sql1 " in said


def test_an_azure_disk_of_unknown_kind_gets_both_settings(tmp_path: Path) -> None:
    used = {"Data Disk Read Operations/Sec": np.full(COUNT, 900.0)}
    used["Data Disk IOPS Consumed Percentage"] = np.full(COUNT, 100.0)
    said = advice(diagnosed(azure(tmp_path / "log", "virtualMachines/a;b", used)))
    assert "--set tier=PNN # Premium SSD" in said
    assert "--disk-iops-read-write N --disk-mbps-read-write M # Ultra Disk, Premium SSD v2" in said
    assert "--name VM " in said, "a name that a shell may take for more stays out"


def azure(path: Path, resource: str, values: dict[str, np.ndarray]) -> Path:
    """What `az monitor metrics list` prints of a machine, split by LUN."""
    name = f"/subscriptions/s/resourceGroups/shop/providers/Microsoft.Compute/{resource}"
    lun = [{"name": {"value": "LUN"}, "value": "0"}]
    metrics = [
        {
            "id": f"{name}/providers/Microsoft.Insights/metrics/{metric}",
            "name": {"value": metric},
            "timeseries": [
                {
                    "metadatavalues": lun,
                    "data": [
                        {"timeStamp": f"2026-03-02T{8 + at // 60:02}:{at % 60:02}:00Z", "average": float(value)}
                        for at, value in enumerate(series)
                    ],
                }
            ],
        }
        for metric, series in values.items()
    ]
    path.write_text(json.dumps({"value": metrics}))
    return path


def test_fsx_gets_commands_of_fsx(tmp_path: Path) -> None:
    calm = np.full(COUNT, 54_000.0)
    values = {"DataReadOperations": calm, "DiskIopsUtilization": np.full(COUNT, 99.0)}
    found = diagnosed(cloudwatch(tmp_path / "log", values, "fs-0123456789abcdef0"))
    assert found.verdict.rule == "D5", found.verdict
    assert "aws fsx update-file-system --file-system-id fs-0123456789abcdef0 " in advice(found)
    assert "aws ec2" not in advice(found)


def test_commands_name_the_volume_that_the_log_names(tmp_path: Path) -> None:
    iops, load = throttled()
    values = {"VolumeReadOps": 60 * iops, "VolumeTotalReadTime": 60 * load, "VolumeQueueLength": load}
    named = diagnosed(cloudwatch(tmp_path / "log", values, "vol-0123456789abcdef0"))
    assert "modify-volume --volume-id vol-0123456789abcdef0 " in advice(named)
    # Without a name it is the one that is described; of two it may be either.
    log, description = cloudwatch(tmp_path / "log", values), tmp_path / "volumes.json"
    volumes = [
        {"VolumeId": name, "VolumeType": "gp3", "Size": 100} for name in ("vol-0123456789abcdef0", "vol-0fedcba98")
    ]
    for count, wanted in ((1, "vol-0123456789abcdef0 "), (2, "vol-ID ")):
        description.write_text(json.dumps({"Volumes": volumes[:count]}))
        assert f"modify-volume --volume-id {wanted}" in advice(diagnosed(log, description))


def test_a_disk_of_the_guest_is_named_by_its_link_alone(tmp_path: Path) -> None:
    """A description of a volume does not tell which disk it is."""
    iops, load = throttled()
    kernel = "6.1.0-13-cloud-aws"
    description = tmp_path / "volumes.json"
    description.write_text(
        json.dumps({"Volumes": [{"VolumeId": "vol-0123456789abcdef0", "VolumeType": "gp3", "Size": 100}]})
    )
    log = iostat(tmp_path / "log", iops=iops, queue=load, device="nvme1n1", kernel=kernel)
    assert "--volume-id vol-ID " in advice(diagnosed(log, description))
    link = "nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0"
    log = iostat(tmp_path / "log", iops=iops, queue=load, device=link, kernel=kernel)
    assert "--volume-id vol-0123456789abcdef0 " in advice(diagnosed(log))


def test_commands_name_the_instance_that_the_logs_name(tmp_path: Path) -> None:
    calm = np.full(COUNT, 5_400.0)
    values = {"EBSReadOps": calm, "InstanceEBSIOPSExceededCheck": np.ones(COUNT)}
    found = diagnosed(cloudwatch(tmp_path / "log", values, "i-0123456789abcdef0"))
    assert found.verdict.rule == "D6", found.verdict
    assert "--instance-id i-0123456789abcdef0 --instance-type TYPE" in advice(found)
    # The type of an instance that runs cannot be changed, and stopping has consequences of its own.
    commands = [each for finding in found.findings for remedy in finding.remedies for each in remedy.commands]
    assert [each.split()[2] for each in commands] == ["stop-instances", "modify-instance-attribute", "start-instances"]
    assert "its local disks (instance store) are empty afterwards" in advice(found)
    assert "Azure" not in advice(found)


def test_an_instance_s_limit_leaves_no_neighbour_to_ask_for(tmp_path: Path) -> None:
    slow = np.arange(COUNT) % 20 >= 12
    iops = np.where(slow, 1200, 1800) * RANDOM.normal(1, 0.02, COUNT)
    load = iops * np.where(slow, 0.030, 0.0011)
    values = {"VolumeReadOps": 60 * iops, "VolumeTotalReadTime": 60 * load, "VolumeQueueLength": load}
    alone = cloudwatch(tmp_path / "volume", values, "vol-0123456789abcdef0")
    neighbour = diagnosed(alone)
    assert "D20" in {each.rule for each in neighbour.findings}
    assert "a case with the provider" in advice(neighbour), "no storage team can be asked"
    exceeded = {"InstanceEBSThroughputExceededCheck": np.where(slow, 1.0, 0.0)}
    found = diagnosed(alone, cloudwatch(tmp_path / "instance", exceeded, "i-0123456789abcdef0"))
    assert found.verdict.rule == "D6", found.verdict
    assert "D20" not in {each.rule for each in found.findings}
