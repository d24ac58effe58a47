"""What the database and the host did during a run: sampled during it, kept with it."""
