"""One importer a file, found by scanning this folder; each exposes an `IMPORTER`."""
