//! What is searched for, and what comes in its place.

use std::collections::BTreeMap;

use ast_grep_core::replacer::TemplateFix;
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_core::{AstGrep, Node, NodeMatch, Pattern};

use super::grammar::{Grammar, NotParsed, Parsed, Place, parse};
use super::watched::Watched;

/// Nobody writes a longer one, and everything is compared with it.
const PATTERN_BYTES: usize = 10_000;
/// As much as a file may have.
const REPLACEMENT_BYTES: usize = 100_000;
/// So far back the engine looks for how a line is indented (`MAX_LOOK_AHEAD`, ast-grep 0.51).
const INDENT_LOOKED_AT: usize = 512;

/// A pattern and its replacement.
pub(crate) struct Rewrite {
    pub(crate) grammar: &'static Grammar,
    /// What it may mean, each with a word that its matches have: what is a call in one place is a type in another.
    pub(crate) meanings: Vec<(Pattern, String)>,
    pub(crate) replacement: TemplateFix,
    /// The bytes of the replacement as it is written, and its line ends.
    written: (usize, usize),
    /// What it repeats: for each name how often, and by how many spaces its lines are indented in all of these places.
    repeats: BTreeMap<String, (usize, usize)>,
}

impl Rewrite {
    /// Reads both; what is wrong is told with its place.
    pub(crate) fn new(grammar: &'static Grammar, pattern: &str, replacement: &str) -> Result<Self, String> {
        let too_long = |name: &str, text: &str, limit: usize| match text.len() {
            bytes if bytes > limit => Err(format!("the {name} has {bytes} bytes; the limit is {limit}")),
            _ => Ok(()),
        };
        too_long("pattern", pattern, PATTERN_BYTES)?;
        too_long("replacement", replacement, REPLACEMENT_BYTES)?;
        if pattern.trim().is_empty() {
            return Err("the pattern is empty".to_owned());
        }
        let meanings = meanings(grammar, &grammar.with_sigils(pattern))?;
        if meanings.iter().any(|(_, word)| word.is_empty()) {
            return Err(
                "the pattern matches whatever there is; put a word or a sign of the code into it".to_owned()
            );
        }
        let known = known(pattern, &meanings);
        let mut repeats: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for (at, dollars, name) in variables(replacement) {
            let written = |dollars: usize, name: &str| format!("{}{name}", "$".repeat(dollars));
            if known.get(name) == Some(&(dollars == 3)) {
                let repeated = repeats.entry(name.to_owned()).or_default();
                *repeated = (repeated.0 + 1, repeated.1 + spaces_before(replacement, at));
                continue;
            }
            let listed: Vec<String> =
                known.iter().map(|(name, many)| written(if *many { 3 } else { 1 }, name)).collect();
            let listed = if listed.is_empty() { "none".to_owned() } else { listed.join(", ") };
            return Err(format!(
                "bad replacement at {}: {} is not in the pattern, which has {listed}",
                Place::of(replacement, at),
                written(dollars, name)
            ));
        }
        let written = (replacement.len(), line_ends(replacement));
        let replacement =
            TemplateFix::try_new(replacement, &Parsed(grammar)).map_err(|error| error.to_string())?;
        Ok(Rewrite { grammar, meanings, replacement, written, repeats })
    }

    /// Returns a bound of what comes in the place of a match, in bytes, without building it.
    pub(crate) fn most_bytes(&self, text: &str, found: &NodeMatch<'_, Watched>) -> usize {
        let (mut bytes, mut lines) = self.written;
        let env = found.get_env();
        for (name, (times, spaces)) in &self.repeats {
            let one = env.get_match(name).map(Node::range);
            let many = env.get_multiple_matches(name);
            let many =
                many.first().zip(many.last()).map(|(first, last)| first.range().start..last.range().end);
            for captured in one.into_iter().chain(many).filter_map(|range| text.get(range)) {
                let ends = line_ends(captured);
                bytes = bytes.saturating_add(captured.len().saturating_mul(*times));
                bytes = bytes.saturating_add(ends.saturating_mul(*spaces));
                lines = lines.saturating_add(ends.saturating_mul(*times));
            }
        }
        // Each line is indented as the match is, and gets the line end of the file.
        bytes.saturating_add(lines.saturating_mul(spaces_before(text, found.range().start) + 1))
    }

    /// Whether a text can have a match.
    pub(crate) fn may_match(&self, text: &str) -> bool {
        self.meanings.iter().any(|(_, word)| text.contains(word))
    }
}

fn line_ends(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Returns by how much the engine can take a line to be indented at a place, or more.
fn spaces_before(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(at.saturating_sub(INDENT_LOOKED_AT)..at).unwrap_or_default();
    before.iter().rev().take_while(|byte| **byte != b'\n').filter(|byte| **byte == b' ').count()
}

/// Builds patterns for all places of the language that one fits into.
fn meanings(grammar: &'static Grammar, pattern: &str) -> Result<Vec<(Pattern, String)>, String> {
    let (mut meanings, mut kinds) = (Vec::new(), Vec::new());
    let pattern = pattern.trim_end();
    let from = pattern.len() - pattern.trim_start().len();
    // The place is that of what was understood farthest.
    let mut wrong: Option<(usize, String)> = None;
    let mut note = |byte: usize, why: String| {
        let byte = byte.min(pattern.len());
        if wrong.as_ref().is_none_or(|(farthest, _)| byte > *farthest) {
            wrong = Some((byte, why));
        }
    };
    for (before, after) in grammar.around {
        let text = format!("{before}{pattern}{after}");
        let (start, end) = (before.len() + from, before.len() + pattern.len());
        let tree = match parse(grammar, &text, &|| false) {
            Ok(tree) => tree,
            Err(NotParsed::Syntax(_, byte)) => {
                note(
                    byte.saturating_sub(before.len()).max(from),
                    format!("it cannot be parsed as {}", grammar.name),
                );
                continue;
            }
            Err(why) => return Err(format!("bad pattern: it cannot be parsed {why}")),
        };
        let tree = AstGrep::doc(StrDoc { src: text, lang: Parsed(grammar), tree });
        let mut node = tree.root();
        // The innermost that has all of it.
        let has_all =
            |inner: &Node<'_, StrDoc<Parsed>>| inner.range().start <= start && inner.range().end >= end;
        loop {
            let inner = node.children().find(has_all);
            let Some(inner) = inner else { break };
            node = inner;
        }
        if node.range() == (start..end) {
            if !kinds.contains(&node.kind_id()) {
                kinds.push(node.kind_id());
                let built = Pattern::from(node);
                let word = built.fixed_string().into_owned();
                meanings.push((built, word));
            }
            continue;
        }
        let is_second = |child: &Node<'_, StrDoc<Parsed>>| child.is_named() && child.range().start > start;
        let second = node.children().find(is_second).map_or(end, |second| second.range().start);
        note(second.saturating_sub(before.len()), "a second expression starts here".to_owned());
    }
    if !meanings.is_empty() {
        return Ok(meanings);
    }
    let (byte, why) = wrong.unwrap_or((from, "there is nothing in it".to_owned()));
    let place = Place::of(pattern, byte);
    Err(format!("bad pattern at {place}: {why}; give one whole expression, statement or item"))
}

/// Returns the names that a match has, and whether each stands for any number of nodes.
fn known<'p>(pattern: &'p str, meanings: &[(Pattern, String)]) -> BTreeMap<&'p str, bool> {
    let is_defined = |name: &str| meanings.iter().all(|(built, _)| built.defined_vars().contains(name));
    let named = variables(pattern).into_iter().filter(|(_, _, name)| is_defined(name));
    named.map(|(_, dollars, name)| (name, dollars == 3)).collect()
}

/// Finds what is written like a name for nodes: where, with how many `$`, and the name.
fn variables(text: &str) -> Vec<(usize, usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = text.get(at..).and_then(|rest| rest.find('$')) {
        let from = at + next;
        let rest = text.get(from..).unwrap_or_default();
        let dollars = (rest.len() - rest.trim_start_matches('$').len()).min(3);
        let after = rest.get(dollars..).unwrap_or_default();
        let is_of = |character: char| {
            character.is_ascii_uppercase() || character.is_ascii_digit() || character == '_'
        };
        let name =
            after.get(..after.find(|character| !is_of(character)).unwrap_or(after.len())).unwrap_or_default();
        if name.starts_with(|first: char| first.is_ascii_uppercase() || first == '_') {
            found.push((from, dollars, name));
        }
        at = from + dollars + name.len();
    }
    found
}
