//! Small waits that workloads need.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

/// Waits for the first of two; the other one stays as it is. True if it was the first.
pub async fn first<A: Future, B: Future>(mut a: Pin<&mut A>, b: B) -> bool {
    let mut b = pin!(b);
    poll_fn(|task| {
        if a.as_mut().poll(task).is_ready() {
            return Poll::Ready(true);
        }
        b.as_mut().poll(task).map(|_| false)
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use fathom_runtime::{Runtime, Signal};

    use super::first;

    #[test]
    fn the_first_of_two_wins_and_the_other_goes_on() {
        let runtime = Runtime::virtual_time(1);
        let context = runtime.context();
        let signal = Signal::default();
        let waited = runtime.block_on(async {
            let mut late = pin!(context.sleep_until(100));
            let notify = signal.clone();
            let early = context.clone();
            context.spawn(async move {
                early.sleep(10).await;
                notify.notify();
            });
            assert!(!first(late.as_mut(), signal.wait()).await);
            assert_eq!(context.now(), 10);
            assert!(first(late.as_mut(), signal.wait()).await);
            context.now()
        });
        assert_eq!(waited, Ok(100));
    }
}
