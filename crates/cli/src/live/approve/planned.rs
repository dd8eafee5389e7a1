//! Asks about a plan: it is approved as it is, changed in an editor, or refused.
//!
//! A changed text is shown, and asked about once more: who leaves an editor in whatever way has approved nothing by that.

use trunkline_runtime::resolve_queue::Verdict;
use trunkline_runtime::{PlanText, Said};

use crate::live::approve::keyboard::{Keyboard, Lines, opens_editor};
use crate::live::approve::said::says;
use crate::shown::plan::{shown, to_edit};
use crate::term::editor;
use crate::term::style::{CYAN, DIM, YELLOW, paint};
use crate::term::tell::tell;

/// Returns what a person says to a plan that was shown; `None` to decide later.
pub(super) async fn decide(proposed: &PlanText, lines: &mut Lines, keyboard: &Keyboard) -> Option<Said> {
    let asking = keyboard.ask();
    let mut changed: Option<PlanText> = None;
    // What was typed and is no plan yet.
    let mut unread: Option<String> = None;
    loop {
        let this = if changed.is_some() { " this text" } else { "" };
        let question = format!("[a]pprove{this} · [e]dit · [r]efuse, and why · [l]ater:");
        tell(&format!("{} ", paint(CYAN.bold(), &question)));
        let line = lines.recv().await?;
        if opens_editor(&line) {
            let text = unread.take().unwrap_or_else(|| to_edit(changed.as_ref().unwrap_or(proposed)));
            let edited = tokio::task::spawn_blocking(move || editor::change(&text)).await;
            asking.release();
            match edited {
                Ok(Ok(edited)) => {
                    edited.forget();
                    (changed, unread) = taken(&edited.text, proposed, changed);
                }
                Ok(Err(fault)) => tell(&paint(YELLOW, &format!("{}\n", fault.as_line()))),
                Err(_) => tell(&paint(YELLOW, "the editor could not be opened\n")),
            }
            continue;
        }
        let (word, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        match word.to_lowercase().as_str() {
            // Elsewhere that means a rule, and no rule approves a plan.
            _ if word == "A" => tell(&paint(DIM, "no rule approves a plan: type a for this one\n")),
            "a" | "approve" | "apply" | "y" | "yes" => {
                let said = says(Verdict::Approve, rest.trim());
                return Some(match changed {
                    Some(text) => said.as_edited(text),
                    None => said,
                });
            }
            "r" | "refuse" | "d" | "discard" | "n" | "no" => {
                return Some(says(Verdict::Discard, rest.trim()));
            }
            "l" | "later" => return None,
            _ => tell(&paint(DIM, "type a, e, r or l; for example: r leave the tests as they are\n")),
        }
    }
}

/// Takes what an editor has left: a plan that is shown, or a text that is none yet.
fn taken(text: &str, proposed: &PlanText, before: Option<PlanText>) -> (Option<PlanText>, Option<String>) {
    match PlanText::parse(text) {
        Ok(plan) if plan == *proposed => {
            tell(&paint(DIM, "it says what was proposed\n"));
            (None, None)
        }
        Ok(plan) => {
            tell(&format!("\n{}", shown(&plan, "    ")));
            (Some(plan), None)
        }
        Err(fault) => {
            tell(&paint(YELLOW, &format!("{fault}; e goes on with your text\n")));
            (before, Some(text.to_owned()))
        }
    }
}
