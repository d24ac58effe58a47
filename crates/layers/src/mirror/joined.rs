//! One request to several legs, side by side, with an answer from each.

use std::future::Future;

use fathom_runtime::join;
use fathom_volume::Result;

/// Waits for all answers, each with the leg it came from, in the order in which they came. None is left waiting.
pub async fn joined<A: Future<Output = Result<()>> + Unpin>(
    asked: Vec<(usize, A)>,
) -> Vec<(usize, Result<()>)> {
    let (legs, answers): (Vec<usize>, Vec<A>) = asked.into_iter().unzip();
    join(answers).await.into_iter().map(|(place, answer)| (legs[place], answer)).collect()
}
