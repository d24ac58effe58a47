"""How long the project's studies take: each at its tiny scale (--quick), and hci-profiles on one processor and on all.

A study runs in virtual time where it can, otherwise on this machine; one that needs what is not here (root, a server, a
kernel feature) is listed and not judged. Bars: 10 s for every --quick, 1.8 times as fast on two processors. Beside the
time on the wall stand the processor time of Fathom and all it started, and the load of the machine at the end.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from common import Table

STUDIES = Path(__file__).resolve().parent.parent / "studies"
BAR_S, BAR_GAIN = 10.0, 1.8
PATIENCE_S = 60.0
"""For a --quick of a study; hci-profiles at its own size gets ten times as long, because it takes 40 s alone."""
LATE = 124
"""Exit code of a command that did not end in time, as of timeout(1)."""


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code, seconds on the wall and of processors, last line of standard error."""

    code: int
    wall_s: float
    cpu_s: float
    said: str


def fathom(*arguments: object, patience_s: float = PATIENCE_S) -> Ended:
    """Runs `fathom ARGUMENTS...`."""
    command = [sys.executable, "-m", "fathom", *map(str, arguments)]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience_s)
    except subprocess.TimeoutExpired:
        code, said = LATE, f"did not end within {patience_s:g} s"
    else:
        code, said = done.returncode, next((line for line in done.stderr.splitlines()[::-1] if line.strip()), "")
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Ended(code, wall, cpu, said)


def file_of(text: str) -> Path:
    """The file of a study, by path or by its name in studies/."""
    found = next((path for path in (Path(text), STUDIES / f"{text}.toml") if path.is_file()), None)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text}: neither a file nor a study of {STUDIES}")
    return found


def quick(study: Path, place: Path) -> tuple[str, Ended]:
    """How a study was run ("simulate" or "run"), and how that ended."""
    virtual = fathom("plan", study, "--clock", "virtual", "--quick").code == 0
    verb = "simulate" if virtual else "run"
    return verb, fathom(verb, study, "--quick", "--quiet", "--out", place / study.stem)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*", type=file_of, help="files or names of studies to run at tiny scale (all)")
    parser.add_argument("--json", type=Path, help="where the samples go")
    parser.add_argument("--skip-quick", action="store_true", help="only the gain by processors")
    parser.add_argument("--skip-gain", action="store_true", help="only the studies at tiny scale")
    arguments = parser.parse_args()
    table = Table("what", "how", "time", "to reach", "reached")
    samples: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        if not arguments.skip_gain:
            times = {}
            for jobs in (1, os.cpu_count() or 1):
                directory = place / f"hci-{jobs}"
                study = STUDIES / "hci-profiles.toml"
                what = ("simulate", study, "--no-sensitivity", "-j", jobs, "--out", directory)
                ended = fathom(*what, patience_s=10 * PATIENCE_S)
                if ended.code not in {0, 3}:
                    raise SystemExit(f"hci-profiles: {ended.said}")
                times[jobs] = ended.wall_s
                samples.append({"study": "hci-profiles", "jobs": jobs, **asdict(ended)})
            one, every = times[1], times[max(times)]
            words = f"{one:.1f} s, {every:.1f} s"
            table.row(
                "hci-profiles", f"1 and {max(times)} processors", f"{words}: {one / every:.2f} ×",
                bar=f"{BAR_GAIN:g} ×", met=one / every >= BAR_GAIN,
            )  # fmt: skip
        studies = [] if arguments.skip_quick else arguments.studies or sorted(STUDIES.glob("*.toml"))
        for study in studies:
            verb, ended = quick(study, place)
            load = os.getloadavg()[0]
            samples.append({"study": study.stem, "verb": verb, "load": load, **asdict(ended)})
            ran = ended.code in {0, 3, LATE}
            told = f"{ended.wall_s:.1f} s, CPU {ended.cpu_s:.1f} s, load {load:.1f}"
            told += "" if ran else f", code {ended.code}: {ended.said[:70]}"
            met = ended.wall_s <= BAR_S if ran else None
            table.row(study.stem, f"{verb} --quick", told, bar=f"{BAR_S:g} s", met=met)
    return table.finish(samples, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
