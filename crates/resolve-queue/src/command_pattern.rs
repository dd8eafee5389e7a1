//! Patterns over commands, for rules.
//!
//! A command is text that a shell reads, and a shell can be made to do anything. So a rule that allows goes by nothing
//! but plain words: whatever could make the shell do more than run one program with these words matches no such rule.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{BadPattern, Fit};

/// The longest command that is taken apart.
const LONGEST_COMMAND: usize = 65_536;
/// How many words a pattern has at most, and how long each is.
const MOST_WORDS: usize = 64;
const LONGEST_WORD: usize = 1_024;

/// The first words of a command, or all of them.
///
/// ```
/// use trunkline_resolve_queue::CommandPattern;
///
/// let tests = CommandPattern::beginning(["cargo", "test"])?;
/// assert!(tests.allows("cargo test --all"));
/// assert!(!tests.allows("cargo test; rm -rf ."));
/// assert!(!tests.allows("cargo tests"));
/// # Ok::<(), trunkline_resolve_queue::BadPattern>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct CommandPattern {
    // At least one word, none of them empty or longer than the limits say; no blank in the first.
    words: Vec<String>,
    exact: bool,
}

/// How a pattern is stored; what is read is checked.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    words: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    exact: bool,
}

impl CommandPattern {
    /// Commands that begin with these words, whatever follows.
    ///
    /// # Errors
    ///
    /// [`BadPattern`] without words, with an empty one, or with too many or too long ones; and if the first has a blank in
    /// it, which is a command that was not taken apart: as the name of a program it would match none.
    pub fn beginning<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Result<Self, BadPattern> {
        Self::checked(words.into_iter().map(Into::into).collect(), false)
    }

    /// The command of these words and no others.
    ///
    /// # Errors
    ///
    /// As [`beginning`](CommandPattern::beginning).
    pub fn exactly<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Result<Self, BadPattern> {
        Self::checked(words.into_iter().map(Into::into).collect(), true)
    }

    fn checked(words: Vec<String>, exact: bool) -> Result<Self, BadPattern> {
        let why = if words.is_empty() {
            "it needs a word; a rule for every command names the tool alone"
        } else if words.len() > MOST_WORDS || words.iter().any(|word| word.len() > LONGEST_WORD) {
            "it is too long"
        } else if words.iter().any(String::is_empty) {
            "a word is empty"
        } else if words.first().is_some_and(|first| first.contains(char::is_whitespace)) {
            "its first word has a blank in it; write each word by itself, as in [\"git\", \"push\"]"
        } else {
            return Ok(CommandPattern { words, exact });
        };
        Err(BadPattern { pattern: words.join(" "), why })
    }

    /// Whether a rule that allows may go by it.
    pub fn allows(&self, command: &str) -> bool {
        plain_words(command).is_some_and(|words| match self.exact {
            true => words == self.words,
            false => words.starts_with(&self.words),
        })
    }

    /// Whether a rule that forbids or asks has to go by it.
    ///
    /// Whatever the shell would make of a command is either seen here or doubted. What is not seen is that the same can be
    /// said in other words: `rm -r -f` is not `rm -rf`, and a script runs whatever is in it.
    pub fn catches(&self, command: &str) -> Fit {
        if command.len() > LONGEST_COMMAND {
            return Fit::Perhaps;
        }
        let wanted: Vec<String> = self.words.iter().map(|word| word.to_lowercase()).collect();
        let lower = command.to_lowercase();
        let ends = [';', '|', '&', '<', '>', '\n', '\r'];
        // Between quotes these end nothing.
        let pieces = match plain_words(&lower) {
            Some(_) => vec![lower.as_str()],
            None => lower.split(ends).filter(|piece| !piece.trim().is_empty()).collect(),
        };
        let mut fit = Fit::No;
        for piece in pieces {
            if let Some(words) = plain_words(piece) {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                fit = fit.max(match begins(&words, &wanted) {
                    true if !self.exact || words.len() == wanted.len() => Fit::Yes,
                    true => Fit::No,
                    false => within(&words, &wanted),
                });
                continue;
            }
            // Words can be built here that do not stand in the text.
            fit = fit.max(Fit::Perhaps);
            for group in piece.split(['(', ')', '{', '}', '`']) {
                let signs =
                    |sign: char| sign.is_whitespace() || sign.is_control() || "$'\"\\!".contains(sign);
                let words: Vec<&str> = group.split(signs).filter(|word| !word.is_empty()).collect();
                fit = fit.max(if begins(&words, &wanted) { Fit::Yes } else { Fit::No });
            }
        }
        fit
    }
}

/// Splits a command as a POSIX shell would, if all that it does is run one program with these words.
///
/// `None` for anything else: several commands, redirections, expansions, patterns, comments, escapes, line breaks, quotes
/// that do not end. Also for what shells disagree on.
pub fn plain_words(command: &str) -> Option<Vec<String>> {
    if command.len() > LONGEST_COMMAND {
        return None;
    }
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut signs = command.chars();
    while let Some(sign) = signs.next() {
        match sign {
            ' ' => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match signs.next()? {
                        end if end == sign => break,
                        inner if inner.is_control() => return None,
                        '$' | '`' | '\\' | '!' if sign == '"' => return None,
                        inner => word.push(inner),
                    }
                }
            }
            // `=` at the start of a word means something to some shells, and before the program it sets a variable.
            '=' if word.is_none() || words.is_empty() => return None,
            sign if sign.is_alphanumeric() || "_-./:=@%+,".contains(sign) => {
                word.get_or_insert_default().push(sign);
            }
            _ => return None,
        }
    }
    words.extend(word);
    let program = words.first()?;
    (!program.is_empty() && !RESERVED.contains(&program.as_str())).then_some(words)
}

/// Words that are not programs to a shell, or that have it read their words as a command again.
const RESERVED: &[&str] = &[
    ".", "builtin", "case", "command", "coproc", "do", "done", "elif", "else", "esac", "eval", "exec", "fi",
    "for", "function", "if", "in", "select", "source", "then", "time", "trap", "until", "while",
];

/// Whether a command begins with these words; a program may be named by its path.
fn begins(words: &[&str], wanted: &[String]) -> bool {
    let same = |place: usize, (word, wanted): (&&str, &String)| {
        let name = if place == 0 { word.rsplit('/').next().unwrap_or(word) } else { word };
        word == wanted || name == wanted
    };
    words.len() >= wanted.len() && words.iter().zip(wanted).enumerate().all(|(place, pair)| same(place, pair))
}

/// Whether the words stand somewhere in a command, as those that another program would run, or inside one of its words,
/// which another shell could read as a command.
fn within(words: &[&str], wanted: &[String]) -> Fit {
    let among = |words: &[&str]| {
        (0..words.len()).any(|from| words.get(from..).is_some_and(|rest| begins(rest, wanted)))
    };
    let inside = |word: &&str| {
        let bare: String = word.chars().filter(|sign| !"'\"\\".contains(*sign)).collect();
        let splits = |sign: char| !(sign.is_alphanumeric() || "_-./:=@%+,".contains(sign));
        among(&bare.split(splits).filter(|piece| !piece.is_empty()).collect::<Vec<_>>())
    };
    match among(words) || words.iter().any(inside) {
        true => Fit::Perhaps,
        false => Fit::No,
    }
}

impl TryFrom<Written> for CommandPattern {
    type Error = BadPattern;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        Self::checked(written.words, written.exact)
    }
}

impl From<CommandPattern> for Written {
    fn from(pattern: CommandPattern) -> Self {
        Written { words: pattern.words, exact: pattern.exact }
    }
}

impl fmt::Display for CommandPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Quoted where a reader could take one word for two.
        for (place, word) in self.words.iter().enumerate() {
            let gap = if place == 0 { "" } else { " " };
            match plain_words(word).is_some_and(|words| words == [word.as_str()]) {
                true => write!(f, "{gap}{word}")?,
                false => write!(f, "{gap}{word:?}")?,
            }
        }
        f.write_str(if self.exact { "" } else { " …" })
    }
}
