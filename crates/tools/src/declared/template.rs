//! How a call becomes the words of a command: no shell reads them, and each argument is a word of its own.

use serde_json::{Map, Value};

use super::definition::{Definition, Word};
use crate::shown;

/// The longest word. 131,071 bytes are the most that Linux takes (`MAX_ARG_STRLEN`).
const LONGEST: usize = 100_000;
/// All of them together; the system has its own limit beside the environment.
const LONGEST_ALL: usize = 1_000_000;

/// Returns the words behind the program, or what the model is told instead.
pub(super) fn fill(definition: &Definition, arguments: &Map<String, Value>) -> Result<Vec<String>, String> {
    let mut words = Vec::with_capacity(definition.words.len());
    for word in &definition.words {
        match word {
            Word::Plain(word) => words.push(word.clone()),
            Word::Given { name, may_begin_with_dash } => {
                let value = arguments.get(name).ok_or_else(|| format!("the argument {name:?} is missing"))?;
                match value {
                    Value::Array(items) => {
                        for item in items {
                            words.push(given(name, item, *may_begin_with_dash)?);
                        }
                    }
                    value => words.push(given(name, value, *may_begin_with_dash)?),
                }
            }
        }
    }
    let all: usize = words.iter().map(|word| word.len() + 1).sum();
    match all > LONGEST_ALL {
        true => {
            Err(format!("the arguments have {all} bytes; {LONGEST_ALL} are the most that a command takes"))
        }
        false => Ok(words),
    }
}

fn given(name: &str, value: &Value, may_begin_with_dash: bool) -> Result<String, String> {
    let word = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(is) => is.to_string(),
        _ => return Err(format!("the argument {name:?} is no word of a command")),
    };
    if word.contains('\0') {
        return Err(format!("the argument {name:?} has a NUL byte in it, which no program takes"));
    }
    if word.len() > LONGEST {
        return Err(format!("the argument {name:?} has {} bytes; {LONGEST} are the most", word.len()));
    }
    // Where the template does not say that it is none, the program would take it for an option.
    if word.starts_with('-') && !may_begin_with_dash {
        return Err(format!(
            "the argument {name:?} begins with a dash, and this tool takes no options there: {}",
            shown::line(&word, 80)
        ));
    }
    Ok(word)
}

/// Returns program and words as a shell would have to be given them: what rules for commands go by, and what people see.
pub(super) fn line(program: &str, words: &[String]) -> String {
    let quoted: Vec<String> =
        std::iter::once(program).chain(words.iter().map(String::as_str)).map(quoted).collect();
    quoted.join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "_-./:@%+,".contains(sign);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
