//! Commands to the driver, one at a time, each with its own ring in its own thread: they are rare, some take long,
//! and they need submission entries of 128 bytes, which the executor's ring does not have.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;

use fathom_runtime::Ring;
use fathom_ublk::control::{COMMAND_BYTES, Command, Info, Operation, PATH, Parameters};
use io_uring::squeue::Entry128;
use io_uring::{IoUring, cqueue, opcode, types};

use crate::blocking::blocking;

/// Has a command carried out for device `device`. `buffer` is read and written by the driver, and comes back.
///
/// # Errors
/// The driver's; `NotFound` if there is no driver.
async fn command(
    ring: &Ring,
    operation: Operation,
    device: u32,
    data: u64,
    buffer: Vec<u8>,
) -> io::Result<Vec<u8>> {
    blocking(ring, move || perform(operation, device, data, buffer)).await?
}

fn perform(operation: Operation, device: u32, data: u64, mut buffer: Vec<u8>) -> io::Result<Vec<u8>> {
    let control = File::options().read(true).write(true).open(PATH)?;
    let mut ring: IoUring<Entry128, cqueue::Entry> = IoUring::builder().build(2)?;
    let asked = Command { device, buffer: (buffer.as_mut_ptr().addr() as u64, buffer.len() as u16), data };
    let mut bytes = [0; 80];
    bytes[..COMMAND_BYTES].copy_from_slice(&asked.bytes());
    let entry = opcode::UringCmd80::new(types::Fd(control.as_raw_fd()), operation.code()).cmd(bytes).build();
    // SAFETY: the entry points into `buffer`, which lives until the answer is there.
    unsafe { ring.submission().push(&entry) }.map_err(io::Error::other)?;
    let result = loop {
        match ring.submit_and_wait(1) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                // The kernel may still write to it.
                std::mem::forget(buffer);
                return Err(error);
            }
            Ok(_) => {
                if let Some(completion) = ring.completion().next() {
                    break completion.result();
                }
            }
        }
    };
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(buffer) }
}

/// Whether the driver is there, and which features it has.
///
/// # Errors
/// The driver's.
pub async fn features(ring: &Ring) -> io::Result<u64> {
    let answer = command(ring, Operation::Features, 0, 0, vec![0; 8]).await?;
    Ok(u64::from_ne_bytes(answer.try_into().expect("the buffer comes back")))
}

/// What the driver knows of a device; None if it has none of that number.
///
/// # Errors
/// The driver's.
pub async fn info(ring: &Ring, device: u32) -> io::Result<Option<Info>> {
    match command(ring, Operation::Info, device, 0, vec![0; Info::BYTES]).await {
        Ok(answer) => Ok(Some(Info::read(&answer.try_into().expect("the buffer comes back")))),
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Adds a device; what the driver granted.
///
/// # Errors
/// The driver's.
pub async fn add(ring: &Ring, info: Info) -> io::Result<Info> {
    let answer = command(ring, Operation::Add, info.device, 0, info.bytes().to_vec()).await?;
    Ok(Info::read(&answer.try_into().expect("the buffer comes back")))
}

/// Describes an added device.
///
/// # Errors
/// The driver's.
pub async fn set_parameters(ring: &Ring, device: u32, parameters: Parameters) -> io::Result<()> {
    command(ring, Operation::SetParameters, device, 0, parameters.bytes().to_vec()).await.map(drop)
}

/// Size and logical block of a device, bytes.
///
/// # Errors
/// The driver's.
pub async fn shape(ring: &Ring, device: u32) -> io::Result<(u64, u32)> {
    let mut buffer = vec![0; Parameters::BYTES];
    // The driver reads from the buffer how long it is.
    buffer[..4].copy_from_slice(&(Parameters::BYTES as u32).to_ne_bytes());
    let answer = command(ring, Operation::GetParameters, device, 0, buffer).await?;
    Ok(Parameters::shape(&answer.try_into().expect("the buffer comes back")))
}

/// A command about the device as a whole that names this process: start, end of a recovery.
///
/// # Errors
/// The driver's.
pub async fn by_us(ring: &Ring, operation: Operation, device: u32) -> io::Result<()> {
    command(ring, operation, device, u64::from(std::process::id()), Vec::new()).await.map(drop)
}

/// Any other command about the device as a whole.
///
/// # Errors
/// The driver's.
pub async fn plain(ring: &Ring, operation: Operation, device: u32) -> io::Result<()> {
    command(ring, operation, device, 0, Vec::new()).await.map(drop)
}
