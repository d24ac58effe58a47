-- What the server has done so far. `counters` answers one row; differences between two of them are what a run has caused.
-- All of it needs the right VIEW SERVER STATE; who lacks it goes without.

--: transactions
-- HammerDB's TPM: batches and remote calls of the whole server, whoever sent them.
SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = 'Batch Requests/sec';

--: counters
-- Bytes and writes are those of the files, rounded up to sectors: what storage sees.
SELECT SUM(CASE WHEN f.type = 1 THEN s.num_of_bytes_written ELSE 0 END) AS log_bytes,
       SUM(CASE WHEN f.type = 1 THEN s.num_of_writes ELSE 0 END) AS log_flushes,
       SUM(CASE WHEN f.type = 0 THEN s.num_of_bytes_written ELSE 0 END) / 8192 AS pages_written_back,
       (SELECT CAST(log_since_last_checkpoint_mb * 1048576 AS bigint) FROM sys.dm_db_log_stats(DB_ID()))
           AS log_since_checkpoint,
       SUM(CASE WHEN f.type = 1 THEN s.io_stall_write_ms ELSE 0 END) AS log_write_stall_ms,
       SUM(CASE WHEN f.type = 0 THEN s.io_stall_read_ms ELSE 0 END) AS data_read_stall_ms,
       (SELECT wait_time_ms FROM sys.dm_os_wait_stats WHERE wait_type = 'WRITELOG') AS log_wait_ms,
       (SELECT SUM(wait_time_ms) FROM sys.dm_os_wait_stats WHERE wait_type LIKE 'PAGEIOLATCH%') AS page_wait_ms
FROM sys.dm_io_virtual_file_stats(DB_ID(), NULL) AS s
JOIN sys.database_files AS f ON f.file_id = s.file_id;

--: processors
-- Processor time of the server's process, ms, and how many processors it may use: fewer than the machine has, by affinity or
-- edition.
SELECT process_kernel_time_ms + process_user_time_ms,
       (SELECT COUNT(*) FROM sys.dm_os_schedulers WHERE status = 'VISIBLE ONLINE')
FROM sys.dm_os_sys_info;

--: sizes
-- The database, and the memory it may keep pages in, bytes.
SELECT (SELECT SUM(used_pages) * 8192 FROM sys.allocation_units),
       (SELECT committed_target_kb * 1024 FROM sys.dm_os_sys_info);

--: buffer_pool
-- Bytes of pages in the buffer pool.
SELECT SUM(cntr_value) * 8192 FROM sys.dm_os_performance_counters
WHERE counter_name = 'Database pages' AND object_name LIKE '%Buffer Manager%';

--: files
-- Each file of this database and of tempdb; stalls include the wait in queues.
SELECT CONCAT(CASE WHEN m.database_id = 2 THEN 'tempdb ' ELSE '' END, m.name COLLATE DATABASE_DEFAULT) AS name,
       CASE WHEN m.database_id = 2 THEN 'temp' WHEN m.type = 1 THEN 'log' ELSE 'data' END AS role,
       s.num_of_reads, s.num_of_bytes_read, s.io_stall_read_ms * 1000,
       s.num_of_writes, s.num_of_bytes_written, s.io_stall_write_ms * 1000
FROM sys.dm_io_virtual_file_stats(NULL, NULL) AS s
JOIN sys.master_files AS m ON m.database_id = s.database_id AND m.file_id = s.file_id
WHERE m.database_id IN (DB_ID(), 2);
