-- What the server has done so far. `counters` answers one row; differences between two of them are what a run has caused.

--: transactions
-- HammerDB's TPM: commits and rollbacks of the server. No table has these two counters, and what the tables have by statement
-- leaves out what procedures commit.
SHOW GLOBAL STATUS WHERE variable_name IN ('Com_commit', 'Com_rollback');

--: counters
-- The positions of the redo log are told from 8.0.30 on.
SELECT CAST(max(CASE WHEN variable_name = 'Innodb_redo_log_current_lsn' THEN variable_value END) AS signed) AS log_bytes,
       CAST(max(CASE WHEN variable_name = 'Innodb_os_log_fsyncs' THEN variable_value END) AS signed) AS log_flushes,
       CAST(max(CASE WHEN variable_name = 'Innodb_buffer_pool_pages_dirty' THEN variable_value END) AS signed) AS dirty_pages,
       CAST(max(CASE WHEN variable_name = 'Innodb_buffer_pool_pages_flushed' THEN variable_value END) AS signed)
           AS pages_by_checkpoints,
       CAST(max(CASE WHEN variable_name = 'Innodb_redo_log_current_lsn' THEN variable_value END) AS signed)
           - CAST(max(CASE WHEN variable_name = 'Innodb_redo_log_checkpoint_lsn' THEN variable_value END) AS signed)
           AS log_since_checkpoint
FROM performance_schema.global_status
WHERE variable_name IN ('Innodb_redo_log_current_lsn', 'Innodb_redo_log_checkpoint_lsn', 'Innodb_os_log_fsyncs',
                        'Innodb_buffer_pool_pages_dirty', 'Innodb_buffer_pool_pages_flushed');

--: sizes
-- The database, and the memory it may keep pages in, bytes.
SELECT CAST(sum(data_length + index_length) AS signed), @@innodb_buffer_pool_size
FROM information_schema.tables WHERE table_schema = database();

--: buffer_pool
-- Bytes of pages in the buffer pool.
SELECT CAST(variable_value AS signed) FROM performance_schema.global_status
WHERE variable_name = 'Innodb_buffer_pool_bytes_data';

--: files
-- Each file of InnoDB, which counts in picoseconds. The redo log as a whole: its files come and go (from 8.0.30 on).
SELECT substring_index(file_name, '/', -2) AS name,
       CASE WHEN event_name = 'wait/io/file/innodb/innodb_temp_file' OR file_name LIKE '%ibtmp%' THEN 'temp' ELSE 'data' END AS role,
       CAST(count_read AS signed), CAST(sum_number_of_bytes_read AS signed), CAST(sum_timer_read DIV 1000000 AS signed),
       CAST(count_write AS signed), CAST(sum_number_of_bytes_write AS signed), CAST(sum_timer_write DIV 1000000 AS signed)
FROM performance_schema.file_summary_by_instance
WHERE event_name LIKE 'wait/io/file/innodb/%' AND event_name <> 'wait/io/file/innodb/innodb_log_file' AND count_star > 0
UNION ALL
SELECT 'redo log', 'log',
       CAST(count_read AS signed), CAST(sum_number_of_bytes_read AS signed), CAST(sum_timer_read DIV 1000000 AS signed),
       CAST(count_write AS signed), CAST(sum_number_of_bytes_write AS signed), CAST(sum_timer_write DIV 1000000 AS signed)
FROM performance_schema.file_summary_by_event_name
WHERE event_name = 'wait/io/file/innodb/innodb_log_file' AND count_star > 0;
