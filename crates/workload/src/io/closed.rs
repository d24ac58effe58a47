//! The closed loop: each user starts a request when the last one has ended and the think time is over.

use std::pin::pin;
use std::rc::Rc;

use fathom_runtime::{Nanos, Random, yield_now};
use fathom_volume::Pool;

use super::profile::Think;
use super::stage::{BURST, Stage};
use super::user::User;
use super::verify::Verifier;

/// Starts the users of a closed loop.
pub fn start(
    stage: &Rc<Stage>,
    users: Vec<User>,
    think: Think,
    pool: &Pool,
    verifier: Option<&Rc<Verifier>>,
    random: &mut Random,
) {
    for (index, mut user) in users.into_iter().enumerate() {
        user.give_buffer(pool, random);
        let present = stage.enter();
        let mut thinker = ThinkTimer { think, random: Random::new(random.word(), &format!("think/{index}")) };
        let stage_of_user = Rc::clone(stage);
        let verifier = verifier.cloned();
        stage.context.spawn(async move {
            let _present = present;
            // Users who think come at random moments, not all at once.
            thinker.wait(&stage_of_user, true).await;
            match verifier {
                None => plain(user, &stage_of_user, &mut thinker).await,
                Some(verifier) => verified(user, &stage_of_user, &mut thinker, &verifier).await,
            }
        });
    }
}

struct ThinkTimer {
    think: Think,
    random: Random,
}

impl ThinkTimer {
    fn span(&mut self, at_first: bool) -> Nanos {
        match self.think {
            Think::None => 0,
            Think::Constant(span) if at_first => self.random.below(span.max(1)),
            Think::Constant(span) => span,
            Think::Exponential(mean) => self.random.exponential(mean as f64) as Nanos,
        }
    }

    async fn wait(&mut self, stage: &Stage, at_first: bool) {
        let span = self.span(at_first);
        if span > 0 {
            stage.unless_stopped(pin!(stage.context.sleep(span))).await;
        }
    }
}

// The loop that must cost next to nothing: no clock, no allocation, no histogram of its own. The seam of the volume
// counts and times each request, and what it sees is what the user sees.
async fn plain(mut user: User, stage: &Stage, thinker: &mut ThinkTimer) {
    let thinks = thinker.think != Think::None;
    let mut burst = 0;
    loop {
        let operation = user.source.next();
        if !stage.admit(operation.length) {
            break;
        }
        // `User::perform` step by step: a future around these would cost as much as the request's own work.
        let mut result = user.start(&operation).await;
        if result.is_ok()
            && let Some(flush) = user.flush_if_due(&operation)
        {
            result = flush.await;
        }
        if let Err(error) = result {
            stage.fail(error.into());
            break;
        }
        burst += 1;
        if burst == BURST {
            burst = 0;
            stage.did(BURST);
            yield_now().await;
        }
        if thinks {
            thinker.wait(stage, false).await;
        }
    }
}

async fn verified(mut user: User, stage: &Stage, thinker: &mut ThinkTimer, verifier: &Verifier) {
    let mut burst = 0;
    loop {
        let operation = verifier.choose(&mut user.source).await;
        if !stage.admit(operation.length) {
            break;
        }
        if let Err(failure) = verifier.perform(&user, &operation).await {
            stage.fail(failure);
            break;
        }
        burst += 1;
        if burst == BURST {
            burst = 0;
            stage.did(BURST);
            yield_now().await;
        }
        thinker.wait(stage, false).await;
    }
}
