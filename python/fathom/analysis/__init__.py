"""Pure functions from a campaign's runs to estimates and verdicts; `analyse.analyse` is the entry.

Nothing here opens a file, reads a clock or draws unseeded random numbers. METHODOLOGY.md explains every method.
"""
