//! Several futures side by side within one task.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Waits for all, none of which is left waiting. The outputs are in the order of completion, each with its future's place in
/// the list.
pub fn join<F: Future + Unpin>(futures: Vec<F>) -> Join<F> {
    let outputs = Vec::with_capacity(futures.len());
    Join { pending: futures.into_iter().enumerate().collect(), outputs }
}

/// Waits for all of a list; made by [`join`].
#[must_use = "futures do nothing unless awaited"]
pub struct Join<F: Future> {
    pending: Vec<(usize, F)>,
    outputs: Vec<(usize, F::Output)>,
}

// Outputs are never pinned.
impl<F: Future + Unpin> Unpin for Join<F> {}

impl<F: Future + Unpin> Future for Join<F> {
    type Output = Vec<(usize, F::Output)>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let Join { pending, outputs } = &mut *self;
        pending.retain_mut(|(place, future)| match Pin::new(future).poll(task) {
            Poll::Pending => true,
            Poll::Ready(output) => {
                outputs.push((*place, output));
                false
            }
        });
        if pending.is_empty() { Poll::Ready(std::mem::take(outputs)) } else { Poll::Pending }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Ready;

    use super::join;
    use crate::Runtime;

    #[test]
    fn all_are_waited_for_and_told_in_the_order_in_which_they_end() {
        let runtime = Runtime::virtual_time(1);
        let context = runtime.context();
        let after = |span| {
            let context = context.clone();
            Box::pin(async move {
                context.sleep(span).await;
                span
            })
        };
        let done = runtime.block_on(join(vec![after(30), after(20), after(50)]));
        assert_eq!(done, Ok(vec![(1, 20), (0, 30), (2, 50)]));
        assert_eq!(context.now(), 50);
        assert_eq!(runtime.block_on(join(Vec::<Ready<()>>::new())), Ok(Vec::new()));
    }
}
