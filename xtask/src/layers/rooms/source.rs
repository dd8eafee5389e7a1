//! What one file says of others: its `use` trees, the paths in its code, its types and their methods.
//!
//! Paths come out as they count from the root of the crate, so that `super::` needs no second thought.

use std::collections::BTreeSet;

use super::tokens::{self, Token, behind_generics, behind_group, is_word, text_at};

/// One file of a crate's `src/`.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// From the root of the checkout.
    pub(super) path: String,
    /// Where its items stand, `["live", "answered"]`; empty for the root.
    pub(super) module: Vec<String>,
    /// What `use` brings in, one for each name.
    pub(super) imports: Vec<Import>,
    /// The paths in code that begin with `crate`, `super` or `self`, and those of two words and more.
    pub(super) paths: Vec<Reference>,
    /// Names that code uses as they are: types, functions that are called.
    pub(super) bare: Vec<(String, usize)>,
    /// Modules that have a file of their own.
    pub(super) children: BTreeSet<String>,
    /// The names of all items.
    pub(super) items: BTreeSet<String>,
    /// Structs, enums, unions and traits, with the line of each.
    pub(super) types: Vec<(String, usize)>,
    /// Inherent `impl` blocks.
    pub(super) impls: Vec<Impl>,
}

/// A path, and the line it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) from: From,
    /// Behind `crate`, with `super` and `self` resolved; or as written.
    pub(super) words: Vec<String>,
    pub(super) line: usize,
}

/// Where a path counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    Root,
    /// A name in scope: a module of this one, something that was imported, another crate.
    Scope,
}

/// One name that a `use` brings in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    pub(super) target: Reference,
    /// The name here; `None` is everything that the target has.
    pub(super) name: Option<String>,
    /// It has a visibility, so others find it here.
    pub(super) passes_on: bool,
    /// It stands in the module of the file and not in one inside it.
    pub(super) outermost: bool,
}

/// An inherent `impl`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Impl {
    /// The last word of the type's path.
    pub(super) of: String,
    /// How many functions it has.
    pub(super) functions: usize,
    pub(super) line: usize,
}

impl Source {
    /// Reads a file whose items stand in `module`.
    pub(super) fn read(path: &str, module: Vec<String>, text: &str) -> Source {
        let tokens = tokens::read(text);
        let mut reader = Reader { tokens: &tokens, inner: Vec::new(), depth: 0 };
        let mut source = Source { path: path.to_owned(), module, ..Source::default() };
        reader.file(&mut source);
        source
    }
}

struct Reader<'a> {
    tokens: &'a [Token],
    /// The modules inside the file that are open here, each with the depth of its braces.
    inner: Vec<(String, usize)>,
    depth: usize,
}

impl Reader<'_> {
    fn file(&mut self, source: &mut Source) {
        let mut at = 0;
        while at < self.tokens.len() {
            at = self.step(source, at);
        }
    }

    /// Reads what begins at a place, and tells where the next thing begins.
    fn step(&mut self, source: &mut Source, at: usize) -> usize {
        let tokens = self.tokens;
        let line = tokens[at].line;
        let next = text_at(tokens, at + 1);
        match tokens[at].text.as_str() {
            "{" => self.depth += 1,
            "}" => {
                self.depth = self.depth.saturating_sub(1);
                if self.inner.last().is_some_and(|(_, depth)| *depth == self.depth) {
                    self.inner.pop();
                }
            }
            // `impl Trait + use<'a>` is no import.
            "use" if next != "<" => return self.import(source, at),
            // `pub(in crate::a)` refers to nothing.
            "in" if at >= 2 && text_at(tokens, at - 1) == "(" && text_at(tokens, at - 2) == "pub" => {
                return behind_group(tokens, at - 1);
            }
            "mod" if is_word(next) => {
                if text_at(tokens, at + 2) == "{" {
                    self.inner.push((next.to_owned(), self.depth));
                    self.depth += 1;
                    return at + 3;
                }
                if self.inner.is_empty() {
                    source.children.insert(next.to_owned());
                }
                return at + 3;
            }
            "impl" if is_item(tokens, at) => {
                source.impls.extend(inherent(tokens, at));
            }
            word @ ("struct" | "enum" | "union" | "trait" | "fn" | "const" | "static" | "type"
            | "macro_rules")
                if self.names_item(at, word) =>
            {
                let place = at + 1 + usize::from(word == "macro_rules") + usize::from(next == "mut");
                let name = text_at(tokens, place).to_owned();
                if matches!(word, "struct" | "enum" | "union" | "trait") {
                    source.types.push((name.clone(), line));
                }
                source.items.insert(name);
                return place + 1;
            }
            word if is_word(word) && !matches!(text_at(tokens, at.wrapping_sub(1)), "::" | "." | "fn") => {
                return self.path(source, at);
            }
            _ => {}
        }
        at + 1
    }

    /// Whether the word at a place names an item: `const fn` does not, nor does a function of an `impl`.
    fn names_item(&self, at: usize, word: &str) -> bool {
        let next = text_at(self.tokens, at + 1);
        match word {
            "macro_rules" => next == "!",
            "fn" | "const" | "static" | "type" => {
                self.depth == self.inner.len() && is_word(next) && !matches!(next, "fn" | "unsafe" | "async")
            }
            _ => is_word(next),
        }
    }

    fn import(&self, source: &mut Source, at: usize) -> usize {
        let before = text_at(self.tokens, at.wrapping_sub(1));
        let is_narrow = before == ")" && {
            let open = (0..at).rev().find(|place| text_at(self.tokens, *place) == "(");
            open.is_some_and(|open| text_at(self.tokens, open.wrapping_sub(1)) == "pub")
        };
        let passes_on = before == "pub" || is_narrow;
        let mut end = at + 1;
        let mut leaves = Vec::new();
        leaves_of(self.tokens, &mut end, &[], &mut leaves);
        for Leaf { words, name, line } in leaves {
            let target = self.reference(&source.module, words, line);
            let outermost = self.depth == 0;
            source.imports.push(Import { target, name, passes_on, outermost });
        }
        end
    }

    fn path(&self, source: &mut Source, at: usize) -> usize {
        let mut words = vec![self.tokens[at].text.clone()];
        let mut end = at + 1;
        while text_at(self.tokens, end) == "::" && is_word(text_at(self.tokens, end + 1)) {
            words.push(self.tokens[end + 1].text.clone());
            end += 2;
        }
        let line = self.tokens[at].line;
        if words.len() > 1 {
            source.paths.push(self.reference(&source.module, words, line));
        } else if let Some(word) = words.pop() {
            let is_called = matches!(text_at(self.tokens, end), "(" | "::" | "!");
            if is_called || word.starts_with(char::is_uppercase) {
                source.bare.push((word, line));
            }
        }
        end
    }

    /// A path as it counts from the root.
    fn reference(&self, module: &[String], words: Vec<String>, line: usize) -> Reference {
        let mut base: Vec<String> = module.to_vec();
        base.extend(self.inner.iter().map(|(name, _)| name.clone()));
        let mut rest = words.as_slice();
        let mut from = From::Scope;
        while let [first, after @ ..] = rest {
            match first.as_str() {
                "crate" => base.clear(),
                "super" => {
                    base.pop();
                }
                "self" => {}
                _ => break,
            }
            from = From::Root;
            rest = after;
        }
        match from {
            From::Root => Reference { from, words: [base.as_slice(), rest].concat(), line },
            From::Scope => Reference { from, words, line },
        }
    }
}

struct Leaf {
    words: Vec<String>,
    name: Option<String>,
    line: usize,
}

/// Reads a `use` tree, and leaves `at` behind it.
fn leaves_of(tokens: &[Token], at: &mut usize, before: &[String], leaves: &mut Vec<Leaf>) {
    let mut words = before.to_vec();
    let line = tokens.get(*at).map_or(0, |token| token.line);
    loop {
        match text_at(tokens, *at) {
            "::" => *at += 1,
            "{" => {
                *at += 1;
                while !matches!(text_at(tokens, *at), "}" | "") {
                    leaves_of(tokens, at, &words, leaves);
                    if text_at(tokens, *at) == "," {
                        *at += 1;
                    }
                }
                *at += 1;
                return;
            }
            "*" => {
                *at += 1;
                leaves.push(Leaf { words, name: None, line });
                return;
            }
            "as" => {
                let name = text_at(tokens, *at + 1).to_owned();
                *at += 2;
                leaves.push(Leaf { words, name: Some(name), line });
                return;
            }
            word if is_word(word) => {
                // `{self, …}` is the module that the braces belong to.
                if word != "self" || before.is_empty() {
                    words.push(word.to_owned());
                }
                *at += 1;
            }
            _ => {
                if let Some(name) = words.last().cloned() {
                    leaves.push(Leaf { words, name: Some(name), line });
                }
                // A sign that no tree has would hold the reader here for ever.
                if !matches!(text_at(tokens, *at), "," | "}" | "" | ";") {
                    *at += 1;
                }
                return;
            }
        }
    }
}

/// Whether an `impl` begins an item; in types it stands behind other signs.
fn is_item(tokens: &[Token], at: usize) -> bool {
    at == 0 || matches!(text_at(tokens, at - 1), ";" | "}" | "{" | "]" | "unsafe" | "default")
}

/// The inherent `impl` that begins here; one of a trait is none.
fn inherent(tokens: &[Token], start: usize) -> Option<Impl> {
    let mut at = start + 1;
    if text_at(tokens, at) == "<" {
        at = behind_generics(tokens, at);
    }
    let mut of = None;
    let mut in_bounds = false;
    loop {
        match text_at(tokens, at) {
            "for" if !in_bounds && text_at(tokens, at + 1) != "<" => return None,
            "" | ";" => return None,
            "{" => break,
            "where" => in_bounds = true,
            "<" => {
                at = behind_generics(tokens, at);
                continue;
            }
            "(" | "[" => {
                at = behind_group(tokens, at);
                continue;
            }
            word if is_word(word) && !in_bounds => of = Some(word.to_owned()),
            _ => {}
        }
        at += 1;
    }
    let end = behind_group(tokens, at);
    let mut depth = 0_usize;
    let mut functions = 0;
    for place in at..end {
        match text_at(tokens, place) {
            "{" => depth += 1,
            "}" => depth -= 1,
            // `fn(u8)` is a type.
            "fn" if depth == 1 && is_word(text_at(tokens, place + 1)) => functions += 1,
            _ => {}
        }
    }
    of.map(|of| Impl { of, functions, line: tokens[start].line })
}
