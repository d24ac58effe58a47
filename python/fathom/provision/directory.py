"""A place that is a directory: the run's own, below the path that the study names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fathom.errors import FathomError
from fathom.host import scratch as scratch_space
from fathom.provision.failure import ProvisionError
from fathom.provision.host import Host
from fathom.provision.requirements import Place


@contextmanager
def provided(host: Host, place: Place, scratch: Path) -> Iterator[Path]:
    """The directory, empty; removed at the end.

    Raises:
        ProvisionError: nothing can be created there.
    """
    if place.path is None:
        yield host.directory(scratch / "places" / place.name)
    elif host.dry:
        yield host.directory(Path(place.path) / f"{scratch_space.PREFIX}{place.name}")
    else:
        if not Path(place.path).is_dir():
            raise ProvisionError("unavailable", f"places.{place.name}.path: {place.path} is no directory: create it")
        try:
            with scratch_space.directory(Path(place.path)) as own:
                yield own
        except FathomError as problem:
            raise ProvisionError("permission", problem.what) from None
