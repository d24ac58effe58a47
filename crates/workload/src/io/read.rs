//! From the `[workload]` table of a study to the plain data of an `io` workload.

use fathom_runtime::Nanos;
use fathom_settings::{ABOVE_ZERO, Choice, FromValue, Problem, Section, Value, VolumeName, did_you_mean};
use fathom_units::{Bytes, Iops, Percent, Span};

use super::presets::{self, Preset};
use super::profile::{AddressPattern, Config, Limit, Pace, Phase, Profile, Spread, Think};
use fathom_job::draw::{Arrivals, Sizes};
use fathom_job::sampler::read_interval;

/// More workers or users per worker are a slip of the finger.
const MOST_USERS: u32 = 65_536;
/// Users of an open loop whose settings do not say.
const OPEN_USERS: u32 = 1024;
/// Arrivals that may wait, if the settings do not say.
const BACKLOG: u32 = 65_536;

impl FromValue for &'static Preset {
    fn from_value(value: &Value) -> Result<Self, Problem> {
        let name = String::from_value(value)?;
        presets::find(&name).ok_or_else(|| {
            let names = presets::PRESETS.iter().map(|preset| preset.name);
            Problem::new(format!("there is no preset {value}"), did_you_mean(&name, "presets", names))
        })
    }
}

impl Choice for Spread {
    const CHOICES: &'static [(&'static str, Self)] = &[("one", Self::One), ("all", Self::All)];
}

/// The word for where requests go; its parameters are keys of their own.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Word {
    Random,
    Sequential,
    SharedSequential,
    Zipf,
    HotSpot,
}

impl Choice for Word {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("random", Self::Random),
        ("sequential", Self::Sequential),
        ("shared-sequential", Self::SharedSequential),
        ("zipf", Self::Zipf),
        ("hot-spot", Self::HotSpot),
    ];
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Spacing {
    Constant,
    Poisson,
    Hyperexponential,
    OnOff,
}

impl Choice for Spacing {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("constant", Self::Constant),
        ("poisson", Self::Poisson),
        ("hyperexponential", Self::Hyperexponential),
        ("on-off", Self::OnOff),
    ];
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum ThinkTime {
    Constant,
    Exponential,
}

impl Choice for ThinkTime {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("constant", Self::Constant), ("exponential", Self::Exponential)];
}

/// Reads the table; None if anything is missing or wrong, which the diagnostics then say.
pub fn read(section: &mut Section<'_>) -> Option<Config> {
    let preset = section.optional::<&'static Preset>("preset");
    let volumes = read_volumes(section);
    let base = maintenance::derived(section, preset, volumes.as_ref().map_or(1, Vec::len));
    let profile = read_profile(section, &base);
    let phases = read_phases(section, &profile);
    let limit = read_limit(section, !phases.is_empty());
    let mut config = Config {
        volumes: volumes.unwrap_or_default(),
        profile,
        ramp: nanos(section.or("ramp", Span::ZERO)),
        limit,
        phases,
        interval: None,
        fill: section.or("fill", false),
        verify: section.or("verify", false),
    };
    config.interval = read_interval(section, config.measured());
    check_all_are_driven(section, &config);
    section.is_clean().then_some(config)
}

/// The volumes that it drives, each once: one that is named twice would get twice the load of its neighbours.
fn read_volumes(section: &mut Section<'_>) -> Option<Vec<String>> {
    let names: Vec<String> =
        section.required_list::<VolumeName>("volumes")?.into_iter().map(|name| name.0).collect();
    if let Some((_, twice)) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        let help = "name each volume once; for more load on it raise `workers` or `outstanding`";
        section.error_at("volumes", format!("`{twice}` is named twice"), help);
    }
    Some(names)
}

/// Refuses volumes that no worker would ever drive: what they could do would seem to be worth nothing.
fn check_all_are_driven(section: &mut Section<'_>, config: &Config) {
    let count = config.volumes.len();
    let driven = |profile: &Profile| match profile.spread {
        Spread::All => count,
        Spread::One => profile.workers as usize,
    };
    let most = config.profiles().map(driven).max().unwrap_or(count);
    if most < count {
        let idle =
            config.volumes[most..].iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let help = format!(
            "add spread = \"all\", so that each request draws its volume, or workers = {count}, so that each volume has a worker"
        );
        section.error_at("volumes", format!("no worker drives {idle}, as each takes one volume"), help);
    }
}

fn nanos(span: Span) -> Nanos {
    span.as_nanos()
}

/// A span above zero.
fn positive(section: &mut Section<'_>, key: &str) -> Option<Nanos> {
    section.optional_in(key, Span::from_nanos(1)..).map(nanos)
}

fn read_limit(section: &mut Section<'_>, phases: bool) -> Limit {
    let limits = [
        ("duration", positive(section, "duration").map(Limit::Time)),
        ("requests", section.optional_in("requests", 1_u64..).map(Limit::Requests)),
        ("bytes", section.optional_in("bytes", Bytes::new(1)..).map(|bytes| Limit::Bytes(bytes.get()))),
    ];
    let given: Vec<&str> = limits.iter().map(|(key, _)| *key).filter(|key| section.has(key)).collect();
    if phases && let Some(key) = given.first() {
        section.error_at(key, "the phases say how long the run is", "leave it out, or the phases");
    } else if let [first, second, ..] = given[..] {
        section.error_at(second, format!("`{first}` says when the run ends"), "leave one of them out");
    }
    let chosen = limits.into_iter().find_map(|(_, limit)| limit);
    chosen.unwrap_or(Config::default().limit)
}

fn read_phases(section: &mut Section<'_>, base: &Profile) -> Vec<Phase> {
    let mut phases: Vec<Phase> = Vec::new();
    for mut table in section.sections("phases") {
        let name = table.required::<String>("name").unwrap_or_default();
        let word = name
            .chars()
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
        if table.has("name") && (name.is_empty() || !word) {
            table.error_at(
                "name",
                "metrics begin with the name",
                "use lower-case letters, digits and underscores",
            );
        }
        if phases.iter().any(|phase| phase.name == name) {
            table.error_at("name", format!("there is a phase \"{name}\" already"), "choose another");
        }
        let duration = table.required_in("duration", Span::from_nanos(1)..);
        let profile = read_profile(&mut table, base);
        if is_open(&profile) != is_open(base) {
            table.error_at(
                "rate",
                "a phase's rate takes the place of the workload's, and that has none",
                "give the whole workload a `rate`",
            );
        }
        let _ = table.finish();
        phases.push(Phase { name, duration: nanos(duration.unwrap_or(Span::ZERO)), profile });
    }
    phases
}

fn is_open(profile: &Profile) -> bool {
    matches!(profile.pace, Pace::Open { .. })
}

/// Reads what a profile says differently from `base`.
fn read_profile(section: &mut Section<'_>, base: &Profile) -> Profile {
    let pace = read_pace(section, &base.pace);
    let opened = matches!(pace, Pace::Open { .. }) && !is_open(base);
    let outstanding = if opened { OPEN_USERS } else { base.outstanding };
    let sizes = read_sizes(section, "size", "sizes");
    let write_sizes = read_sizes(section, "write_size", "write_sizes").or_else(|| sizes.clone());
    let share = |section: &mut Section<'_>, key, base: f64| {
        section.optional::<Percent>(key).map_or(base, Percent::fraction)
    };
    let profile = Profile {
        workers: section.or_in("workers", base.workers, 1..=MOST_USERS),
        outstanding: section.or_in("outstanding", outstanding, 1..=MOST_USERS),
        spread: section.or("spread", base.spread),
        read: share(section, "read", base.read),
        trim: share(section, "trim", base.trim),
        read_sizes: sizes.unwrap_or_else(|| base.read_sizes.clone()),
        write_sizes: write_sizes.unwrap_or_else(|| base.write_sizes.clone()),
        places: read_places(section, base.places),
        align: section.optional_in("align", Bytes::new(1)..).map(Bytes::get).or(base.align),
        start: section.optional::<Bytes>("start").map_or(base.start, Bytes::get),
        length: section.optional_in("length", Bytes::new(1)..).map(Bytes::get).or(base.length),
        most: base.most,
        flush_every: section.or("flush_every", base.flush_every),
        fua: section.or("fua", base.fua),
        pace,
    };
    if profile.read + profile.trim > 1.0 + 1e-9 {
        section.error_at(
            "trim",
            "reads and trims are more than 100 % together",
            "writes are what is left of 100 %",
        );
    }
    if u64::from(profile.workers) * u64::from(profile.outstanding) > u64::from(16 * MOST_USERS) {
        section.error_at(
            "outstanding",
            "there are more than a million users",
            "lower `workers` or `outstanding`",
        );
    }
    profile
}

fn read_sizes(section: &mut Section<'_>, one: &str, many: &str) -> Option<Sizes> {
    let size = section.optional_in(one, Bytes::new(1)..);
    let mut list = Vec::new();
    for mut table in section.sections(many) {
        let bytes = table.required_in("size", Bytes::new(1)..);
        let weight = table.required_in("weight", ABOVE_ZERO);
        let _ = table.finish();
        list.extend(bytes.map(Bytes::get).zip(weight));
    }
    if section.has(one) && section.has(many) {
        section.error_at(many, format!("`{one}` says how large requests are"), "leave one of them out");
    }
    match size {
        Some(size) => Some(Sizes::fixed(size.get())),
        None if list.is_empty() => None,
        None => Sizes::weighted(&list),
    }
}

fn read_places(section: &mut Section<'_>, base: AddressPattern) -> AddressPattern {
    let base_word = match base {
        AddressPattern::Random => Word::Random,
        AddressPattern::Sequential => Word::Sequential,
        AddressPattern::SharedSequential => Word::SharedSequential,
        AddressPattern::Zipf(_) => Word::Zipf,
        AddressPattern::HotSpot { .. } => Word::HotSpot,
    };
    let theta = if let AddressPattern::Zipf(theta) = base { theta } else { 0.99 };
    let (requests, space) =
        if let AddressPattern::HotSpot { requests, space } = base { (requests, space) } else { (0.8, 0.2) };
    let word = section.or("offsets", base_word);
    let theta = section.or_in("theta", theta, 0.0..=10.0);
    let requests = section.optional::<Percent>("hot_requests").map_or(requests, Percent::fraction);
    let space = section.optional::<Percent>("hot_space").map_or(space, Percent::fraction);
    if space <= 0.0 || space >= 1.0 {
        section.error_at(
            "hot_space",
            "nothing is hotter than the rest",
            "write more than 0% and less than 100%",
        );
    }
    only_with(section, &["theta"], word == Word::Zipf, "offsets = \"zipf\"");
    only_with(section, &["hot_requests", "hot_space"], word == Word::HotSpot, "offsets = \"hot-spot\"");
    match word {
        Word::Random => AddressPattern::Random,
        Word::Sequential => AddressPattern::Sequential,
        Word::SharedSequential => AddressPattern::SharedSequential,
        Word::Zipf => AddressPattern::Zipf(theta),
        Word::HotSpot => AddressPattern::HotSpot { requests, space },
    }
}

/// Arrivals a second at most: with one at every nanosecond the clock would never go on.
const MOST_PER_SECOND: f64 = 1e8;

fn read_pace(section: &mut Section<'_>, base: &Pace) -> Pace {
    let rate = section.optional::<Iops>("rate").map(Iops::get);
    let think = section.optional::<Span>("think").map(nanos);
    let think_time = section.or("think_time", ThinkTime::Constant);
    let (known, arrivals, waiting) = match base {
        Pace::Closed(_) => (None, Arrivals::Poisson, BACKLOG),
        Pace::Open { rate, arrivals, backlog } => (Some(*rate), *arrivals, *backlog),
    };
    let open = rate.or(known).filter(|rate| *rate > 0.0);
    let arrivals = read_arrivals(section, arrivals, open.is_some());
    let backlog = section.or_in("backlog", waiting, 0..=100_000_000);
    if rate == Some(0.0) {
        section.error_at(
            "rate",
            "nothing would arrive",
            "write more than 0, or leave it out for a closed loop",
        );
    }
    if rate.is_some_and(|rate| rate > MOST_PER_SECOND) {
        section.error_at("rate", "no volume takes as much", "write at most 100,000,000/s");
    }
    only_with(section, &["arrivals", "variation", "on", "off", "backlog"], open.is_some(), "a `rate`");
    only_with(section, &["think", "think_time"], open.is_none(), "a closed loop, without `rate`");
    only_with(section, &["think_time"], section.has("think") || open.is_some(), "a `think` span");
    match (open, think) {
        (Some(rate), _) => Pace::Open { rate, arrivals, backlog },
        (None, Some(0)) => Pace::Closed(Think::None),
        (None, Some(span)) if think_time == ThinkTime::Constant => Pace::Closed(Think::Constant(span)),
        (None, Some(mean)) => Pace::Closed(Think::Exponential(mean)),
        (None, None) => *base,
    }
}

fn read_arrivals(section: &mut Section<'_>, base: Arrivals, open: bool) -> Arrivals {
    let base_word = match base {
        Arrivals::Constant => Spacing::Constant,
        Arrivals::Poisson => Spacing::Poisson,
        Arrivals::Hyperexponential(_) => Spacing::Hyperexponential,
        Arrivals::OnOff { .. } => Spacing::OnOff,
    };
    let variation = if let Arrivals::Hyperexponential(variation) = base { variation } else { 4.0 };
    let bursts = if let Arrivals::OnOff { on, off } = base { Some((on, off)) } else { None };
    let word = section.or("arrivals", base_word);
    let variation = section.or_in("variation", variation, 1.0..=10_000.0);
    let (on, off) = (positive(section, "on"), positive(section, "off"));
    if open {
        only_with(
            section,
            &["variation"],
            word == Spacing::Hyperexponential,
            "arrivals = \"hyperexponential\"",
        );
        only_with(section, &["on", "off"], word == Spacing::OnOff, "arrivals = \"on-off\"");
    }
    match word {
        Spacing::Constant => Arrivals::Constant,
        Spacing::Poisson => Arrivals::Poisson,
        Spacing::Hyperexponential => Arrivals::Hyperexponential(variation),
        Spacing::OnOff => {
            let spans = on.or(bursts.map(|known| known.0)).zip(off.or(bursts.map(|known| known.1)));
            if spans.is_none() && section.is_clean() {
                section.error_at(
                    "arrivals",
                    "it needs the spans `on` and `off`",
                    "add on = \"1s\" and off = \"9s\"",
                );
            }
            let (on, off) = spans.unwrap_or((1, 1));
            Arrivals::OnOff { on, off }
        }
    }
}

/// Refuses keys that mean nothing without another.
fn only_with(section: &Section<'_>, keys: &[&str], meant: bool, what: &str) {
    for key in keys.iter().filter(|key| !meant && section.has(key)) {
        section.error_at(key, "it has no effect here", format!("it goes with {what}"));
    }
}

mod maintenance;
#[cfg(test)]
mod tests;
