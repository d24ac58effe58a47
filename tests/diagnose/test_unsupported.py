"""What DBAs have most often and Fathom does not read: named, with the reason and what to record instead."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from fathom.diagnose import log as reader
from fathom.diagnose.source import LogError

SLOW = "SQL Server has encountered 3 occurrence(s) of I/O requests taking longer than 15 seconds to complete on file"
CLEANER = "[Note] InnoDB: page_cleaner: 1000ms intended loop took 4711ms. The settings might not be optimal."
SLOW_STATEMENT = "# User@Host: app[app] @ db1 [10.0.0.7]  Id: 11\n# Query_time: 12.000371  Lock_time: 0.000004"
CHECKPOINTS = "LOG:  checkpoints are occurring too frequently (7 seconds apart)"
POSTGRESQL = ("log of messages", "postgresql")
CASES = {
    "833 as a page shows it": (
        f"2026/03/02 22:00:01 spid8s {SLOW}\n[E:\\data\\shop.ndf] in database [shop] (5).\n", "833", "sqlserver",
    ),
    "833": (
        f"2026-03-02 22:00:01.480 spid51      Starting up database 'shop'.\n\n2026-03-02 22:00:31.480 spid6s {SLOW}\n",
        "833", "windows",
    ),
    "error log": ("2026-03-02 22:00:01.4 Server      Microsoft SQL Server\n", "error log of SQL Server", "sqlserver"),
    "a table for the screen without its dashes": (
        "sample_time  wait_type  waiting_tasks_count  wait_time_ms\n2026-03-02 22:00:00  WRITELOG    9      9\n",
        "cannot be told apart", "Comma delimited",
    ),
    "collectl -P": (
        "#Date Time [DSK:sda]Name [DSK:sda]Reads [DSK:sda]RMerge\n20261102 01:00:00 sda 900 0\n", "collectl", "iostat",
    ),
    "atop -P": ("RESET\nDSK db1 1793494800 2026/11/02 01:00:00 1 sda 990 900 14400 300 4800\nSEP\n", "atop", "iostat"),
    "pmrep": (
        'Time,"disk.dev.read-sda","disk.dev.r_await-sda"\n2026-11-02 01:00:00,900.1,40.1\n', "pmrep", "fathom record",
    ),
    "a chart of vSphere": (
        '"Time","virtual disk read latency - scsi0:1 (Millisecond)"\n"11/02/2026, 01:00:00 AM","1"\n', "vSphere Client",
        "Get-Stat -Entity",
    ),
    "waits": ("WaitType\tWait_S\tResource_S\tSignal_S\nWRITELOG\t9\t9\t0\n", "summed since its start", "sqlserver"),
    "slow statements": (f"# Time: 2026-03-02T22:00:18.131193Z\n{SLOW_STATEMENT}\n", "slow statements", "iostat"),
    "slow statements behind their head": (
        f"/usr/sbin/mysqld, Version: 8.0.36. started with:\n{SLOW_STATEMENT}\n", "slow statements", "iostat",
    ),
    "page_cleaner": (f"2026-03-02T22:00:18.131193Z 0 {CLEANER}\n", "page_cleaner reports late writes", "iostat"),
    "page_cleaner of a container": (f"db_1   | 2026-03-02  5:02:04 1402 {CLEANER}\n", "page_cleaner", "iostat"),
    "MySQL": ("2026-03-02T22:00:18.131193Z 0 [System] [MY-010116] ready\n", "error log of MySQL", "fathom record"),
    "InnoDB": ("Log sequence number 17065240\nLog flushed up to   17065235\n", "status of MySQL", "fathom record"),
    "InnoDB's pool": (
        "1 pending log flushes, 0 pending\n-----\nBUFFER POOL AND MEMORY\n-----\n", "status of MySQL", "iostat",
    ),
    "PostgreSQL without a prefix": (f'{CHECKPOINTS}\nHINT:  Consider "max_wal_size".\n', *POSTGRESQL),
    "PostgreSQL by syslog": (f"Mar  2 22:00:39 db1 postgres[1080]: [1-1] {CHECKPOINTS}\n", *POSTGRESQL),
    "PostgreSQL of a cloud": (
        f"2026-03-02T22:00:56+00:00 app[postgres.4882]: [RED] [15-1]  sql_error_code = 00000 {CHECKPOINTS}\n",
        *POSTGRESQL,
    ),
    "PostgreSQL as JSON": (
        '{"timestamp":"2026-03-02 22:00:02.096 UTC","error_severity":"LOG","message":"checkpoint starting"}\n',
        *POSTGRESQL,
    ),
    "PostgreSQL of Kubernetes": (
        '{"level":"info","ts":1772488802.09,"logger":"postgres","msg":"record","record":{}}\n', *POSTGRESQL,
    ),
    "PostgreSQL of Google": (
        '{"insertId":"s=a4","logName":"projects/shop/logs/cloudsql.googleapis.com%2Fpostgres.log","textPayload":"x"}\n',
        *POSTGRESQL,
    ),
    "PostgreSQL as CSV": (
        '2026-03-02 22:00:02.096 UTC,,,600,,63.258,4,,2026-03-02 22:00:00 UTC,,0,LOG,00000,"starting",,\n',
        *POSTGRESQL,
    ),
    "kernel": ("[60386.019927] nvme nvme0: I/O 210 QID 4 timeout\n", "messages of the kernel", "iostat"),
    "kernel by syslog": ("Mar  2 22:00:39 db1 kernel: sd 0:0:0:0: [sda] late\n", "messages of the kernel", "iostat"),
    "SMART": ("Smart Log for NVME device:nvme0n1 namespace-id:ffffffff\nwarning : 0\n", "SMART data", "iostat"),
    "fio": ("job: (groupid=0, jobs=1): err= 0: pid=17: Mon Mar  2 22:00:04 2026\n", "tell their load", "fathom record"),
    "collectl": ("#Time     Name       KBytes Merged  IOs Size  Wait  KBytes Merged\n", "collectl's tables", "iostat"),
    "collectl's groups": ("# collectl -sD\n#         <---------reads-------->\n", "collectl's tables", "iostat"),
    "gstat": ("dT: 1.002s  w: 1.000s\n L(q)  ops/s    r/s   kBps   ms/r\n", "screen of gstat", "postgresql"),
    "esxtop's screen": (
        " 5:14:30pm up 12 days 20:30, 322 worlds, 12 VMs, 24 vCPUs\n", "screen of esxtop", "esxi",
    ),
    "vmstat below uptime": (
        "~ # uptime\n 12:34:14 up 2 days\n\n####\n\n~ # vmstat 5\n\nprocs -----------memory---------- ---swap--\n",
        "vmstat", "iostat",
    ),
    "waits for the screen": (
        "wait_type            waiting_tasks_count  wait_time_ms\n------ ----- ----\nWRITELOG 41221331 1236639930\n",
        "sums since its start", "sqlserver",
    ),
    "vSAN's view": (
        '"Time","Write Latency (us)","Congestions","Outstanding IO"\n"2026-03-02 09:00:00","41221","212","84"\n',
        "vSAN's performance view", "VsanPerfQueryPerf",
    ),
    "a chart of Google Cloud": (
        "TimeSeries ID,vm1/pg-data\ntimestamp,instance/disk/read_ops_count\n2026-03-02T09:00:00Z,3000\n",
        "neither the metric nor its unit", "timeSeries.list",
    ),
    "psql -x": ("-[ RECORD 1 ]-+-----\nnow           | 2026-03-02 22:00:00+00\n", "expanded", "--csv"),
    "sqlcmd's wrapped lines": (
        "sample_time                 database_name\n    phy\nsical_name\n------------- -----------\n------ ---\n",
        "whose lines are wrapped", "-W -w 65535",
    ),
    "sp_BlitzFirst": ("CheckDate,Seconds,wait_type,Per Core Per Second\n2026-03-02,5,X,3.0\n", "Blitz", "sqlserver"),
    "sp_BlitzFirst's files": ("Pattern,Sample Time,File Name,Avg Stall (ms)\nREADS,2026,x,33\n", "Blitz", "sqlserver"),
    "sp_BlitzFirst's findings": ("Priority FindingsGroup  Finding\n-------- ------ ----\n", "Blitz", "sqlserver"),
    "latencies of drives": (
        "Drive Volume Mount Point Read Latency Write Latency Overall Latency\n----- -----\n", "means since its start",
        "sqlserver",
    ),
    "Azure Data Studio": ('[\n {\n  "sample_time": "2026",\n  "num_of_reads": "1"\n }\n]\n', "as JSON", "as CSV"),
    "CloudWatch as text": ("METRICDATARESULTS\tm1\tReadIOPS\tComplete\nTIMESTAMPS\t2026\n", "text", "--output json"),
    "CloudWatch as a table": (
        "-----\n|            GetMetricStatistics              |\n+--+--+\n", "text or table", "--output json",
    ),
    "Performance Insights": (
        '{\n "AlignedStartTime": "2026-03-02T10:00:00Z",\n "MetricList": []\n}\n', "Performance Insights", "aws",
    ),
    "a database of Azure": (
        '{"value": [{"id": "/subscriptions/S/providers/Microsoft.DBforPostgreSQL/f/a", "timeseries": []}]}\n',
        "database that Azure runs", "postgresql",
    ),
    "PostgreSQL of RDS": (
        "2026-03-02 10:00:03 UTC::@:[512]:LOG:  checkpoint starting: time\n", "PostgreSQL that AWS runs",
        "--print aws",
    ),
    "Azure SQL Database": (
        '{"value": [{"id": "/subscriptions/S/providers/Microsoft.Sql/servers/s/databases/d", "timeseries": []}]}\n',
        "database that Azure runs", "sys.dm_db_wait_stats",
    ),
    "Cloud SQL": (
        '{"timeSeries": [{"metric": {"type": "cloudsql.googleapis.com/database/disk/read_ops_count"}}]}\n', "Cloud SQL",
        "postgresql",
    ),
    "PostgreSQL of CloudWatch": (
        '{\n "events": [\n  {"message": "2026-03-02 10:00:03 UTC::@:[512]:LOG:  checkpoint starting"}\n ]\n}\n',
        *POSTGRESQL,
    ),
    "PostgreSQL of Azure": ('[{"time":"2026-03-02T10:00:00Z","category":"PostgreSQLLogs"}]\n', *POSTGRESQL),
    "MySQL as JSON": (
        '{ "prio" : 3, "msg" : "ready", "err_symbol" : "ER_X", "subsystem" : "Server" }\n', "error log of MySQL",
        "fathom record",
    ),
    "mysqladmin": ("TS 1772488803.0 2026-03-02 22:00:03\nAborted_clients\t12\n", "counters of MySQL", "fathom record"),
    "pg_test_fsync": ("5 seconds per test\nO_DIRECT supported\n", "pg_test_fsync", "fathom record"),
    "diskspd": ("\nCommand Line: diskspd.exe -c10G\n", "tell their load", "--print windows"),
    "events of Windows": ("Level,Date and Time,Source,Event ID\nError,x,y,1\n", "event log of Windows", "windows"),
    "Solaris on one line": ("# iostat -xn 1 5 extended device statistics r/s w/s kr/s\n", "Solaris", "iostat"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_read_is_named_with_what_to_record(tmp_path: Path, case: str) -> None:
    text, problem, remedy = CASES[case]
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    for path in (plain, packed):
        with pytest.raises(LogError) as raised:
            reader.read([path])
        assert problem in str(raised.value)
        assert remedy in str(raised.value.remedy)


def test_an_extract_of_esxtop_is_called_esxtop(tmp_path: Path) -> None:
    """Most of its counters may be of objects that Windows has, too."""
    log = tmp_path / "log"
    counters = (
        r"\\esx1\Physical Cpu(0)\% Util Time",
        r"\\esx1\Memory\Kernel MBytes",
        r"\\esx1\Memory\NonKernel MBytes",
    )
    log.write_text(f"(PDH-CSV 4.0) (UTC)(0),{','.join(counters)}\n3/2/2026 22:42,24.41,1087,1742\n")
    with pytest.raises(LogError, match="recognised as esxtop"):
        reader.read([log])


def test_scrapes_without_times_are_not_said_to_have_them(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "# TYPE etcd_disk_wal_fsync_duration_seconds histogram\netcd_disk_wal_fsync_duration_seconds_sum 10\n" * 3
    )
    with pytest.raises(LogError, match="recognised as Prometheus or OpenMetrics text, but"):
        reader.read([log])


def test_a_file_that_is_no_log_is_left_out_beside_logs(tmp_path: Path) -> None:
    text = "procs -----------memory---------- ---swap-- -----io----\n r  b   swpd   free   buff  cache   si   so\n"
    (tmp_path / "vmstat.txt").write_text(text)
    (tmp_path / "notes.txt").write_text("the storage was slow at ten\n")
    log = Path(__file__).parent / "samples" / "sql_server.csv"
    with reader.read([log]) as alone, reader.read([tmp_path / "vmstat.txt", log, tmp_path / "notes.txt"]) as found:
        assert found.series.equals(alone.series)
        told = [each for notes in found.notes for each in notes.skipped if each.what == "logs"]
    assert [each.example for each in told] == ["vmstat.txt", "notes.txt"]
    assert "vmstat does not tell one disk from another; record with" in told[0].why
    with pytest.raises(LogError, match="vmstat does not tell"):
        reader.read([tmp_path / "vmstat.txt", tmp_path / "notes.txt"])


def test_a_message_of_a_failing_disk_is_not_left_out(tmp_path: Path) -> None:
    (tmp_path / "dmesg").write_text("[60386.0] blk_update_request: critical medium error, dev sda, sector 123456\n")
    with pytest.raises(LogError, match="names a device that fails"):
        reader.read([Path(__file__).parent / "samples" / "sql_server.csv", tmp_path / "dmesg"])
