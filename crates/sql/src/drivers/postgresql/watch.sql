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

--: buffer_pool_before
CREATE EXTENSION IF NOT EXISTS pg_buffercache;

--: buffer_pool
-- Bytes of pages in shared buffers.
SELECT count(*) * 8192 FROM pg_buffercache WHERE relfilenode IS NOT NULL;

--: files
-- Kinds of file, from version 18: reads and writes with their bytes, times in us. Times are 0 without track_io_timing.
SELECT object,
       CASE object WHEN 'wal' THEN 'log' WHEN 'temp relation' THEN 'temp' ELSE 'data' END,
       sum(reads)::bigint, sum(read_bytes)::bigint, (sum(read_time) * 1000)::bigint,
       sum(coalesce(writes, 0) + coalesce(extends, 0))::bigint,
       sum(coalesce(write_bytes, 0) + coalesce(extend_bytes, 0))::bigint,
       (sum(coalesce(write_time, 0) + coalesce(extend_time, 0)) * 1000)::bigint
FROM pg_stat_io GROUP BY object;

--: files_16
-- The same in versions 16 and 17, which count requests of one size. Older ones have no such view.
SELECT object,
       CASE object WHEN 'temp relation' THEN 'temp' ELSE 'data' END,
       sum(reads)::bigint, sum(reads * op_bytes)::bigint, (sum(read_time) * 1000)::bigint,
       sum(coalesce(writes, 0) + coalesce(extends, 0))::bigint,
       sum((coalesce(writes, 0) + coalesce(extends, 0)) * op_bytes)::bigint,
       (sum(coalesce(write_time, 0) + coalesce(extend_time, 0)) * 1000)::bigint
FROM pg_stat_io GROUP BY object;
