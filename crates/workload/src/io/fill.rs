//! Writes the whole area once, so that reads find data and a thin volume is fully allocated.

use std::cell::Cell;
use std::rc::Rc;

use fathom_runtime::{Context, JoinHandle, yield_now};
use fathom_volume::{Pool, Request};

use super::target::Target;
use super::verify::Verifier;
use fathom_job::outcome::Failure;

/// Largest write, bytes.
const CHUNK: u64 = 1 << 20;
/// Writes outstanding per volume.
const OUTSTANDING: u32 = 8;

/// A filling under way.
pub struct Filling {
    /// Bytes to write.
    pub total: u64,
    done: Rc<Cell<u64>>,
    writers: Vec<JoinHandle<Result<(), Failure>>>,
}

impl Filling {
    /// Starts to write the areas, in pieces that are multiples of `block`.
    pub fn start(
        context: &Context,
        targets: &[Target],
        pool: &Pool,
        verifier: Option<&Rc<Verifier>>,
        block: u64,
    ) -> Self {
        let done = Rc::new(Cell::new(0));
        let mut writers = Vec::new();
        for target in targets {
            let most = CHUNK.min(u64::from(target.volume.geometry().max_transfer)) / block * block;
            let chunk = most.max(block);
            let next = Rc::new(Cell::new(target.start));
            for writer in 0..OUTSTANDING {
                let buffer = pool.get(chunk as usize);
                let mut random = context.random(&format!("fill/{}/{writer}", target.volume.name()));
                buffer.with_mut(|bytes| random.fill(bytes));
                let (next, done) = (Rc::clone(&next), Rc::clone(&done));
                let (volume, end) = (target.volume.clone(), target.start + target.length);
                let verifier = verifier.cloned();
                writers.push(context.spawn(async move {
                    while next.get() < end {
                        let offset = next.get();
                        let length = chunk.min(end - offset);
                        next.set(offset + length);
                        let part = buffer.slice(0..length as usize);
                        if let Some(verifier) = &verifier {
                            verifier.filling(&volume, offset, &part);
                        }
                        volume.write(Request::new(offset, length), part).await?;
                        if let Some(verifier) = &verifier {
                            verifier.filled(&volume, offset, length);
                        }
                        done.set(done.get() + length);
                        // A volume that answers at once would otherwise never let go.
                        yield_now().await;
                    }
                    Ok(())
                }));
            }
        }
        Self { total: targets.iter().map(|target| target.length).sum(), done, writers }
    }

    /// The share that is written, 0 to 1.
    pub fn share(&self) -> f64 {
        self.done.get() as f64 / self.total.max(1) as f64
    }

    /// Whether every writer has ended.
    pub fn is_done(&self) -> bool {
        self.writers.iter().all(JoinHandle::is_done)
    }

    /// What came of it, once all have ended.
    ///
    /// # Errors
    /// The first failure of a writer.
    pub async fn finish(self) -> Result<(), Failure> {
        for writer in self.writers {
            writer.await?;
        }
        Ok(())
    }
}
