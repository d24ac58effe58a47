-- After the load: statistics for the planner, visibility maps, and a checkpoint, so that a run does not begin with the
-- load's dirty pages. Each goes alone and outside of a transaction.

--: analyze
VACUUM ANALYZE;

--: checkpoint
CHECKPOINT;
