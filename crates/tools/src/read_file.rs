//! `read_file`: a part of a text file, with line numbers.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline_agent_traits::message_tree::ToolSpec;
use trunkline_agent_traits::{Access, EffectClass, Effects, Tool, ToolContext, ToolOutput};

use crate::line_ends::{Ends, MARK};
use crate::root::{PathError, Root};
use crate::{call, shown};

const DEFAULT_LINES: usize = 2_000;
const LINE_CHARACTERS: usize = 2_000;
/// About a quarter as many tokens: a page that any model can take.
const PAGE_BYTES: usize = 100_000;

pub(crate) struct ReadFile {
    pub(crate) root: Arc<Root>,
}

#[derive(Deserialize)]
struct Arguments {
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        call::spec(
            "read_file",
            "Reads a text file of the workspace. Each line comes with its number and a tab before it, as in \
             `   12\tlet x = 1;`; neither is part of the file. Long files come in pages: go on with `offset`.",
            json!({
                "path": {"type": "string", "description": "the file, relative to the workspace"},
                "offset": {"type": "integer", "minimum": 1, "description": "the first line to read, from 1"},
                "limit": {"type": "integer", "minimum": 1, "description": "how many lines to read; 2000 if not given"},
            }),
            &["path"],
        )
    }

    fn access(&self) -> Access {
        Access::ReadOnly
    }

    fn effects(&self, arguments: &Map<String, Value>) -> Effects {
        let effects = Effects::new(EffectClass::Pure);
        call::text(arguments, "path").into_iter().fold(effects, Effects::reading)
    }

    async fn run(&self, arguments: Map<String, Value>, _context: &ToolContext) -> ToolOutput {
        let root = Arc::clone(&self.root);
        call::blocking(move || read(&root, &call::arguments(arguments)?).map(ToolOutput::text)).await
    }
}

fn read(root: &Root, arguments: &Arguments) -> Result<String, String> {
    let inside = root.existing(&arguments.path)?;
    let text = root
        .read_text(&inside)
        .and_then(|text| text.ok_or_else(|| PathError::Missing { path: arguments.path.clone() }))?;
    page(&text, arguments.offset.unwrap_or(1).max(1), arguments.limit.unwrap_or(DEFAULT_LINES).max(1))
}

fn page(text: &str, offset: usize, limit: usize) -> Result<String, String> {
    let (text, marked) = match text.strip_prefix(MARK) {
        Some(text) => (text, true),
        None => (text, false),
    };
    let lines = text.lines().count();
    if lines == 0 {
        let but = if marked { " but for a byte-order mark" } else { "" };
        return Ok(format!("[the file is empty{but}]"));
    }
    if offset > lines {
        return Err(format!("offset {offset} is behind the end: the file has {lines} lines"));
    }
    let mut page = String::new();
    let mut next = offset;
    for line in text.lines().skip(offset - 1).take(limit) {
        let numbered = format!("{next:>5}\t{}\n", shown::cut(line, LINE_CHARACTERS));
        if !page.is_empty() && page.len() + numbered.len() > PAGE_BYTES {
            break;
        }
        page.push_str(&numbered);
        next += 1;
    }
    if next <= lines {
        page.push_str(&format!("[lines {offset} to {} of {lines}; go on with offset {next}]\n", next - 1));
    }
    match Ends::of(text) {
        Ends::CrLf => page.push_str("[lines end with \\r\\n]\n"),
        Ends::Mixed => page.push_str("[some lines end with \\r\\n]\n"),
        Ends::None | Ends::Lf => {}
    }
    if marked {
        page.push_str("[the file begins with a byte-order mark, which stays when it is edited]\n");
    }
    let zeros = text.matches('\0').count();
    if zeros > 0 {
        page.push_str(&format!("[{} in the file]\n", shown::count(zeros, "NUL byte")));
    }
    Ok(page)
}
