//! What a text of SQL asks for, as far as engines differ in it.
//!
//! It is read word by word, with strings, quoted names and comments left out, and not parsed: what stands in a string can
//! neither hide a statement nor make one.

use super::profile::Feature;

/// What a statement does to the transaction that it is in.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Begin,
    Commit,
    Rollback,
    /// It changes what tables there are.
    Definition,
    /// It may change rows.
    Write,
    /// A setting: it neither reads nor writes rows.
    Setting,
    Other,
}

/// One statement of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// Where it stands in the text.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) role: Role,
    pub(super) features: Vec<Feature>,
    /// It is nothing but `LISTEN`, `UNLISTEN` or `NOTIFY`.
    pub(super) is_notice: bool,
    /// Its transaction is not cut off.
    pub(super) is_spared: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    /// A word outside of quotes, in lower case.
    Word(String),
    Sign(u8),
    /// A string, a quoted name, a number, a parameter.
    Value,
}

struct Placed {
    token: Token,
    start: usize,
    end: usize,
}

impl Placed {
    fn word(&self) -> &str {
        match &self.token {
            Token::Word(word) => word,
            Token::Sign(_) | Token::Value => "",
        }
    }

    fn is(&self, sign: u8) -> bool {
        self.token == Token::Sign(sign)
    }
}

/// Returns the statements of a text; empty ones are left out. Those with words of `spares` are spared.
pub(super) fn statements(sql: &[u8], spares: Option<&str>) -> Vec<Statement> {
    let tokens = tokens(sql);
    let mut found: Vec<Statement> = tokens.split(|token| token.is(b';')).filter_map(statement).collect();
    for one in &mut found {
        let text = sql.get(one.start..one.end).unwrap_or_default();
        one.is_spared = spares.is_some_and(|words| String::from_utf8_lossy(text).contains(words));
    }
    found
}

fn statement(tokens: &[Placed]) -> Option<Statement> {
    let (first, last) = (tokens.first()?, tokens.last()?);
    let words: Vec<&str> = tokens.iter().take(5).map(Placed::word).collect();
    let mut features = Vec::new();
    let role = role(&words, tokens, &mut features);
    calls(tokens, &mut features);
    features.dedup();
    let is_notice = ["listen", "unlisten", "notify"].contains(&first.word());
    Some(Statement { start: first.start, end: last.end, role, features, is_notice, is_spared: false })
}

fn role(words: &[&str], tokens: &[Placed], features: &mut Vec<Feature>) -> Role {
    let has = |word: &str| tokens.iter().any(|token| token.word() == word);
    let second = words.get(1).copied().unwrap_or_default();
    match words.first().copied().unwrap_or_default() {
        "begin" => Role::Begin,
        "start" if second == "transaction" => Role::Begin,
        "commit" | "end" if second != "prepared" => Role::Commit,
        "abort" => Role::Rollback,
        "rollback" if second != "prepared" && !has("to") => Role::Rollback,
        "savepoint" | "release" | "rollback" => {
            features.push(Feature::Savepoint);
            Role::Setting
        }
        "listen" | "unlisten" => {
            features.push(Feature::Listen);
            Role::Setting
        }
        "notify" => {
            features.push(Feature::Notify);
            Role::Write
        }
        "set" if ["local", "transaction", "constraints"].contains(&second) => Role::Setting,
        "set" | "reset" | "discard" => {
            features.push(Feature::SessionSetting);
            Role::Setting
        }
        "prepare" if second != "transaction" => {
            features.push(Feature::NamedStatement);
            Role::Setting
        }
        "deallocate" => {
            features.push(Feature::NamedStatement);
            Role::Setting
        }
        "execute" => {
            features.push(Feature::NamedStatement);
            Role::Write
        }
        "create" => {
            if words.iter().skip(1).take(3).any(|word| ["temp", "temporary"].contains(word)) {
                features.push(Feature::TemporaryTable);
            }
            Role::Definition
        }
        "alter" | "drop" | "comment" | "grant" | "revoke" | "truncate" | "reindex" | "security" => {
            Role::Definition
        }
        "do" | "call" => Role::Write,
        "copy" if has("from") => Role::Write,
        _ => {
            if has("into") && (has("temp") || has("temporary")) && !has("insert") {
                features.push(Feature::TemporaryTable);
            }
            match tokens.windows(2).any(writes) || tokens.first().is_some_and(|token| changes(token.word())) {
                true => Role::Write,
                false => Role::Other,
            }
        }
    }
}

/// Whether the second of two words changes rows: `FOR UPDATE` and `FOR NO KEY UPDATE` do not.
fn writes(pair: &[Placed]) -> bool {
    let [before, word] = pair else { return false };
    changes(word.word()) && !["for", "key"].contains(&before.word())
}

fn changes(word: &str) -> bool {
    ["insert", "update", "delete", "merge"].contains(&word)
}

/// Finds the functions that a statement calls.
fn calls(tokens: &[Placed], features: &mut Vec<Feature>) {
    for (at, pair) in tokens.windows(2).enumerate() {
        let [name, open] = pair else { continue };
        if !open.is(b'(') {
            continue;
        }
        match name.word() {
            "pg_notify" => features.push(Feature::Notify),
            "set_config" if !is_local(tokens.get(at + 1..).unwrap_or_default()) => {
                features.push(Feature::SessionSetting);
            }
            word if word.starts_with("pg_advisory_") || word.starts_with("pg_try_advisory_") => {
                features.push(Feature::AdvisoryLock);
            }
            _ => {}
        }
    }
}

/// Whether the last of the arguments that begin here is the word `true`.
fn is_local(arguments: &[Placed]) -> bool {
    let mut depth = 0_u32;
    let mut last = None;
    for token in arguments {
        match token.token {
            Token::Sign(b'(') => depth += 1,
            Token::Sign(b')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            break;
        }
        last = Some(token);
    }
    last.is_some_and(|token| token.word() == "true")
}

fn tokens(sql: &[u8]) -> Vec<Placed> {
    let mut tokens: Vec<Placed> = Vec::new();
    let mut at = 0;
    while let Some(byte) = sql.get(at).copied() {
        let rest = sql.get(at..).unwrap_or_default();
        let start = at;
        let token = match byte {
            _ if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'-' if rest.starts_with(b"--") => {
                at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                continue;
            }
            b'/' if rest.starts_with(b"/*") => {
                at += comment(rest);
                continue;
            }
            b'\'' => {
                // A string as E'\'' has its mark right before it.
                let escapes = tokens.last().is_some_and(|last| last.end == at && last.word() == "e");
                at += quoted(rest, b'\'', escapes);
                Token::Value
            }
            b'"' => {
                at += quoted(rest, b'"', false);
                Token::Value
            }
            b'$' => {
                at += dollar(rest);
                Token::Value
            }
            b'0'..=b'9' => {
                at += run(rest, |byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_');
                Token::Value
            }
            _ if is_word(byte) => {
                let length = run(rest, |byte| is_word(byte) || byte.is_ascii_digit() || byte == b'$');
                at += length;
                let word = rest.get(..length).unwrap_or_default().to_ascii_lowercase();
                Token::Word(String::from_utf8_lossy(&word).into_owned())
            }
            _ => {
                at += 1;
                Token::Sign(byte)
            }
        };
        tokens.push(Placed { token, start, end: at });
    }
    tokens
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn run(rest: &[u8], fits: impl Fn(u8) -> bool) -> usize {
    rest.iter().position(|byte| !fits(*byte)).unwrap_or(rest.len())
}

/// Returns the length of a comment; one comment may hold others.
fn comment(rest: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_u32);
    while let Some(pair) = rest.get(at..at + 2) {
        match pair {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn quoted(rest: &[u8], quote: u8, escapes: bool) -> usize {
    let mut at = 1;
    while let Some(byte) = rest.get(at).copied() {
        at += 1;
        if byte == b'\\' && escapes {
            at += 1;
        } else if byte == quote {
            if rest.get(at) != Some(&quote) {
                return at;
            }
            at += 1;
        }
    }
    rest.len()
}

/// Returns the length of a parameter, or of a string between two tags.
fn dollar(rest: &[u8]) -> usize {
    let name = run(rest.get(1..).unwrap_or_default(), |byte| is_word(byte) || byte.is_ascii_digit());
    let tag = rest.get(..name + 2).unwrap_or_default();
    let is_tag = tag.last() == Some(&b'$') && !tag.get(1).is_some_and(u8::is_ascii_digit);
    if !is_tag {
        return name + 1;
    }
    let after = rest.get(tag.len()..).unwrap_or_default();
    let end = after.windows(tag.len()).position(|window| window == tag);
    end.map_or(rest.len(), |end| end + 2 * tag.len())
}
