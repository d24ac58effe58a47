"""PowerShell as far as the exported scripts use it: read by its grammar, run against simulated cmdlets.

What is not known here is an error, never skipped: a script that passes has had each of its statements understood.
"""
