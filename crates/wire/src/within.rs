//! A limit in time for a future.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use fathom_runtime::{Context, Nanos};

/// The future's output, or None if `span` ns pass first.
pub async fn within<T>(context: &Context, span: Nanos, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut limit = pin!(context.sleep(span));
    poll_fn(|task| {
        if let Poll::Ready(output) = future.as_mut().poll(task) {
            return Poll::Ready(Some(output));
        }
        limit.as_mut().poll(task).map(|()| None)
    })
    .await
}

#[cfg(test)]
mod tests {
    use fathom_runtime::{Runtime, SECOND};

    use super::within;

    #[test]
    fn what_comes_first_counts() {
        let runtime = Runtime::virtual_time(0);
        let context = runtime.context();
        let both = runtime.block_on(async {
            let soon = within(&context, 2 * SECOND, context.sleep(SECOND)).await;
            (soon, within(&context, SECOND, context.sleep(2 * SECOND)).await, context.now())
        });
        assert_eq!(both, Ok((Some(()), None, 2 * SECOND)));
    }
}
