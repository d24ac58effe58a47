//! A server that is killed under load: every acknowledged transaction is there afterwards, none is there by half, and of those
//! not acknowledged at most one per user is there.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicI64, Ordering};

use fathom_job::{Progress, Reason};
use fathom_runtime::{MILLISECOND, Nanos, SECOND};
use fathom_sql::database::Database;
use fathom_sql::drive::{Drive, Ending, Next, Observer, Pace, RampRule, VirtualUser};
use fathom_sql::error::Result;
use fathom_sql::session::Session;
use fathom_sql::tprocc::conditions::conditions;
use fathom_sql::tprocc::input::Kind;
use fathom_sql::tprocc::terminal::{Interface, Terminal};
use fathom_sql::tprocc::texts;
use fathom_sql::tprocc::user::User;

use super::{SCALE, inputs, number, session};
use crate::common::servers::Server;

const USERS: u32 = 4;
const ORDERS: &str = "SELECT sum(d_next_o_id) FROM district";
const PAYMENTS: &str = "SELECT count(*) FROM history";

/// What was acknowledged.
#[derive(Default)]
struct Acknowledged {
    orders: AtomicI64,
    payments: AtomicI64,
}

/// A user who counts what was acknowledged to him.
struct Counting<'a> {
    user: User,
    kind: usize,
    acknowledged: &'a Acknowledged,
}

impl VirtualUser for Counting<'_> {
    fn draw(&mut self) -> Next {
        let next = self.user.draw();
        self.kind = next.kind;
        next
    }

    fn perform(&mut self, session: &mut dyn Session) -> Result<Ending> {
        let ended = self.user.perform(session)?;
        if ended == Ending::Committed && self.kind == Kind::NewOrder as usize {
            self.acknowledged.orders.fetch_add(1, Ordering::Relaxed);
        }
        if self.kind == Kind::Payment as usize {
            self.acknowledged.payments.fetch_add(1, Ordering::Relaxed);
        }
        Ok(ended)
    }
}

struct Nothing;

impl Observer for Nothing {
    fn begin(&mut self, _: &mut dyn Session) -> Result<()> {
        Ok(())
    }

    fn interval(&mut self, _: &mut dyn Session, _: Nanos) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, _: &mut dyn Session) -> Result<()> {
        Ok(())
    }
}

/// Kills the server once so much was acknowledged.
struct Killer<'a> {
    server: &'a mut Server,
    acknowledged: &'a Acknowledged,
    killed: bool,
}

impl Progress for Killer<'_> {
    fn tick(&mut self, _: f64, _: &str) -> ControlFlow<()> {
        if !self.killed && self.acknowledged.orders.load(Ordering::Relaxed) >= 50 {
            self.killed = true;
            self.server.kill();
        }
        ControlFlow::Continue(())
    }
}

pub fn keeps_what_it_acknowledged(database: &(dyn Database + Sync), server: &mut Server) {
    for interface in [Interface::Procedures, Interface::Statements] {
        let before = [ORDERS, PAYMENTS].map(|question| number(&mut *session(database), question));
        let (acknowledged, texts) = (Acknowledged::default(), texts::of(database.kind()));
        let drive = Drive {
            database,
            kinds: &Kind::NAMES,
            users: USERS,
            pace: Pace::Closed,
            ramp: 0,
            warming: RampRule::default(),
            duration: 600 * SECOND,
            interval: 500 * MILLISECOND,
            seed: 5,
        };
        let recruit = |user, session: &mut dyn Session| -> Result<Box<dyn VirtualUser + '_>> {
            let terminal = Terminal::prepare(interface, &texts, session)?;
            let user = User::new(inputs(user, USERS, 31), terminal, false);
            Ok(Box::new(Counting { user, kind: 0, acknowledged: &acknowledged }))
        };
        let mut killer = Killer { server, acknowledged: &acknowledged, killed: false };
        let failed = drive.run(&recruit, &mut Nothing, &mut killer).expect_err("the server was killed");
        assert!(killer.killed);
        assert_eq!(failed.reason, Reason::Lost, "{}", failed.message);
        server.restart(|| database.connect().is_ok());
        let mut session = session(database);
        conditions(&SCALE).ensure(&mut *session, false).expect("consistent after the crash");
        let after = [ORDERS, PAYMENTS].map(|question| number(&mut *session, question));
        let told = [&acknowledged.orders, &acknowledged.payments].map(|count| count.load(Ordering::Relaxed));
        for ((before, after), told) in before.into_iter().zip(after).zip(told) {
            let found = after - before;
            let most = told + i64::from(USERS);
            assert!((told..=most).contains(&found), "{interface:?}: {told} acknowledged, {found} found");
        }
    }
}
