#!/bin/sh
# Runs scripts of benches/ that print figures for docs/BENCHMARKS.md, one after the other, on an otherwise idle machine:
# all, or those named. Each ends within five minutes with a table of medians, the bar beside each figure, and the load
# of the machine; one that misses a bar does not keep the others from running, but the end is an error then.
# Usage: run-benches.sh PYTHON [NAME...]
set -eu
python=$1
shift
[ $# -gt 0 ] || set -- benches/*.py
cargo build --quiet --release --locked -p fathomd

missed=
for name in "$@"; do
    script=benches/$(basename "$name")
    [ -e "$script" ] || script=$script.py
    [ "$script" != benches/common.py ] || continue
    [ -e "$script" ] || { echo "there is no $script" >&2; exit 2; }
    echo "== $script"
    "$python" "$script" || missed="$missed $script"
done
[ -z "$missed" ] || { echo "bars missed or failed:$missed" >&2; exit 1; }
