//! Commands to `/dev/ublk-control`: a device is added, described, started, taken over, stopped, removed.

use crate::{encoded, part};

/// The device file that takes these commands.
pub const PATH: &str = "/dev/ublk-control";
/// Bytes of a [`Command`] in a submission entry of 128 bytes.
pub const COMMAND_BYTES: usize = 32;

/// What is asked of the driver. Commands beyond [`Operation::Features`] exist; no more are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Makes `/dev/ublkcN`; the buffer holds [`Info`], which comes back with what was granted.
    Add,
    /// Removes the device. It must be stopped.
    Delete,
    /// Makes `/dev/ublkbN`; returns when every tag is fetched. `data` is the server's process id.
    Start,
    /// Removes `/dev/ublkbN`; returns when requests in flight are answered.
    Stop,
    /// The buffer holds [`Parameters`].
    SetParameters,
    /// The buffer takes [`Parameters`].
    GetParameters,
    /// Lets a new server take over a device whose server has died.
    StartRecovery,
    /// Ends what [`Operation::StartRecovery`] began; returns when every tag is fetched. `data` as for `Start`.
    EndRecovery,
    /// The buffer takes [`Info`].
    Info,
    /// The buffer takes 8 bytes: the feature flags the driver knows (Linux 6.5).
    Features,
}

impl Operation {
    /// The command's number in a submission entry.
    pub const fn code(self) -> u32 {
        let (reads_only, number) = match self {
            Self::Add => (false, 0x04),
            Self::Delete => (false, 0x05),
            Self::Start => (false, 0x06),
            Self::Stop => (false, 0x07),
            Self::SetParameters => (false, 0x08),
            Self::GetParameters => (true, 0x09),
            Self::StartRecovery => (false, 0x10),
            Self::EndRecovery => (false, 0x11),
            Self::Info => (true, 0x02),
            Self::Features => (true, 0x13),
        };
        encoded(reads_only, number, COMMAND_BYTES)
    }
}

/// `ublksrv_ctrl_cmd`.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// The device's number: N of `/dev/ublkbN`.
    pub device: u32,
    /// Address and length of the buffer, bytes; 0 if the operation takes none.
    pub buffer: (u64, u16),
    /// The operation's number, if it takes one.
    pub data: u64,
}

impl Command {
    /// As the driver reads it.
    pub fn bytes(&self) -> [u8; COMMAND_BYTES] {
        // No command here is about one queue.
        const NO_QUEUE: u16 = u16::MAX;
        let mut bytes = [0; COMMAND_BYTES];
        bytes[0..4].copy_from_slice(&self.device.to_ne_bytes());
        bytes[4..6].copy_from_slice(&NO_QUEUE.to_ne_bytes());
        bytes[6..8].copy_from_slice(&self.buffer.1.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.buffer.0.to_ne_bytes());
        bytes[16..24].copy_from_slice(&self.data.to_ne_bytes());
        bytes
    }
}

/// A new server may take over when this one has died.
pub const USER_RECOVERY: u64 = 1 << 3;
/// Requests that the dead server had are given to the new one, instead of failing.
pub const USER_RECOVERY_REISSUE: u64 = 1 << 4;
/// Commands are numbered as here.
pub const IOCTL_ENCODE: u64 = 1 << 6;

/// What became of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Added or stopped: there is no `/dev/ublkbN`.
    Dead,
    /// Served by a living process.
    Live,
    /// Its server has died; requests wait for a new one.
    Quiesced,
    /// A state of a newer driver.
    Unknown(u16),
}

/// `ublksrv_ctrl_dev_info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info {
    /// Hardware queues.
    pub queues: u16,
    /// Tags per queue: requests in flight.
    pub depth: u16,
    /// Set by the driver.
    pub state: State,
    /// The largest transfer, bytes.
    pub largest: u32,
    /// The device's number.
    pub device: u32,
    /// The server; set by the driver.
    pub process: i32,
    /// Features, such as [`USER_RECOVERY`].
    pub flags: u64,
}

impl Info {
    /// Bytes of the structure.
    pub const BYTES: usize = 64;

    /// As the driver reads it. Its own fields are left zero.
    pub fn bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0..2].copy_from_slice(&self.queues.to_ne_bytes());
        bytes[2..4].copy_from_slice(&self.depth.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.largest.to_ne_bytes());
        bytes[12..16].copy_from_slice(&self.device.to_ne_bytes());
        bytes[24..32].copy_from_slice(&self.flags.to_ne_bytes());
        bytes
    }

    /// As the driver wrote it.
    pub fn read(bytes: &[u8; Self::BYTES]) -> Self {
        let state = match u16::from_ne_bytes(part(bytes, 4)) {
            0 => State::Dead,
            1 => State::Live,
            2 => State::Quiesced,
            other => State::Unknown(other),
        };
        Self {
            queues: u16::from_ne_bytes(part(bytes, 0)),
            depth: u16::from_ne_bytes(part(bytes, 2)),
            state,
            largest: u32::from_ne_bytes(part(bytes, 8)),
            device: u32::from_ne_bytes(part(bytes, 12)),
            process: i32::from_ne_bytes(part(bytes, 16)),
            flags: u64::from_ne_bytes(part(bytes, 24)),
        }
    }
}

/// `ublk_params` with the parts `basic` and `discard`. Sizes are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// The device's size.
    pub size: u64,
    /// Logical block; a power of two from 512 to the page.
    pub logical_block: u32,
    /// Physical block; a power of two, no less than the logical one.
    pub physical_block: u32,
    /// Transfers of this size are fast; a power of two.
    pub optimal_transfer: u32,
    /// The largest transfer; no more than [`Info::largest`].
    pub largest_transfer: u32,
    /// The host must flush, and may ask for FUA.
    pub volatile_cache: bool,
    /// Writes are refused by the host.
    pub read_only: bool,
    /// The longest trim or write-zeroes.
    pub largest_discard: u32,
}

impl Parameters {
    /// Bytes of the structure up to the end of its part `discard`.
    pub const BYTES: usize = 60;

    const READ_ONLY: u32 = 1;
    const VOLATILE_CACHE: u32 = 1 << 2;
    const FUA: u32 = 1 << 3;
    const BASIC_AND_DISCARD: u32 = 1 | 2;
    // The block layer counts in these, whatever the block of the device.
    const SECTOR: u64 = 512;

    /// As the driver reads it.
    pub fn bytes(&self) -> [u8; Self::BYTES] {
        let attributes = if self.read_only { Self::READ_ONLY } else { 0 }
            | if self.volatile_cache { Self::VOLATILE_CACHE | Self::FUA } else { 0 };
        let mut bytes = [0; Self::BYTES];
        bytes[0..4].copy_from_slice(&(Self::BYTES as u32).to_ne_bytes());
        bytes[4..8].copy_from_slice(&Self::BASIC_AND_DISCARD.to_ne_bytes());
        bytes[8..12].copy_from_slice(&attributes.to_ne_bytes());
        // Block sizes travel as powers of two.
        bytes[12] = self.logical_block.trailing_zeros() as u8;
        bytes[13] = self.physical_block.trailing_zeros() as u8;
        bytes[14] = self.optimal_transfer.trailing_zeros() as u8;
        bytes[15] = self.physical_block.trailing_zeros() as u8;
        let sectors = |bytes: u32| (u64::from(bytes) / Self::SECTOR) as u32;
        bytes[16..20].copy_from_slice(&sectors(self.largest_transfer).to_ne_bytes());
        bytes[24..32].copy_from_slice(&(self.size / Self::SECTOR).to_ne_bytes());
        bytes[44..48].copy_from_slice(&self.logical_block.to_ne_bytes());
        bytes[48..52].copy_from_slice(&sectors(self.largest_discard).to_ne_bytes());
        bytes[52..56].copy_from_slice(&sectors(self.largest_discard).to_ne_bytes());
        // The driver takes one range per discard.
        bytes[56..58].copy_from_slice(&1_u16.to_ne_bytes());
        bytes
    }

    /// Size and logical block of a device, as the driver wrote its parameters: what a new server must not change.
    pub fn shape(bytes: &[u8; Self::BYTES]) -> (u64, u32) {
        let sectors = u64::from_ne_bytes(part(bytes, 24));
        (sectors.saturating_mul(Self::SECTOR), 1_u32.checked_shl(u32::from(bytes[12])).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::{COMMAND_BYTES, Command, Info, Operation, Parameters, State};

    // The numbers the C header's macros expand to, `UBLK_U_CMD_*`.
    #[test]
    fn commands_are_numbered_as_in_the_header() {
        assert_eq!(Operation::Add.code(), 0xc020_7504);
        assert_eq!(Operation::Start.code(), 0xc020_7506);
        assert_eq!(Operation::GetParameters.code(), 0x8020_7509);
        assert_eq!(Operation::Info.code(), 0x8020_7502);
        assert_eq!(Operation::Features.code(), 0x8020_7513);
    }

    #[test]
    fn a_command_lies_as_the_structure_does() {
        let bytes = Command { device: 3, buffer: (0x1122_3344_5566, 64), data: 77 }.bytes();
        assert_eq!(bytes.len(), COMMAND_BYTES);
        assert_eq!(bytes[..8], [3, 0, 0, 0, 0xff, 0xff, 64, 0]);
        assert_eq!(bytes[8..16], 0x1122_3344_5566_u64.to_ne_bytes());
        assert_eq!(bytes[16..24], 77_u64.to_ne_bytes());
    }

    #[test]
    fn what_is_asked_comes_back_with_the_drivers_own_fields() {
        let asked = Info {
            queues: 1,
            depth: 64,
            state: State::Dead,
            largest: 1 << 19,
            device: 7,
            process: 0,
            flags: 0x58,
        };
        let mut bytes = asked.bytes();
        bytes[4] = 2;
        bytes[16..20].copy_from_slice(&4242_i32.to_ne_bytes());
        assert_eq!(Info::read(&bytes), Info { state: State::Quiesced, process: 4242, ..asked });
    }

    #[test]
    fn parameters_are_in_sectors_and_powers_of_two() {
        let parameters = Parameters {
            size: 1 << 30,
            logical_block: 4096,
            physical_block: 8192,
            optimal_transfer: 65_536,
            largest_transfer: 1 << 19,
            volatile_cache: true,
            read_only: true,
            largest_discard: 1 << 20,
        };
        let bytes = parameters.bytes();
        assert_eq!(bytes[..16], [60, 0, 0, 0, 3, 0, 0, 0, 13, 0, 0, 0, 12, 13, 16, 13]);
        assert_eq!(bytes[16..20], 1024_u32.to_ne_bytes());
        assert_eq!(bytes[24..32], (1_u64 << 21).to_ne_bytes());
        assert_eq!(bytes[44..], [[0, 16, 0, 0], [0, 8, 0, 0], [0, 8, 0, 0], [1, 0, 0, 0]].concat());
        assert_eq!(Parameters::shape(&bytes), (1 << 30, 4096));
    }
}
