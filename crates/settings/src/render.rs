//! Diagnostics rendered for people and programs.

use std::fmt::Write;

use crate::diagnostic::{Diagnostic, Diagnostics};

/// How many are shown: more than a person makes in one file. The rest are counted, as of a file that is no study at all.
const SHOWN: usize = 100;
/// How many of them with their line; the others are one line each.
const WITH_LINE: usize = 5;
/// Characters of a line that are shown.
const WIDTH: usize = 100;
/// Characters of a message and of a help. What a layer says ends with what to do, so that it must not be cut; this is longer
/// than any, and keeps what somebody has pasted into the settings off the screen.
const LONGEST: usize = 2000;

/// The first mistakes with their line and a caret, the others on one line each, the number of the rest.
/// Ends in a newline; empty if nothing is wrong. Control characters are escaped.
///
/// ```
/// # use fathom_settings::{Diagnostics, Tree, to_text};
/// let diagnostics = Diagnostics::new();
/// let tree = Tree::parse("v.toml", "sise = \"4TiB\"\n", &diagnostics);
/// let mut section = tree.section(&diagnostics);
/// section.value("size");
/// assert!(!section.finish());
/// assert_eq!(to_text(&diagnostics), "\
/// error: sise: unknown key
///   --> v.toml:1:1
///    |
///  1 | sise = \"4TiB\"
///    | ^^^^
///    = did you mean `size`?
/// ");
/// ```
pub fn to_text(diagnostics: &Diagnostics) -> String {
    let list = diagnostics.list();
    let mut text = String::new();
    for (index, diagnostic) in list.iter().take(SHOWN).enumerate() {
        if index < WITH_LINE {
            with_line(&mut text, diagnostic);
        } else {
            let line = escape(&diagnostic.to_string());
            text.extend([&cut(&line, LONGEST), "\n"]);
        }
    }
    if diagnostics.len() > SHOWN.min(list.len()) {
        let _ = writeln!(text, "and {} more", diagnostics.len() - SHOWN.min(list.len()));
    }
    text
}

/// A list of objects `{file, line, column, length, path, message, help}`; `help` is null where there is none.
pub fn to_json(diagnostics: &Diagnostics) -> serde_json::Value {
    let object = |diagnostic: &Diagnostic| {
        serde_json::json!({
            "file": diagnostic.file,
            "line": diagnostic.position.line,
            "column": diagnostic.position.column,
            "length": diagnostic.position.length,
            "path": diagnostic.path,
            "message": diagnostic.message,
            "help": (!diagnostic.help.is_empty()).then_some(&diagnostic.help),
        })
    };
    diagnostics.list().iter().map(object).collect::<Vec<_>>().into()
}

fn with_line(text: &mut String, diagnostic: &Diagnostic) {
    let Diagnostic { file, position, path, message, help, source } = diagnostic;
    let colon = if path.is_empty() { "" } else { ": " };
    let number = position.line.to_string();
    let margin = " ".repeat(number.len());
    let (shown, before, length) = window(source, position.column as usize - 1, position.length as usize);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "error: {}", cut(&escape(&format!("{path}{colon}{message}")), LONGEST));
    let _ = writeln!(text, " {margin}--> {}:{}:{}", escape(file), position.line, position.column);
    if !source.trim().is_empty() {
        let _ = writeln!(text, " {margin} |\n {number} | {shown}");
        let _ = writeln!(text, " {margin} | {}{}", " ".repeat(before), "^".repeat(length));
    }
    if !help.is_empty() {
        let _ = writeln!(text, " {margin} = {}", cut(&escape(help), LONGEST));
    }
}

/// The part of a line around the caret, one column per character, and where in it the caret begins and how long it is.
fn window(source: &str, column: usize, length: usize) -> (String, usize, usize) {
    let first = if column + length.min(20) <= WIDTH { 0 } else { column.saturating_sub(WIDTH / 2) };
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let shown: String = source.chars().skip(first).take(WIDTH).map(plain).collect();
    let before = column - first;
    (shown.trim_end().to_owned(), before, length.clamp(1, WIDTH.saturating_sub(before).max(1)))
}

fn cut(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn escape(text: &str) -> String {
    let escaped = |c: char| {
        if c.is_control() { c.escape_default().collect() } else { String::from(c) }
    };
    text.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, to_text};
    use crate::{Diagnostics, Tree};

    #[test]
    fn what_is_wrong_is_told_to_its_end_however_long_it_is() {
        let (why, help) = ("holds too little for it; ".repeat(30), "give it more, ".repeat(30));
        let diagnostics = Diagnostics::new();
        let tree = Tree::parse("v.toml", "size = 1\n", &diagnostics);
        for number in 0..8 {
            let section = tree.section(&diagnostics);
            section.error_at("size", format!("{why}WHY{number}"), format!("{help}HELP"));
        }
        let text = to_text(&diagnostics);
        assert!(
            (0..8).all(|number| text.contains(&format!("WHY{number}"))) && text.contains("HELP"),
            "{text}"
        );
    }

    #[test]
    fn what_was_pasted_into_the_settings_does_not_flood_the_screen() {
        let diagnostics = Diagnostics::new();
        let tree = Tree::parse("v.toml", "size = 1\n", &diagnostics);
        tree.section(&diagnostics).error_at("size", "x".repeat(1 << 20), "");
        assert!(to_text(&diagnostics).len() < 2 * LONGEST);
    }
}
