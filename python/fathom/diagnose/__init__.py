"""Existing logs, read into one typed table, and the diagnosis of the storage.

`read.py` turns files into a `Log` (samples and facts); importers of one file per format do the reading; rules of one
file per conclusion look at a `Log` and make findings. Nothing here needs Linux: a log is read where its reader sits.
"""
