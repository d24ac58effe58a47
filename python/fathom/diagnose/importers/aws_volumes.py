"""`aws ec2 describe-volumes`: no samples, but type, size and limits of the volumes that other logs are about."""

from __future__ import annotations

from collections.abc import Iterator

from fathom.diagnose.documents import items, number, parsed
from fathom.diagnose.importer import Importer
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block

_REMEDY = "`aws ec2 describe-volumes --volume-ids vol-...`"


def recognise(head: Head) -> float:
    """The keys of the answer."""
    text = head.text
    return 0.9 if text.lstrip().startswith("{") and '"Volumes"' in text and '"VolumeType"' in text else 0.0


def read(source: Source) -> Iterator[Block]:
    """Facts only."""
    found = items(parsed(source, _REMEDY), "Volumes")
    if not found:
        raise source.error('no "Volumes" in it', _REMEDY, line=1)
    for volume in found:
        name = str(volume.get("VolumeId") or "") or None
        source.notes.fact("volume_type", volume.get("VolumeType"), name)
        size, iops, throughput = (number(volume.get(key)) for key in ("Size", "Iops", "Throughput"))
        source.notes.fact("volume_bytes", None if size is None else round(size * (1 << 30)), name)
        source.notes.fact("provisioned_iops", None if iops is None else round(iops), name)
        # MiB/s, as the guide of EBS says.
        source.notes.fact(
            "provisioned_bytes_per_s", None if throughput is None else round(throughput * (1 << 20)), name
        )
    yield from ()


IMPORTER = Importer("aws-volumes", "AWS description of volumes (facts)", recognise, read, "fathom record --print aws",
                    facts_only=True)  # fmt: skip
