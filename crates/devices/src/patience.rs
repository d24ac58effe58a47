//! Waiting for what another program has and may be about to give back.

use std::time::Duration;

/// How long that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Ten seconds: what a killed program had is taken until the kernel has taken its ring apart, with the requests in it.
    Usual,
    /// Half a second, as long as a check of a moment.
    Short,
    None,
}

/// Tries again while there is no answer, as long as patience lasts.
pub fn until_free<T>(patience: Patience, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    const PAUSE: Duration = Duration::from_millis(50);
    let looks = match patience {
        Patience::Usual => 200,
        Patience::Short => 10,
        Patience::None => return attempt(),
    };
    (0..looks).find_map(|_| {
        let answer = attempt();
        if answer.is_none() {
            std::thread::park_timeout(PAUSE);
        }
        answer
    })
}
