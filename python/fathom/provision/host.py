"""Host access for provisioning: commands, files, processes. `Recorder` only writes the commands down."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from fathom.provision.failure import ProvisionError, reason_of
from fathom.provision.process import Process
from fathom.provision.said import cause, naming

PATIENCE_S = 600.0
"""A command that is not done by then never will be; mkfs on a slow modelled volume takes minutes."""

_PLACES = "/usr/local/sbin:/usr/sbin:/sbin"
"""Where system programs are that are not on everyone's path."""


class Host:
    """Carries things out on this machine."""

    dry = False

    def run(
        self,
        command: Sequence[str],
        *,
        reason: str = "unavailable",
        dry: str = "",
        patience_s: float | None = PATIENCE_S,
    ) -> str:
        """Runs a command to its end.

        Args:
            command: program and arguments.
            reason: of the failed run if it fails.
            dry: what a recorder answers instead of the output.
            patience_s: how long it may take; None for as long as it takes.

        Returns:
            Its standard output, stripped.

        Raises:
            ProvisionError: the program is missing, failed, or did not end.
        """
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", check=False, timeout=patience_s,
                stdin=subprocess.DEVNULL, env=inherited(),
            )  # fmt: skip
        except FileNotFoundError:
            raise ProvisionError("unavailable", _missing(command[0])) from None
        except subprocess.TimeoutExpired:
            raise ProvisionError(reason, f"`{words(command)}` did not end within {patience_s:.0f} s") from None
        if done.returncode:
            # Some name the error on their standard output, and say on the other what they do about it.
            said = cause(f"{done.stderr}\n{done.stdout}" if naming(done.stdout) else done.stderr or done.stdout)
            raise ProvisionError(
                reason_of(done.stderr + done.stdout, reason),
                f"`{words(command)}` failed: {said or done.returncode}",
            )
        return done.stdout.strip()

    def start(
        self,
        command: Sequence[str],
        *,
        log: Path,
        directory: Path,
        stop: Sequence[str],
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> Process:
        """Starts a server in the background.

        Args:
            command: program and arguments.
            log: where its output goes.
            directory: where it runs; leftovers are recognised by it.
            stop: names of the signals that stop it, the kindest first.
            environment: what is added to ours.

        Raises:
            ProvisionError: the program is missing or may not be run.
        """
        try:
            return Process.start(command, log, directory, stop, {**inherited(), **environment})
        except OSError as problem:
            raise ProvisionError("unavailable", f"`{command[0]}`: {problem.strerror}") from None

    def directory(self, path: Path, owner: str | None = None) -> Path:
        """Makes a directory (0700), given to an account if one is named; its parents stay as they are."""
        try:
            path.mkdir(parents=True, mode=0o700, exist_ok=True)
            if owner is not None:
                shutil.chown(path, owner)
        except (OSError, LookupError) as problem:
            raise unusable(path, problem) from None
        return path

    def write(self, path: Path, text: str, owner: str | None = None, *, append: bool = False) -> None:
        """Writes a file, or adds to one."""
        try:
            with path.open("a" if append else "w", encoding="utf-8") as file:
                file.write(text)
            if owner is not None:
                shutil.chown(path, owner)
        except (OSError, LookupError) as problem:
            raise unusable(path, problem) from None

    def program(self, name: str, folders: Sequence[str] = ()) -> str:
        """Path of a program: in one of the folders, on the path, or where system programs are.

        Raises:
            ProvisionError: it is nowhere.
        """
        for folder in folders:
            if os.access(Path(folder) / name, os.X_OK):
                return str(Path(folder) / name)
        found = shutil.which(name) or shutil.which(name, path=_PLACES)
        if found is None:
            raise ProvisionError("unavailable", _missing(name))
        return found


class Recorder(Host):
    """Writes down what would be done, as lines of a shell script."""

    dry = True

    def __init__(self) -> None:
        self.lines: list[str] = []

    def run(
        self,
        command: Sequence[str],
        *,
        reason: str = "unavailable",
        dry: str = "",
        patience_s: float | None = PATIENCE_S,
    ) -> str:
        """Notes the command."""
        self.lines.append(words(command) + (f"    # answers {dry}" if dry else ""))
        return dry

    def start(
        self,
        command: Sequence[str],
        *,
        log: Path,
        directory: Path,
        stop: Sequence[str],
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> Process:
        """Notes the command and how it is stopped."""
        self.lines.append(f"cd {shlex.quote(str(directory))} && {words(command)} >{shlex.quote(str(log))} 2>&1 &")
        return Process.recorded(log, lambda: self.lines.append(f"kill -{stop[0]} %{shlex.quote(command[0])}"))

    def directory(self, path: Path, owner: str | None = None) -> Path:
        """Notes it."""
        given = f" -o {owner}" if owner is not None else ""
        self.lines.append(f"install -d -m 0700{given} {shlex.quote(str(path))}")
        return path

    def write(self, path: Path, text: str, owner: str | None = None, *, append: bool = False) -> None:
        """Notes it."""
        self.lines.append(f"cat {'>>' if append else '>'}{shlex.quote(str(path))} <<'END'\n{text.rstrip()}\nEND")

    def program(self, name: str, folders: Sequence[str] = ()) -> str:
        """Its name, whether it is installed here or not."""
        return name


def words(command: Sequence[str]) -> str:
    """A command as one would type it."""
    return " ".join(shlex.quote(word) for word in command)


def unusable(path: Path, problem: OSError | LookupError) -> ProvisionError:
    """The failed run of a path that cannot be used."""
    said = problem.strerror if isinstance(problem, OSError) else str(problem)
    return ProvisionError(reason_of(str(said)), f"{path}: {said}")


def root_needed(what: str) -> None:
    """Refuses whoever is not root.

    Raises:
        ProvisionError: this process is not root.
    """
    if os.geteuid() != 0:
        raise ProvisionError(
            "permission",
            f'{what} needs root: run the same command with sudo, or use a place of kind = "directory"',
        )


def inherited() -> dict[str, str]:
    """As ours, with untranslated messages and nothing that leads a database's tools elsewhere."""
    # TMPDIR may be one that a server's account must not write to.
    led = ("PG", "MYSQL", "MARIADB", "TMPDIR")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(led)}
    return {**kept, "LC_ALL": "C"}


def _missing(name: str) -> str:
    from fathom.provision.database import kinds

    packages = {"mkfs.ext4": "e2fsprogs", "mkfs.xfs": "xfsprogs", "mkfs.btrfs": "btrfs-progs", "losetup": "mount"}
    for kind in kinds().values():
        packages |= kind.packages
    package = packages.get(Path(name).name)
    return f"the program {Path(name).name} is not installed" + (f": apt-get install {package}" if package else "")
