//! The languages that there are, and texts of them as syntax trees.

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;

use ast_grep_core::language::Language;
use ast_grep_core::matcher::PatternBuilder;
use ast_grep_core::tree_sitter::{LanguageExt, StrDoc, TSLanguage};
use ast_grep_core::{Pattern, PatternError};
use tree_sitter::{Node, ParseOptions, Parser, Tree};

/// A tree that is deeper is not worked on: what recurses on it needs a stack of its depth.
pub(crate) const MAX_DEPTH: usize = 2_000;

/// A language.
pub(crate) struct Grammar {
    pub(crate) name: &'static str,
    /// What the names of its files end with.
    endings: &'static [&'static str],
    /// What stands for `$` in a pattern while it is parsed: a letter, where `$` is none.
    sigil: char,
    /// What a pattern is put between to be parsed, one after another until it fits: what is an expression in a function is none
    /// outside of it.
    pub(crate) around: &'static [(&'static str, &'static str)],
    parser: fn() -> TSLanguage,
}

/// All that this build has, by name.
pub(crate) static GRAMMARS: &[Grammar] = &[
    #[cfg(feature = "ast-go")]
    Grammar {
        name: "go",
        endings: &["go"],
        sigil: 'µ',
        // Outside of a function a call is taken for the conversion of a type.
        around: &[
            ("package p\nfunc f() {\n", "\n}\n"),
            ("", "\n"),
            ("package p\ntype t struct {\n", "\n}\n"),
        ],
        parser: || tree_sitter_go::LANGUAGE.into(),
    },
    #[cfg(feature = "ast-javascript")]
    Grammar {
        name: "javascript",
        endings: &["js", "jsx", "mjs", "cjs"],
        sigil: '$',
        around: &[("", "\n"), ("class c {\n", "\n}\n")],
        parser: || tree_sitter_javascript::LANGUAGE.into(),
    },
    #[cfg(feature = "ast-python")]
    Grammar {
        name: "python",
        endings: &["py", "pyi"],
        sigil: 'µ',
        around: &[("", "\n")],
        parser: || tree_sitter_python::LANGUAGE.into(),
    },
    #[cfg(feature = "ast-rust")]
    Grammar {
        name: "rust",
        endings: &["rs"],
        sigil: 'µ',
        around: &[("fn f() {\n", "\n}\n"), ("", "\n"), ("type T =\n", "\n;\n"), ("struct S {\n", "\n}\n")],
        parser: || tree_sitter_rust::LANGUAGE.into(),
    },
    #[cfg(feature = "ast-typescript")]
    Grammar {
        name: "tsx",
        endings: &["tsx"],
        sigil: '$',
        around: &[("", "\n"), ("class c {\n", "\n}\n"), ("type t =\n", "\n;\n")],
        parser: || tree_sitter_typescript::LANGUAGE_TSX.into(),
    },
    #[cfg(feature = "ast-typescript")]
    Grammar {
        name: "typescript",
        endings: &["ts", "mts", "cts"],
        sigil: '$',
        around: &[("", "\n"), ("class c {\n", "\n}\n"), ("type t =\n", "\n;\n")],
        parser: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    },
];

impl Grammar {
    /// Whether a file is one of this language, by its name.
    pub(crate) fn is_of(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.rsplit_once('.').is_some_and(|(_, ending)| self.endings.contains(&ending))
    }

    /// Returns a pattern as it is parsed, character by character as long as it was.
    pub(crate) fn with_sigils<'p>(&self, pattern: &'p str) -> Cow<'p, str> {
        if self.sigil == '$' {
            return Cow::Borrowed(pattern);
        }
        let mut parsed = String::with_capacity(pattern.len());
        let mut dollars = 0;
        // Before a name, or three of them alone.
        let mut put = |dollars: usize, next: Option<char>| {
            let is_name = matches!(next, Some('A'..='Z' | '_')) || dollars == 3;
            let sigil = if is_name { self.sigil } else { '$' };
            parsed.extend(std::iter::repeat_n(sigil, dollars).chain(next));
        };
        for character in pattern.chars() {
            if character == '$' {
                dollars += 1;
            } else {
                put(std::mem::take(&mut dollars), Some(character));
            }
        }
        put(dollars, None);
        Cow::Owned(parsed)
    }
}

/// A language, as the engine has it.
#[derive(Clone, Copy)]
pub(crate) struct Parsed(pub(crate) &'static Grammar);

impl Language for Parsed {
    fn pre_process_pattern<'q>(&self, query: &'q str) -> Cow<'q, str> {
        self.0.with_sigils(query)
    }

    fn expando_char(&self) -> char {
        self.0.sigil
    }

    fn kind_to_id(&self, kind: &str) -> u16 {
        self.get_ts_language().id_for_node_kind(kind, true)
    }

    fn field_to_id(&self, field: &str) -> Option<u16> {
        self.get_ts_language().field_id_for_name(field).map(Into::into)
    }

    // Patterns are built from trees that were looked at before; nothing asks for this.
    fn build_pattern(&self, builder: &PatternBuilder<'_>) -> Result<Pattern, PatternError> {
        builder.build(|source| StrDoc::try_new(source, *self))
    }
}

impl LanguageExt for Parsed {
    fn get_ts_language(&self) -> TSLanguage {
        (self.0.parser)()
    }
}

/// A place in a text, counted from one, in characters.
pub(crate) struct Place {
    line: usize,
    column: usize,
}

/// The byte of a text at which it is not of the language.
pub(crate) type WrongAt = usize;

impl Place {
    pub(crate) fn of(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        Place { line: before.matches('\n').count() + 1, column: line.chars().count() + 1 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why there is no tree to work on.
pub(crate) enum NotParsed {
    Syntax(Place, WrongAt),
    TooDeep,
    Stopped,
}

impl fmt::Display for NotParsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotParsed::Syntax(place, _) => write!(f, "at {place}"),
            NotParsed::TooDeep => write!(f, "since it is nested more than {MAX_DEPTH} deep"),
            NotParsed::Stopped => write!(f, "in the time that there is"),
        }
    }
}

/// Parses a text that is one of the language as a whole, until `stop` says so.
pub(crate) fn parse(grammar: &Grammar, text: &str, stop: &dyn Fn() -> bool) -> Result<Tree, NotParsed> {
    let mut parser = Parser::new();
    // A grammar that does not fit the library parses nothing; the tests parse with each.
    parser.set_language(&(grammar.parser)()).map_err(|_| NotParsed::Stopped)?;
    let mut asked = |_: &tree_sitter::ParseState| match stop() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let mut rest = |byte: usize, _| text.as_bytes().get(byte..).unwrap_or_default();
    let options = ParseOptions::new().progress_callback(&mut asked);
    let tree = parser.parse_with_options(&mut rest, None, Some(options)).ok_or(NotParsed::Stopped)?;
    admit(text, &tree)?;
    Ok(tree)
}

/// Refuses a tree that is too deep, or has a place that is not of the language.
fn admit(text: &str, tree: &Tree) -> Result<(), NotParsed> {
    let (mut cursor, mut depth) = (tree.walk(), 0_usize);
    let mut first: Option<usize> = None;
    'walk: loop {
        let node = cursor.node();
        if is_wrong(&node, text) && first.is_none() {
            first = Some(node.start_byte());
        }
        if cursor.goto_first_child() {
            depth += 1;
            if depth > MAX_DEPTH {
                return Err(NotParsed::TooDeep);
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                break 'walk;
            }
            depth -= 1;
        }
    }
    match first {
        Some(byte) => Err(NotParsed::Syntax(Place::of(text, byte), byte)),
        None => Ok(()),
    }
}

/// Whether a node is an error. A line end that is missing at the end of a text is none.
fn is_wrong(node: &Node<'_>, text: &str) -> bool {
    let is_end = || node.start_byte() >= text.trim_end().len() && matches!(node.kind(), "\n" | "" | ";");
    node.is_error() || (node.is_missing() && !is_end())
}
