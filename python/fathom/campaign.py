"""The directory of a campaign: created, locked, resumed, extended.

One process at a time owns a directory; the lock is the kernel's and dies with its owner. A directory belongs to one
study text, seed, clock and scale for ever: what may grow is the number of rounds.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fathom import locking, record, results
from fathom.engine import Model
from fathom.errors import CampaignError
from fathom.plan import Plan, plan
from fathom.results import FORMAT_VERSION, RETRIED


def default_directory(planned: Plan, parent: Path = Path("results")) -> Path:
    """The default directory of a campaign: named after the study and everything that may not change within it."""
    study = planned.study
    texts = [study.text, *(text for _, text in study.models)]
    identity = "\0".join([*texts, str(planned.seed), study.clock, str(study.quick)])
    mark = hashlib.blake2b(identity.encode(), digest_size=3).hexdigest()
    return parent / f"{study.path.stem}-{study.clock}{'-quick' if study.quick else ''}-{mark}"


def unused_directory(directory: Path) -> Path:
    """The directory, or the first of `-2`, `-3`, ... that does not exist."""
    number, candidate = 1, directory
    while candidate.exists():
        number += 1
        candidate = directory.with_name(f"{directory.name}-{number}")
    return candidate


def in_force(directory: Path, wanted: Plan) -> Plan:
    """The plan that the directory would carry out: the wanted one, or the longer one it already has. Writes nothing.

    Raises:
        CampaignError: the directory holds something else, or may not be looked at.
        ResultsError: it holds a damaged campaign, or one of a newer format.
    """
    if not (directory / "campaign.json").exists():
        others = [place.name for place in directory.iterdir() if not place.name.startswith(".")]
        if others and not _half_made(directory, others, wanted):
            raise CampaignError(f"{directory}: not empty and not a campaign ({others[0]})", "name another with --out")
        return wanted
    head = results.read_head(directory)
    begun_with = results.read_json(directory / "plan.json").get("runs", ())
    wanted = wanted.in_order_of(begun_with)
    _check_same(directory, head, wanted)
    before = _rounds(head)
    if wanted.rounds > before:
        return wanted
    return plan(wanted.study, seed=wanted.seed, rounds=before).in_order_of(begun_with)


def _half_made(directory: Path, names: Sequence[str], wanted: Plan) -> bool:
    """Whether this is what `_create` leaves of the same study if the disk is full, and no file of anybody else."""
    study = directory / "study.toml"
    return (
        {"runs"} <= set(names) <= {"runs", study.name, "plan.json"}
        and not any((directory / "runs").iterdir())
        and (not study.exists() or study.read_text(encoding="utf-8") == wanted.study.text)
    )


def prepare(directory: Path, plan_in_force: Plan) -> None:
    """Creates the campaign, or prepares the existing one to be resumed. The caller holds the lock.

    Raises:
        CampaignError: the directory cannot be written.
        ResultsError: it holds a damaged campaign.
    """
    if not (directory / "campaign.json").exists():
        _create(directory, plan_in_force)
        return
    record.remove_unfinished(directory / "runs")
    head = results.read_head(directory)
    if plan_in_force.rounds > _rounds(head):
        record.replace(directory / "plan.json", plan_in_force.as_dict())
        head["extended"].append({"rounds": plan_in_force.rounds, "at": now()})
        record.replace(directory / "campaign.json", head)


def _rounds(head: dict[str, Any]) -> int:
    return int(max(entry["rounds"] for entry in head["extended"]))


def rounds_of(directory: Path) -> int | None:
    """The rounds that the campaign in a directory has; None if there is none.

    Raises:
        ResultsError: it is damaged or of a newer format.
    """
    head = begun(directory)
    return _rounds(head) if head else None


def begun(directory: Path) -> dict[str, Any]:
    """What a campaign was begun with (seed, clock, quick, scratch, ...); empty if there is none.

    Raises:
        ResultsError: it is damaged or of a newer format.
    """
    return results.read_head(directory) if (directory / "campaign.json").exists() else {}


def models(directory: Path | None) -> tuple[Model, ...]:
    """The models of a user that a campaign began with; empty for one that needs none or is not there yet.

    Raises:
        ResultsError: its plan is damaged.
    """
    if directory is None or not (directory / "campaign.json").exists():
        return ()
    return tuple((name, text) for name, text in results.read_json(directory / "plan.json").get("models", ()))


def set_aside(directory: Path, failed: Sequence[Path]) -> None:
    """Makes these runs unfinished ones; their records go to the folder `retried`, numbered. The caller holds the lock.

    Raises:
        CampaignError: the directory cannot be written.
    """
    with record.writing(directory):
        for place in failed:
            (directory / RETRIED).mkdir(exist_ok=True)
            place.rename(unused_directory(directory / RETRIED / place.name))
        if failed:
            locking.sync_directory(directory / RETRIED)
            locking.sync_directory(directory / "runs")


def note_look(directory: Path, rounds: int) -> None:
    """Records that a verdict after so many complete rounds was shown: later verdicts pay for it.

    Raises:
        CampaignError: the directory cannot be written.
        ResultsError: it is damaged.
    """
    head = results.read_head(directory)
    if rounds and rounds not in {look["rounds"] for look in head["looks"]}:
        head["looks"].append({"rounds": rounds, "at": now()})
        record.replace(directory / "campaign.json", head)


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Creates the directory if need be and owns it until the end; one that is still empty by then goes again.

    Raises:
        CampaignError: another process owns it, or it cannot be created.
    """
    with record.writing(directory):
        missing = [place for place in (directory, *directory.parents) if not place.exists()]
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / ".lock"
        lock = os.open(path, os.O_CREAT | os.O_RDWR | locking.NO_INHERIT, 0o644)
        try:
            _own(lock, directory)
            os.ftruncate(lock, 0)
            os.write(lock, f"{os.getpid()}\n".encode())
            try:
                yield
            finally:
                if missing and [place.name for place in directory.iterdir()] == [path.name]:
                    with suppress(OSError):
                        path.unlink()
                        for place in missing:
                            place.rmdir()
        finally:
            os.close(lock)


def _own(lock: int, directory: Path) -> None:
    try:
        locking.lock(lock, wait=False)
    except BlockingIOError:
        owner = os.read(lock, 32).decode(errors="replace").strip() or "unknown"
    else:
        if os.fstat(lock).st_nlink:
            return
        owner = "unknown"  # it just took the empty directory away
    raise CampaignError(
        f"{directory}: another campaign is running there (process {owner})",
        "wait for it, stop it, or name another directory with --out",
    )


def is_running(directory: Path) -> bool:
    """Whether a process owns the directory at this moment; False where the lock cannot be looked at."""
    try:
        lock = os.open(directory / ".lock", os.O_RDWR | locking.NO_INHERIT)
    except OSError:
        return False
    try:
        locking.lock(lock, wait=False)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def now() -> str:
    """The wall clock in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _create(directory: Path, wanted: Plan) -> None:
    with record.writing(directory):
        (directory / "runs").mkdir(exist_ok=True)
    record.replace(directory / "study.toml", wanted.study.text)
    record.replace(directory / "plan.json", wanted.as_dict())
    # Last: a directory is a campaign from the moment this file is there.
    record.replace(directory / "campaign.json", _head(wanted))


def _head(wanted: Plan) -> dict[str, Any]:
    created = now()
    return {
        "format_version": FORMAT_VERSION,
        "created": created,
        "study_file": wanted.study.path.name,
        "study_digest": results.text_digest(wanted.study.text),
        "seed": wanted.seed,
        "clock": wanted.study.clock,
        "quick": wanted.study.quick,
        "fixed": wanted.study.fixed,
        "fingerprint": None,
        "scratch": None,
        "extended": [{"rounds": wanted.rounds, "at": created}],
        "looks": [],
    }


def _check_same(directory: Path, head: dict[str, Any], wanted: Plan) -> None:
    if head["format_version"] != FORMAT_VERSION:
        raise CampaignError(
            f"{directory}: begun by an older Fathom (format version {head['format_version']}); it takes no more runs",
            "`fathom report` still reads it; for new runs name another directory with --out",
        )
    study = wanted.study
    same = (("seed", wanted.seed, "seed"), ("clock", study.clock, "clock"), ("quick", study.quick, "scale (--quick)"))
    found = [words for key, value, words in same if head[key] != value]
    kept = (directory / "study.toml").read_text(encoding="utf-8")
    edited = results.edited(head, kept)
    # The file in the directory may have been edited since, and be the one that is asked for.
    if results.text_digest(study.text) != head["study_digest"] if edited else kept != study.text:
        found.insert(0, "study text")
    if head["fixed"] != study.fixed:
        found.append("value of a setting")
    if [text for _, text in models(directory)] != [text for _, text in study.models]:
        found.append("set of models")
    if not found and _other_runs(directory, wanted):
        known = head.get("study_digest") is not None
        found.append("meaning of its study, as another version of Fathom read it" if known else "study text")
    if found:
        raise CampaignError(
            f"{directory}: holds a campaign with another {' and another '.join(found)}",
            "name another directory with --out; a campaign's study is fixed once it has begun",
        )


def _other_runs(directory: Path, wanted: Plan) -> bool:
    """Whether the plan has another run where the campaign has one: what is run differs, whatever the texts are."""
    before = {run["order"]: run["id"] for run in results.read_json(directory / "plan.json").get("runs", ())}
    return any(before.get(run.order, run.id) != run.id for run in wanted.runs)


def settle_place(directory: Path, scratch: Path | None) -> Path:
    """The directory on the disk under test: the one asked for, or else the one that the campaign began with.

    Raises:
        ResultsError: the campaign is damaged.
    """
    head = results.read_head(directory)
    if scratch is None:
        return Path(head["scratch"]) if head["scratch"] else directory
    if head["scratch"] is None:
        head["scratch"] = str(scratch.absolute())
        record.replace(directory / "campaign.json", head)
    return scratch


def check_machine(directory: Path, fingerprint: str) -> None:
    """Ties a campaign on the real clock to the machine and disk that it began on.

    Raises:
        CampaignError: it began on another one.
        ResultsError: it is damaged.
    """
    head = results.read_head(directory)
    if head["fingerprint"] is None:
        head["fingerprint"] = fingerprint
        record.replace(directory / "campaign.json", head)
    elif head["fingerprint"] != fingerprint:
        raise CampaignError(
            f"{directory}: began on another machine, kernel or disk; its runs cannot be mixed with runs from here",
            "start a separate campaign with --out, then compare the two with `fathom compare`",
        )
