//! The seam of a rebuild: each piece that is copied passes it as a write, so that samples and status show its rate.

use std::cell::OnceCell;
use std::rc::{Rc, Weak};

use fathom_volume::{Buf, Env, Error, ErrorKind, Geometry, Handle, Request, Result, Volume};

use super::live::Live;

/// The mirror that a seam works for, once it is open.
pub type Owner = Rc<OnceCell<Weak<Live>>>;

struct Tap {
    geometry: Geometry,
    owner: Owner,
}

/// A seam for the rebuild of mirror `name`; it stands beside the mirror's.
pub fn tap(env: &Env, name: &str, size: u64, owner: &Owner) -> Result<Handle> {
    let tap = Tap { geometry: Geometry::plain(size), owner: Rc::clone(owner) };
    let handle = Handle::new(&env.context, &format!("{name}.resync"), "resync", tap)?;
    env.adjoin(handle.clone());
    Ok(handle)
}

fn misuse() -> Error {
    Error::new(ErrorKind::Misuse, "a rebuild's seam takes nothing but the rebuild's own writes")
}

impl Volume for Tap {
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
