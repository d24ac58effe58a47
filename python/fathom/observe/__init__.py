"""What the database and the host did during a run: sampled beside it, kept with it."""
