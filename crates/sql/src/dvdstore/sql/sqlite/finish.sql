-- After the load: statistics for the planner, and the write-ahead log (if there is one) folded into the database.

--: analyze
ANALYZE;

--: checkpoint
PRAGMA wal_checkpoint(TRUNCATE);
