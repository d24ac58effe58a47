#!/bin/sh
# Installs what the tests run against besides Rust and Python: real database servers, file systems, and the peers'
# clients of the protocols that fathomd serves. One line per package, with a command or file that shows that it is there.
# Does nothing, and touches no network, where nothing is missing. Usage: install-test-packages.sh
set -eu

missing=""
while read -r package shown; do
    # shellcheck disable=SC2086 # a pattern that may match several versions
    command -v "$shown" >/dev/null 2>&1 || ls $shown >/dev/null 2>&1 || missing="$missing $package"
done <<'LIST'
postgresql          /usr/lib/postgresql/*/bin/postgres
mariadb-server      /usr/*bin/mariadbd
mariadb-backup      mariadb-backup
xfsprogs            /usr/*bin/mkfs.xfs
btrfs-progs         /usr/*bin/mkfs.btrfs
e2fsprogs           /usr/*bin/mkfs.ext4
fio                 fio
nbdkit              nbdkit
libnbd-bin          nbdinfo
python3-libnbd      /usr/lib/python3/dist-packages/nbd.py
faketime            faketime
qemu-utils          qemu-io
openssl             openssl
systemd             systemd-analyze
prometheus          promtool
chromium            chromium
LIST
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "error: the tests need:$missing (Debian's names); install them with this system's package manager" >&2
    exit 1
fi
if [ "$(id -u)" != 0 ]; then
    echo "error: the tests need:$missing; run as root: apt-get install$missing" >&2
    exit 1
fi
apt-get update -qq
# shellcheck disable=SC2086 # a list of words
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
