#!/bin/sh
# Installs what a fresh Debian lacks besides Rust, Python and make: a C compiler (SQLite is compiled) and venv.
# Does nothing, and touches no network, where both are there already. Usage: install-debian.sh [PYTHON]
set -eu
python=${1:-python3}

missing=""
command -v cc >/dev/null 2>&1 || missing="$missing build-essential"
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "error: missing:$missing (Debian's names); install them with this system's package manager" >&2
    exit 1
fi
if [ "$(id -u)" != 0 ]; then
    echo "error: missing:$missing; run as root: apt-get install$missing" >&2
    exit 1
fi
apt-get update -qq
# shellcheck disable=SC2086 # a list of words
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
