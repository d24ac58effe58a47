#!/usr/bin/env bash
# Tries the ublk front end in a packaged kernel under qemu (software emulation: minutes, and no figure of speed).
#
# Usage: ublk-test.sh FATHOMD
#
# Fetches Debian's kernel, unpacks it, packs it with the daemon, fio and file system tools into an initial RAM disk whose
# /init is tests/ublk/guest.sh, and boots that. Ends with 0 if the guest printed its plan and no claim that failed.
# Everything is kept in target/ublk, so that a second run fetches nothing. Needs root only where packages are missing.
set -euo pipefail
fathomd=$(realpath "${1:?the path of fathomd}")
cd "$(dirname "$0")/.."
here=$PWD
work=$here/target/ublk
kernel=linux-image-6.12-amd64
modules="drivers/block/ublk_drv fs/ext4/ext4 fs/jbd2/jbd2 fs/mbcache lib/crc16 crypto/crc32c_generic lib/libcrc32c lib/crc/crc16"
patience=${UBLK_TEST_SECONDS:-900}

missing=""
for pair in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio xz:xz-utils fio:fio mkfs.ext4:e2fsprogs; do
    PATH=$PATH:/usr/sbin:/sbin command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair##*:}"
done
if [ -n "$missing" ]; then
    [ "$(id -u)" = 0 ] || { echo "error: missing:$missing; run as root: apt-get install$missing" >&2; exit 1; }
    apt-get update -qq
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
fi

mkdir -p "$work/package"
if [ ! -e "$work/package/done" ]; then
    package=$(apt-cache depends "$kernel" | awk '/Depends:/ { print $2; exit }')
    [ -n "$package" ] || { echo "error: no package $kernel is known: apt-get update" >&2; exit 1; }
    (cd "$work" && apt-get download -qq "$package" 2>/dev/null && dpkg-deb -x "$package"_*.deb package && rm "$package"_*.deb)
    touch "$work/package/done"
fi

rm -rf "$work/root"
mkdir -p "$work/root"/{bin,dev,proc,sys,run,tmp,data,mnt,modules,etc}
cd "$work/root"
cp "$here/tests/ublk/guest.sh" init
chmod +x init
cp "$(command -v busybox)" bin/busybox
for name in $modules; do
    found=$(find "$work/package/lib/modules" -path "*/kernel/$name.ko*" | head -n 1)
    [ -z "$found" ] || xz -dc "$found" >"modules/$(basename "$name").ko"
done

# A program with every library it loads.
with_libraries() {
    cp "$1" "bin/$(basename "$1")"
    ldd "$1" | grep -oE '/[^ ]+' | while read -r library; do
        mkdir -p ".$(dirname "$library")"
        cp -Ln "$library" ".$library" 2>/dev/null || true
    done
}
with_libraries "$fathomd"
for name in fio mkfs.ext4 e2fsck blkdiscard blockdev; do
    with_libraries "$(PATH=$PATH:/usr/sbin:/sbin command -v $name)"
done
find . | cpio --quiet -o -H newc | gzip -1 >"$work/initrd"
cd "$here"

log=$work/console.log
timeout "$patience" qemu-system-x86_64 -accel tcg -cpu Haswell,-cx16 -smp 2 -m 2048 -nographic -no-reboot \
    -kernel "$(echo "$work"/package/boot/vmlinuz-*)" -initrd "$work/initrd" \
    -append "console=ttyS0 quiet panic=-1" </dev/null | tee "$log" | grep --line-buffered -aE '^(ok|not ok|1\.\.|#)' | tr -d '\r' || true

passed=$(grep -acE '^ok ' "$log" || true)
failed=$(grep -acE '^not ok ' "$log" || true)
planned=$(tr -d '\r' <"$log" | sed -n 's/^1\.\.\([0-9]*\)$/\1/p')
echo "$passed passed, $failed failed"
if [ "$failed" != 0 ] || [ "$passed" != "${planned:-none}" ]; then
    echo "error: ${planned:-no} claims were to be shown; the guest's console is in $log" >&2
    exit 1
fi
