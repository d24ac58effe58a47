"""Labelled logs: bottlenecks made on purpose, exported in real formats, to be read back and diagnosed."""
