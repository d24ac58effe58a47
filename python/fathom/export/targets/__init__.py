"""One file per target; the folder is scanned, and each file exposes `TARGET`."""
