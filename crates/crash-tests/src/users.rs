//! Three users of a mirror or a pool, and what they knew at each moment.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use fathom_runtime::{Context, JoinHandle, Random};
use fathom_volume::{Handle, Pool, Request};

use crate::disk::{Event, Trace};
use crate::oracle::{GROUP, GROUPS, Note, Oracle, SECTOR, offset, shown, stamp};
use crate::testbed::Testbed;

/// The notes of a life, each with the length of the trace when it was made.
pub type Notes = Rc<RefCell<Vec<(usize, Note)>>>;

/// What users do in one life.
pub struct Workload<'a> {
    /// Operations of each user.
    pub length: usize,
    /// Whether writes may fail: then nothing is promised of them.
    pub may_fail: bool,
    /// What the sectors showed before.
    pub oracle: &'a Oracle,
    /// What users knew.
    pub notes: &'a Notes,
    /// The number of the next write.
    pub next_id: &'a mut u32,
}

impl<N> Testbed<N> {
    /// Runs three users, and calls `disturb` after random pauses of at most so many ns. `disturb` draws from a stream of this
    /// name, which is returned for what follows.
    ///
    /// # Errors
    /// The first violation that a user has seen.
    pub async fn work(
        &self,
        workload: Workload<'_>,
        random: &mut Random,
        (name, pause, mut disturb): (&str, u64, impl FnMut(&mut Random)),
    ) -> Result<Random, String> {
        let context = self.runtime.context();
        let Workload { length, may_fail, oracle, notes, next_id } = workload;
        let ids = Rc::new(Cell::new(*next_id));
        let wrong: Rc<RefCell<Option<String>>> = Rc::default();
        let users: Vec<_> = (0..3)
            .map(|user| {
                let user = User {
                    context: context.clone(),
                    volume: self.volumes[0].clone(),
                    may_fail,
                    pool: self.pool.clone(),
                    random: RefCell::new(Random::new(random.word(), &format!("user {user}"))),
                    notes: Rc::clone(notes),
                    trace: Rc::clone(&self.trace),
                    ids: Rc::clone(&ids),
                    wrong: Rc::clone(&wrong),
                    oracle: oracle.clone(),
                };
                context.spawn(user.work(length))
            })
            .collect();
        let mut chance = Random::new(random.word(), name);
        while !users.iter().all(JoinHandle::is_done) {
            context.sleep(chance.below(pause)).await;
            disturb(&mut chance);
        }
        self.faults.iter().for_each(|faults| faults.gone.set(false));
        *next_id = ids.get();
        wrong.borrow_mut().take().map_or(Ok(chance), Err)
    }
}

/// What users knew, as far as the trace was followed.
pub struct Follower<'a> {
    /// As far as it was followed.
    pub oracle: Oracle,
    /// All of a life.
    pub notes: &'a [(usize, Note)],
    /// Notes that were taken.
    pub taken: usize,
}

impl Follower<'_> {
    /// Takes in what users knew when the trace had this length.
    pub fn follow(&mut self, length: usize) {
        while let Some((_, note)) = self.notes.get(self.taken).filter(|(at, _)| *at <= length) {
            self.oracle.take(self.taken, *note);
            self.taken += 1;
        }
    }
}

/// One user.
struct User {
    context: Context,
    volume: Handle,
    may_fail: bool,
    pool: Pool,
    random: RefCell<Random>,
    notes: Notes,
    trace: Trace,
    /// The number of the next write.
    ids: Rc<Cell<u32>>,
    /// The first violation that a user has seen.
    wrong: Rc<RefCell<Option<String>>>,
    oracle: Oracle,
}

impl User {
    fn note(&self, note: Note) {
        self.trace.borrow_mut().push(Event::Acked(0));
        self.notes.borrow_mut().push((self.trace.borrow().len(), note));
    }

    fn draw(&self, below: u64) -> u64 {
        self.random.borrow_mut().below(below)
    }

    async fn work(self, length: usize) {
        for _ in 0..length {
            let pause = self.draw(120_000);
            self.context.sleep(pause).await;
            let outcome = match self.draw(8) {
                0..=4 => self.write().await,
                5 => self.flush().await,
                _ => self.read().await,
            };
            if let Err(why) = outcome {
                self.wrong.borrow_mut().get_or_insert(why);
                return;
            }
        }
    }

    fn next_id(&self) -> u32 {
        let id = self.ids.get();
        self.ids.set(id + 1);
        id
    }

    async fn write(&self) -> Result<(), String> {
        let (id, group) = (self.next_id(), self.draw(GROUPS as u64) as usize);
        let first = self.draw(GROUP as u64) as usize;
        let count = 1 + self.draw((GROUP - first) as u64) as usize;
        let fua = self.draw(4) == 0;
        let bytes: Vec<u8> =
            (first..first + count).flat_map(|index| stamp(id, group * GROUP + index)).collect();
        let request = Request::new((offset(group) + first * SECTOR) as u64, bytes.len() as u64).with_fua(fua);
        self.note(Note::Sent { id, group, first, count, fua });
        match self.volume.write(request, self.pool.copy_of(&bytes)).await {
            Ok(()) => self.note(Note::Answered(id)),
            Err(_) if self.may_fail => {}
            Err(error) => return Err(format!("a write fails although a leg is there: {error}")),
        }
        Ok(())
    }

    async fn flush(&self) -> Result<(), String> {
        let id = self.next_id();
        self.note(Note::Flushing(id));
        let answer = self.volume.flush(Request::flush()).await;
        // The only leg in sync may be the one that was told to fail; then nothing was promised.
        if answer.is_ok() {
            self.note(Note::Flushed(id));
        }
        Ok(())
    }

    /// What nobody is writing shows the last write.
    async fn read(&self) -> Result<(), String> {
        let group = self.draw(GROUPS as u64) as usize;
        let known = || {
            let mut oracle = self.oracle.clone();
            for (time, (_, note)) in self.notes.borrow().iter().enumerate() {
                oracle.take(time, *note);
            }
            (0..GROUP).map(|index| oracle.current(group * GROUP + index)).collect::<Vec<_>>()
        };
        let before = known();
        let buf = self.pool.get(GROUP * SECTOR);
        let request = Request::new(offset(group) as u64, buf.len() as u64);
        let answer = self.volume.read(request, buf.clone()).await;
        if answer.is_err() {
            return Ok(());
        }
        let after = known();
        buf.with(|bytes| {
            for (index, bytes) in bytes.chunks(SECTOR).enumerate() {
                let sector = group * GROUP + index;
                let found = shown(sector, bytes)?;
                if let (Some(then), Some(now)) = (before[index], after[index])
                    && then == now
                    && found != now
                {
                    return Err(format!("sector {sector} shows write {found}, and the last is {now}"));
                }
            }
            Ok(())
        })
    }
}
