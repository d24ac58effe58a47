"""A logical volume of LVM, as large as its disks have room for.

LVM keeps the first MiB of a disk for its metadata and divides the rest into extents. A leg of a mirror keeps extents of
its own besides, for the map of what may differ.
"""

from __future__ import annotations

from dataclasses import dataclass

from fathom.export.quote import shell
from fathom.export.settings import Node
from fathom.export.target import cannot

EXTENT = 4 << 20
"""Bytes of an extent; the scripts ask for it by name (`--physicalextentsize`), whatever lvm.conf says."""

LEAST_REGION = 512 << 10
"""Bytes that a bit of the map stands for where the settings do not say: the smallest default of any LVM."""

_HEAD = 1 << 20
"""Bytes that `pvcreate` keeps at the start of a disk."""

_SUPERBLOCKS = 2 * 4096


@dataclass(frozen=True)
class LogicalVolume:
    """A logical volume without its cache.

    Attributes:
        node: what it is in the settings.
        options: of `lvcreate`.
        disks: it stands on, in order; `sizes` their bytes, None where nothing says so.
        bytes: its size in the settings; None for all there is.
        stripes: over how many disks, or mirrors, its data is spread.
        region: bytes that a bit of a mirror's map stands for; None for what is no mirror.
        mostly_written: disks that are read only if the others cannot be.
    """

    node: Node
    options: tuple[str, ...]
    disks: tuple[str, ...]
    sizes: tuple[int | None, ...]
    bytes: int | None
    stripes: int = 1
    region: int | None = None
    mostly_written: tuple[str, ...] = ()

    @property
    def needs(self) -> int:
        """Bytes of each of its disks without which it cannot be made; 0 where it takes all there are."""
        return 0 if self._each is None else _HEAD + (self._each + self._map(self._each)) * EXTENT

    @property
    def loss(self) -> str | None:
        """How much smaller it is than in the settings, in words; None where it is not."""
        if self.bytes is None or self._each is None or self.bytes <= (made := self._each * self.stripes * EXTENT):
            return None
        leg = ", a leg of a mirror also an extent for its map" if self.region is not None else ""
        return (
            f"{made:,} bytes, {(self.bytes - made) / (1 << 20):,.10g} MiB less than in the settings: LVM keeps "
            f"{_HEAD >> 20} MiB of each disk{leg}, and divides the rest into extents of {EXTENT >> 20} MiB"
        )

    def commands(self, name: str) -> list[str]:
        """What makes it under that name."""
        size = "--extents 100%PVS" if self._each is None else f"--extents {self._each * self.stripes}"
        disks = " ".join(map(shell, self.disks))
        options = "".join(f" {option}" for option in self.options)
        lines = [f'lvcreate --yes --wipesignatures n{options} {size} --name {name} "$vg" {disks}']
        lines += [f'lvchange --yes --writemostly {shell(disk + ":y")} "$vg/{name}"' for disk in self.mostly_written]
        return lines

    @property
    def _each(self) -> int | None:
        """Extents of data on each disk, no more than there is room for; None for all there are."""
        if self.bytes is None:
            return None
        rooms = [(size - _HEAD) // EXTENT for size in self.sizes if size is not None]
        each = min([-(-self.bytes // (self.stripes * EXTENT)), *(room - self._map(room) for room in rooms)])
        if each < 1:
            raise cannot(self.node, f"LVM has no room on disks of {self.bytes} bytes", "use larger disks")
        return each

    def _map(self, extents: int) -> int:
        """Extents beside so many of data that a leg of a mirror keeps: superblocks, and a bit for each region."""
        if self.region is None:
            return 0
        regions = -(-max(0, extents) * EXTENT // self.region)
        return -(-(_SUPERBLOCKS + -(-regions // 8)) // EXTENT)
