//! One request to several legs, side by side, with an answer from each.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use fathom_volume::Result;

/// Waits for all answers, each with the leg it came from. None is left waiting.
pub fn joined<A: Future<Output = Result<()>> + Unpin>(asked: Vec<(usize, A)>) -> Joined<A> {
    let count = asked.len();
    Joined { asked: asked.into_iter().map(Some).collect(), answers: Vec::with_capacity(count) }
}

pub struct Joined<A> {
    asked: Vec<Option<(usize, A)>>,
    answers: Vec<(usize, Result<()>)>,
}

impl<A: Future<Output = Result<()>> + Unpin> Future for Joined<A> {
    type Output = Vec<(usize, Result<()>)>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let Joined { asked, answers } = &mut *self;
        for slot in asked.iter_mut() {
            let Some((leg, answer)) = slot else { continue };
            if let Poll::Ready(result) = Pin::new(answer).poll(task) {
                answers.push((*leg, result));
                *slot = None;
            }
        }
        if answers.len() < asked.len() {
            return Poll::Pending;
        }
        Poll::Ready(std::mem::take(answers))
    }
}
