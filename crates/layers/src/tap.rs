//! The seam of what a layer copies by itself: each piece passes it as a write, so that samples and status show its rate.

use std::cell::OnceCell;
use std::rc::{Rc, Weak};

use fathom_volume::{Buf, Env, Error, ErrorKind, Geometry, Handle, Request, Result, Volume};

/// Who copies.
pub(crate) trait Carrier: 'static {
    /// Copies a piece through a buffer of its length.
    ///
    /// # Errors
    /// If it could not be read, or not be written.
    async fn carry(&self, piece: &Request, through: Buf) -> Result<()>;
}

/// The layer that a seam works for, once it is open.
pub(crate) type Owner<T> = Rc<OnceCell<Weak<T>>>;

struct Tap<T> {
    geometry: Geometry,
    owner: Owner<T>,
}

/// A seam for what layer `name` copies; it is listed beside the layer's.
pub(crate) fn tap<T: Carrier>(env: &Env, name: &str, size: u64, owner: &Owner<T>) -> Result<Handle> {
    let tap = Tap { geometry: Geometry::plain(size), owner: Rc::clone(owner) };
    let handle = Handle::new(&env.context, &format!("{name}.resync"), "resync", tap)?;
    env.adjoin(handle.clone());
    Ok(handle)
}

fn misuse() -> Error {
    Error::new(ErrorKind::Misuse, "the seam of a copy takes nothing but the copy's own writes")
}

impl<T: Carrier> Volume for Tap<T> {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, _: &Request, _: Buf) -> Result<()> {
        Err(misuse())
    }

    async fn write(&self, request: &Request, through: Buf) -> Result<()> {
        let owner = self.owner.get().and_then(Weak::upgrade).ok_or_else(misuse)?;
        owner.carry(request, through).await
    }

    async fn flush(&self, _: &Request) -> Result<()> {
        Ok(())
    }

    async fn trim(&self, _: &Request) -> Result<()> {
        Err(misuse())
    }

    async fn write_zeroes(&self, _: &Request) -> Result<()> {
        Err(misuse())
    }
}
