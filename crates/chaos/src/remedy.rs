//! What a refusal advises, for a program that does it to the letter.

use std::ops::Range;

use serde_json::Value;

use crate::device::Role;
use crate::disk::BLOCK;

/// Settings to be changed: key and value as they are written; None leaves the key out.
pub type Keys = Vec<(String, Option<String>)>;

/// One piece of advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// The device of this name, as it was; or every device of a kind.
    BringBack(Target),
    /// Settings that lose nothing, of these volumes; of all if none is named.
    Set(Vec<String>, Keys),
    /// Settings that give something up, and the most bytes that are said to be lost.
    GiveUp(Vec<String>, Keys, Option<u64>),
    /// Zeroes over the device of this name, where [`zeroes`] says.
    Wipe(String),
}

/// Which device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Named(String),
    AnyCache,
    AnyBacking,
}

/// What is in backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// `key = value`, if it is that.
fn setting(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once(" = ")?;
    key.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_').then_some((key, value))
}

/// A text or a list of texts as it is written, and what follows it.
fn written(text: &str) -> Option<(&str, &str)> {
    let length = match text.as_bytes().first()? {
        b'"' => 2 + text[1..].find('"')?,
        b'[' => 1 + text.find(']')?,
        _ => return None,
    };
    Some(text.split_at(length))
}

/// What `fathomd --check --json` advises: the remedies of the first finding that keeps a group from opening
/// (docs/WRITEBACK.md, "Refusals, for programs"). Empty where nothing is said for programs.
pub fn for_programs(report: &str) -> Vec<Remedy> {
    let report: Value = serde_json::from_str(report).unwrap_or_default();
    let groups = report["writeback"].as_array().into_iter().flatten();
    let mut findings = groups.flat_map(|group| group["findings"].as_array().into_iter().flatten());
    let refusal = findings.find_map(|finding| finding["refusal"]["remedies"].as_array());
    refusal.into_iter().flatten().filter_map(remedy).collect()
}

fn remedy(value: &Value) -> Option<Remedy> {
    match value["action"].as_str()? {
        "bring_back" | "resize" => {
            return Some(Remedy::BringBack(Target::Named(value["device"].as_str()?.to_owned())));
        }
        "set" => {}
        // A volume more is another stack.
        _ => return None,
    }
    let volumes =
        value["volumes"].as_array()?.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect();
    let written = |value: &Value| (!value.is_null()).then(|| value.to_string());
    let keys = value["keys"].as_object()?.iter().map(|(key, value)| (key.clone(), written(value)));
    // The order of a JSON object depends on how serde_json was built.
    let mut keys: Keys = keys.collect();
    keys.sort();
    let loses = &value["loses"];
    Some(if loses.is_null() {
        Remedy::Set(volumes, keys)
    } else {
        Remedy::GiveUp(volumes, keys, loses["most_bytes"].as_u64())
    })
}

/// What a refusal advises; what loses nothing comes first. `names` are the devices', `suspect` the one that is the cause:
/// where a person must choose between two legs, this is the choice.
pub fn advice(text: &str, names: &[&str], suspect: &str) -> Vec<Remedy> {
    let mut found = Vec::new();
    let named = |part: &str| {
        let in_part = quoted(part).into_iter().filter(|word| names.contains(word));
        in_part.map(|word| Remedy::BringBack(Target::Named(word.to_owned()))).collect::<Vec<_>>()
    };
    for (words, what) in [
        ("Bring the cache device back", Target::AnyCache),
        ("give that group its cache back", Target::AnyCache),
        ("the cache is an older copy", Target::AnyCache),
        ("the backing volume is an older copy", Target::AnyBacking),
        ("name the members in their order", Target::AnyBacking),
    ] {
        if text.contains(words) {
            found.push(Remedy::BringBack(what));
        }
    }
    for words in [
        "the size it had",
        "bring back",
        "give the right one",
        "Bring it back",
        "bring the others back",
        "Bring the others back",
    ] {
        if text.contains(words) {
            found.extend(named(text));
        }
    }
    let mut later = Vec::new();
    for (key, value) in quoted(text).into_iter().filter_map(setting) {
        let keys = vec![(key.to_owned(), Some(value.to_owned()))];
        match key {
            "size" | "segment" | "ring_size" => found.push(Remedy::Set(Vec::new(), keys)),
            "accept_loss" | "discard_cache" => later.push(Remedy::GiveUp(Vec::new(), keys, most_lost(text))),
            _ => {}
        }
    }
    for key in ["force", "discard"] {
        let begins = format!("{key} = ");
        let offers: Vec<(&str, &str)> = text.split(&begins).skip(1).filter_map(written).collect();
        // A split brain offers one for each leg that may stay, and says first what is thrown away.
        let gone = |legs: &str| legs.split(';').next().is_some_and(|gone| quoted(gone).contains(&suspect));
        let value = offers.iter().find(|(_, legs)| offers.len() == 1 || gone(legs)).map(|(value, _)| *value);
        let keys = value.map(|value| vec![(key.to_owned(), Some(value.to_owned()))]);
        later.extend(keys.map(|keys| Remedy::GiveUp(Vec::new(), keys, None)));
    }
    if text.contains("wipe") || text.contains("write zeroes") {
        later.extend(
            quoted(text)
                .into_iter()
                .filter(|word| names.contains(word))
                .map(|word| Remedy::Wipe(word.to_owned())),
        );
    }
    found.extend(later);
    found.dedup();
    found
}

/// Where a device of `size` bytes gets zeroes by a refusal's text; its superblocks if it does not say.
pub fn zeroes(text: &str, size: u64, role: Role) -> Vec<Range<u64>> {
    const MIB: u64 = 1 << 20;
    let block = BLOCK as u64;
    if text.contains("over all of it") {
        return std::iter::once(0..size).collect();
    }
    if text.contains("last MiB") {
        return vec![0..MIB.min(size), size.saturating_sub(MIB)..size];
    }
    let at = if role == Role::Leg { size - 3 * block } else { 0 };
    std::iter::once(at..at + 2 * block).collect()
}

/// What a refusal says that is lost at most, bytes of the log.
fn most_lost(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("never more than ")?;
    let mut words = rest.split(' ');
    let number: f64 = words.next()?.parse().ok()?;
    let unit: u64 = match words.next()? {
        "B" | "bytes" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    // As a person would read it: the next larger one of the digits that are shown.
    Some(((number + 0.1) * unit as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::{Keys, Remedy, Target, advice, for_programs};

    fn keys(key: &str, value: &str) -> Keys {
        vec![(key.to_owned(), Some(value.to_owned()))]
    }

    #[test]
    fn a_lost_cache_is_brought_back_before_it_is_given_up() {
        let text = "group `data`: cache device `fast` is blank, and incarnation 2 holds writes: since then never more than \
                    3264 KiB written over 0.1 s. Bring the cache device back; or set `accept_loss = 2` in each volume";
        let found = advice(text, &["fast"], "fast");
        let [Remedy::BringBack(Target::AnyCache), Remedy::GiveUp(_, given, Some(most))] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(given, &keys("accept_loss", "2"));
        assert!((3264 << 10..3265 << 10).contains(most));
    }

    #[test]
    fn of_two_legs_the_one_that_is_the_cause_is_thrown_away() {
        let text = "the legs continued without knowing of each other (`leg0` is of generation 5-00aa, `leg1` is of generation \
                    4-00bb): keep one and throw away what the others hold: discard = \"4-00bb\" (what `leg1` holds; `leg0` \
                    stays) or discard = \"5-00aa\" (what `leg0` holds; `leg1` stays)";
        for (suspect, value) in [("leg1", "\"4-00bb\""), ("leg0", "\"5-00aa\"")] {
            let expected = Remedy::GiveUp(Vec::new(), keys("discard", value), None);
            assert_eq!(advice(text, &["leg0", "leg1"], suspect), [expected]);
        }
    }

    #[test]
    fn of_three_legs_two_are_thrown_away_at_once() {
        let text = "keep one and throw away what the others hold: discard = [\"4-00bb\", \"3-00cc\"] (what `leg1` and `leg2` \
                    hold; `leg0` stays) or discard = [\"5-00aa\", \"3-00cc\"] (what `leg0` and `leg2` hold; `leg1` stays)";
        for (suspect, value) in [("leg1", "[\"4-00bb\", \"3-00cc\"]"), ("leg0", "[\"5-00aa\", \"3-00cc\"]")] {
            let expected = Remedy::GiveUp(Vec::new(), keys("discard", value), None);
            assert_eq!(advice(text, &["leg0", "leg1", "leg2"], suspect), [expected]);
        }
    }

    #[test]
    fn advice_for_programs_is_taken_as_it_stands() {
        let report = r#"{"writeback": [{"findings": [{"refusal": null}, {"refusal": {"code": "backing_older", "remedies": [
            {"action": "bring_back", "device": "slow", "loses": null},
            {"action": "set", "volumes": ["disk"], "keys": {"roll_forward": 100, "read_cache": null}, "loses": null},
            {"action": "set", "volumes": ["disk"], "keys": {"accept_rollback": 100}, "loses": {"most_bytes": 8192}}]}}]}]}"#;
        let disk = || vec!["disk".to_owned()];
        let mut forward = vec![("read_cache".to_owned(), None)];
        forward.extend(keys("roll_forward", "100"));
        let expected = [
            Remedy::BringBack(Target::Named("slow".to_owned())),
            Remedy::Set(disk(), forward),
            Remedy::GiveUp(disk(), keys("accept_rollback", "100"), Some(8192)),
        ];
        assert_eq!(for_programs(report), expected);
        assert_eq!(for_programs("{}"), []);
    }
}
