//! `ast_edit`: structural search and replace over many files, staged as one proposal.
//!
//! The engine is ast-grep's on tree-sitter's grammars. Pattern, replacement and files are hostile: their sizes, depths and
//! the time are bounded, since what recurses on a syntax tree would otherwise end the process, which no one can contain.

mod grammar;
mod pattern;
mod watched;

use std::rc::Rc;
use std::thread;
use std::time::Duration;

use ast_grep_core::matcher::MatcherExt;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline_agent_traits::message_tree::{Part, ToolSpec};
use trunkline_agent_traits::{Cancel, EffectClass, Effects, ToolOutput};

use self::grammar::{GRAMMARS, Grammar, NotParsed, Place, parse};
use self::pattern::Rewrite;
use self::watched::{Watch, Watched};
use crate::edit_files::admit_all;
use crate::line_ends::{Ends, MARK};
use crate::payload::{MAX_FILES, approved_place};
use crate::root::{Inside, Root};
use crate::stage::{Draft, admit_size, stage};
use crate::staging_tool::Editor;
use crate::{call, shown, walk};

const NAME: &str = "ast_edit";
/// More is not read by who approves it.
const MAX_MATCHES: usize = 1_000;
/// Larger files are generated; a tree takes some ten times the memory of its text.
const PARSED_BYTES: usize = 1_000_000;
const TIME: Duration = Duration::from_secs(20);
/// Enough for a tree of [`grammar::MAX_DEPTH`], with every call of a build without optimisation.
const STACK_BYTES: usize = 64 << 20;
/// So many files that could not be parsed are named.
const TOLD_FILES: usize = 5;

pub(crate) struct AstEdit;

#[derive(Deserialize)]
struct Arguments {
    language: String,
    pattern: String,
    replacement: String,
    path: Option<String>,
    glob: Option<String>,
}

/// What a search has come to.
#[derive(Default)]
struct Found {
    drafts: Vec<Draft>,
    matches: usize,
    searched: usize,
    /// The bytes of the old files, and of the new ones.
    bytes: (usize, usize),
    /// Files that could match and cannot be parsed, with the place.
    broken: Vec<String>,
    skipped: usize,
}

impl AstEdit {
    /// Whether this build has a language for it.
    pub(crate) fn speaks() -> bool {
        !GRAMMARS.is_empty()
    }
}

impl Editor for AstEdit {
    fn spec() -> ToolSpec {
        call::spec(
            NAME,
            "Proposes to replace every piece of code of one shape, in many files, as one change. `pattern` is code in which \
             `$NAME` stands for any one node and `$$$NAME` for any number of them, such as `old($A, $$$REST)`; white space \
             does not matter. `replacement` may use the same names. Code inside macros is not found. At most 1000 matches in \
             64 files. Nothing is written until the proposal is approved.",
            json!({
                // No `enum`: who names another one is told all that there are.
                "language": {"type": "string", "description": format!("one of {}", languages())},
                "pattern": {"type": "string", "description": "one whole expression, statement or item"},
                "replacement": {"type": "string", "description": "what comes in its place; empty to remove it"},
                "path": {"type": "string", "description": "the file or folder to search; the whole workspace if not given"},
                "glob": {"type": "string", "description": "only files such as `src/**/*.rs`"},
            }),
            &["language", "pattern", "replacement"],
        )
    }

    fn effects(arguments: &Map<String, Value>) -> Effects {
        let effects = Effects::new(EffectClass::Reversible);
        call::text(arguments, "path").into_iter().fold(effects, Effects::reading)
    }

    fn stage(root: &Root, arguments: Map<String, Value>, cancel: &Cancel) -> Result<ToolOutput, String> {
        let arguments: Arguments = call::arguments(arguments)?;
        let search = || search(root, &arguments, cancel);
        let found = thread::scope(|scope| {
            let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, search);
            let thread = thread.map_err(|error| format!("no thread can be started to search: {error}"))?;
            thread.join().unwrap_or_else(|_| {
                Err("the search engine crashed on these files; use edit_files instead".to_owned())
            })
        })?;
        let (remarks, matches) = (found.remarks(), found.matches);
        if found.drafts.is_empty() {
            let searched = shown::count(found.searched, "file");
            return Ok(ToolOutput::text(format!(
                "no matches: nothing is staged; {searched} searched\n{remarks}"
            )));
        }
        let mut output = stage(NAME, found.drafts)?;
        if let Some(Part::Text { text }) = output.content.first_mut() {
            // Where nothing is staged that is all that it says.
            let count = match output.proposals.is_empty() {
                true => "\n".to_owned(),
                false => format!("[{}]\n", shown::count(matches, "replacement")),
            };
            text.push_str(&format!("{count}{remarks}"));
        }
        for proposal in &mut output.proposals {
            if !remarks.is_empty() {
                proposal.preview.text = format!("{}\n{}", proposal.preview.text, remarks.trim_end());
            }
        }
        Ok(output)
    }
}

/// The languages that this build has.
fn languages() -> String {
    GRAMMARS.iter().map(|grammar| grammar.name).collect::<Vec<_>>().join(", ")
}

fn search(root: &Root, arguments: &Arguments, cancel: &Cancel) -> Result<Found, String> {
    let watch = Watch::new(TIME, cancel);
    let grammar = GRAMMARS.iter().find(|grammar| grammar.name == arguments.language);
    let grammar = grammar
        .ok_or_else(|| format!("there is no language {:?}; there are {}", arguments.language, languages()))?;
    let rewrite = Rewrite::new(grammar, &arguments.pattern, &arguments.replacement)?;
    let start = root.existing(arguments.path.as_deref().unwrap_or("."))?;
    let files = walk::files(root, &start, arguments.glob.as_deref(), cancel)?;
    let mut found = Found { skipped: files.unreadable, ..Found::default() };
    for inside in files.files.iter().filter(|file| grammar.is_of(file.as_str())) {
        let result = found.file(root, &rewrite, inside, &watch);
        if cancel.is_cancelled() {
            return Err("cancelled".to_owned());
        }
        if watch.is_over() {
            return Err(format!(
                "it takes longer than {} seconds; nothing is staged: narrow it with path or glob, or use fewer `$$$` in the pattern",
                TIME.as_secs()
            ));
        }
        result?;
    }
    match files.stopped {
        true => Err(format!("there are more than {} files; name a folder with path", walk::MAX_FILES)),
        false => Ok(found),
    }
}

impl Found {
    /// Searches one file, and notes what becomes of it.
    fn file(
        &mut self,
        root: &Root,
        rewrite: &Rewrite,
        inside: &Inside,
        watch: &Rc<Watch>,
    ) -> Result<(), String> {
        let name = shown::name(inside.as_str());
        let old = approved_place(root, inside.as_str()).and_then(|inside| Ok(root.read_text(&inside)?));
        let Ok(Some(old)) = old else {
            self.skipped += 1;
            return Ok(());
        };
        if old.len() > PARSED_BYTES {
            self.skipped += 1;
            return Ok(());
        }
        self.searched += 1;
        let body = old.strip_prefix(MARK).unwrap_or(&old);
        // Most files do not even have the words of the pattern.
        if !rewrite.may_match(body) {
            return Ok(());
        }
        let new = match replaced(rewrite, body, watch) {
            Ok(Some((body_of_new, matches))) => {
                self.matches += matches;
                let mark = if body.len() < old.len() { MARK.to_string() } else { String::new() };
                format!("{mark}{body_of_new}")
            }
            Ok(None) => return Ok(()),
            Err(Fault::NotParsed(why)) => {
                self.broken.push(format!("{name} {why}"));
                return Ok(());
            }
            Err(Fault::Refused(why)) => return Err(format!("{name}: {why}")),
        };
        if self.matches > MAX_MATCHES {
            return Err(format!(
                "there are more than {MAX_MATCHES} matches; narrow it with path or glob, and propose them in parts"
            ));
        }
        if self.drafts.len() == MAX_FILES {
            return Err(format!(
                "more than {MAX_FILES} files match; narrow it with path or glob, and propose them in parts"
            ));
        }
        self.bytes = (self.bytes.0.saturating_add(old.len()), self.bytes.1.saturating_add(new.len()));
        admit_all(self.bytes.0, "have").and_then(|()| admit_all(self.bytes.1, "would have"))?;
        self.drafts.push(Draft { inside: inside.clone(), old: Some(old), new, verb: "edit", folders: 0 });
        Ok(())
    }

    /// Returns what was left out, as lines in brackets.
    fn remarks(&self) -> String {
        let mut remarks = String::new();
        for file in self.broken.iter().take(TOLD_FILES) {
            remarks.push_str(&format!("[not changed, because it cannot be parsed: {file}]\n"));
        }
        if let Some(more @ 1..) = self.broken.len().checked_sub(TOLD_FILES) {
            remarks.push_str(&format!("[{} more could not be parsed]\n", shown::count(more, "file")));
        }
        if self.skipped > 0 {
            remarks.push_str(&format!(
                "[{} not searched: links, not text, or of more than {PARSED_BYTES} bytes]\n",
                shown::count(self.skipped, "file")
            ));
        }
        remarks
    }
}

/// Why a file is not changed although it may match.
enum Fault {
    NotParsed(NotParsed),
    Refused(String),
}

/// Returns a text with all matches replaced, and how many there are.
fn replaced(rewrite: &Rewrite, text: &str, watch: &Rc<Watch>) -> Result<Option<(String, usize)>, Fault> {
    let grammar: &'static Grammar = rewrite.grammar;
    let stop = || watch.is_over();
    let tree = parse(grammar, text, &stop).map_err(Fault::NotParsed)?;
    let tree = Watched::of(grammar, text, tree, watch);
    let ends = Ends::of(text);
    let (mut edits, mut bytes) = (Vec::new(), text.len());
    let root = tree.root();
    for pattern in rewrite.meanings.iter().filter(|(_, word)| text.contains(word)).map(|(pattern, _)| pattern)
    {
        for found in root.dfs().filter_map(|node| pattern.match_node(node)) {
            // Not afterwards: what a replacement repeats may be larger than all memory.
            bytes = bytes.saturating_add(rewrite.most_bytes(text, &found));
            admit_size(bytes).map_err(Fault::Refused)?;
            let edit = found.make_edit(pattern, &rewrite.replacement);
            let inserted = String::from_utf8(edit.inserted_text);
            let inserted =
                inserted.map_err(|_| Fault::Refused("a replacement would be no text".to_owned()))?;
            let to = edit.position + edit.deleted_length;
            edits.push((edit.position, to, ends.given_to(&inserted).into_owned()));
            if edits.len() > MAX_MATCHES || stop() {
                break;
            }
        }
    }
    edits.sort_by_key(|(from, to, _)| (*from, *to));
    edits.dedup();
    if edits.is_empty() {
        return Ok(None);
    }
    let (mut new, mut done, mut last) = (String::new(), 0, None);
    for (from, to, inserted) in &edits {
        let (Some(before), true) = (text.get(done..*from), text.is_char_boundary(*to)) else {
            let earlier = Place::of(text, last.unwrap_or(0));
            return Err(Fault::Refused(format!(
                "matches overlap, at {earlier} and at {}: narrow the pattern, or replace the inner ones first",
                Place::of(text, *from)
            )));
        };
        new.push_str(before);
        new.push_str(inserted);
        (done, last) = (*to, Some(*from));
    }
    new.push_str(text.get(done..).unwrap_or_default());
    match parse(grammar, &new, &stop) {
        Ok(_) => Ok(Some((new, edits.len()))),
        Err(NotParsed::Syntax(place, _)) => Err(Fault::Refused(format!(
            "with the replacement it could not be parsed any more, at {place}; look at the replacement, perhaps something around \
             it belongs into the pattern"
        ))),
        Err(why) => {
            Err(Fault::Refused(format!("with the replacement it could not be parsed any more {why}")))
        }
    }
}
