//! Reading a fault layer's settings.

use fathom_settings::{Choice, Key, Section, VolumeName};
use fathom_units::{Bytes, Percent, Span};
use fathom_volume::{Blueprint, ErrorKind, Kind, NodeKind, manual};

use super::below::Return;
use super::{Config, Effect, RuleConfig, Trigger};

/// The registry's record.
pub const KIND: NodeKind = NodeKind {
    name: "fault",
    summary: "slow, failing, lying and forgetful devices, by rule and seed",
    manual: manual!("mod.rs"),
    keys: &[
        Key::required("backing", "volume", "The volume below."),
        Key::required("rules", "list of tables", "What goes wrong, and when; see above."),
    ],
    outside: false,
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Blueprint>),
};

#[derive(Clone, Copy)]
enum Word {
    Error,
    Delay,
    Stall,
    Gone,
    Torn,
    Lost,
    Misdirected,
    BitRot,
    LyingFlush,
    Reordered,
    OldContents,
}

impl Choice for Word {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("error", Self::Error),
        ("delay", Self::Delay),
        ("stall", Self::Stall),
        ("gone", Self::Gone),
        ("torn-write", Self::Torn),
        ("lost-write", Self::Lost),
        ("misdirected", Self::Misdirected),
        ("bit-rot", Self::BitRot),
        ("lying-flush", Self::LyingFlush),
        ("reordered", Self::Reordered),
        ("old-contents", Self::OldContents),
    ];
}

#[derive(Clone, Copy)]
struct Failing(ErrorKind);

impl Choice for Failing {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("io", Self(ErrorKind::Io)),
        ("gone", Self(ErrorKind::Gone)),
        ("corrupt", Self(ErrorKind::Corrupt)),
        ("no-space", Self(ErrorKind::NoSpace)),
    ];
}

#[derive(Clone, Copy)]
struct RequestKind(Kind);

impl Choice for RequestKind {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("read", Self(Kind::Read)),
        ("write", Self(Kind::Write)),
        ("flush", Self(Kind::Flush)),
        ("trim", Self(Kind::Trim)),
        ("write_zeroes", Self(Kind::WriteZeroes)),
    ];
}

impl Config {
    /// Reads the settings; None if anything is wrong.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let backing = section.required::<VolumeName>("backing");
        let rules: Vec<_> = section.sections("rules").iter_mut().map(rule).collect();
        if rules.is_empty() && section.is_clean() {
            section.error("it has no rules", format!("add one under [[{}.rules]]", section.path()));
        }
        let rules: Option<Vec<_>> = rules.into_iter().collect();
        if let Some(rules) = rules.as_ref().filter(|_| section.is_clean()) {
            for (what, several) in [
                (
                    "reordered",
                    rules.iter().filter(|rule| matches!(rule.effect, Effect::Reordered(_))).count(),
                ),
                (
                    "old-contents",
                    rules.iter().filter(|rule| matches!(rule.effect, Effect::OldContents(_))).count(),
                ),
            ] {
                if several > 1 {
                    let help = "a device has one; leave the others out, or stack two fault layers";
                    section.error(format!("it has {several} rules \"{what}\""), help);
                }
            }
        }
        if section.is_clean() { Some(Self { backing: backing?.0, rules: rules? }) } else { None }
    }
}

fn rule(section: &mut Section<'_>) -> Option<RuleConfig> {
    let word = section.required::<Word>("fault");
    let mut trigger = match word {
        // It is not about requests.
        Some(Word::OldContents) => Trigger::always(),
        _ => Trigger { kinds: kinds(section), range: range(section), ..Trigger::always() },
    };
    if !matches!(word, None | Some(Word::Stall | Word::OldContents)) {
        read_conditions(section, &mut trigger);
    }
    let effect = match word {
        Some(Word::Error) => Some(Effect::Error(section.or("error", Failing(ErrorKind::Io)).0)),
        Some(Word::Delay) => section.required::<Span>("delay").map(|delay| Effect::Delay(delay.as_nanos())),
        Some(Word::Stall) => stall(section),
        Some(Word::Gone) => {
            trigger.times = trigger.times.or(Some(1));
            Some(Effect::Gone(section.optional::<Span>("lasts").map(Span::as_nanos)))
        }
        Some(Word::Torn) => Some(Effect::Torn(section.optional::<Failing>("error").map(|error| error.0))),
        Some(Word::Lost) => Some(Effect::Lost),
        Some(Word::Misdirected) => Some(Effect::Misdirected(section.optional::<Bytes>("by").map(Bytes::get))),
        Some(Word::BitRot) => Some(Effect::BitRot),
        Some(Word::LyingFlush) => Some(Effect::LyingFlush),
        Some(Word::Reordered) => {
            Some(Effect::Reordered(section.or_in::<u64>("window", 64, 1..=65_536) as usize))
        }
        Some(Word::OldContents) => old_contents(section),
        None => {
            // Which keys belong here is not known: none of them is called unknown.
            section.entries();
            None
        }
    };
    if let Some(effect) = effect.filter(|_| section.has("kinds")) {
        suit(section, effect, &trigger);
    }
    if section.finish() { Some(RuleConfig { effect: effect?, trigger }) } else { None }
}

/// Refuses kinds that the fault cannot happen to.
fn suit(section: &Section<'_>, effect: Effect, trigger: &Trigger) {
    let suits = effect.suits();
    let wrong: Vec<&str> = Kind::ALL
        .into_iter()
        .filter(|kind| trigger.kinds[*kind as usize] && !suits[*kind as usize])
        .map(Kind::name)
        .collect();
    if !wrong.is_empty() && trigger.kinds != [true; 5] {
        let can: Vec<&str> =
            Kind::ALL.into_iter().filter(|kind| suits[*kind as usize]).map(Kind::name).collect();
        section.error_at(
            "kinds",
            format!("this fault does not happen to a {}", wrong.join(" or ")),
            format!("it happens to {}", can.join(", ")),
        );
    }
}

fn old_contents(section: &mut Section<'_>) -> Option<Effect> {
    let from = section.required::<Span>("from").map(Span::as_nanos);
    let until = section.required::<Span>("until").map(Span::as_nanos);
    if let (Some(from), Some(until)) = (from, until)
        && until <= from
    {
        section.error_at("until", "it ends before it begins", "make `until` later than `from`");
    }
    Some(Effect::OldContents(Return { from: from?, until: until? }))
}

fn kinds(section: &mut Section<'_>) -> [bool; 5] {
    let listed = section.list::<RequestKind>("kinds");
    if listed.as_ref().is_some_and(Vec::is_empty) {
        section.error_at("kinds", "the list is empty", "name at least one kind, or leave it out for all");
    }
    listed.map_or([true; 5], |kinds| Kind::ALL.map(|kind| kinds.iter().any(|listed| listed.0 == kind)))
}

fn range(section: &mut Section<'_>) -> Option<std::ops::Range<u64>> {
    let offset = section.optional::<Bytes>("offset").map(Bytes::get);
    let length = section.optional::<Bytes>("length").map(Bytes::get);
    if length == Some(0) {
        section.error_at("length", "a range of 0 bytes", "leave it out for everything from `offset` on");
    }
    if offset.is_none() && length.is_none() {
        return None;
    }
    let start = offset.unwrap_or(0);
    Some(start..length.map_or(u64::MAX, |length| start.saturating_add(length)))
}

/// The keys that say which of the matching requests are met.
fn read_conditions(section: &mut Section<'_>, trigger: &mut Trigger) {
    if let Some(probability) = section.optional::<Percent>("probability") {
        trigger.probability = probability.fraction();
        if !(trigger.probability > 0.0 && trigger.probability <= 1.0) {
            section.error_at(
                "probability",
                format!("{probability} is no probability"),
                "more than 0%, at most 100%",
            );
        }
    }
    trigger.after = section.or("after", 0);
    trigger.times = section.optional_in::<u64>("times", 1..);
    let from = section.optional::<Span>("from").map_or(0, Span::as_nanos);
    let until = section.optional::<Span>("until").map_or(u64::MAX, Span::as_nanos);
    if until <= from {
        section.error_at("until", "it ends before it begins", "make `until` later than `from`");
    }
    trigger.during = from..until;
}

fn stall(section: &mut Section<'_>) -> Option<Effect> {
    let from = section.required::<Span>("from").map(Span::as_nanos);
    let lasts = section.required::<Span>("lasts").map(Span::as_nanos);
    let every = section.optional::<Span>("every").map(Span::as_nanos);
    if let (Some(lasts), Some(every)) = (lasts, every)
        && every <= lasts
    {
        section.error_at("every", "it begins again before it ends", "make `every` longer than `lasts`");
    }
    Some(Effect::Stall { from: from?, lasts: lasts?, every })
}
