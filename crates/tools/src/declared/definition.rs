//! What a file declares: read strictly, since a field that is not understood could have made the tool narrower.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::command::is_secret;
use crate::{hidden, shown};

/// The longest definition.
pub(super) const LONGEST: usize = 32 << 10;
/// Every request has it.
const LONGEST_DESCRIPTION: usize = 1_000;
/// What every wire takes: Gemini wants a letter first and 64 characters at most, Bedrock no dash (their references, read 2026-11).
const LONGEST_NAME: usize = 63;
const MOST_WORDS: usize = 64;
const LONGEST_WORD: usize = 4_096;
const MOST_NAMED: usize = 64;
const DEEPEST_SCHEMA: usize = 32;
const MOST_SECONDS: u64 = 600;
const MOST_OUTPUT: usize = 100_000;

/// What a file declares.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) description: String,
    /// The schema of its arguments; it takes no others than those that it names.
    pub(crate) schema: Value,
    /// The program, as it is written.
    pub(crate) program: String,
    pub(crate) words: Vec<Word>,
    pub(crate) input: Input,
    pub(crate) access: Declared,
    pub(crate) stages: bool,
    /// What else of the project it stands on.
    pub(crate) files: Vec<String>,
    pub(crate) environment: Vec<String>,
    pub(crate) timeout_seconds: u64,
    pub(crate) output_characters: usize,
}

/// One word of the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// As it stands.
    Plain(String),
    /// What the model gives for an argument.
    Given {
        /// The argument.
        name: String,
        /// Whether it may begin with a dash.
        may_begin_with_dash: bool,
    },
}

/// What the program reads.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Input {
    /// Nothing.
    #[default]
    Nothing,
    /// All arguments, as one JSON object.
    Json,
}

/// What it does to files.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Declared {
    /// It looks.
    Reads,
    /// It may change something.
    Writes,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    description: String,
    #[serde(default = "no_arguments")]
    arguments: Value,
    command: Vec<String>,
    #[serde(default)]
    stdin: Input,
    access: Declared,
    #[serde(default)]
    stages: bool,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    environment: Vec<String>,
    #[serde(default)]
    may_begin_with_dash: Vec<String>,
    #[serde(default = "two_minutes")]
    timeout_seconds: u64,
    #[serde(default = "some_output")]
    output_characters: usize,
}

fn no_arguments() -> Value {
    json!({ "type": "object", "properties": {} })
}

fn two_minutes() -> u64 {
    120
}

fn some_output() -> usize {
    30_000
}

/// Reads a definition; an `Err` says what is wrong with it. `stem` is the name of its file without the end.
pub(super) fn parse(bytes: &[u8], stem: &str) -> Result<Definition, String> {
    if bytes.len() > LONGEST {
        return Err(format!("it has {} bytes; {LONGEST} are the most", bytes.len()));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("it is not UTF-8 from byte {} on", error.valid_up_to()))?;
    // Whoever trusts it has to have seen all of it.
    if let Some((number, _)) = (1_usize..).zip(text.lines()).find(|(_, line)| hidden::spelled(line) != **line)
    {
        return Err(format!("line {number} has characters that nobody can see"));
    }
    let whole: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if !whole.is_object() {
        return Err("it is no JSON object".to_owned());
    }
    // From the text once more: what is wrong is told with its line and column.
    let written: Written = serde_json::from_str(text).map_err(|error| error.to_string())?;
    written.checked(stem)
}

impl Written {
    fn checked(self, stem: &str) -> Result<Definition, String> {
        check_name(&self.name)?;
        if self.name != stem {
            return Err(format!("its name is {:?}, so its file has to be {}.json", self.name, self.name));
        }
        match self.description.chars().count() {
            _ if self.description.trim().is_empty() => {
                return Err("description is empty; it is what the model goes by".to_owned());
            }
            characters if characters > LONGEST_DESCRIPTION => {
                return Err(format!(
                    "description has {characters} characters; {LONGEST_DESCRIPTION} are the most, since every request has it"
                ));
            }
            _ => {}
        }
        let schema = closed(self.arguments)?;
        let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if let Some(name) = self.may_begin_with_dash.iter().find(|name| !properties.contains_key(*name)) {
            return Err(format!("may_begin_with_dash names {name:?}, and arguments has no such property"));
        }
        let Some((program, template)) = self.command.split_first() else {
            return Err("command is empty; it is the program and its words, such as [\"scripts/lint.sh\", \"--\", \"{path}\"]".to_owned());
        };
        check_words(&self.command)?;
        if program.trim().is_empty() || program.starts_with('-') || placeholder(program).is_some() {
            return Err(format!("command begins with {program:?}, which is no program"));
        }
        let mut words = Vec::with_capacity(template.len());
        let mut ended = false;
        for word in template {
            match placeholder(word) {
                None => ended |= word == "--",
                Some(name) => check_given(name, &properties, &required)?,
            }
            words.push(match placeholder(word) {
                None => Word::Plain(word.clone()),
                Some(name) => Word::Given {
                    name: name.to_owned(),
                    may_begin_with_dash: ended || self.may_begin_with_dash.iter().any(|one| one == name),
                },
            });
        }
        if self.stdin == Input::Nothing {
            let goes = |name: &String| {
                words.iter().any(|word| matches!(word, Word::Given { name: given, .. } if given == name))
            };
            if let Some(name) = properties.keys().find(|name| !goes(name)) {
                return Err(format!(
                    "nothing is done with the argument {name:?}: write {{{name}}} as a word of command, or set stdin to \"json\""
                ));
            }
        }
        if self.stages && self.access == Declared::Writes {
            return Err("a tool that stages writes nothing itself: set access to \"reads\"".to_owned());
        }
        check_named("files", &self.files)?;
        check_named("environment", &self.environment)?;
        if let Some(name) = self.environment.iter().find(|name| !is_variable(name)) {
            return Err(format!("environment names {name:?}, which is no variable"));
        }
        if let Some(name) = self.environment.iter().find(|name| is_secret(name)) {
            return Err(format!("environment names {name:?}, which looks like a secret; a tool gets none"));
        }
        if !(1..=MOST_SECONDS).contains(&self.timeout_seconds) {
            return Err(format!(
                "timeout_seconds is {}; it has to be between 1 and {MOST_SECONDS}",
                self.timeout_seconds
            ));
        }
        if !(1..=MOST_OUTPUT).contains(&self.output_characters) {
            return Err(format!(
                "output_characters is {}; it has to be between 1 and {MOST_OUTPUT}",
                self.output_characters
            ));
        }
        Ok(Definition {
            name: self.name,
            description: self.description,
            schema,
            program: program.clone(),
            words,
            input: self.stdin,
            access: self.access,
            stages: self.stages,
            files: self.files,
            environment: self.environment,
            timeout_seconds: self.timeout_seconds,
            output_characters: self.output_characters,
        })
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let begins = name.starts_with(|first: char| first.is_ascii_lowercase());
    let plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    match begins && plain && name.len() <= LONGEST_NAME {
        true => Ok(()),
        false => Err(format!(
            "the name {:?} cannot be used: it has to begin with a small letter, and have small letters, digits and _ alone, {LONGEST_NAME} at most",
            shown::line(name, 80)
        )),
    }
}

/// Returns the schema as one that takes nothing that it does not name.
fn closed(schema: Value) -> Result<Value, String> {
    if !is_within(&schema, DEEPEST_SCHEMA) {
        return Err(format!("arguments is nested deeper than {DEEPEST_SCHEMA} levels"));
    }
    let Value::Object(mut schema) = schema else {
        return Err(
            "arguments is no schema; it is an object such as {\"type\": \"object\", \"properties\": {…}}"
                .to_owned(),
        );
    };
    if schema.get("type").is_none_or(|kind| kind != "object") {
        return Err("arguments has to say \"type\": \"object\"".to_owned());
    }
    if !schema.entry("properties").or_insert_with(|| json!({})).is_object() {
        return Err("properties in arguments is no object".to_owned());
    }
    schema.entry("additionalProperties").or_insert(json!(false));
    Ok(Value::Object(schema))
}

fn is_within(value: &Value, levels: usize) -> bool {
    match (value, levels) {
        (Value::Array(_) | Value::Object(_), 0) => false,
        (Value::Array(items), _) => items.iter().all(|item| is_within(item, levels - 1)),
        (Value::Object(fields), _) => fields.values().all(|field| is_within(field, levels - 1)),
        _ => true,
    }
}

fn check_words(command: &[String]) -> Result<(), String> {
    if command.len() > MOST_WORDS {
        return Err(format!("command has {} words; {MOST_WORDS} are the most", command.len()));
    }
    for word in command {
        if word.len() > LONGEST_WORD || word.contains('\0') {
            return Err("a word of command is too long, or has a NUL byte in it".to_owned());
        }
        if placeholder(word).is_none()
            && let Some(name) = within(word)
        {
            return Err(format!(
                "{{{name}}} stands inside of the word {:?}, and an argument fills whole words only: write it as a word of its own",
                shown::line(word, 80)
            ));
        }
    }
    Ok(())
}

/// Returns the argument that a word stands for: `{name}`.
fn placeholder(word: &str) -> Option<&str> {
    let name = word.strip_prefix('{')?.strip_suffix('}')?;
    is_variable(name).then_some(name)
}

/// Returns what looks like a placeholder inside of a word.
fn within(word: &str) -> Option<&str> {
    word.match_indices('{').find_map(|(at, _)| {
        let rest = word.get(at + 1..)?;
        let name = rest.get(..rest.find('}')?)?;
        is_variable(name).then_some(name)
    })
}

fn is_variable(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Refuses a placeholder of which it is not known that there is always something to fill it with.
fn check_given(name: &str, properties: &Map<String, Value>, required: &[&str]) -> Result<(), String> {
    let Some(property) = properties.get(name) else {
        return Err(format!("command has {{{name}}}, and arguments has no property {name:?}"));
    };
    if !required.contains(&name) {
        return Err(format!(
            "command has {{{name}}}, so {name:?} has to be among the required ones of arguments"
        ));
    }
    let is_word = |schema: &Value| {
        let kind = schema.get("type").and_then(Value::as_str);
        kind.is_some_and(|kind| ["string", "integer", "number", "boolean"].contains(&kind))
    };
    let is_list = property.get("type").is_some_and(|kind| kind == "array");
    match is_word(property) || (is_list && property.get("items").is_some_and(is_word)) {
        true => Ok(()),
        false => Err(format!(
            "command has {{{name}}}, so its type has to be string, integer, number or boolean, or array with items of one of these"
        )),
    }
}

fn check_named(field: &str, named: &[String]) -> Result<(), String> {
    match named.len() > MOST_NAMED {
        true => Err(format!("{field} names {}; {MOST_NAMED} are the most", named.len())),
        false => Ok(()),
    }
}
