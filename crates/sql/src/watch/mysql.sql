-- What the server has done so far. `counters` answers one row; differences between two of them are what a run has caused.

--: transactions
-- HammerDB's TPM: commits and rollbacks of the server.
SELECT CAST(sum(variable_value) AS signed) FROM performance_schema.global_status
WHERE variable_name IN ('Com_commit', 'Com_rollback');

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
