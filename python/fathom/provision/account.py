"""The account a server runs under: our own, or its package's, because servers refuse to run as root."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from fathom.provision.failure import ProvisionError
from fathom.provision.host import Host


@dataclass(frozen=True)
class Account:
    """`name` is None for our own account."""

    name: str | None

    def command(self, host: Host, command: Sequence[str], *, death: str, cpus: Sequence[int] = ()) -> list[str]:
        """The command run under this account.

        Root's directories are closed to others; the right to pass through them (and no other) goes with the server, so
        that it can run wherever the campaign is.

        Args:
            host: finds the programs.
            command: program and arguments.
            death: signal the process gets if we die.
            cpus: numbers of the CPUs it may run on; all if empty.
        """
        wrapped = [host.program("setpriv")]
        if self.name is not None:
            wrapped += [f"--reuid={self.name}", f"--regid={_group(self.name)}", "--init-groups"]
            wrapped += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
        wrapped.append(f"--pdeathsig={death}")
        if cpus:
            wrapped += [host.program("taskset"), "--cpu-list", ",".join(map(str, cpus))]
        return [*wrapped, *command]


def account(package: str) -> Account:
    """The account of a package's servers if we are root, otherwise our own.

    Raises:
        ProvisionError: we are root and there is no such account.
    """
    import pwd  # not on Windows, where this module is imported but provides no servers

    if os.geteuid() != 0:
        return Account(None)
    try:
        pwd.getpwnam(package)
    except KeyError:
        raise ProvisionError(
            "unavailable",
            f"there is no account `{package}`, and the server refuses to run as root: install its package",
        ) from None
    return Account(package)


def cpu_numbers(wanted: int | str | None, server: str) -> list[int]:
    """The CPUs of a list, or the first so many that we may use; none for all.

    Raises:
        ProvisionError: there are fewer, or not these.
    """
    usable = sorted(os.sched_getaffinity(0))
    if wanted is None:
        return []
    if isinstance(wanted, str):
        listed = cpu_list(wanted)
        lacking = [cpu for cpu in listed if cpu not in usable]
        if lacking:
            raise ProvisionError(
                "settings",
                f"databases.{server}.cpus names CPU {lacking[0]}, and available here are {', '.join(map(str, usable))}",
            )
        return listed
    if wanted > len(usable):
        raise ProvisionError(
            "settings", f"databases.{server}.cpus asks for {wanted} CPUs, and {len(usable)} are available here"
        )
    return usable[:wanted]


def cpu_list(text: str) -> list[int]:
    """The numbers of a list such as `0,2,4-7`, ascending, each once."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return sorted(found)


def _group(name: str) -> str:
    import pwd

    return str(pwd.getpwnam(name).pw_gid)
