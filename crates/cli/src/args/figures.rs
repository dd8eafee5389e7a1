//! A family of figures in one word: `turns=5,count=3,exact`.
//!
//! What is not understood could have been a bound, so a family counts as a whole or not at all.

use std::str::FromStr;

use crate::term::nearest::nearest;

/// The figures of one option, as they were typed.
pub(crate) struct Figures {
    numbers: Vec<(String, String)>,
    word: Option<String>,
}

/// Splits a family into its figures. `names` may stand there as `name=number`, one of `words` by itself.
pub(crate) fn figures(text: &str, names: &[&str], words: &[&str]) -> Result<Figures, String> {
    let mut figures = Figures { numbers: Vec::new(), word: None };
    let example = || {
        let first = names.first().map(|name| format!("{name}=N"));
        first.into_iter().chain(words.iter().map(|word| (*word).to_owned())).collect::<Vec<_>>().join(" or ")
    };
    if text.trim().is_empty() {
        return Err(format!("it says nothing; write it like {}", example()));
    }
    for part in text.split(',').map(str::trim) {
        let (name, number) = match part.split_once('=') {
            Some((name, number)) => (name.trim(), Some(number.trim())),
            None => (part, None),
        };
        match number {
            Some(number) if names.contains(&name) => {
                if figures.has(name) {
                    return Err(format!("{name} is said twice"));
                }
                figures.numbers.push((name.to_owned(), number.to_owned()));
            }
            None if words.contains(&name) => {
                if let Some(other) = figures.word.replace(name.to_owned()) {
                    return Err(format!("it says both {other} and {name}"));
                }
            }
            _ if names.contains(&name) => return Err(format!("{name} needs a number: {name}=N")),
            _ if words.contains(&name) => return Err(format!("{name} stands by itself, without a number")),
            _ => return Err(unknown(name, names, words)),
        }
    }
    Ok(figures)
}

fn unknown(name: &str, names: &[&str], words: &[&str]) -> String {
    let all: Vec<&str> = names.iter().chain(words).copied().collect();
    let meant = nearest(name, all.iter().copied()).map(|near| format!("; did you mean {near}?"));
    let shown: String = name.chars().take(40).collect();
    format!("there is no {shown:?} here, only {}{}", all.join(", "), meant.unwrap_or_default())
}

impl Figures {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.numbers.iter().any(|(named, _)| named == name)
    }

    /// Returns the word that stands by itself.
    pub(crate) fn word(&self) -> Option<&str> {
        self.word.as_deref()
    }

    /// Refuses figures beside a word that leaves nothing for them to say.
    pub(crate) fn alone(&self, word: &str) -> Result<(), String> {
        match self.numbers.first() {
            Some((name, _)) if self.word() == Some(word) => {
                Err(format!("{word} leaves nothing for {name} to say"))
            }
            _ => Ok(()),
        }
    }

    /// Returns a number of at least `least`, or what holds without one.
    pub(crate) fn number<T: FromStr + PartialOrd + std::fmt::Display>(
        &self,
        name: &str,
        least: T,
        otherwise: T,
    ) -> Result<T, String> {
        let Some((_, typed)) = self.numbers.iter().find(|(named, _)| named == name) else {
            return Ok(otherwise);
        };
        let digits = !typed.is_empty() && typed.bytes().all(|byte| byte.is_ascii_digit());
        let number = typed.parse::<T>().ok().filter(|number| digits && *number >= least);
        number.ok_or_else(|| {
            let shown: String = typed.chars().take(40).collect();
            format!("{name} is a whole number of at least {least}, and not {shown:?}")
        })
    }

    /// Returns a share in percent, with one digit behind the point at most, as thousandths.
    pub(crate) fn per_mille(&self, name: &str) -> Result<Option<u32>, String> {
        let Some((_, typed)) = self.numbers.iter().find(|(named, _)| named == name) else {
            return Ok(None);
        };
        let (whole, tenths) = typed.split_once('.').unwrap_or((typed, "0"));
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let read = || {
            let well_formed = is_digits(whole) && is_digits(tenths) && tenths.len() == 1;
            let whole: u32 = whole.parse().ok().filter(|_| well_formed)?;
            whole.checked_mul(10)?.checked_add(tenths.parse().ok()?)
        };
        let shown: String = typed.chars().take(40).collect();
        read().map(Some).ok_or_else(|| {
            format!("{name} is in percent, such as {name}=10 or {name}=12.5, and not {shown:?}")
        })
    }
}
