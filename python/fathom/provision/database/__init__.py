"""Databases: one file per kind, each a context that yields how the server is reached and stops it at the end."""
