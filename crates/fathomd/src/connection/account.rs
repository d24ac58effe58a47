//! What one client has on its way: requests taken in whose answers are not sent yet. Each has a [`Slot`], which gives itself
//! back when it is dropped: with its answer, or wherever the way there ends.
//!
//! All clients together have a [`Memory`]. Half of it is shared out among them, so that nobody's answers that are not fetched
//! take it from another; the other half is anybody's. A client without anything on its way is always let in, and nobody else
//! needs to wake one that waits: it has something on its way, whose end does.

use std::cell::Cell;
use std::rc::Rc;

use fathom_runtime::Signal;

/// Requests of one client that are taken in before one of them is answered and its answer sent.
pub const MOST_REQUESTS: usize = 256;
/// Bytes of payload of those requests; the largest request always fits.
const MOST_BYTES: usize = 64 << 20;

/// Bytes of payload of all clients' requests.
pub struct Memory {
    share: usize,
    common: usize,
    // Of what is beyond the shares.
    used: Cell<usize>,
}

impl Memory {
    /// So many bytes, for that many clients.
    pub fn new(bytes: usize, clients: usize) -> Rc<Self> {
        Rc::new(Self { share: bytes / 2 / clients.max(1), common: bytes / 2, used: Cell::new(0) })
    }

    /// What a client with that much on its way has beyond its share.
    fn beyond_share(&self, bytes: usize) -> usize {
        bytes.saturating_sub(self.share)
    }

    /// Whether a client that has `before` may have `after`.
    fn has_room(&self, before: usize, after: usize) -> bool {
        self.used.get() - self.beyond_share(before) + self.beyond_share(after) <= self.common
    }

    fn change(&self, before: usize, after: usize) {
        self.used.set(self.used.get() - self.beyond_share(before) + self.beyond_share(after));
    }
}

/// Counts the requests of one client.
pub struct Account {
    memory: Rc<Memory>,
    requests: Cell<usize>,
    bytes: Cell<usize>,
    room: Signal,
    waits_for_room: Cell<bool>,
}

impl Account {
    pub fn new(memory: &Rc<Memory>) -> Rc<Self> {
        Rc::new(Self {
            memory: Rc::clone(memory),
            requests: Cell::new(0),
            bytes: Cell::new(0),
            room: Signal::default(),
            waits_for_room: Cell::new(false),
        })
    }

    /// Waits until a request with that much data may be taken in: a client that does not fetch its answers is not
    /// listened to.
    pub async fn admit(self: &Rc<Self>, data: usize) -> Slot {
        while self.requests.get() >= MOST_REQUESTS || (self.bytes.get() > 0 && !self.has_room(data)) {
            self.waits_for_room.set(true);
            self.room.wait().await;
        }
        self.requests.set(self.requests.get() + 1);
        self.change(self.bytes.get() + data);
        Slot { account: Rc::clone(self), data }
    }

    /// Whether so many bytes more are within the bounds of this client and of all.
    pub fn has_room(&self, data: usize) -> bool {
        let (before, after) = (self.bytes.get(), self.bytes.get() + data);
        after <= MOST_BYTES && self.memory.has_room(before, after)
    }

    /// Whether its last request was let in where there was no room, as it had no other.
    pub fn is_beyond(&self) -> bool {
        self.memory.beyond_share(self.bytes.get()) > 0 && self.memory.used.get() > self.memory.common
    }

    fn change(&self, bytes: usize) {
        self.memory.change(self.bytes.get(), bytes);
        self.bytes.set(bytes);
    }

    /// Waits until no request is on its way.
    pub async fn settled(&self) {
        while self.requests.get() > 0 {
            self.waits_for_room.set(true);
            self.room.wait().await;
        }
    }

    /// Requests on their way.
    pub fn outstanding(&self) -> usize {
        self.requests.get()
    }
}

/// A request's slot in its client's account, from the moment it is taken in.
#[must_use = "dropping it gives the slot to another request"]
pub struct Slot {
    account: Rc<Account>,
    data: usize,
}

impl Drop for Slot {
    #[inline]
    fn drop(&mut self) {
        let account = &self.account;
        account.requests.set(account.requests.get() - 1);
        account.change(account.bytes.get() - self.data);
        if account.waits_for_room.take() {
            account.room.notify();
        }
    }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::{Runtime, SECOND};

    use super::{Account, MOST_BYTES, MOST_REQUESTS, Memory};

    #[test]
    fn who_has_too_much_on_its_way_waits_for_the_first_that_ends() {
        let runtime = Runtime::virtual_time(0);
        let context = runtime.context();
        let account = Account::new(&Memory::new(1 << 30, 1));
        let admitted = runtime.block_on(async {
            let mut places = Vec::new();
            for _ in 0..MOST_REQUESTS {
                places.push(account.admit(0).await);
            }
            let later = context.clone();
            context.spawn(async move {
                later.sleep(SECOND).await;
                drop(places);
            });
            let whole = account.admit(MOST_BYTES).await;
            let at = context.now();
            drop(whole);
            account.settled().await;
            at
        });
        assert_eq!((admitted, account.outstanding()), (Ok(SECOND), 0));
    }

    #[test]
    fn a_request_that_ends_on_its_way_leaves_nothing() {
        let runtime = Runtime::virtual_time(0);
        let account = Account::new(&Memory::new(1 << 30, 1));
        let failed: Result<Result<(), ()>, _> = runtime.block_on(async {
            let _slot = account.admit(4096).await;
            Err(())?;
            Ok(())
        });
        assert_eq!((failed, account.outstanding(), account.bytes.get()), (Ok(Err(())), 0, 0));
    }

    #[test]
    fn who_keeps_its_answers_takes_no_other_s_share() {
        let runtime = Runtime::virtual_time(0);
        // Shares of 2 MiB, and 8 MiB for all.
        let memory = Memory::new(16 << 20, 4);
        let accounts: Vec<_> = (0..4).map(|_| Account::new(&memory)).collect();
        let kept = runtime.block_on(async {
            let mut kept = vec![accounts[0].admit(10 << 20).await];
            assert!(!accounts[0].has_room(1), "it has its share and the common half");
            for account in &accounts[1..] {
                kept.push(account.admit(1 << 20).await);
                assert!(account.has_room(1 << 20) && !account.has_room((1 << 20) + 1));
            }
            // A client's first one is let in whatever others have.
            drop(kept.pop());
            assert!(!accounts[3].has_room(4 << 20));
            kept.push(accounts[3].admit(4 << 20).await);
            assert!(accounts[3].is_beyond() && !accounts[1].is_beyond());
            assert!(!accounts[1].has_room((1 << 20) + 1));
            kept
        });
        drop(kept);
        assert_eq!(memory.used.get(), 0);
    }
}
