//! "Did you mean": the known word nearest to an unknown one.

/// Longer words are not compared: their likeness costs the product of both lengths.
const LONGEST_COMPARED: usize = 64;
/// How many known words a message lists.
const LISTED: usize = 12;

/// The known word that differs least, by inserted, left-out, exchanged and swapped letters; none if all differ in more than
/// a third of their letters. Ties go to the first.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST_COMPARED {
        return None;
    }
    let distance = |candidate: &'a str| {
        let same_words = candidate.replace('-', "_").eq_ignore_ascii_case(&word.replace('-', "_"));
        let distance = if same_words { 0 } else { strsim::damerau_levenshtein(word, candidate) };
        (distance <= candidate.chars().count().max(3) / 3).then_some((distance, candidate))
    };
    known
        .into_iter()
        .filter_map(distance)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A sentence of help for an unknown word: the nearest known one, or the known ones. `what` names them in the plural.
pub fn did_you_mean<'a>(word: &str, what: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(near) = nearest(word, known.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    if known.is_empty() {
        return format!("there are no {what} here");
    }
    let listed: Vec<&str> = known.iter().take(LISTED).copied().collect();
    let more =
        if known.len() > LISTED { format!(" and {} more", known.len() - LISTED) } else { String::new() };
    format!("{what}: {}{more}", listed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{did_you_mean, nearest};

    #[test]
    fn misspelt_words_find_their_like_and_others_do_not() {
        let known = ["size", "delay", "max_transfer", "equivalent_within"];
        for (word, meant) in [
            ("sise", "size"),
            ("dealy", "delay"),
            ("Max-Transfer", "max_transfer"),
            ("equivalent_whithin", "equivalent_within"),
        ] {
            assert_eq!(nearest(word, known), Some(meant));
        }
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest(&"size".repeat(100), known), None);
        assert_eq!(did_you_mean("colour", "keys", ["size", "delay"]), "keys: size, delay");
        assert_eq!(did_you_mean("colour", "volumes", []), "there are no volumes here");
    }
}
