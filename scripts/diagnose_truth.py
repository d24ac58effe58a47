"""Diagnoses generated, labelled logs and prints the confusion matrix (`make diagnose-truth CASES=1000 SEED=1`)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests"), str(ROOT / "tests" / "diagnose")]

from cases.simulated import SIMULATED  # noqa: E402 - the path comes first
from cases.truth import GENERATED, matrix, outcomes, rates  # noqa: E402


def main() -> int:
    """Prints the matrix and the rates; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", action="store_true", help="cases run by the virtual driver, not generated ones")
    parser.add_argument("--only", nargs="+", metavar="MAKER", help="only cases of these makers")
    chosen = parser.parse_args()
    makers = SIMULATED if chosen.runs else GENERATED
    if chosen.only:
        unknown = set(chosen.only) - set(makers)
        if unknown:
            parser.error(f"no maker {', '.join(sorted(unknown))}; there are {', '.join(makers)}")
        makers = {name: makers[name] for name in chosen.only}
    found = []
    for outcome in outcomes(chosen.cases, chosen.seed, makers):
        found.append(outcome)
        if not outcome.right:
            lacks = "" if outcome.reported else f", without {outcome.among}"
            formats = ", ".join(outcome.formats)
            print(f"seed {outcome.seed}: {outcome.maker} ({formats}) -> {outcome.first}{lacks}", file=sys.stderr)
        if len(found) % 100 == 0 and len(found) < chosen.cases:
            print(f"{len(found)} of {chosen.cases}: {rates(found)}", file=sys.stderr, flush=True)
    print(matrix(found))
    print(f"\nseed {chosen.seed}, {len(found)} cases: {rates(found)}")
    return 0 if rates(found).met else 1


if __name__ == "__main__":
    sys.exit(main())
