"""One file per chart. A chart places numbers that analysis or the run made; it computes none."""
