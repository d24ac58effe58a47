//! The host side on kernels with ublk: `/dev/ublkbN`, a block device whose requests this process answers.
//!
//! One queue per device, served by the executor's own ring: each tag is a task that fetches a request, has it done and
//! answers with the command that fetches the next ([`queue`]). The few administrative commands block, partly until the
//! device's own requests are answered, and so run in a thread of their own ([`control`]).
//!
//! If the daemon dies, the driver keeps the device and its requests: users wait. The next start takes the device over and
//! the requests are done then (user recovery); a planned stop that keeps the cache (`at_stop = "keep"`) leaves the
//! device to the next start in the same way, any other removes it.

mod control;
mod device;
mod queue;

use std::rc::Rc;

use fathom_runtime::Context;
use fathom_volume::Pool;

pub use self::device::{Device, driver_is_missing};
use crate::exports::Served;

/// Opens the devices of all exports that ask for one. Those opened before one that fails are removed again.
///
/// # Errors
/// What is in the way of the first that fails, and the remedy.
pub async fn open(context: &Context, pool: &Pool, served: &[Rc<Served>]) -> Result<Vec<Rc<Device>>, String> {
    let mut devices = Vec::new();
    for export in served.iter().filter(|export| export.ublk.is_some()) {
        match Device::open(context, pool, export).await {
            Ok(device) => devices.push(Rc::new(device)),
            Err(why) => {
                close(&devices).await;
                return Err(format!("export `{}`: ublk: {why}", export.export.name));
            }
        }
    }
    Ok(devices)
}

/// Removes the devices. What cannot be removed is logged: the stop goes on.
pub async fn close(devices: &[Rc<Device>]) {
    for device in devices {
        if let Err(error) = device.close().await {
            tracing::error!(device = device.path(), %error, "the device stays");
        }
    }
}
