//! Rust source as words and signs, without what only tests have.
//!
//! A lexer and no parser: the rules of rooms want paths, `use` trees and the heads of items, which are found by the
//! words around them.

use crate::rust_text::code_only;

/// One word or sign, and the line it stands in, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// As written; a raw identifier is without its `r#`, a lifetime with its `'`.
    pub(super) text: String,
    pub(super) line: usize,
}

/// Signs that are read as one. `->` and `=>` are, so that their ends do not close a list of generics.
const PAIRS: &[&str] = &["::", "->", "=>"];

/// Words that an item can begin with, behind its visibility.
const ITEMS: &[&str] = &[
    "async",
    "const",
    "enum",
    "extern",
    "fn",
    "impl",
    "let",
    "macro_rules",
    "mod",
    "static",
    "struct",
    "trait",
    "type",
    "union",
    "unsafe",
    "use",
];

/// Items that end with a `;` whatever braces they hold.
const STATEMENTS: &[&str] = &["const", "let", "static", "type", "use"];

/// Reads a file; items behind `#[cfg(test)]` are left out.
pub(super) fn read(source: &str) -> Vec<Token> {
    without_tests(&split(&code_only(source)))
}

/// Whether the text is a name or a keyword.
pub(super) fn is_word(text: &str) -> bool {
    text.starts_with(|sign: char| sign.is_alphabetic() || sign == '_')
}

/// The text at a place, or nothing behind the end.
pub(super) fn text_at(tokens: &[Token], at: usize) -> &str {
    tokens.get(at).map_or("", |token| token.text.as_str())
}

/// The place behind the bracket that closes the one at `at`.
pub(super) fn behind_group(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return index + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// The place behind the `>` that closes the `<` at `at`.
pub(super) fn behind_generics(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token.text.as_str() {
            "<" => depth += 1,
            ">" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return index + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

fn split(code: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (line, text) in code.lines().enumerate() {
        let mut rest = text.trim_start();
        while let Some(sign) = rest.chars().next() {
            let raw = rest.strip_prefix("r#").filter(|after| is_word(after));
            let from = raw.unwrap_or(rest);
            let length = match sign {
                _ if raw.is_some() || is_part(sign) => {
                    from.find(|sign: char| !is_part(sign)).unwrap_or(from.len())
                }
                '\'' => 1 + from[1..].find(|sign: char| !is_part(sign)).unwrap_or(from.len() - 1),
                _ if PAIRS.iter().any(|pair| from.starts_with(pair)) => 2,
                _ => sign.len_utf8(),
            };
            tokens.push(Token { text: from[..length].to_owned(), line });
            rest = from[length..].trim_start();
        }
    }
    tokens
}

fn is_part(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if text_at(tokens, at) == "#" {
            let inner = text_at(tokens, at + 1) == "!";
            let open = at + 1 + usize::from(inner);
            if is_test_only(tokens, open) {
                if inner {
                    return Vec::new();
                }
                at = behind_item(tokens, behind_group(tokens, open));
                continue;
            }
        }
        kept.push(tokens[at].clone());
        at += 1;
    }
    kept
}

/// `[cfg(test)]`, or with more conditions, `[cfg(all(test, …))]`.
fn is_test_only(tokens: &[Token], open: usize) -> bool {
    let begins_with =
        |words: &[&str]| words.iter().enumerate().all(|(index, word)| text_at(tokens, open + index) == *word);
    begins_with(&["[", "cfg", "(", "test", ")"]) || begins_with(&["[", "cfg", "(", "all", "(", "test"])
}

/// The place behind the item, field or variant at `at`, its other attributes included.
fn behind_item(tokens: &[Token], mut at: usize) -> usize {
    while text_at(tokens, at) == "#" {
        at = behind_group(tokens, at + 1);
    }
    let mut word = at;
    if text_at(tokens, word) == "pub" {
        word += 1;
        if text_at(tokens, word) == "(" {
            word = behind_group(tokens, word);
        }
    }
    let first = text_at(tokens, word);
    let is_item = ITEMS.contains(&first);
    let ends_with_semicolon = STATEMENTS.contains(&first) && text_at(tokens, word + 1) != "fn";
    while at < tokens.len() {
        match text_at(tokens, at) {
            ";" => return at + 1,
            "," if !is_item => return at + 1,
            "<" if !is_item => at = behind_generics(tokens, at),
            "(" | "[" => at = behind_group(tokens, at),
            "{" => {
                at = behind_group(tokens, at);
                if !ends_with_semicolon {
                    return at;
                }
            }
            ")" | "]" | "}" => return at,
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &str) {
        let words: Vec<String> = read(source).into_iter().map(|token| token.text).collect();
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn words_and_signs_are_told_apart() {
        check("use a::b as c; // d", "use a :: b as c ;");
        check("fn r#type<'a>(x: &'a str) -> u8 { 1.5 }", "fn type < 'a > ( x : & 'a str ) -> u8 { 1 . 5 }");
    }

    #[test]
    fn lines_are_counted_from_nought() {
        let lines: Vec<usize> = read("a\n\n/* b\n */ c\n").into_iter().map(|token| token.line).collect();
        assert_eq!(lines, [0, 3]);
    }

    #[test]
    fn items_for_tests_are_left_out() {
        check("a; #[cfg(test)] mod tests { fn f() { g(); } } b;", "a ; b ;");
        check("#[cfg(test)] #[allow(x)] pub(crate) use a::{b, c}; d;", "d ;");
        check("#[cfg(all(test, feature))] const A: [u8; 2] = [1, 2]; d;", "d ;");
        check("#[cfg(test)] pub const fn f<A, B>(a: A, b: B) -> [u8; 3] { a } d;", "d ;");
        check("struct A { #[cfg(test)] a: Map<B, C>, d: D }", "struct A { d : D }");
        check("struct A { d: D, #[cfg(test)] a: Map<B, C> }", "struct A { d : D , }");
        check("#![cfg(test)] a", "");
    }

    #[test]
    fn what_is_built_otherwise_too_stays() {
        check("#[cfg(not(test))] a;", "# [ cfg ( not ( test ) ) ] a ;");
        check("#[cfg(any(test, b))] a;", "# [ cfg ( any ( test , b ) ) ] a ;");
    }
}
