//! Looks at Rust source as text, with comments and strings out of the way.
//!
//! Enough of a lexer for house rules: after it a forbidden word is code, not a sentence about code.

/// Replaces the insides of comments, strings and character literals by spaces; lines keep their numbers.
pub(crate) fn code_only(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    let mut before = ' ';
    while let Some(sign) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if !is_word(before)
            && let Some(length) = raw_string(rest)
        {
            length
        } else if sign == '"' {
            string(rest)
        } else if sign == '\'' {
            character(rest)
        } else {
            0
        };
        if length == 0 {
            code.push(sign);
            rest = &rest[sign.len_utf8()..];
            before = sign;
        } else {
            let (hidden, after) = rest.split_at(length);
            code.extend(hidden.chars().map(|sign| if sign == '\n' { '\n' } else { ' ' }));
            rest = after;
            before = ' ';
        }
    }
    code
}

/// Whether `word` stands in the line with no letter, digit or `_` on its sides.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(|sign| is_word(sign) && word.starts_with(is_word))
            && !after.is_some_and(|sign| is_word(sign) && word.ends_with(is_word))
    })
}

/// The name after `mod`, if the line declares a module.
pub(crate) fn declared_module(line: &str) -> Option<&str> {
    let line = line.trim();
    let line = match line.strip_prefix("pub") {
        Some(after) if after.starts_with('(') => after.split_once(')')?.1.trim_start(),
        Some(after) if after.starts_with(' ') => after.trim_start(),
        _ => line,
    };
    let name = line.strip_prefix("mod ")?.trim_start();
    let end = name.find(|sign: char| !is_word(sign)).unwrap_or(name.len());
    (end > 0).then(|| &name[..end])
}

fn is_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

/// The length of a block comment; they nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// The length of a raw string with its prefix, if one begins here.
fn raw_string(text: &str) -> Option<usize> {
    let after = ["r", "br", "cr"].iter().find_map(|prefix| {
        text.strip_prefix(prefix).filter(|after| after.starts_with('"') || after.starts_with('#'))
    })?;
    let hashes = after.bytes().take_while(|byte| *byte == b'#').count();
    let body = after[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = body.find(&close).map_or(body.len(), |at| at + close.len());
    Some(text.len() - body.len() + end)
}

/// The length of a string with escapes.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character literal, or 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut signs = text.char_indices().skip(1);
    match signs.next() {
        Some((_, '\\')) => {
            // `'\''` and `'\u{1f600}'`: the sign after the backslash cannot close.
            let from = 3.min(text.len());
            text.get(from..).and_then(|after| after.find('\'')).map_or(0, |at| from + at + 1)
        }
        Some(_) => match signs.next() {
            Some((at, '\'')) => at + 1,
            _ => 0,
        },
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &str) {
        assert_eq!(code_only(source), expected);
    }

    #[test]
    fn comments_and_strings_become_spaces() {
        check("a // b\nc", "a     \nc");
        check("a /* b /* c */ d */ e", "a                   e");
        check(r#"f("x \" y") g"#, "f(        ) g");
        check(r##"f(r#"x " y"#) g"##, "f(          ) g");
    }

    #[test]
    fn lifetimes_stay_and_characters_go() {
        check("fn f<'a>(x: &'a str) { '\"'; '\\''; b }", "fn f<'a>(x: &'a str) {    ;     ; b }");
        check("'\\u{1f600}' x", "            x");
    }

    #[test]
    fn lines_keep_their_numbers() {
        assert_eq!(code_only("\"a\nb\"\nc").lines().count(), 3);
    }

    #[test]
    fn an_unclosed_string_ends_with_the_file() {
        check("a \"b", "a   ");
        check("a r#\"b", "a     ");
        check("a '\\", "a '\\");
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("let x = todo!();", "todo!"));
        assert!(!has_word("let x = my_todo!();", "todo!"));
        assert!(has_word("x.unwrap()", ".unwrap()"));
    }

    #[test]
    fn modules_are_seen_with_their_visibility() {
        assert_eq!(declared_module("    pub(crate) mod utils {"), Some("utils"));
        assert_eq!(declared_module("pub mod wire;"), Some("wire"));
        assert_eq!(declared_module("mod a;"), Some("a"));
        assert_eq!(declared_module("let modest = 1;"), None);
    }
}
