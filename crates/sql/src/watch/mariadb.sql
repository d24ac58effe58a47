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
