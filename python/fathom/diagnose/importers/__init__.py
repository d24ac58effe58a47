"""One importer per file, found by scanning this folder; each exposes an `IMPORTER`."""
