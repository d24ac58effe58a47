"""Files that people name: whole or as they were, and never in the place of something else."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from fathom.whole import write_whole


def test_a_file_is_made_and_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    for content in (b"one", b"another"):
        assert write_whole(path, content) == path
        assert path.read_bytes() == content
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path) -> None:
    for target in ("there", "not-yet"):
        link = tmp_path / f"to-{target}"
        link.symlink_to(target)
        (tmp_path / "there").write_bytes(b"old")
        write_whole(link, b"new")
        assert link.is_symlink()
        assert (tmp_path / target).read_bytes() == b"new"


def test_a_pipe_is_written_through(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"page" * 100_000)
    reader.join(60)
    assert read == [b"page" * 100_000]
    assert pipe.is_fifo()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_devices_stay_devices(tmp_path: Path) -> None:
    nothing, full, disk = (tmp_path / name for name in ("null", "full", "disk"))
    try:
        for path, kind, number in ((nothing, stat.S_IFCHR, (1, 3)), (full, stat.S_IFCHR, (1, 7))):
            os.mknod(path, kind | 0o666, os.makedev(*number))
        # A ramdisk's number: nothing is opened, whether there is one or not.
        os.mknod(disk, stat.S_IFBLK | 0o600, os.makedev(1, 15))
    except PermissionError:
        pytest.skip("this container makes no devices")
    write_whole(nothing, b"page")
    for path, told in ((full, "No space left"), (disk, "block device")):
        with pytest.raises(OSError, match=told):
            write_whole(path, b"page")
    assert nothing.is_char_device()
    assert full.is_char_device()
    assert disk.is_block_device()


def test_a_directory_and_a_missing_folder_are_errors(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", tmp_path / "nowhere" / "page"):
        with pytest.raises(OSError, match=r"folder|nowhere"):
            write_whole(path, b"page")
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]
