"""The file that `fathom record` writes: JSON, one line per sample, counters as the kernel gives them.

The first line is a head with facts; every further one an object `{"t": ns since 1970, "disk": {name: [counters]},
"cpu": [...], "mem": {...}, "vm": {...}, "psi": {...}, "pg": {view: [rows]}}`. Nothing is computed while recording: the
reader does that, so that a recording costs little and can be read again by a better reader.
"""

from __future__ import annotations

VERSION = 1
"""Raised with every incompatible change; a newer file is refused."""
MARK = "fathom-record"
"""The key of the header that names the format and holds the version."""
