-- What the server has done so far. `counters` answers one row; differences between two of them are what a run has caused.

--: transactions
-- HammerDB's TPM: commits and rollbacks of the server.
SELECT CAST(sum(variable_value) AS int) FROM information_schema.global_status
WHERE variable_name IN ('COM_COMMIT', 'COM_ROLLBACK');

--: counters
SELECT CAST(max(CASE WHEN variable_name = 'INNODB_LSN_CURRENT' THEN variable_value END) AS int) AS log_bytes,
       CAST(max(CASE WHEN variable_name = 'INNODB_OS_LOG_FSYNCS' THEN variable_value END) AS int) AS log_flushes,
       CAST(max(CASE WHEN variable_name = 'INNODB_BUFFER_POOL_PAGES_DIRTY' THEN variable_value END) AS int) AS dirty_pages,
       CAST(max(CASE WHEN variable_name = 'INNODB_BUFFER_POOL_PAGES_FLUSHED' THEN variable_value END) AS int)
           AS pages_by_checkpoints,
       CAST(max(CASE WHEN variable_name = 'INNODB_CHECKPOINT_AGE' THEN variable_value END) AS int)
           AS log_since_checkpoint
FROM information_schema.global_status
WHERE variable_name IN ('INNODB_LSN_CURRENT', 'INNODB_OS_LOG_FSYNCS', 'INNODB_BUFFER_POOL_PAGES_DIRTY',
                        'INNODB_BUFFER_POOL_PAGES_FLUSHED', 'INNODB_CHECKPOINT_AGE');

--: sizes
-- The database, and the memory it may keep pages in, bytes.
SELECT CAST(sum(data_length + index_length) AS int), @@innodb_buffer_pool_size
FROM information_schema.tables WHERE table_schema = database();

--: buffer_pool
-- Bytes of pages in the buffer pool.
SELECT CAST(variable_value AS int) FROM information_schema.global_status
WHERE variable_name = 'INNODB_BUFFER_POOL_BYTES_DATA';

--: files
-- Each file of InnoDB, if performance_schema is on: it counts in picoseconds. The log is not among them; its writes are InnoDB's
-- own count, which has no times.
SELECT substring_index(file_name, '/', -2) AS name,
       CASE WHEN event_name = 'wait/io/file/innodb/innodb_temp_file' OR file_name LIKE '%ibtmp%' THEN 'temp' ELSE 'data' END AS role,
       CAST(count_read AS int), CAST(sum_number_of_bytes_read AS int), CAST(sum_timer_read DIV 1000000 AS int),
       CAST(count_write AS int), CAST(sum_number_of_bytes_write AS int), CAST(sum_timer_write DIV 1000000 AS int)
FROM performance_schema.file_summary_by_instance
WHERE event_name LIKE 'wait/io/file/innodb/%' AND event_name <> 'wait/io/file/innodb/innodb_log_file' AND count_star > 0
UNION ALL
SELECT 'redo log', 'log', 0, 0, 0,
       CAST(max(CASE WHEN variable_name = 'INNODB_LOG_WRITES' THEN variable_value END) AS int),
       CAST(max(CASE WHEN variable_name = 'INNODB_OS_LOG_WRITTEN' THEN variable_value END) AS int), 0
FROM information_schema.global_status WHERE variable_name IN ('INNODB_LOG_WRITES', 'INNODB_OS_LOG_WRITTEN')
HAVING @@performance_schema;

--: files_without_times
-- All data files together, and the log, where performance_schema is off: InnoDB counts no files by themselves, and no times.
SELECT 'all data files', 'data',
       CAST(max(CASE WHEN variable_name = 'INNODB_DATA_READS' THEN variable_value END) AS int),
       CAST(max(CASE WHEN variable_name = 'INNODB_DATA_READ' THEN variable_value END) AS int), 0,
       CAST(max(CASE WHEN variable_name = 'INNODB_DATA_WRITES' THEN variable_value END) AS int),
       CAST(max(CASE WHEN variable_name = 'INNODB_DATA_WRITTEN' THEN variable_value END) AS int), 0
FROM information_schema.global_status WHERE variable_name LIKE 'INNODB\_DATA\_%'
UNION ALL
SELECT 'redo log', 'log', 0, 0, 0,
       CAST(max(CASE WHEN variable_name = 'INNODB_LOG_WRITES' THEN variable_value END) AS int),
       CAST(max(CASE WHEN variable_name = 'INNODB_OS_LOG_WRITTEN' THEN variable_value END) AS int), 0
FROM information_schema.global_status WHERE variable_name IN ('INNODB_LOG_WRITES', 'INNODB_OS_LOG_WRITTEN');
