//! Patterns over paths, for rules.
//!
//! A rule that allows must not be fooled, a rule that forbids must not be slipped past. So a pattern is read in two ways:
//! narrowly, where any doubt is no match, and widely, where spelling does not help to get by.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Fit;

/// The longest pattern.
const LONGEST_PATTERN: usize = 1_024;
/// The longest path that is looked at. 4096: PATH_MAX of Linux.
const LONGEST_PATH: usize = 4_096;

/// A pattern over paths: `*` and `?` inside one name, `**` for any number of names, everything else is meant literally.
///
/// A relative pattern matches relative paths, an absolute one absolute paths. Where it allows, a wildcard does not match a
/// name that begins with a dot, and a path with `..`, with a backslash or with control characters matches nothing.
/// Where it forbids, case and spelling do not matter. Links are the caller's: resolve them before.
///
/// ```
/// use trunkline_resolve_queue::PathPattern;
///
/// let sources: PathPattern = "src/**/*.rs".parse()?;
/// assert!(sources.allows("src/a/b.rs") && sources.allows("src/b.rs"));
/// assert!(!sources.allows("src/../secret/b.rs") && !sources.allows("/src/b.rs"));
/// # Ok::<(), trunkline_resolve_queue::BadPattern>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PathPattern {
    // Nothing in it that `check` refuses.
    text: String,
}

/// A pattern that could mean something else than it seems to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} cannot be used as a pattern: {why}")]
pub struct BadPattern {
    /// The pattern.
    pub pattern: String,
    /// What to write instead.
    pub why: &'static str,
}

impl PathPattern {
    /// The pattern that matches one path and no other.
    ///
    /// # Errors
    ///
    /// [`BadPattern`] for a path that no pattern could allow, or with `*` or `?` in it.
    pub fn exactly(path: &str) -> Result<Self, BadPattern> {
        let why = if path.contains(['*', '?']) {
            "its name has a wildcard in it"
        } else if plain(path).is_none() {
            "write the path from the project's folder, without `.` and `..`"
        } else {
            return path.parse();
        };
        Err(BadPattern { pattern: path.to_owned(), why })
    }

    /// Whether a rule that allows may go by it.
    pub fn allows(&self, path: &str) -> bool {
        plain(path).is_some_and(|names| {
            path.starts_with('/') == self.text.starts_with('/') && along(&self.names(), &names, false)
        })
    }

    /// Whether a rule that forbids or asks has to go by it.
    pub fn catches(&self, path: &str) -> Fit {
        if path.len() > LONGEST_PATH {
            return Fit::Perhaps;
        }
        let lower = path.to_lowercase();
        let mut names: Vec<&str> = Vec::new();
        for name in lower.split(['/', '\\']) {
            match name {
                "" | "." => {}
                ".." if names.last().is_some_and(|last| *last != "..") => {
                    names.pop();
                }
                name => names.push(name),
            }
        }
        let absolute = lower.starts_with(['/', '\\']);
        let pattern = self.text.to_lowercase();
        match absolute == pattern.starts_with('/') && along(&names_of(&pattern), &names, true) {
            true => Fit::Yes,
            false => Fit::No,
        }
    }

    fn names(&self) -> Vec<&str> {
        names_of(&self.text)
    }
}

/// Returns the names of a path that can be read in one way only.
fn plain(path: &str) -> Option<Vec<&str>> {
    let unclear = path.len() > LONGEST_PATH || path.contains('\\') || path.chars().any(char::is_control);
    let mut bytes = path.bytes();
    let drive = bytes.next().is_some_and(|first| first.is_ascii_alphabetic()) && bytes.next() == Some(b':');
    let names = names_of(path);
    let odd = names.iter().any(|name| matches!(*name, "" | "." | ".."));
    (!unclear && !drive && !odd).then_some(names)
}

fn names_of(path: &str) -> Vec<&str> {
    path.strip_prefix('/').unwrap_or(path).split('/').collect()
}

/// Whether the names of a path follow those of a pattern.
fn along(pattern: &[&str], names: &[&str], dots: bool) -> bool {
    // reached[n]: whether the pattern so far can end after n names.
    let mut reached = vec![false; names.len() + 1];
    reached[0] = true;
    for part in pattern {
        let mut next = vec![false; names.len() + 1];
        if *part == "**" {
            let mut on = false;
            for (place, slot) in next.iter_mut().enumerate() {
                let hidden = place.checked_sub(1).and_then(|name| names.get(name));
                on = reached[place] || (on && (dots || !hidden.is_some_and(|name| name.starts_with('.'))));
                *slot = on;
            }
        } else {
            for (place, name) in names.iter().enumerate() {
                next[place + 1] = reached[place] && fits(part, name, dots);
            }
        }
        reached = next;
    }
    reached[names.len()]
}

/// Whether a name fits a pattern with `*` and `?`.
pub(crate) fn fits(pattern: &str, name: &str, dots: bool) -> bool {
    if !dots && name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let name: Vec<char> = name.chars().collect();
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for sign in pattern.chars() {
        let mut next = vec![false; name.len() + 1];
        let mut on = false;
        for place in 0..=name.len() {
            on |= reached[place];
            let after = place.checked_sub(1).filter(|before| reached[*before]);
            next[place] = match sign {
                '*' => on,
                '?' => after.is_some(),
                sign => after.is_some_and(|before| name[before] == sign),
            };
        }
        reached = next;
    }
    reached[name.len()]
}

fn check(pattern: &str) -> Result<(), &'static str> {
    if pattern.len() > LONGEST_PATTERN {
        return Err("it is too long");
    }
    if pattern.contains('\\') || pattern.chars().any(char::is_control) {
        return Err("write `/` between names, and no control characters");
    }
    for name in names_of(pattern) {
        match name {
            "" => return Err("write a name between two `/`; for all that is in a folder write `folder/**`"),
            "." | ".." => return Err("write where it leads, without `.` and `..`"),
            "**" => {}
            name if name.contains("**") => return Err("`**` stands alone between two `/`"),
            _ => {}
        }
    }
    Ok(())
}

impl std::str::FromStr for PathPattern {
    type Err = BadPattern;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match check(text) {
            Ok(()) => Ok(PathPattern { text: text.to_owned() }),
            Err(why) => Err(BadPattern { pattern: text.to_owned(), why }),
        }
    }
}

impl TryFrom<String> for PathPattern {
    type Error = BadPattern;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<PathPattern> for String {
    fn from(pattern: PathPattern) -> Self {
        pattern.text
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
