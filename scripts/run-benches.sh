#!/bin/sh
# Runs every script of benches/ that prints figures for docs/BENCHMARKS.md, one after the other, on an otherwise idle
# machine. Usage: run-benches.sh PYTHON
set -eu
python=$1

for script in benches/*.py benches/*.sh; do
    [ -e "$script" ] || continue
    case $script in benches/_* | benches/common*) continue ;; esac
    echo "== $script"
    case $script in
    *.py) "$python" "$script" ;;
    *) sh "$script" ;;
    esac
done
