//! What one client has on its way: requests taken in whose answers are not sent yet. Each has a [`Slot`], which gives itself
//! back when it is dropped: with its answer, or wherever the way there ends.

use std::cell::Cell;
use std::rc::Rc;

use fathom_runtime::Signal;

/// Requests of one client that are taken in before one of them is answered and its answer sent.
pub const MOST_REQUESTS: usize = 256;
/// Bytes of payload of those requests; the largest request always fits.
const MOST_BYTES: usize = 64 << 20;

/// Counts the requests of one client.
#[derive(Default)]
pub struct Account {
    requests: Cell<usize>,
    bytes: Cell<usize>,
    room: Signal,
    waits_for_room: Cell<bool>,
}

impl Account {
    /// Waits until a request with that much data may be taken in: a client that does not fetch its answers is not
    /// listened to.
    pub async fn admit(self: &Rc<Self>, data: usize) -> Slot {
        while self.requests.get() >= MOST_REQUESTS
            || (self.bytes.get() > 0 && self.bytes.get() + data > MOST_BYTES)
        {
            self.waits_for_room.set(true);
            self.room.wait().await;
        }
        self.requests.set(self.requests.get() + 1);
        self.bytes.set(self.bytes.get() + data);
        Slot { account: Rc::clone(self), data }
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
        account.bytes.set(account.bytes.get() - self.data);
        if account.waits_for_room.take() {
            account.room.notify();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use fathom_runtime::{Runtime, SECOND};

    use super::{Account, MOST_BYTES, MOST_REQUESTS};

    #[test]
    fn who_has_too_much_on_its_way_waits_for_the_first_that_ends() {
        let runtime = Runtime::virtual_time(0);
        let context = runtime.context();
        let account = Rc::new(Account::default());
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
        let account = Rc::new(Account::default());
        let failed: Result<Result<(), ()>, _> = runtime.block_on(async {
            let _slot = account.admit(4096).await;
            Err(())?;
            Ok(())
        });
        assert_eq!((failed, account.outstanding(), account.bytes.get()), (Ok(Err(())), 0, 0));
    }
}
