//! `search_text`: lines that match a regular expression.
//!
//! The expression comes from a model that reads hostile text, so its compiled size is limited; matching is linear in
//! the text by construction of the `regex` crate.

use std::sync::Arc;

use async_trait::async_trait;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline_agent_traits::message_tree::ToolSpec;
use trunkline_agent_traits::{Access, Cancel, EffectClass, Effects, Tool, ToolContext, ToolOutput};

use crate::root::Root;
use crate::{call, shown, walk};

const MAX_LINES: usize = 500;
const MAX_BYTES: usize = 60_000;
const LINE_CHARACTERS: usize = 300;
const COMPILED_BYTES: usize = 1 << 20;

pub(crate) struct SearchText {
    pub(crate) root: Arc<Root>,
}

#[derive(Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
}

#[async_trait]
impl Tool for SearchText {
    fn spec(&self) -> ToolSpec {
        call::spec(
            "search_text",
            "Searches the text files of the workspace line by line and returns `path:line: text`, sorted by path, at \
             most 500 lines. Files that git ignores are left out.",
            json!({
                "pattern": {
                    "type": "string",
                    "description": "a regular expression in Rust's syntax; `(?i)` in front ignores case",
                },
                "path": {"type": "string", "description": "the file or folder to search; the whole workspace if not given"},
                "glob": {"type": "string", "description": "only files such as `*.rs` or `src/**/*.rs`"},
            }),
            &["pattern"],
        )
    }

    fn access(&self) -> Access {
        Access::ReadOnly
    }

    fn effects(&self, arguments: &Map<String, Value>) -> Effects {
        let effects = Effects::new(EffectClass::Pure);
        call::text(arguments, "path").into_iter().fold(effects, Effects::reading)
    }

    async fn run(&self, arguments: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        let (root, cancel) = (Arc::clone(&self.root), context.cancel.clone());
        call::blocking(move || search(&root, &call::arguments(arguments)?, &cancel).map(ToolOutput::text))
            .await
    }
}

fn search(root: &Root, arguments: &Arguments, cancel: &Cancel) -> Result<String, String> {
    let regex = RegexBuilder::new(&arguments.pattern)
        .size_limit(COMPILED_BYTES)
        .dfa_size_limit(COMPILED_BYTES)
        .build()
        .map_err(|error| format!("bad pattern: {error}"))?;
    let start = root.existing(arguments.path.as_deref().unwrap_or("."))?;
    let found = walk::files(root, &start, arguments.glob.as_deref(), cancel)?;
    let mut hits = Hits::default();
    for file in &found.files {
        if cancel.is_cancelled() {
            return Err("cancelled".to_owned());
        }
        match root.read(file) {
            Ok(Some(read)) if is_text(&read.bytes) => {
                hits.collect(&regex, file.as_str(), &read.bytes);
            }
            _ => hits.skipped += 1,
        }
        if hits.full {
            break;
        }
    }
    Ok(hits.print() + &found.remarks())
}

#[derive(Default)]
struct Hits {
    text: String,
    lines: usize,
    full: bool,
    skipped: usize,
    /// Bytes in the lines that are shown.
    not_utf8: usize,
}

impl Hits {
    fn collect(&mut self, regex: &Regex, path: &str, bytes: &[u8]) {
        let path = shown::name(path);
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        for (number, line) in (1_u64..).zip(lines(bytes)) {
            let text = String::from_utf8_lossy(line);
            if !regex.is_match(&text) {
                continue;
            }
            if self.lines == MAX_LINES || self.text.len() > MAX_BYTES {
                self.full = true;
                return;
            }
            self.lines += 1;
            self.not_utf8 += shown::not_utf8(line);
            self.text.push_str(&format!("{path}:{number}: {}\n", shown::cut(&text, LINE_CHARACTERS)));
        }
    }

    fn print(self) -> String {
        let mut text = self.text;
        if self.lines == 0 {
            text.push_str("[no matches]\n");
        }
        if self.full {
            text.push_str("[more matches are not shown; narrow the pattern, `path` or `glob`]\n");
        }
        match self.not_utf8 {
            0 => {}
            1 => text.push_str("[1 byte that is no UTF-8 is shown as U+FFFD]\n"),
            bytes => text.push_str(&format!("[{bytes} bytes that are no UTF-8 are shown as U+FFFD]\n")),
        }
        if self.skipped > 0 {
            text.push_str(&format!(
                "[{} files were not searched: links, binary or too large]\n",
                self.skipped
            ));
        }
        text
    }
}

/// The lines of a file, without their ends.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.map(|line| match line.strip_suffix(b"\n") {
        Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
        None => line,
    })
}

/// As git decides it: a zero byte near the start means binary.
fn is_text(bytes: &[u8]) -> bool {
    !bytes.iter().take(8_000).any(|byte| *byte == 0)
}
