"""Messages of a device that fails or of damaged data: said before what to record, and no load is advised."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from fathom.cli import codes
from fathom.cli.app import build
from fathom.diagnose import log as reader
from fathom.diagnose.source import LogError

SMART = "smartctl 7.3 2022-02-28 r5338 [x86_64-linux] (local build)\n=== START OF SMART DATA SECTION ===\n"
SERVER = "2026-03-02 02:14:07.53 Server      Microsoft SQL Server 2022\n2026-03-02 02:31:12.44 spid61      "
POSTGRESQL = "2026-03-02 09:00:12.114 UTC [1123] LOG:  checkpoint starting: time\n2026-03-02 09:00:31.002 UTC [1123] "
MYSQL = "2026-03-02T22:00:18.131193Z 0 [System] [MY-010116] ready\n2026-03-02T22:00:19.131193Z 0 [ERROR] [MY-011] "
NVME = "[ 8121.221001] nvme nvme1: I/O 512 QID 3 timeout, aborting\n"
NAMED = {
    "SMART failed": (f"{SMART}SMART overall-health self-assessment test result: FAILED!\n", 3, "replace the drive"),
    "SMART's warning": (f"{SMART}Critical Warning:                   0x04\n", 3, "replace the drive"),
    "SMART's errors": (f"{SMART}Media and Data Integrity Errors:    412\n", 3, "replace the drive"),
    "SMART's sectors": (f"{SMART}197 Current_Pending_Sector 0x0012 100 100 0 Old_age Always - 8\n", 3, "replace"),
    "nvme": ("Smart Log for NVME device:nvme0n1 namespace-id:ffffffff\ncritical_warning : 0x1\n", 2, "replace"),
    "NVMe is down": (f"{NVME}[ 8183.1] nvme nvme1: controller is down; will reset: CSTS=0xffffffff\n", 2, "smartctl"),
    "kernel": (f"{NVME}[ 8183.1] blk_update_request: I/O error, dev nvme1n1, sector 8 op 0x1:(WRITE)\n", 2, "smartctl"),
    "lost write": (f"{NVME}[ 8183.1] Buffer I/O error on dev nvme1n1, logical block 1, lost async page write\n", 2,
                   "copy what can still be read"),
    "read-only": (f"{NVME}[ 8183.1] EXT4-fs (nvme1n1): Remounting filesystem read-only\n", 2, "smartctl"),
    "823": (f"{SERVER}Error: 823, Severity: 24, State: 2.\n", 2, "DBCC CHECKDB"),
    "824": (f"{SERVER}Error: 824, Severity: 24, State: 2.\n", 2, "DBCC CHECKDB"),
    "825": (f"{SERVER}Error: 825, Severity: 10, State: 2.\n", 2, "DBCC CHECKDB"),
    "fsync": (f'{POSTGRESQL}PANIC:  could not fsync file "base/1": Input/output error\n', 2, "do not trust"),
    "checksum": (f"{POSTGRESQL}WARNING:  page verification failed, calculated checksum 1 but expected 2\n", 2,
                 "pg_checksums --check"),
    "InnoDB": (f"{MYSQL}[InnoDB] Database page corruption on disk or a failed read of page 4\n", 2, "dump what can"),
    "unknown": ("A log of our own\nThe device, \\Device\\Harddisk1\\DR1, has a bad block.\n", 2, "replace the drive"),
    "far behind": (NVME * 3000 + "[ 8183.1] EXT4-fs error (device sda1): ext4_find_entry\n", 3001, "copy"),
}  # fmt: skip
FINE = {
    "SMART passed": f"{SMART}SMART overall-health self-assessment test result: PASSED\nCritical Warning: 0x00\n",
    "SMART is warm": f"{SMART}Critical Warning: 0x02\nMedia and Data Integrity Errors:    0\nPercentage Used: 112%\n",
    "SMART's sectors": f"{SMART}197 Current_Pending_Sector 0x0012 100 100 0 Old_age Always - 0\n",
    "timeout": NVME,
    "no disc": f"{NVME}[ 8183.1] blk_update_request: I/O error, dev sr0, sector 8\n",
    "833": f"{SERVER}SQL Server has encountered 3 occurrence(s) of I/O requests taking longer than 15 seconds\n",
    "statement": f"{POSTGRESQL}ERROR:  syntax error at or near x\n",
}


def refusal(path: Path, text: str) -> LogError:
    path.write_text(text)
    with pytest.raises(LogError) as raised:
        reader.read([path])
    return raised.value


@pytest.mark.parametrize("case", NAMED)
def test_damage_is_named_before_what_to_record(tmp_path: Path, case: str) -> None:
    text, line, first = NAMED[case]
    error = refusal(tmp_path / "log", text)
    assert error.line == line
    assert "this log names" in str(error)
    remedy = str(error.remedy)
    assert "put no load on" in remedy
    assert remedy.index(first) < remedy.index("only then record")


@pytest.mark.parametrize("case", FINE)
def test_messages_without_damage_are_not_called_so(tmp_path: Path, case: str) -> None:
    error = refusal(tmp_path / "log", FINE[case])
    assert "this log names" not in str(error)
    assert "record" in str(error.remedy)


def test_several_lines_are_counted_and_the_exit_code_is_that_of_a_refusal(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(NAMED["lost write"][0] + "[ 8183.2] EXT4-fs (nvme1n1): Remounting filesystem read-only\n")
    done = CliRunner().invoke(build(), ["diagnose", str(path)])
    assert done.exit_code == codes.BROKEN
    assert "(2 such lines)" in done.output
