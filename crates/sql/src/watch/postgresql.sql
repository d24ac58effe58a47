-- What the server has done so far. `counters` answers one row; differences between two of them are what a run has caused.

--: transactions
-- HammerDB's TPM: transactions of all databases of the server, its own background work included.
SELECT sum(xact_commit + xact_rollback)::bigint FROM pg_stat_database;

--: counters
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS log_bytes,
       wal_fpi AS full_page_images,
       wal_sync AS log_flushes,
       (SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter) AS checkpoints,
       (SELECT buffers_checkpoint FROM pg_stat_bgwriter) AS pages_by_checkpoints,
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), (SELECT redo_lsn FROM pg_control_checkpoint()))::bigint
           AS log_since_checkpoint
FROM pg_stat_wal;

--: sizes
-- The database, and the memory it may keep pages in, bytes.
SELECT pg_database_size(current_database()), setting::bigint * 8192 FROM pg_settings WHERE name = 'shared_buffers';
