-- What files and waits have come to since the server started; a run keeps the difference. One question each, as for facts.

--: files
SELECT CONCAT('file ', f.name COLLATE DATABASE_DEFAULT, ' ', c.name COLLATE DATABASE_DEFAULT) AS name, c.value
FROM sys.dm_io_virtual_file_stats(DB_ID(), NULL) AS s
JOIN sys.database_files AS f ON f.file_id = s.file_id
CROSS APPLY (VALUES
    ('reads', s.num_of_reads),
    ('read bytes', s.num_of_bytes_read),
    ('read stall ms', s.io_stall_read_ms),
    ('writes', s.num_of_writes),
    ('written bytes', s.num_of_bytes_written),
    ('write stall ms', s.io_stall_write_ms)
) AS c (name, value);

--: waits
SELECT CONCAT('wait ', w.wait_type COLLATE DATABASE_DEFAULT, ' ', c.name COLLATE DATABASE_DEFAULT), c.value
FROM sys.dm_os_wait_stats AS w
CROSS APPLY (VALUES
    ('count', w.waiting_tasks_count),
    ('ms', w.wait_time_ms)
) AS c (name, value)
WHERE w.wait_type IN (
    'WRITELOG', 'LOGBUFFER', 'PAGEIOLATCH_SH', 'PAGEIOLATCH_EX', 'PAGEIOLATCH_UP', 'IO_COMPLETION',
    'ASYNC_IO_COMPLETION', 'WRITE_COMPLETION', 'HADR_SYNC_COMMIT', 'PAGELATCH_EX', 'PAGELATCH_SH',
    'LCK_M_X', 'LCK_M_U', 'LCK_M_S', 'SOS_SCHEDULER_YIELD', 'BACKUPIO', 'RESOURCE_SEMAPHORE', 'THREADPOOL'
);

--: log
SELECT CONCAT('counter ', RTRIM(counter_name) COLLATE DATABASE_DEFAULT), cntr_value
FROM sys.dm_os_performance_counters
WHERE object_name LIKE '%:Databases%'
  AND instance_name = DB_NAME()
  AND counter_name IN ('Log Flushes/sec', 'Log Bytes Flushed/sec', 'Log Flush Wait Time', 'Log Flush Waits/sec');
