//! What a reader sees and says, through the public face of the crate.

use fathom_settings::{
    ABOVE_ZERO, Choice, Diagnostics, Path, Position, Section, Tree, VolumeName, to_json, to_text,
};
use fathom_units::{Bytes, Percent, Rate, Span};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Strict,
    Barrier,
}

impl Choice for Mode {
    const CHOICES: &'static [(&'static str, Self)] = &[("strict", Self::Strict), ("barrier", Self::Barrier)];
}

/// Reads a text and returns what the reader yields, with the mistakes, one line each.
fn read<T>(text: &str, reader: impl FnOnce(&mut Section) -> T) -> (T, Vec<String>) {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("v.toml", text, &diagnostics);
    let mut section = tree.section(&diagnostics);
    let yields = reader(&mut section);
    let clean = section.finish();
    assert_eq!(clean, diagnostics.is_empty());
    (yields, diagnostics.list().iter().map(ToString::to_string).collect())
}

#[test]
fn each_type_is_read_from_its_own_notation() {
    let text = "on = true\nn = 7\nf = 1\ns = \"x\"\nday = 2024-05-01\nsize = 4096\nrate = \"125MiB/s\"\n\
                delay = \"250us\"\nshare = \"2%\"\nmode = \"barrier\"\nmembers = [\"a\", \"b\"]\n";
    let (_, mistakes) = read(text, |section| {
        assert_eq!(section.required::<bool>("on"), Some(true));
        assert_eq!(section.required::<u32>("n"), Some(7));
        assert_eq!(section.required::<f64>("f"), Some(1.0));
        assert_eq!(section.required::<String>("s").as_deref(), Some("x"));
        assert_eq!(section.required::<String>("day").as_deref(), Some("2024-05-01"));
        assert_eq!(section.required::<Bytes>("size"), Some(Bytes::kib(4)));
        assert_eq!(section.required::<Rate>("rate"), Some(Rate::mib(125)));
        assert_eq!(section.required::<Span>("delay"), Some(Span::from_micros(250)));
        assert_eq!(section.required::<Percent>("share").map(Percent::get), Some(2.0));
        assert_eq!(section.required::<Mode>("mode"), Some(Mode::Barrier));
        let members = section.required_list::<VolumeName>("members").expect("it is a list");
        assert_eq!(members, [VolumeName("a".into()), VolumeName("b".into())]);
        let references = section.take_references();
        assert_eq!(references[1].name, "b");
        assert_eq!(references[1].position, Position { line: 11, column: 17, length: 3 });
        assert_eq!(references[1].path.to_string(), "members.1");
        assert_eq!(section.or("absent", Mode::Strict), Mode::Strict);
    });
    assert_eq!(mistakes, [""; 0]);
}

#[test]
fn every_mistake_is_found_in_one_go_with_place_path_and_remedy() {
    let text = "size = \"4K\"\ndepth = 0\nmode = \"stict\"\nn = \"7\"\nk = -1\nmembers = [\"a\", 3]\nlist = 1\nx = 1.5\n\
                share = 2\nnan = nan\nempty = []\n[sub]\n";
    let (_, mistakes) = read(text, |section| {
        assert_eq!(section.required::<Bytes>("size"), None);
        assert_eq!(section.required_in("depth", 1..=64_u32), None);
        assert_eq!(section.or("mode", Mode::Strict), Mode::Strict);
        assert_eq!(section.required::<u64>("n"), None);
        assert_eq!(section.required::<u64>("k"), None);
        assert_eq!(section.list::<VolumeName>("members"), None);
        assert_eq!(section.list::<u32>("list"), None);
        assert_eq!(section.optional::<u32>("x"), None);
        assert_eq!(section.optional::<Percent>("share"), None);
        assert_eq!(section.optional::<f64>("nan"), None);
        assert_eq!(section.required_list::<u32>("empty"), None);
        assert_eq!(section.optional::<Bytes>("sub"), None);
        assert_eq!(section.required::<Span>("delay"), None);
        section.error("as a whole", "");
    });
    let expected = [
        "v.toml:1:1: delay: it is missing; add `delay = …`",
        "v.toml:1:1: as a whole",
        "v.toml:1:8: size: \"4K\" is not a size in bytes: say which kind, binary (KiB, MiB, GiB, TiB) or decimal (kB, MB, GB, \
         TB); write it like \"4KiB\"",
        "v.toml:2:9: depth: 0 is out of range; it must be at least 1 and at most 64",
        "v.toml:3:8: mode: \"stict\" is not one of its choices; did you mean `strict`?",
        "v.toml:4:5: n: expected a whole number, found a text; leave out the quotes",
        "v.toml:5:5: k: -1 is out of range; it must not be negative",
        "v.toml:6:17: members.1: expected the name of a volume, found a whole number; write the name of a [volumes.NAME] table \
         in double quotes",
        "v.toml:7:8: list: expected a list, found a whole number; write it like [ … , … ]",
        "v.toml:8:5: x: expected a whole number, found a number with a fraction; write it like 1_000, without quotes",
        "v.toml:9:9: share: \"2\" is not a percentage from 0 to 100: the % is missing; write it like \"2%\"",
        "v.toml:10:7: nan: NaN is no measure; write a finite number",
        "v.toml:11:9: empty: the list is empty; name at least one",
        "v.toml:12:1: sub: expected a size in bytes, found a table; write it like \"64KiB\"",
    ];
    for (found, expected) in mistakes.iter().zip(expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(mistakes.len(), expected.len());
}

#[test]
fn a_misspelt_required_key_is_named_once_from_both_sides() {
    let (_, mistakes) = read("sise = \"4TiB\"\n", |section| section.required::<Bytes>("size"));
    assert_eq!(
        mistakes,
        [
            "v.toml:1:1: size: it is missing; is `sise` meant to be `size`?",
            "v.toml:1:1: sise: unknown key; did you mean `size`?",
        ]
    );
}

#[test]
fn sections_open_tables_lists_of_tables_and_named_tables() {
    let text = "[volumes.b]\nsize = 1\n[volumes.a]\nsiez = 2\n[[jobs]]\nvolume = \"b\"\n[[jobs]]\nvolume = \"a\"\n[one]\nx = 1\n";
    let (_, mistakes) = read(text, |section| {
        let mut names = Vec::new();
        for (name, mut volume) in section.named_sections("volumes") {
            names.push(name);
            volume.optional::<Bytes>("size");
            assert_eq!(volume.path().to_string(), format!("volumes.{name}"));
            assert_eq!(volume.finish(), name == "b");
        }
        assert_eq!(names, ["b", "a"]);
        for mut job in section.sections("jobs") {
            job.required::<VolumeName>("volume");
            assert!(job.finish());
        }
        assert_eq!(section.take_references().iter().map(|r| r.name.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        let one = section.required_section("one").expect("it is there");
        assert!(one.has("x") && !one.has("y"));
        assert!(section.section("absent").is_none());
        assert!(section.required_section("two").is_none());
    });
    assert_eq!(
        mistakes,
        [
            "v.toml:1:1: two: it is missing; add a table [two]",
            "v.toml:4:1: volumes.a.siez: unknown key; did you mean `size`?",
        ]
    );
}

#[test]
fn a_mistake_in_one_of_several_tables_is_none_of_the_others() {
    let text = "[volumes.a]\nsize = \"huge\"\n[volumes.b]\nsize = 1\n[[jobs]]\nx = 1\n[[jobs]]\n";
    let (clean, _) = read(text, |section| {
        let volumes = section.named_sections("volumes").into_iter().map(|(_, mut volume)| {
            volume.optional::<Bytes>("size");
            volume.is_clean()
        });
        let clean: Vec<bool> = volumes.collect();
        let jobs =
            section.sections("jobs").into_iter().map(|mut job| job.value("y").is_none() && job.finish());
        clean.into_iter().chain(jobs).collect::<Vec<_>>()
    });
    assert_eq!(clean, [false, true, false, true]);
}

#[test]
fn a_value_of_an_override_is_reported_at_the_override() {
    let diagnostics = Diagnostics::new();
    let text = "size = 1\n[factors]\nsize = [\"huge\"]\n";
    let mut tree = Tree::parse("v.toml", text, &diagnostics);
    let level = tree.get(&Path::parse("factors.size.0").expect("a path")).expect("it is there").clone();
    tree.set(&Path::parse("size").expect("a path"), level, Position::START).expect("it is there");
    tree.section(&diagnostics).required::<Bytes>("size");
    let found = &diagnostics.list()[0];
    assert_eq!((found.position.line, found.path.as_str()), (3, "size"));
}

#[test]
fn many_mistakes_are_all_told_and_hostile_text_is_escaped() {
    let long = format!("a = 1 # {}\t!\n", "x".repeat(5000));
    let keys: String = (0..2000).map(|n| format!("key{n} = 1\n")).collect();
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("v.toml", &(long + &keys + "\"\\u001b[2J\" = 1\n"), &diagnostics);
    let mut section = tree.section(&diagnostics);
    assert!(!section.finish());
    let text = to_text(&diagnostics);
    assert!((0..90).all(|n| text.contains(&format!("key{n}: unknown key"))), "{text}");
    assert!(text.lines().count() <= 130, "{text}");
    assert!(text.lines().all(|line| line.chars().count() < 220), "{text}");
    assert!(text.ends_with("and 1902 more\n"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    let no_toml = Diagnostics::new();
    Tree::parse("v.toml", "a = 1 # \u{1b}[31m\n", &no_toml);
    assert!(no_toml.len() == 1 && !to_text(&no_toml).contains('\u{1b}'));
    let json = to_json(&diagnostics);
    assert_eq!(json[0]["line"], 1);
    assert_eq!(json[0]["path"], "a");
}

#[test]
fn a_caret_far_to_the_right_is_still_shown_under_its_character() {
    let text = format!("pad = \"{}\"\n", "y".repeat(300));
    let deep = format!("list = [{}\"4K\"]\n", "1, ".repeat(100));
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("v.toml", &(text + &deep), &diagnostics);
    tree.section(&diagnostics).list::<Bytes>("list");
    let shown = to_text(&diagnostics);
    let lines: Vec<&str> = shown.lines().collect();
    let caret = lines[4].find('^').expect("there is a caret");
    assert_eq!(&lines[3][caret..caret + 4], "\"4K\"", "{shown}");
}

#[test]
fn what_must_be_above_zero_is_told_without_the_smallest_number_there_is() {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("v.toml", "weight = 0.0\n", &diagnostics);
    assert_eq!(tree.section(&diagnostics).required_in("weight", ABOVE_ZERO), None);
    assert_eq!(diagnostics.list()[0].help, "it must be more than 0");
}
