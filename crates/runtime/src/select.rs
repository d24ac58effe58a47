//! Waiting for whichever of two comes first.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use crate::{Context, Nanos};

/// Which of two came first, with its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The first one did.
    First(A),
    /// The second one did.
    Second(B),
}

/// Waits for one of two; if both are ready it is the first. The other one is dropped: pass a future that must
/// continue as a pinned reference.
pub async fn first<A: Future, B: Future>(a: A, b: B) -> Either<A::Output, B::Output> {
    let (mut a, mut b) = (pin!(a), pin!(b));
    poll_fn(|task| {
        if let Poll::Ready(output) = a.as_mut().poll(task) {
            return Poll::Ready(Either::First(output));
        }
        b.as_mut().poll(task).map(Either::Second)
    })
    .await
}

/// The future's output, or None if `span` ns pass first; the future is then dropped half-way.
pub async fn within<T>(context: &Context, span: Nanos, future: impl Future<Output = T>) -> Option<T> {
    match first(future, context.sleep(span)).await {
        Either::First(output) => Some(output),
        Either::Second(()) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::{Either, first, within};
    use crate::{Runtime, SECOND};

    #[test]
    fn the_first_of_two_counts_and_the_other_goes_on() {
        let runtime = Runtime::virtual_time(1);
        let context = runtime.context();
        let waited = runtime.block_on(async {
            let mut late = pin!(context.sleep_until(100));
            let early = first(late.as_mut(), context.sleep_until(10)).await;
            let both = first(async { 'a' }, async { 'b' }).await;
            (early, both, first(late.as_mut(), context.sleep_until(200)).await, context.now())
        });
        assert_eq!(waited, Ok((Either::Second(()), Either::First('a'), Either::First(()), 100)));
    }

    #[test]
    fn a_limit_ends_what_takes_longer() {
        let runtime = Runtime::virtual_time(0);
        let context = runtime.context();
        let both = runtime.block_on(async {
            let soon = within(&context, 2 * SECOND, context.sleep(SECOND)).await;
            (soon, within(&context, SECOND, context.sleep(2 * SECOND)).await, context.now())
        });
        assert_eq!(both, Ok((Some(()), None, 2 * SECOND)));
    }
}
