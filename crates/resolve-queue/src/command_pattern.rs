//! Patterns over commands, for rules.
//!
//! A command is text that a shell reads, and a shell can be made to do anything. So a rule that allows goes by nothing
//! but plain words: whatever could make the shell do more than run one program with these words matches no such rule.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::words_from_elsewhere::{self, Words};
use crate::{BadPattern, Fit, global_options};

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
    ///
    /// Between the program and its next word, options that are known to change nothing are passed over, such as the
    /// `--no-pager` of `git --no-pager log`; all others are not. Whatever stands behind the words is allowed: `git log` allows
    /// `git log --output=FILE`, which writes a file. An exact pattern allows its words alone.
    pub fn allows(&self, command: &str) -> bool {
        let Some(words) = plain_words(command) else { return false };
        if self.exact {
            return words == self.words;
        }
        if words.starts_with(&self.words) {
            return true;
        }
        let ([program, words @ ..], [wanted, acts @ ..]) = (words.as_slice(), self.words.as_slice()) else {
            return false;
        };
        program == wanted && words[global_options::harmless(program, words)..].starts_with(acts)
    }

    /// Whether a rule that forbids or asks has to go by it.
    ///
    /// Whatever the shell would make of a command is either seen here or doubted, and so is what stands behind options that
    /// come before the word which says what to do: `git -C . push` is `git push`. What is not seen is that the same can be
    /// said in other words: `rm --recursive` is not `rm -r`, and a script runs whatever is in it.
    pub fn catches(&self, command: &str) -> Fit {
        if command.len() > LONGEST_COMMAND {
            return Fit::Perhaps;
        }
        let wanted: Vec<String> = self.words.iter().map(|word| word.to_lowercase()).collect();
        let ends = [';', '|', '&', '<', '>', '\n', '\r'];
        // Between quotes these end nothing.
        let pieces = match plain_words(command) {
            Some(_) => vec![command],
            None => command.split(ends).filter(|piece| !piece.trim().is_empty()).collect(),
        };
        let mut fit = Fit::No;
        for piece in pieces {
            if let Some(words) = plain_words(piece) {
                let said = Said::new(words);
                fit = fit.max(match said.fit(0, &wanted, self.exact) {
                    Fit::No => said.within(&wanted),
                    fit => fit,
                });
                continue;
            }
            // Words can be built here that do not stand in the text.
            fit = fit.max(Fit::Perhaps);
            for group in piece.split(['(', ')', '{', '}', '`']) {
                let signs =
                    |sign: char| sign.is_whitespace() || sign.is_control() || "$'\"\\!".contains(sign);
                let words = group.split(signs).filter(|word| !word.is_empty()).map(str::to_owned);
                fit = fit.max(Said::new(words.collect()).fit(0, &wanted, false));
            }
        }
        fit
    }
}

/// Splits a line of commands into those that it is made of, if all that a POSIX shell does with it is run programs with
/// plain words: one after another, if the one before succeeded or failed, or with the output of the one before.
///
/// `None` for a single command, and for whatever is more than that.
pub(crate) fn parts(command: &str) -> Option<Vec<&str>> {
    if command.len() > LONGEST_COMMAND {
        return None;
    }
    let mut parts = Vec::new();
    let (mut start, mut quote, mut ends) = (0, None, false);
    let mut signs = command.char_indices().peekable();
    while let Some((at, sign)) = signs.next() {
        match (quote, sign) {
            (Some(open), sign) if sign == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(sign),
            (None, ';' | '\n' | '|' | '&') => {
                // A blank line is no command; where one is missing, as behind `&&`, it is not blank.
                let begins_line = start == 0 || command[..start].ends_with('\n');
                let part = &command[start..at];
                if !(sign == '\n' && begins_line && part.trim_matches(' ').is_empty()) {
                    parts.push(part);
                }
                ends = true;
                let double = signs.next_if(|(_, next)| *next == sign && "|&".contains(sign)).is_some();
                // What runs in the background, or gets both outputs, is more than one after another.
                if sign == '&' && !double {
                    return None;
                }
                start = at + if double { 2 } else { 1 };
            }
            _ => {}
        }
    }
    // A last line end ends nothing.
    if parts.is_empty() || !command[start..].trim_matches(' ').is_empty() || !command[..start].ends_with('\n')
    {
        parts.push(&command[start..]);
    }
    (ends && !parts.is_empty() && parts.iter().all(|part| plain_words(part).is_some())).then_some(parts)
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

/// The words of a command, also in small letters.
struct Said {
    words: Vec<String>,
    lower: Vec<String>,
}

impl Said {
    fn new(words: Vec<String>) -> Self {
        let lower = words.iter().map(|word| word.to_lowercase()).collect();
        Said { words, lower }
    }

    fn as_words(&self) -> Words<'_> {
        Words { said: &self.words, lower: &self.lower }
    }

    /// Whether the words from a place on say what is wanted; a program may be named by its path.
    fn fit(&self, from: usize, wanted: &[String], exact: bool) -> Fit {
        let (Some(said), Some((program, acts))) = (self.lower.get(from), wanted.split_first()) else {
            return Fit::No;
        };
        let name = said.rsplit('/').next().unwrap_or(said);
        if said != program && name != program {
            // As git's own folder has it: `git-push`.
            let joined = acts.first().is_some_and(|act| name == format!("{program}-{act}"));
            return if joined { Fit::Perhaps } else { Fit::No };
        }
        let (words, lower) = (&self.words[from + 1..], &self.lower[from + 1..]);
        let same = |from: usize| {
            lower
                .get(from..)
                .is_some_and(|words| words.starts_with(acts) && (!exact || words.len() == acts.len()))
        };
        if same(0) {
            return Fit::Yes;
        }
        if acts.is_empty() {
            return Fit::No;
        }
        let doubted = |from: usize| {
            let words = lower.get(from..).unwrap_or_default();
            let of_options = |words: &[String]| words.iter().filter(|word| word.starts_with('-')).count();
            // With more words than options could take it is another command than the exact one.
            let as_long = !exact || {
                let (options, acts_alone) = (of_options(words), acts.len() - of_options(acts));
                words.len() - options <= acts_alone + options
            };
            match as_long && global_options::among_options(name, words, acts) {
                true => Fit::Perhaps,
                false => Fit::No,
            }
        };
        match global_options::before(name, words) {
            global_options::Before::Options(count) if count > 0 && same(count) => Fit::Yes,
            // A rule may be about such an option itself.
            global_options::Before::Options(count) => doubted(count).max(match acts.first() {
                Some(act) if act.starts_with(['-', '+']) => doubted(0),
                _ => Fit::No,
            }),
            global_options::Before::Renaming => Fit::Perhaps,
            global_options::Before::Unknown => doubted(0),
        }
    }

    /// Whether the words stand somewhere in a command, as those that another program would run, or inside one of its words,
    /// which another shell could read as a command; or could come to stand there, see [`words_from_elsewhere`].
    fn within(&self, wanted: &[String]) -> Fit {
        let among = |said: &Said, first: usize| {
            (first..said.words.len()).any(|from| said.fit(from, wanted, false) != Fit::No)
        };
        let comes = |said: &Said| words_from_elsewhere::may_say(said.as_words(), wanted);
        let marks = words_from_elsewhere::marks(self.as_words());
        let by_shell = self.lower.iter().any(|word| words_from_elsewhere::is_shell(word));
        let inside = |word: &String| {
            let bare: String = word.chars().filter(|sign| !"'\"\\".contains(*sign)).collect();
            let splits = |sign: char| !(sign.is_alphanumeric() || "_-./:@%+,=".contains(sign));
            // What is given to an option may be a command as well: `--exec=git push`.
            let any = |splits: &dyn Fn(char) -> bool| {
                let pieces = bare.split(splits).filter(|piece| !piece.is_empty());
                let said = Said::new(pieces.map(str::to_owned).collect());
                among(&said, 0) || (said.words.len() > 1 && comes(&said))
            };
            any(&splits)
                || (bare.contains('=') && any(&|sign| sign == '=' || splits(sign)))
                || words_from_elsewhere::fills_in(word, &marks, by_shell, wanted)
        };
        match among(self, 1) || comes(self) || self.words.iter().any(inside) {
            true => Fit::Perhaps,
            false => Fit::No,
        }
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
