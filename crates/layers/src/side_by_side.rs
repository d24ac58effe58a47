//! Requests side by side within one task.

use std::future::Future;

use fathom_runtime::join;
use fathom_volume::Result;

/// Waits for all answers and gives the error that came first, if any. No answer is left waiting: when this returns,
/// nothing below works on the caller's buffers any more.
pub(crate) async fn side_by_side<A: Future<Output = Result<()>> + Unpin>(answers: Vec<A>) -> Result<()> {
    join(answers).await.into_iter().try_for_each(|(_, answer)| answer)
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
