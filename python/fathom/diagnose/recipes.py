"""How to record on systems where Fathom does not run: exact commands, written to be copied."""

# ruff: noqa: E501 - commands are whole lines to copy
from __future__ import annotations

from fathom.errors import UsageError

_WINDOWS = r"""
# Windows, in an elevated prompt. 15 s shows trends; 1 s shows queues: one hour at 1 s is some 50 MB.
logman create counter fathom -f csv -si 00:00:01 -o C:\PerfLogs\fathom -v mmddhhmm -c ^
 "\PhysicalDisk(*)\*" "\LogicalDisk(*)\*" "\Processor(_Total)\*" "\Memory\Available MBytes" "\Memory\Pages Input/sec" ^
 "\System\Processor Queue Length" "\SQLServer:Buffer Manager\*" "\SQLServer:Databases(*)\*" ^
 "\SQLServer:SQL Statistics\Batch Requests/sec" "\SQLServer:Memory Manager\*" "\SQLServer:Locks(_Total)\*" ^
 "\SQLServer:General Statistics\Processes blocked" "\SQLServer:Wait Statistics(*)\*"
logman start fathom
logman stop fathom

# A named instance: replace SQLServer: by MSSQL$NAME:. Without a data collector, for an hour:
typeperf "\PhysicalDisk(*)\*" "\Processor(_Total)\*" -si 1 -sc 3600 -o C:\PerfLogs\fathom.csv

# The volumes' allocation units, in PowerShell: give the file to `fathom diagnose` beside the log.
Get-Volume | Format-List DriveLetter, FileSystem, AllocationUnitSize > volumes.txt

# A log that exists as .blg is read as it is; otherwise: relog in.blg -f csv -o out.csv
"""
GET_STAT = (
    "Get-Stat -Entity (Get-VM VM) -Realtime -Stat virtualDisk.totalReadLatency.average,"
    "virtualDisk.totalWriteLatency.average,virtualDisk.numberReadAveraged.average,"
    "virtualDisk.numberWriteAveraged.average,virtualDisk.readOIO.latest,virtualDisk.writeOIO.latest | "
    "Export-Csv stat.csv"
)
_ESXI = rf"""
# ESXi, as root on the host (SSH). -a: all counters; 2 s is the shortest interval; 1,800 samples are one hour.
esxtop -b -a -d 2 -n 1800 | gzip > /vmfs/volumes/DATASTORE/esxtop.csv.gz

# From another machine: resxtop --server HOST -b -a -d 2 -n 1800 > esxtop.csv

# Without root on the host, by PowerCLI: the last hour in steps of 20 s, with latencies in whole milliseconds.
# {GET_STAT}
"""
_AWS = r"""
# AWS, in CloudShell or another bash. CloudWatch keeps minutes for 15 days; before that: PERIOD=300.
# Several volumes: VOLUMES="vol-... vol-...". What does not apply may stay empty: INSTANCE= or DATABASE=.
VOLUMES=vol-0123456789abcdef0 INSTANCE=i-0123456789abcdef0 DATABASE= PERIOD=60
START=2026-01-31T00:00:00Z END=2026-01-31T06:00:00Z

query() { # NAMESPACE DIMENSION VALUE STATISTIC METRIC...: one query a metric; the label names metric and volume
  local metric namespace=$1 dimension=$2 value=$3 statistic=$4; shift 4
  for metric; do
    printf '{"Id":"m%d","Label":"%s %s=%s","MetricStat":{"Stat":"%s","Period":%d,"Metric":{"Namespace":"%s","MetricName":"%s","Dimensions":[{"Name":"%s","Value":"%s"}]}}}\n' \
      $((++number)) "$metric" $dimension $value $statistic $PERIOD $namespace "$metric" $dimension $value
  done
}
{
  for volume in $VOLUMES; do
    query AWS/EBS VolumeId $volume Sum VolumeReadOps VolumeWriteOps VolumeReadBytes VolumeWriteBytes \
      VolumeTotalReadTime VolumeTotalWriteTime VolumeIdleTime VolumeConsumedReadWriteOps
    query AWS/EBS VolumeId $volume Average VolumeQueueLength BurstBalance VolumeAvgReadLatency VolumeAvgWriteLatency \
      VolumeIOPSExceededCheck VolumeThroughputExceededCheck VolumeStalledIOCheck VolumeThroughputPercentage
  done
  for instance in $INSTANCE; do
    query AWS/EC2 InstanceId $instance Average CPUUtilization EBSIOBalance% EBSByteBalance% \
      InstanceEBSIOPSExceededCheck InstanceEBSThroughputExceededCheck
    query AWS/EC2 InstanceId $instance Sum EBSReadOps EBSWriteOps EBSReadBytes EBSWriteBytes
  done
  for database in $DATABASE; do
    query AWS/RDS DBInstanceIdentifier $database Average ReadIOPS WriteIOPS ReadThroughput WriteThroughput ReadLatency \
      WriteLatency DiskQueueDepth BurstBalance EBSIOBalance% EBSByteBalance% CPUUtilization FreeableMemory \
      SwapUsage
  done
} | paste -sd, - | sed 's/^/[/; s/$/]/' > queries.json
aws cloudwatch get-metric-data --metric-data-queries file://queries.json --start-time $START --end-time $END --output json > cloudwatch.json
test -z "$VOLUMES" || aws ec2 describe-volumes --volume-ids $VOLUMES --output json > volumes.json

# Then: fathom diagnose cloudwatch.json volumes.json
# Answers of get-metric-statistics are read as well, but do not name the volume: keep one folder per volume.
"""
_AZURE = r"""
# Azure: one minute. The whole VM, and each data disk by its LUN.
VM=/subscriptions/SUB/resourceGroups/GROUP/providers/Microsoft.Compute/virtualMachines/NAME
az monitor metrics list --resource $VM --interval PT1M --start-time 2026-01-31T00:00:00Z --end-time 2026-01-31T06:00:00Z \
  --aggregation Average --filter "LUN eq '*'" --output json --metrics "Data Disk Read Operations/Sec" \
  "Data Disk Write Operations/Sec" "Data Disk Read Bytes/sec" "Data Disk Write Bytes/sec" "Data Disk Queue Depth" "Data Disk Latency" \
  "Data Disk IOPS Consumed Percentage" "Data Disk Bandwidth Consumed Percentage" > disks.json
az monitor metrics list --resource $VM --interval PT1M --start-time 2026-01-31T00:00:00Z --end-time 2026-01-31T06:00:00Z \
  --aggregation Average --output json --metrics "VM Cached IOPS Consumed Percentage" \
  "VM Cached Bandwidth Consumed Percentage" "VM Uncached IOPS Consumed Percentage" \
  "VM Uncached Bandwidth Consumed Percentage" "Percentage CPU" > vm.json

# The portal's "Download to Excel/CSV" of a chart is read, too.
"""
_GCP = r"""
# Google Cloud, in Cloud Shell or another bash: one answer a metric, in minutes, for the last six weeks.
PROJECT=$(gcloud config get-value project) INSTANCE=1234567890123456789
START=2026-01-31T00:00:00Z END=2026-01-31T06:00:00Z

for metric in disk/read_ops_count disk/write_ops_count disk/read_bytes_count disk/write_bytes_count \
  disk/throttled_read_ops_count disk/throttled_write_ops_count disk/throttled_read_bytes_count disk/throttled_write_bytes_count \
  disk/average_io_latency disk/average_io_queue_depth disk/provisioning/iops disk/provisioning/throughput cpu/utilization; do
  file=gcp-$(basename $metric).json
  curl -s -G -H "Authorization: Bearer $(gcloud auth print-access-token)" \
    "https://monitoring.googleapis.com/v3/projects/$PROJECT/timeSeries" --data-urlencode pageSize=100000 \
    --data-urlencode "filter=metric.type=\"compute.googleapis.com/instance/$metric\" AND resource.labels.instance_id=\"$INSTANCE\"" \
    --data-urlencode interval.startTime=$START --data-urlencode interval.endTime=$END > $file
  # A disk that was never throttled has no such series.
  grep -q timeSeries $file || rm $file
done

# Then: fathom diagnose gcp-*.json
"""
_POSTGRESQL = r"""
# PostgreSQL, every 10 s until Ctrl-C. Times of I/O need track_io_timing = on and track_wal_io_timing = on (a reload).
# Before version 16 there is no pg_stat_io: leave its line out.
psql -X -q --csv -d postgres <<'SQL' > postgresql.csv
select now(), * from pg_stat_wal
\; select now(), * from pg_stat_io where reads > 0 or writes > 0 or fsyncs > 0
\; select now(), * from pg_stat_database where datname is not null
\; select now(), wait_event_type, wait_event, state, count(*) as sessions from pg_stat_activity where state = 'active' group by 2, 3, 4
\watch 10
SQL

# On the server itself: fathom record --postgresql "dbname=postgres"
"""
_SQLSERVER = r"""
-- SQL Server: both every 10 s, for an hour, into one file. Save this as snapshots.sql, then:
--   sqlcmd -S SERVER -E -i snapshots.sql -s "," -W -w 65535 -o sqlserver.csv
-- In Management Studio: Query, Results To, Results to File (the .rpt with its columns aligned is read). Its grid shows
-- the first 100 results alone, and saves one.
SET NOCOUNT ON;
SELECT SYSUTCDATETIME() AS sample_time, DB_NAME(f.database_id) AS database_name, f.physical_name, f.name AS file_name, s.num_of_reads,
       s.num_of_bytes_read, s.io_stall_read_ms, s.num_of_writes, s.num_of_bytes_written, s.io_stall_write_ms,
       s.size_on_disk_bytes
FROM sys.dm_io_virtual_file_stats(NULL, NULL) AS s
JOIN sys.master_files AS f ON f.database_id = s.database_id AND f.file_id = s.file_id;
SELECT SYSUTCDATETIME() AS sample_time, wait_type, waiting_tasks_count, wait_time_ms, max_wait_time_ms, signal_wait_time_ms
FROM sys.dm_os_wait_stats WHERE waiting_tasks_count > 0;
WAITFOR DELAY '00:00:10';
GO 360
"""

RECIPES = {
    "windows": _WINDOWS,
    "esxi": _ESXI,
    "aws": _AWS,
    "azure": _AZURE,
    "gcp": _GCP,
    "postgresql": _POSTGRESQL,
    "sqlserver": _SQLSERVER,
}
"""What to do, by system."""


def recipe(system: str) -> str:
    """The commands for a system.

    Raises:
        UsageError: there is none of that name.
    """
    if system not in RECIPES:
        raise UsageError(f'--print "{system}" is not known', f"one of {', '.join(RECIPES)}")
    return RECIPES[system].strip("\n")
