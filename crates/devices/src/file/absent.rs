//! A file that may be absent: the leg of a mirror whose disk has died or has not come up yet. Its requests fail until it is
//! there; each [`Volume::reopen`] looks for it, in a thread of its own, for to open a dying disk can take long.

use std::cell::{OnceCell, RefCell};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use fathom_runtime::{Context, MILLISECOND, SECOND};
use fathom_volume::{Buf, Env, Error, ErrorKind, Geometry, Handle, Pool, Request, Result, Volume};

use super::open::{Opened, Refusal, open};
use super::{Config, File, KIND, served};
use crate::patience::Patience;

/// How long a flush waits for the thread that checks, ns: a device that answers later is found by the next check.
const PATIENCE: u64 = 2 * SECOND;

/// The file, or a volume that waits for it.
///
/// # Errors
/// If it is there and cannot be opened as asked for.
pub(super) fn build(env: &Env, name: &str, config: Config) -> Result<Handle> {
    File::can_be(&env.context, &env.pool, &config)?;
    match open(&config, Patience::Usual) {
        Ok(opened) => served(env, name, &config, opened),
        Err(Refusal::Wrong(error)) => Err(error),
        Err(Refusal::Absent(why)) => stand_in(env, name, config, why),
    }
}

/// A volume that waits for the file.
///
/// # Errors
/// If its size is none of a volume.
pub(super) fn stand_in(env: &Env, name: &str, config: Config, why: Error) -> Result<Handle> {
    let size = config.size.unwrap_or(Geometry::UNKNOWN_SIZE);
    let absent = Absent {
        // An empty file in its place would be taken for it.
        config: Config { create: false, ..config },
        context: env.context.clone(),
        pool: env.pool.clone(),
        geometry: Geometry { volatile_cache: true, ..Geometry::plain(size) },
        why: RefCell::new(why),
        file: OnceCell::new(),
        looking: RefCell::default(),
    };
    Handle::new(&env.context, name, KIND.name, absent)
}

struct Absent {
    config: Config,
    context: Context,
    pool: Pool,
    geometry: Geometry,
    /// Why it was not available when it was last looked for.
    why: RefCell<Error>,
    file: OnceCell<File>,
    /// What the thread that checks will find.
    looking: RefCell<Option<Receiver<std::result::Result<Opened, Refusal>>>>,
}

impl Absent {
    fn file(&self) -> Result<&File> {
        let absent = || Error::new(ErrorKind::Gone, format!("it is absent: {}", self.why.borrow()));
        self.file.get().ok_or_else(absent)
    }

    /// Takes what a check has found; whether none is under way.
    fn take(&self) -> bool {
        let answer = self.looking.borrow().as_ref().map(Receiver::try_recv);
        match answer {
            None => return true,
            Some(Err(TryRecvError::Empty)) => return false,
            Some(Err(TryRecvError::Disconnected)) => {}
            Some(Ok(Err(refusal))) => *self.why.borrow_mut() = refusal.into_error(),
            Some(Ok(Ok(opened))) => {
                let taken = self.fits(&opened).and_then(|()| {
                    let file = File::of(&self.context, &self.pool, &self.config, opened)?;
                    let _ = self.file.set(file);
                    Ok(())
                });
                if let Err(why) = taken {
                    *self.why.borrow_mut() = why;
                }
            }
        }
        *self.looking.borrow_mut() = None;
        true
    }

    /// Whether the file can do what was said of it while it was absent.
    fn fits(&self, opened: &Opened) -> Result<()> {
        let sector = opened.geometry.logical_sector;
        if sector <= self.geometry.logical_sector {
            return Ok(());
        }
        let why = format!(
            "file `{}`: its sectors of {sector} bytes are known at a start only; restart",
            self.config.path
        );
        Err(Error::new(ErrorKind::Misuse, why))
    }

    /// Waits for a check that is under way.
    async fn arrive(&self) {
        let begun = self.context.now();
        while !self.take() && self.context.now() < begun + PATIENCE {
            self.context.sleep(5 * MILLISECOND).await;
        }
    }
}

impl Volume for Absent {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn reopen(&self) {
        if let Some(file) = self.file.get() {
            return file.reopen();
        }
        if !self.take() {
            return;
        }
        let (told, looking) = channel();
        let config = self.config.clone();
        // Who waits no longer needs no answer.
        let check = move || drop(told.send(open(&config, Patience::None)));
        match std::thread::Builder::new().name("check".to_owned()).spawn(check) {
            Ok(_) => *self.looking.borrow_mut() = Some(looking),
            Err(error) => *self.why.borrow_mut() = Error::new(ErrorKind::Gone, error.to_string()),
        }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        match self.file.get() {
            Some(file) => file.facts(),
            None => vec![("absent", self.why.borrow().to_string())],
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.file.get().map(File::counters).unwrap_or_default()
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        self.file()?.read(request, into).await
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        self.file()?.write(request, from).await
    }

    async fn flush(&self, request: &Request) -> Result<()> {
        self.arrive().await;
        self.file()?.flush(request).await
    }

    fn trims_to_zeroes(&self) -> bool {
        self.file.get().is_some_and(File::trims_to_zeroes)
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        self.file()?.trim(request).await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.file()?.write_zeroes(request).await
    }
}
