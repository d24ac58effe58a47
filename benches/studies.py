"""How long the project's studies take: each at its tiny scale (--quick), and hci-profiles on one processor and on all.

A study runs in virtual time where it can, otherwise on this machine; one that needs what is not here (root, a server, a
kernel feature) is listed and not judged. Bars: 10 s for every --quick, 1.8 times as fast on two processors.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import Table

STUDIES = Path(__file__).resolve().parent.parent / "studies"
BAR_S, BAR_GAIN = 10.0, 1.8
PATIENCE_S = 60.0
"""For a --quick of a study; hci-profiles at its own size gets ten times as long, because it takes 40 s alone."""
LATE = 124
"""Exit code of a command that did not end in time, as of timeout(1)."""


def fathom(*arguments: object, patience_s: float = PATIENCE_S) -> tuple[int, float, str]:
    """Exit code, time on the wall in seconds and the last line of standard error of `fathom ARGUMENTS...`."""
    command = [sys.executable, "-m", "fathom", *map(str, arguments)]
    begun = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience_s)
    except subprocess.TimeoutExpired:
        return LATE, patience_s, f"did not end within {patience_s:g} s"
    said = [line for line in done.stderr.splitlines() if line.strip()]
    return done.returncode, time.perf_counter() - begun, said[-1] if said else ""


def quick(study: Path, place: Path) -> tuple[str, int, float, str]:
    """How a study was run ("simulate" or "run"), and what `fathom` gave."""
    virtual = fathom("plan", study, "--clock", "virtual", "--quick")[0] == 0
    verb = "simulate" if virtual else "run"
    return verb, *fathom(verb, study, "--quick", "--quiet", "--out", place / study.stem)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*", type=Path, help="studies to run at tiny scale (all of studies/)")
    parser.add_argument("--json", type=Path, help="where the samples go")
    parser.add_argument("--skip-quick", action="store_true", help="only the gain by processors")
    arguments = parser.parse_args()
    table = Table("what", "how", "time", "to reach", "reached")
    samples: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        times = {}
        for jobs in (1, os.cpu_count() or 1):
            directory = place / f"hci-{jobs}"
            study = STUDIES / "hci-profiles.toml"
            what = ("simulate", study, "--no-sensitivity", "-j", jobs, "--out", directory)
            code, times[jobs], said = fathom(*what, patience_s=10 * PATIENCE_S)
            if code not in {0, 3}:
                raise SystemExit(f"hci-profiles: {said}")
            samples.append({"study": "hci-profiles", "jobs": jobs, "seconds": times[jobs]})
        one, every = times[1], times[max(times)]
        words = f"{one:.1f} s, {every:.1f} s"
        table.row(
            "hci-profiles", f"1 and {max(times)} processors", f"{words}: {one / every:.2f} ×",
            bar=f"{BAR_GAIN:g} ×", met=one / every >= BAR_GAIN,
        )  # fmt: skip
        studies = [] if arguments.skip_quick else arguments.studies or sorted(STUDIES.glob("*.toml"))
        for study in studies:
            verb, code, seconds, said = quick(study, place)
            samples.append({"study": study.stem, "verb": verb, "code": code, "seconds": seconds})
            ran = code in {0, 3, LATE}
            told = f"{seconds:.1f} s" if ran else f"{seconds:.1f} s, code {code}: {said[:70]}"
            table.row(study.stem, f"{verb} --quick", told, bar=f"{BAR_S:g} s", met=seconds <= BAR_S if ran else None)
    return table.finish(samples, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
