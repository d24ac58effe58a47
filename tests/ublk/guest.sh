#!/bin/busybox sh
# Runs as /init of the guest: shows what the ublk front end claims, a line per claim (TAP), then ends the machine.
# The volumes are files in memory, so that they outlive a killed daemon.
/bin/busybox mkdir -p /usr/bin
/bin/busybox --install -s /usr/bin
export PATH=/bin:/usr/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs none /data
mount -t tmpfs none /run
mkdir -p /dev/shm && mount -t tmpfs none /dev/shm
# The firmware leaves its line unfinished.
echo
count=0
claim() { # claim WORDS COMMAND...: the command succeeds
    count=$((count + 1))
    words=$1
    shift
    if "$@" >/run/told 2>&1; then echo "ok $count - $words"; else
        echo "not ok $count - $words"
        head -n 5 /run/told | sed 's/^/# /'
        [ ! -e /run/log ] || tail -n 5 /run/log | sed 's/^/# fathomd: /'
    fi
}
refused() { ! "$@"; }
says() { grep -qF "$1" "$2"; }
is() { [ "$(cat "$1")" = "$2" ] || { echo "$1 is $(cat "$1"), not $2"; false; }; }

settings() { # settings [LINE OF THE EXPORT] [LINE OF THE DAEMON]: a cache in front of a file, served as /dev/ublkb0
    cat >/data/fathomd.toml <<TOML
[volumes.backing]
kind = "file"
path = "/data/backing"
size = "256MiB"
direct = "off"
[volumes.nvme]
kind = "file"
path = "/data/nvme"
size = "96MiB"
direct = "off"
[volumes.data]
kind = "writeback"
backing = "backing"
cache = "nvme"
[exports.data]
volume = "data"
ublk = 0
$1
[daemon]
socket = "/run/nbd.sock"
status = "/run/status.sock"
$2
TOML
}
start() { # starts the daemon and waits until it serves, or has ended
    : >/run/log
    fathomd /data/fathomd.toml 2>>/run/log &
    daemon=$!
    while kill -0 $daemon 2>/dev/null && ! grep -q ' serving socket' /run/log; do sleep 0.2; done
    kill -0 $daemon 2>/dev/null
}
stop() { kill -TERM $daemon && wait $daemon; }
murder() { kill -KILL $daemon && wait $daemon; true; }
queue=/sys/block/ublkb0/queue

settings
claim "its volumes are made" fathomd --create /data/fathomd.toml
claim "without the driver the daemon says which module is missing" sh -c '! fathomd /data/fathomd.toml 2>/run/why; grep -q "modprobe ublk_drv" /run/why'
rm -f /run/*.sock
for module in crc16 crc32c_generic libcrc32c mbcache jbd2 ext4 ublk_drv; do
    [ ! -e /modules/$module.ko ] || insmod /modules/$module.ko
done

claim "the daemon serves" start
claim "the device is there" test -b /dev/ublkb0
claim "it is a little smaller than its backing file, whose tail holds the redo ring" sh -c '[ $(cat /sys/block/ublkb0/size) -gt 400000 ] && [ $(cat /sys/block/ublkb0/size) -lt 524288 ]'
claim "its logical block is the volume's" is $queue/logical_block_size 512
claim "the host knows of its cache" is $queue/write_cache "write back"
claim "the host may ask for FUA" is $queue/fua 1
claim "it takes 512 KiB at once" is $queue/max_hw_sectors_kb 512
claim "it can be trimmed" test "$(cat $queue/discard_max_bytes)" -gt 0
claim "it can be zeroed" test "$(cat $queue/write_zeroes_max_bytes)" -gt 0
claim "it can be written to" is /sys/block/ublkb0/ro 0

head -c 8388608 /dev/urandom >/data/pattern
claim "what is written" dd if=/data/pattern of=/dev/ublkb0 bs=1M conv=fsync
echo 3 >/proc/sys/vm/drop_caches
claim "is read back" cmp -n 8388608 /data/pattern /dev/ublkb0
claim "a trimmed range" /bin/blkdiscard -o 0 -l 1048576 /dev/ublkb0
claim "and a zeroed one" /bin/blkdiscard -z -o 1048576 -l 1048576 /dev/ublkb0
echo 3 >/proc/sys/vm/drop_caches
claim "read as zeroes" cmp -n 2097152 /dev/zero /dev/ublkb0

claim "ext4 is made on it" mkfs.ext4 -q -F /dev/ublkb0
claim "and mounted" mount -t ext4 /dev/ublkb0 /mnt
claim "files are kept" sh -c 'cp /data/pattern /mnt/a && sync && echo 3 >/proc/sys/vm/drop_caches && cmp /data/pattern /mnt/a'

# One size of block and one pass: what fio verifies is then what the device did, and not how fio draws overlapping blocks.
fio="fio --name=verify --filename=/mnt/fio --size=24m --rw=randwrite --bs=4k --rate_iops=600 --ioengine=libaio --direct=1
    --iodepth=16 --verify=crc32c --verify_state_save=0 --randseed=20 --fsync=64"
for round in 1 2 3; do
    $fio >/run/fio 2>&1 &
    load=$!
    sleep 6
    claim "round $round: the daemon is killed under load" murder
    claim "round $round: it starts again" start
    claim "round $round: and takes the device over" says "recovered=true" /run/log
    claim "round $round: fio found every byte" sh -c "while kill -0 $load 2>/dev/null; do sleep 0.5; done; cat /run/fio; grep -q 'err= 0' /run/fio"
done
claim "a second daemon is refused" sh -c 'sed "s/\/run\//\/run\/second-/; s/\/data\/backing/\/data\/other/; s/\/data\/nvme/\/data\/other-nvme/" /data/fathomd.toml >/data/second.toml; fathomd --create /data/second.toml && ! fathomd /data/second.toml 2>/run/why'
claim "and told by whom the device is served" says "is served by process $daemon" /run/why
claim "the first serves on" cmp /data/pattern /mnt/a

umount /mnt
claim "the file system is sound" e2fsck -fn /dev/ublkb0
claim "a stop drains" stop
claim "and removes the device" test ! -e /dev/ublkb0

settings "" 'at_stop = "keep"'
claim "the daemon serves again" start
claim "the file system is mounted again" mount -t ext4 /dev/ublkb0 /mnt
claim "and holds what it held" cmp /data/pattern /mnt/a
cp /data/pattern /mnt/b
sync
claim "a stop that keeps the cache" stop
claim "leaves the device" test -b /dev/ublkb0
(cp /data/pattern /mnt/c && sync) &
writer=$!
sed -i 's/^volume = "data"/volume = "other"/' /data/fathomd.toml
printf '[volumes.other]\nkind = "memory"\nsize = "256MiB"\n' >>/data/fathomd.toml
claim "which no other volume can have" refused start
claim "and why is said" says "waits for its server with" /run/log
settings "" 'at_stop = "keep"'
claim "the next start takes it over" start
claim "whoever waited goes on" wait $writer
claim "with everything" cmp /data/pattern /mnt/b
claim "and what was written meanwhile" cmp /data/pattern /mnt/c
umount /mnt
settings
murder
start
claim "a drain after all" stop

settings "read_only = true"
claim "a read-only export" start
claim "is a read-only device" is /sys/block/ublkb0/ro 1
claim "which refuses writes" refused dd if=/data/pattern of=/dev/ublkb0 bs=4096 count=1 conv=fsync
stop
cat >>/data/fathomd.toml <<TOML
[volumes.large]
kind = "sector"
backing = "backing2"
logical_sector = "4KiB"
physical_sector = "4KiB"
[volumes.backing2]
kind = "file"
path = "/data/backing2"
size = "64MiB"
direct = "off"
[exports.large]
volume = "large"
ublk = 1
TOML
claim "another volume is made beside those that are there" fathomd --create /data/fathomd.toml
claim "two devices at once" start
claim "one of them with blocks of 4 KiB" is /sys/block/ublkb1/queue/logical_block_size 4096
claim "a stop removes both" sh -c "kill -TERM $daemon; while kill -0 $daemon 2>/dev/null; do sleep 0.2; done; ! ls /dev/ublkb* 2>/dev/null"
echo "1..$count"
poweroff -f
