"""Files that people name: each is written whole, or is as it was."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Where to write what is to be in a file, which has it from the end of the block on: a reader sees all or nothing.

    A link is followed. Devices and pipes stay what they are: what was written goes through them.

    Raises:
        OSError: the file cannot be written, or is a block device, which would lose what it holds.
    """
    if path.is_block_device():
        raise OSError(errno.EPERM, "a block device, which would lose what it holds", str(path))
    if path.exists() and not path.is_file() and not path.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            unfinished = Path(folder) / (path.name or "file")
            yield unfinished
            with unfinished.open("rb") as content, path.open("wb") as through:
                shutil.copyfileobj(content, through)
        return
    target = Path(os.path.realpath(path))
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        yield unfinished
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> Path:
    """Writes a file whole, and gives its path.

    Raises:
        OSError: as of `whole`.
    """
    with whole(path) as place:
        place.write_bytes(content)
    return path
