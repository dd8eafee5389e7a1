//! Asks the person at the terminal.
//!
//! Lines are read by a thread of their own: a read from a terminal cannot be taken back, so whoever waits for an answer
//! must be able to go away from it. What was typed before the question is not an answer to it.

use std::io::{BufRead, IsTerminal};

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::{Mutex, mpsc};
use trunkline_runtime::resolve_queue::{Entry, Verdict};
use trunkline_runtime::{Decider, Said};

use crate::paint::{self, BOLD, CYAN, DIM, YELLOW, paint, tell};
use crate::text::{first_lines, one_line, safe};

/// How many lines are shown unasked.
const SHOWN_LINES: usize = 40;

/// A person at a terminal.
pub(crate) struct AtTerminal {
    lines: Mutex<mpsc::UnboundedReceiver<String>>,
}

impl AtTerminal {
    /// Returns the person, if there is one to ask: stdin and stderr are a terminal.
    pub(crate) fn find() -> Option<Self> {
        if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
            return None;
        }
        let (send, lines) = mpsc::unbounded_channel();
        let read = move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("answers".to_owned()).spawn(read).ok()?;
        Some(AtTerminal { lines: Mutex::new(lines) })
    }
}

#[async_trait]
impl Decider for AtTerminal {
    async fn decide(&self, proposal: &Entry<Value>) -> Option<Said> {
        let mut lines = self.lines.lock().await;
        while lines.try_recv().is_ok() {}
        let (shown, more) = preview(proposal, SHOWN_LINES);
        tell(&format!("\n{shown}"));
        loop {
            let all = if more > 0 { format!(" · [s]how {more} more lines") } else { String::new() };
            tell(&format!(
                "{} ",
                paint(CYAN.bold(), &format!("[a]pply · [d]iscard, and why · [l]ater{all}:"))
            ));
            let line = lines.recv().await?;
            let (word, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
            match word.to_lowercase().as_str() {
                "a" | "apply" | "y" | "yes" => return Some(Said::new(Verdict::Approve, "")),
                "d" | "discard" | "n" | "no" => return Some(Said::new(Verdict::Discard, rest.trim())),
                "l" | "later" => return None,
                "s" | "show" => tell(&format!("\n{}", preview(proposal, usize::MAX).0)),
                _ => tell(&paint(DIM, "type a, d or l; for example: d the file is generated\n")),
            }
        }
    }
}

/// Returns a proposal as a person needs it to decide, and how many lines of it are missing.
pub(crate) fn preview(entry: &Entry<Value>, limit: usize) -> (String, usize) {
    let proposal = &entry.proposal;
    let mut shown = format!(
        "{} {} {}\n",
        paint(YELLOW, "±"),
        paint(BOLD, &entry.id.to_string()),
        paint(BOLD, &one_line(&proposal.label, 200))
    );
    let mut missing = 0;
    match &proposal.preview.diff {
        Some(diff) => {
            let (diff, more) = paint::diff(diff, "    ", limit);
            shown.push_str(&diff);
            missing = more;
        }
        None => {
            let (lines, more) = first_lines(&proposal.preview.text, limit);
            for line in lines {
                shown.push_str(&format!("    {}\n", safe(line)));
            }
            missing += more;
        }
    }
    if missing > 0 {
        shown.push_str(&paint(DIM, &format!("    … {missing} more lines\n")));
    }
    (shown, missing)
}
