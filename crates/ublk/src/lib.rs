//! The ublk protocol without devices: the messages between the kernel's driver and a server in user space, as bytes.
//!
//! Source: `include/uapi/linux/ublk_cmd.h` and `Documentation/block/ublk.rst` of Linux 6.12. A server adds a device by
//! [`control`] commands on `/dev/ublk-control`, then fetches requests on `/dev/ublkcN`: one [`io`] command per tag stays
//! with the driver until a request arrives; its answer goes back with the command that fetches the next one. What the
//! request is stands in a [`io::Descriptor`] in memory that the driver shares.
//!
//! All numbers are in the machine's own order. Nothing here allocates.

pub mod control;
pub mod io;

/// The bytes of a shared structure, cut at a known offset.
fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}

/// The number of a command as the driver takes it since Linux 6.4: `_IOC(direction, 'u', number, size)`.
const fn encoded(reads_only: bool, number: u32, size: usize) -> u32 {
    const READ: u32 = 2 << 30;
    const WRITE: u32 = 1 << 30;
    let direction = if reads_only { READ } else { READ | WRITE };
    direction | (size as u32) << 16 | (b'u' as u32) << 8 | number
}
