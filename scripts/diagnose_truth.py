"""Diagnoses generated, labelled logs and prints the confusion matrix (`make diagnose-truth CASES=1000 SEED=1`)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "diagnose")]

from cases.makers import MAKERS  # noqa: E402 - the path comes first
from cases.simulated import SIMULATED  # noqa: E402
from cases.truth import matrix, outcomes, rates  # noqa: E402


def main() -> int:
    """Prints the matrix and both rates; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", action="store_true", help="cases run by the virtual driver, not generated ones")
    chosen = parser.parse_args()
    found = []
    for outcome in outcomes(chosen.cases, chosen.seed, SIMULATED if chosen.runs else MAKERS):
        found.append(outcome)
        if not outcome.right:
            print(
                f"seed {outcome.seed}: {outcome.maker} ({', '.join(outcome.formats)}) -> {outcome.first}",
                file=sys.stderr,
            )
        if len(found) % 100 == 0 and len(found) < chosen.cases:
            right, well = rates(found)
            told = f"right cause first {right:.1%}; healthy not called sick {well:.1%}"
            print(f"{len(found)} of {chosen.cases}: {told}", file=sys.stderr, flush=True)
    right, well = rates(found)
    print(matrix(found))
    print(
        f"\nseed {chosen.seed}, {len(found)} cases: right cause first {right:.1%}; healthy not called sick {well:.1%}"
    )
    return 0 if right >= 0.95 and well >= 0.98 else 1


if __name__ == "__main__":
    sys.exit(main())
