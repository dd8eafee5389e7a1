//! Line ends and byte-order marks of text files.
//!
//! A model writes `\n`, whatever the file has, and the difference cannot be seen. So new text follows a file that has one
//! kind of line ends, and whatever becomes of them otherwise is told to whoever approves.

use std::borrow::Cow;

/// What an editor may put in front of UTF-8.
pub(crate) const MARK: char = '\u{feff}';

/// What the lines of a text end with.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// There is no line end in it.
    None,
    /// `\n`.
    Lf,
    /// `\r\n`.
    CrLf,
    /// Both.
    Mixed,
}

impl Ends {
    pub(crate) fn of(text: &str) -> Self {
        let (both, all) = (text.matches("\r\n").count(), text.matches('\n').count());
        match (both, all) {
            (_, 0) => Ends::None,
            (0, _) => Ends::Lf,
            (both, all) if both == all => Ends::CrLf,
            _ => Ends::Mixed,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Ends::None => "none",
            Ends::Lf => "LF",
            Ends::CrLf => "CRLF",
            Ends::Mixed => "LF and CRLF",
        }
    }

    /// Gives a text that becomes a part of a file the line ends that the file has, if it has one kind.
    pub(crate) fn given_to<'t>(self, text: &'t str) -> Cow<'t, str> {
        match (self, Ends::of(text)) {
            (Ends::Lf, Ends::CrLf | Ends::Mixed) => Cow::Owned(text.replace("\r\n", "\n")),
            (Ends::CrLf, Ends::Lf | Ends::Mixed) => {
                Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n"))
            }
            _ => Cow::Borrowed(text),
        }
    }
}

/// Returns the whole new content of a file as it follows the old one: plain `\n` takes the line ends of a file that has one kind,
/// and a mark stays in front. A `\r\n` that is written out is meant.
pub(crate) fn following(old: Option<&str>, content: &str) -> String {
    let Some(old) = old else { return content.to_owned() };
    let followed = match (Ends::of(old), Ends::of(content)) {
        (ends @ Ends::CrLf, Ends::Lf) => ends.given_to(content),
        _ => Cow::Borrowed(content),
    };
    marked_as(old, followed.into_owned())
}

/// Keeps the mark of a file in front of what becomes of it. An empty file has none.
pub(crate) fn marked_as(old: &str, new: String) -> String {
    match old.starts_with(MARK) && !new.starts_with(MARK) && !new.is_empty() {
        true => format!("{MARK}{new}"),
        false => new,
    }
}

/// Says in a few words what becomes of line ends and mark, if it cannot be seen; `None` for a file that is not there.
pub(crate) fn difference(old: Option<&str>, new: Option<&str>) -> Option<String> {
    let new = new?;
    let before = old.map_or(Ends::None, Ends::of);
    let after = Ends::of(new);
    let mut told = Vec::new();
    match (before, after) {
        (before, after) if before == after => {}
        (_, Ends::None) | (Ends::None, Ends::Lf) => {}
        (Ends::None, after) => told.push(format!("line ends: {}", after.name())),
        (before, after) => told.push(format!("line ends: {} → {}", before.name(), after.name())),
    }
    match (old.is_some_and(|old| old.starts_with(MARK)), new.starts_with(MARK)) {
        (true, false) => told.push("mark removed".to_owned()),
        (false, true) => told.push("mark added".to_owned()),
        _ => {}
    }
    (!told.is_empty()).then(|| told.join(", "))
}

/// Whether lines of the two end differently, so that a diff of them has to show with what.
pub(crate) fn differ(old: Option<&str>, new: Option<&str>) -> bool {
    let all: Vec<Ends> =
        [old, new].into_iter().flatten().map(Ends::of).filter(|ends| *ends != Ends::None).collect();
    all.contains(&Ends::Mixed) || all.windows(2).any(|pair| pair[0] != pair[1])
}
