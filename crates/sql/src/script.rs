//! SQL kept in plain SQL files: a line `--: name` begins a named block, comments above the first one and inside
//! blocks stay comments.

/// The named blocks of a file, in order.
#[derive(Debug, Clone)]
pub struct Script(Vec<(&'static str, &'static str)>);

const MARK: &str = "--: ";

impl Script {
    /// Cuts a file into its blocks. A block is the text up to the next mark, without the white space around it.
    pub fn parse(text: &'static str) -> Self {
        let begins = |at: &usize| *at == 0 || text.as_bytes()[at - 1] == b'\n';
        let marks: Vec<usize> = text.match_indices(MARK).map(|(at, _)| at).filter(begins).collect();
        let block = |index: usize| {
            let end = marks.get(index + 1).copied().unwrap_or(text.len());
            let block = &text[marks[index] + MARK.len()..end];
            let (name, body) = block.split_once('\n').unwrap_or((block, ""));
            (name.trim(), body.trim())
        };
        Self((0..marks.len()).map(block).collect())
    }

    /// The block of that name.
    ///
    /// # Panics
    /// If there is none: files and names are both part of the program, and every name is used in a test.
    pub fn get(&self, name: &str) -> &'static str {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.unwrap_or_else(|| panic!("no block `{name}` among the statements")).1
    }

    /// Names and texts, in order.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = (&'static str, &'static str)> {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::Script;

    #[test]
    fn a_file_is_cut_at_its_marks_and_nowhere_else() {
        let script =
            Script::parse("-- A file.\n\n--: one\n-- why\nSELECT 1; --: no mark\n\n--: two\nSELECT 2;\n");
        let blocks: Vec<_> = script.blocks().collect();
        assert_eq!(blocks, [("one", "-- why\nSELECT 1; --: no mark"), ("two", "SELECT 2;")]);
        assert_eq!(script.get("two"), "SELECT 2;");
    }
}
