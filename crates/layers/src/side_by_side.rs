//! Requests side by side within one task.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use fathom_volume::{Error, Result};

/// Waits for all answers and gives the error that came first, if any. No answer is left waiting: when this returns,
/// nothing below works on the caller's buffers any more.
pub(crate) fn side_by_side<A: Future<Output = Result<()>> + Unpin>(answers: Vec<A>) -> SideBySide<A> {
    SideBySide { answers, error: None }
}

pub(crate) struct SideBySide<A> {
    answers: Vec<A>,
    error: Option<Error>,
}

impl<A: Future<Output = Result<()>> + Unpin> Future for SideBySide<A> {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Result<()>> {
        let SideBySide { answers, error } = &mut *self;
        answers.retain_mut(|answer| match Pin::new(answer).poll(task) {
            Poll::Pending => true,
            Poll::Ready(result) => {
                if let Err(found) = result {
                    error.get_or_insert(found);
                }
                false
            }
        });
        if answers.is_empty() { Poll::Ready(error.take().map_or(Ok(()), Err)) } else { Poll::Pending }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::pin::Pin;
    use std::rc::Rc;

    use fathom_runtime::{Context, Runtime};
    use fathom_volume::{Error, ErrorKind, Result};

    use super::side_by_side;

    fn after<'a>(
        context: &'a Context,
        span: u64,
        done: &Rc<Cell<u32>>,
        fails: Option<&'a str>,
    ) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>> {
        let done = Rc::clone(done);
        Box::pin(async move {
            context.sleep(span).await;
            done.set(done.get() + 1);
            fails.map_or(Ok(()), |message| Err(Error::new(ErrorKind::Io, message)))
        })
    }

    #[test]
    fn all_are_waited_for_and_the_earliest_error_is_told() {
        let runtime = Runtime::virtual_time(1);
        let context = runtime.context();
        let done = Rc::new(Cell::new(0));
        let answers = vec![
            after(&context, 30, &done, Some("late")),
            after(&context, 20, &done, Some("early")),
            after(&context, 50, &done, None),
        ];
        let result = runtime.block_on(side_by_side(answers)).expect("all end");
        assert_eq!(result.expect_err("two fail").to_string(), "early");
        assert_eq!((done.get(), context.now()), (3, 50));
        assert!(
            runtime
                .block_on(side_by_side(Vec::<Pin<Box<dyn Future<Output = Result<()>>>>>::new()))
                .expect("nothing waits")
                .is_ok()
        );
    }
}
