//! Names like the one given, for messages.

/// Up to three names like the one given, best first.
pub(crate) fn similar<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    // A name without its vendor is as good as spelt right.
    let last = |name: &str| name.split_once('/').map_or(name, |(_, rest)| rest).to_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .map(|known| {
            let (full, tail) =
                (strsim::jaro_winkler(name, known), strsim::jaro_winkler(&last(name), &last(known)));
            (full.max(tail), known)
        })
        .filter(|(score, _)| *score > 0.8)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, known)| known.to_owned()).collect()
}
