//! No text makes a check panic or hang, and every mistake it finds lies within the text.

use std::path::Path;
use std::time::{Duration, Instant};

use fathom_catalogue::Catalogue;
use fathom_study::{CheckOptions, check};
use proptest::prelude::*;

/// A check of a text as large as a person's takes this long at most, in an unoptimised build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

thread_local! {
    static CATALOGUE: Catalogue = Catalogue::builtin();
}

/// Checks a text; the number of mistakes.
#[expect(clippy::disallowed_methods, reason = "a bound on real time is what is tested")]
fn sound_check(text: &str) -> usize {
    let start = Instant::now();
    let checked = CATALOGUE.with(|catalogue| check(text, "any.toml", &CheckOptions::default(), catalogue));
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    // A byte order mark is no part of the line that it stands before.
    let text = text.trim_start_matches('\u{feff}');
    let lines = text.split('\n').count().max(1);
    for diagnostic in checked.diagnostics.list() {
        let (place, line) = (diagnostic.position, diagnostic.position.line as usize);
        assert!((1..=lines).contains(&line), "{diagnostic:?}");
        assert_eq!(
            Some(diagnostic.source.as_str()),
            text.split('\n').nth(line - 1).map(|line| line.trim_end_matches('\r'))
        );
        assert!(place.column as usize <= diagnostic.source.chars().count() + 1, "{diagnostic:?}");
        assert!(!diagnostic.message.is_empty());
    }
    checked.diagnostics.len()
}

/// The project's own studies.
fn studies() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let files = std::fs::read_dir(folder).expect("the studies are there").filter_map(Result::ok);
    let files =
        files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|kind| kind == "toml"));
    let mut texts: Vec<String> =
        files.map(|path| std::fs::read_to_string(path).expect("it can be read")).collect();
    texts.sort();
    assert!(!texts.is_empty());
    texts
}

/// One small change to a text: where, and what.
#[derive(Debug, Clone)]
enum Change {
    DropLine(usize),
    RepeatLine(usize),
    SwapLines(usize, usize),
    DropCharacter(usize),
    Insert(usize, String),
    Number(usize, String),
    Value(usize, String),
}

fn change() -> impl Strategy<Value = Change> {
    let word = prop_oneof![
        Just("-1"),
        Just("0"),
        Just("99999999999999999999"),
        Just("1e400"),
        Just("nan"),
        Just("\"\""),
        Just("\"16EiB\""),
        Just("\"0\""),
        Just("\"1ns\""),
        Just("[]"),
        Just("{}"),
        Just("[[1]]"),
        Just("true"),
        Just("\"data\""),
        Just("\"per-row\""),
        Just("1979-05-27"),
        Just("\"\\u0000\""),
        Just("9_223_372_036_854_775_807"),
    ]
    .prop_map(str::to_owned);
    prop_oneof![
        any::<usize>().prop_map(Change::DropLine),
        any::<usize>().prop_map(Change::RepeatLine),
        (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Change::SwapLines(a, b)),
        any::<usize>().prop_map(Change::DropCharacter),
        (any::<usize>(), "[\\PC\n]{1,3}").prop_map(|(at, text)| Change::Insert(at, text)),
        (any::<usize>(), "-?[0-9]{1,20}").prop_map(|(at, text)| Change::Number(at, text)),
        (any::<usize>(), word).prop_map(|(at, text)| Change::Value(at, text)),
    ]
}

impl Change {
    fn apply(&self, text: &str) -> String {
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let count = lines.len();
        match self {
            Self::DropLine(at) => drop(lines.remove(at % count)),
            Self::RepeatLine(at) => lines.insert(at % count, lines[at % count].clone()),
            Self::SwapLines(a, b) => lines.swap(a % count, b % count),
            Self::DropCharacter(at) => {
                let mut characters: Vec<char> = text.chars().collect();
                if !characters.is_empty() {
                    characters.remove(at % characters.len());
                }
                return characters.into_iter().collect();
            }
            Self::Insert(at, inserted) => {
                let mut characters: Vec<char> = text.chars().collect();
                let at = at % (characters.len() + 1);
                characters.splice(at..at, inserted.chars());
                return characters.into_iter().collect();
            }
            Self::Number(at, number) => {
                let digits: Vec<usize> =
                    (0..text.len()).filter(|at| text.as_bytes()[*at].is_ascii_digit()).collect();
                let Some(start) = digits.get(at % digits.len().max(1)) else { return text.to_owned() };
                return format!("{}{number}{}", &text[..*start], &text[start + 1..]);
            }
            Self::Value(at, value) => {
                let set: Vec<usize> = (0..count).filter(|line| lines[*line].contains(" = ")).collect();
                let Some(line) = set.get(at % set.len().max(1)) else { return text.to_owned() };
                let key = lines[*line].split_once(" = ").map_or("", |(key, _)| key);
                lines[*line] = format!("{key} = {value}");
            }
        }
        lines.join("\n")
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_is_checked_without_panic(text in "(?s).{0,200}") {
        sound_check(&text);
    }

    #[test]
    fn studies_with_small_changes_are_checked_without_panic(which: usize, changes in prop::collection::vec(change(), 1..6)) {
        let studies = studies();
        let text = studies[which % studies.len()].clone();
        sound_check(&changes.iter().fold(text, |text, change| change.apply(&text)));
    }
}

#[test]
fn many_factors_and_many_volumes_are_checked_in_bounded_time() {
    let mut many = "title = \"t\"\n[workload]\nkind = \"insert\"\nrows = 1\n[factors]\n".to_owned();
    for key in ["rows", "page_size", "payload", "transaction", "cpu_per_row", "interval", "sessions"] {
        let levels: Vec<String> = (1..=6).map(|level| level.to_string()).collect();
        many += &format!("\"workload.{key}\" = [{}]\n", levels.join(", "));
    }
    assert!(sound_check(&many) > 0, "an interval has a unit");
    let factors: String = (0..40_000).map(|factor| format!("\"workload.k{factor}\" = [1]\n")).collect();
    assert!(sound_check(&format!("title = \"t\"\n[workload]\nkind = \"insert\"\n[factors]\n{factors}")) > 0);
    let cells: String = (0..20_000).map(|cell| format!("[[published.cells]]\nname = \"{cell}\"\n")).collect();
    sound_check(&format!("title = \"t\"\n[workload]\nkind = \"insert\"\nrows = 1\n{cells}"));
    let mut tower = "title = \"t\"\n[workload]\nkind = \"insert\"\nrows = 1\nvolume = \"v0\"\n".to_owned();
    for level in 0..3000 {
        tower += &format!("[volumes.v{level}]\nkind = \"mirror\"\nlegs = [\"v{}\"]\n", (level + 1) % 3000);
    }
    assert!(sound_check(&tower) > 0, "it is a circle of 3,000 volumes");
}
