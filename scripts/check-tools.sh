#!/bin/sh
# Says in one line what is missing or too old, before a build fails with something less clear.
# Usage: check-tools.sh PYTHON
set -eu
python=$1

if ! command -v cargo >/dev/null 2>&1; then
    echo "error: cargo not found; install Rust 1.89 or newer, and see that ~/.cargo/bin is in PATH" >&2
    exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "error: $python is missing or older than 3.11; name another one: make PYTHON=python3.12 ..." >&2
    exit 1
fi
rust=$(rustc --version | sed 's/^rustc 1\.\([0-9]*\).*/\1/')
if [ "$rust" -lt 89 ]; then
    echo "error: $(rustc --version) is too old; Fathom needs 1.89 (rustup update stable)" >&2
    exit 1
fi
