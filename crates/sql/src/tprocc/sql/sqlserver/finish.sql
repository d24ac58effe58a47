-- After the load: a checkpoint, so that a run does not begin with the load's dirty pages. The indexes have just been built
-- and have brought their statistics with them. It goes alone and outside of a transaction.

--: checkpoint
CHECKPOINT;
