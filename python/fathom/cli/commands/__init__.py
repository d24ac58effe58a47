"""The commands, one file each; the folder is scanned. A file exposes `COMMAND` and imports heavy libraries late."""
