"""File operations at random on a file system over fathomd, the daemon killed in between: every byte is compared.

What the file must hold is kept in memory: writes, reads, truncations, memory maps, allocations, punched holes, zeroed
and copied ranges, as fsx (A. Tevanian, NeXT 1991) does them; the code is our own. `kill -9` hits the daemon at a random
moment, often within an fsync. Then the file system is taken off, a new daemon started, the file system checked and
mounted: each byte must be what it was at the last fsync that succeeded, or what it has been since. Needs root. Usage:

    scripts/fsx_campaign.py --file-system xfs --operations 100000 --seed 1
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import json
import mmap
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

from kill_campaign import MountedVolume, Wrong

from fathom.host import leftovers

LARGEST = 256 << 10
"""Bytes of the file at most, as fsx has them."""
LONGEST = 64 << 10
"""Bytes of one operation at most."""
KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE = 1, 2, 16
"""Modes of fallocate(2)."""
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]


def allocate(file: int, mode: int, offset: int, length: int) -> None:
    """fallocate(2), which Python has without its modes."""
    if LIBC.fallocate(file, mode, offset, length) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class Model:
    """What the file holds, what it held at the last fsync, and what every byte has been since."""

    def __init__(self) -> None:
        self.now = bytearray()
        self.synced = b""
        self.since: list[tuple[int, bytes]] = []
        self.sizes = {0}

    def change(self, offset: int, new: bytes) -> None:
        """These bytes are written; behind the end there are zeroes before them."""
        if offset > len(self.now):
            self.now.extend(bytes(offset - len(self.now)))
        self.now[offset : offset + len(new)] = new
        self.since.append((offset, bytes(new)))
        self.sizes.add(len(self.now))

    def resize(self, size: int) -> None:
        """The file is cut, or zeroes are behind it."""
        self.since.append((size, bytes(max(0, LARGEST - size))))
        del self.now[size:]
        self.now.extend(bytes(size - len(self.now)))
        self.sizes.add(size)

    def fsynced(self, number: int, state: bytes) -> None:
        """An fsync succeeded that began after `number` changes, when the file was like this."""
        self.synced = state
        del self.since[:number]
        self.sizes = {len(state), len(self.now)} if not self.since else self.sizes | {len(state)}

    def judge(self, found: bytes) -> None:
        """Compares what is there after a crash.

        Raises:
            Wrong: with the first byte that nobody wrote since the last fsync, and that was another at it.
        """
        if len(found) not in self.sizes:
            raise Wrong(f"the file has {len(found)} bytes; since the last fsync it had {sorted(self.sizes)[:20]}")
        old = self.synced + bytes(max(0, len(found) - len(self.synced)))
        if found == old[: len(found)]:
            return
        # A block that was allocated and not yet written when the power went shows zeroes.
        touched = bytearray(len(found))
        for offset, new in self.since:
            end = min(offset + len(new), len(found))
            if offset < end:
                touched[offset:end] = b"\1" * (end - offset)
        wrong = [at for at in range(len(found)) if found[at] != old[at] and not self._was(at, found[at], touched[at])]
        if wrong:
            at = wrong[0]
            raise Wrong(f"byte {at} is {found[at]} and was {old[at]} at the last fsync ({len(wrong)} such bytes)")

    def _was(self, at: int, value: int, touched: int) -> bool:
        if not touched:
            return False
        return value == 0 or any(
            offset <= at < offset + len(new) and new[at - offset] == value for offset, new in self.since
        )


class Fsx:
    """One file and its operations."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        self.path, self.chance = path, chance
        self.model = Model()
        self.file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self.counts: dict[str, int] = {}
        self.unsupported: set[str] = set()
        self._names = [
            *["read", "write", "map_read", "map_write"] * 4,
            *["truncate", "punch", "zero", "allocate", "copy"] * 2,
            *["fsync", "reopen"],
        ]

    def step(self) -> None:
        """One operation, and its effect on the model."""
        name = self.chance.choice(self._names)
        if name in self.unsupported:
            return
        try:
            getattr(self, f"_{name}")()
        except OSError as problem:
            if problem.errno not in {errno.EOPNOTSUPP, errno.ENOSYS}:
                raise Wrong(f"{name}: {problem}") from problem
            self.unsupported.add(name)
        self.counts[name] = self.counts.get(name, 0) + 1

    def _range(self, within: int) -> tuple[int, int]:
        offset = self.chance.randrange(max(1, within))
        length = 1 + int(LONGEST ** self.chance.random())
        if self.chance.random() < 0.2:
            offset, length = offset & ~4095, (length + 4095) & ~4095
        return offset, min(length, max(0, within - offset))

    def _compare(self, what: str, offset: int, found: bytes) -> None:
        wanted = self.model.now[offset : offset + len(found)]
        if found != wanted:
            at = next(at for at in range(len(found)) if at >= len(wanted) or found[at] != wanted[at])
            raise Wrong(f"{what} at {offset}: byte {offset + at} is {found[at]}")

    def _bytes(self, length: int) -> bytes:
        return self.chance.randbytes(length)

    def _read(self) -> None:
        offset, length = self._range(len(self.model.now))
        found = os.pread(self.file, length, offset)
        if len(found) != length:
            raise Wrong(f"read {len(found)} of {length} bytes at {offset}")
        self._compare("read", offset, found)

    def _write(self) -> None:
        offset, length = self._range(LARGEST)
        new = self._bytes(length)
        if os.pwrite(self.file, new, offset) != length:
            raise Wrong("a short write")
        self.model.change(offset, new)

    def _map_read(self) -> None:
        offset, length = self._range(len(self.model.now))
        if length:
            with mmap.mmap(self.file, 0, access=mmap.ACCESS_READ) as mapped:
                self._compare("mapped read", offset, mapped[offset : offset + length])

    def _map_write(self) -> None:
        offset, length = self._range(LARGEST)
        if not length:
            return
        new = self._bytes(length)
        if offset + length > len(self.model.now):
            os.ftruncate(self.file, offset + length)
            self.model.resize(offset + length)
        with mmap.mmap(self.file, 0) as mapped:
            mapped[offset : offset + length] = new
            if self.chance.random() < 0.2:
                mapped.flush()
        self.model.change(offset, new)

    def _truncate(self) -> None:
        size = self.chance.randrange(LARGEST)
        os.ftruncate(self.file, size)
        self.model.resize(size)

    def _punch(self) -> None:
        offset, length = self._range(len(self.model.now))
        if length:
            allocate(self.file, PUNCH_HOLE | KEEP_SIZE, offset, length)
            self.model.change(offset, bytes(length))

    def _zero(self) -> None:
        offset, length = self._range(LARGEST)
        if length:
            allocate(self.file, ZERO_RANGE, offset, length)
            self.model.change(offset, bytes(length))

    def _allocate(self) -> None:
        offset, length = self._range(LARGEST)
        if length:
            allocate(self.file, 0, offset, length)
            if offset + length > len(self.model.now):
                self.model.resize(offset + length)

    def _copy(self) -> None:
        offset, length = self._range(len(self.model.now))
        target = self.chance.randrange(LARGEST)
        length = min(length, LARGEST - target)
        if not length or abs(target - offset) < length:
            return
        done = 0
        while done < length:
            moved = os.copy_file_range(self.file, self.file, length - done, offset + done, target + done)
            if moved == 0:
                raise Wrong("a copy ended early")
            done += moved
        self.model.change(target, bytes(self.model.now[offset : offset + length]))

    def _fsync(self) -> None:
        os.fsync(self.file)
        self.model.fsynced(len(self.model.since), bytes(self.model.now))

    def _reopen(self) -> None:
        os.close(self.file)
        self.file = os.open(self.path, os.O_RDWR)

    def die(self, stand: MountedVolume) -> None:
        """The daemon is killed, half of the time while an fsync is under way, which counts if it succeeds."""
        number, state = len(self.model.since), bytes(self.model.now)
        succeeded: list[bool] = []

        def fsync() -> None:
            try:
                os.fsync(self.file)
            except OSError:
                return
            succeeded.append(True)

        thread = threading.Thread(target=fsync) if self.chance.random() < 0.5 else None
        if thread:
            thread.start()
            time.sleep(self.chance.random() * 0.01)
        stand.kill()
        if thread:
            thread.join()
        if succeeded:
            self.model.fsynced(number, state)
        os.close(self.file)

    def look(self) -> None:
        """After a crash: what is there is right, and counts from now on."""
        self.file = os.open(self.path, os.O_RDWR)
        found = os.pread(self.file, LARGEST + 1, 0)
        self.model.judge(found)
        self.model = Model()
        self.model.now = bytearray(found)
        self._fsync()


def campaign(file_system: str, operations: int, kills: int, seed: int, tell: bool = False) -> dict[str, object]:
    """So many operations with so many kills between them.

    Raises:
        Wrong: a byte is not what it must be, a file system is damaged, or an operation failed.
    """
    chance = random.Random(f"{seed} {file_system}")
    root = Path(tempfile.mkdtemp(prefix="fathom-fsx-"))
    home = root / "stand"
    home.mkdir()
    moments = set(chance.sample(range(1, operations), kills))
    number, begun = 0, time.monotonic()
    try:
        stand = MountedVolume(home, file_system)
        fsx = Fsx(stand.system / "file", chance)
        fsx._fsync()
        directory = os.open(stand.system, os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)
        for number in range(1, operations + 1):
            fsx.step()
            if number in moments:
                fsx.die(stand)
                stand.take_off()
                stand.start()
                fsx.look()
                if tell:
                    print(f"killed after {number} operations: right", flush=True)
        os.close(fsx.file)
        stand.stop()
    except Wrong as problem:
        raise Wrong(f"fsx on {file_system}, operation {number}, seed {seed}: {problem}") from None
    finally:
        leftovers.remove(root)
        shutil.rmtree(root, ignore_errors=True)
    return {
        "file_system": file_system, "seed": seed, "operations": operations, "kills": kills, "counts": fsx.counts,
        "unsupported": sorted(fsx.unsupported), "seconds": round(time.monotonic() - begun, 1),
    }  # fmt: skip


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--file-system", choices=("ext4", "xfs", "btrfs"), default="ext4")
    parser.add_argument("--operations", type=int, default=5000)
    parser.add_argument("--kills", type=int, help="left out: one for every 10,000 operations, at least two")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    if os.geteuid() != 0:
        print("error: loop devices and mounts need root", file=sys.stderr)
        return 2
    kills = max(2, chosen.operations // 10_000) if chosen.kills is None else chosen.kills
    try:
        done = campaign(chosen.file_system, chosen.operations, kills, chosen.seed, tell=True)
    except Wrong as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    print(json.dumps(done))
    return 0


if __name__ == "__main__":
    sys.exit(main())
