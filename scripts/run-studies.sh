#!/bin/sh
# Simulates every study of the project. A study whose clock is "real" alone is planned only.
# Usage: run-studies.sh FATHOM [OPTIONS OF simulate]
set -eu
fathom=$1
shift

worst=0
for study in studies/*.toml; do
    echo "== $study" >&2
    if "$fathom" plan "$study" --clock virtual >/dev/null 2>&1; then
        code=0
        "$fathom" simulate "$study" "$@" || code=$?
        # 3: some comparison could not be made; the report says why.
        if [ "$code" != 0 ] && [ "$code" != 3 ]; then worst=$code; fi
    else
        "$fathom" plan "$study"
    fi
done
exit "$worst"
