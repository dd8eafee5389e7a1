//! What a case printed, and questions that can be asked of it.

use std::path::PathBuf;

/// What came of playing a case.
#[derive(Default)]
pub(super) struct Seen {
    /// Everything that was printed.
    pub(super) text: String,
    /// The folder of the case.
    pub(super) folder: PathBuf,
    /// Whether it had to be ended.
    pub(super) hung: bool,
}

impl Seen {
    /// The lines below the line `--- NAME`, up to the next such line; nothing where there is none.
    pub(super) fn section(&self, name: &str) -> Seen {
        let head = format!("--- {name}");
        let below = self.text.lines().skip_while(|line| *line != head).skip(1);
        self.of(below.take_while(|line| !line.starts_with("--- ")))
    }

    /// The lines before the first line `--- NAME`.
    pub(super) fn before_sections(&self) -> Seen {
        self.of(self.text.lines().take_while(|line| !line.starts_with("--- ")))
    }

    fn of<'a>(&self, lines: impl Iterator<Item = &'a str>) -> Seen {
        let text = lines.map(|line| format!("{line}\n")).collect();
        Seen { text, folder: self.folder.clone(), hung: self.hung }
    }

    /// Whether the text stands in what was printed.
    pub(super) fn has(&self, text: &str) -> bool {
        self.text.contains(text)
    }

    /// Whether a line begins so.
    pub(super) fn has_line(&self, start: &str) -> bool {
        self.line(start).is_some()
    }

    /// The first line that begins so.
    pub(super) fn line(&self, start: &str) -> Option<&str> {
        self.text.lines().find(|line| line.starts_with(start))
    }

    /// The number that follows the text, of the first place where one does.
    pub(super) fn number_after(&self, text: &str) -> Option<u64> {
        let mut places = self.text.match_indices(text);
        places.find_map(|(at, _)| {
            let rest = self.text[at + text.len()..].trim_start();
            let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
            digits.parse().ok()
        })
    }
}

/// Claims about a case; those that are not true are kept.
#[derive(Default)]
pub(super) struct Claims {
    wrong: Vec<String>,
}

impl Claims {
    /// Says that something must be true; the words are printed if it is not.
    pub(super) fn that(mut self, claim: &str, holds: bool) -> Claims {
        if !holds {
            self.wrong.push(format!("expected: {claim}"));
        }
        self
    }

    /// The claims that are not true.
    pub(super) fn wrong(self) -> Vec<String> {
        self.wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_end_where_the_next_begins() {
        let text = "head\n--- one\n1\n--- two\n2\n".to_owned();
        let seen = Seen { text, ..Seen::default() };
        assert_eq!(seen.before_sections().text, "head\n");
        assert_eq!(seen.section("one").text, "1\n");
        assert_eq!(seen.section("two").text, "2\n");
        assert_eq!(seen.section("three").text, "");
    }

    #[test]
    fn numbers_are_read_behind_words() {
        let seen = Seen { text: "peak memory 313 MB, asked 2 times".to_owned(), ..Seen::default() };
        assert_eq!(seen.number_after("peak memory"), Some(313));
        assert_eq!(seen.number_after("asked"), Some(2));
        assert_eq!(seen.number_after("requests"), None);
    }
}
