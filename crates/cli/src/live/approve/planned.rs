//! Asks about a plan, or about a model's request to end its run: it is approved as it is, changed in an editor, or refused.
//!
//! A changed text is shown, and asked about once more: who leaves an editor in whatever way has approved nothing by that.

use trunkline_runtime::Said;
use trunkline_runtime::resolve_queue::Verdict;

use crate::live::approve::keyboard::{Keyboard, Lines, opens_editor};
use crate::live::approve::said::says;
use crate::shown::edited::Edited;
use crate::term::editor;
use crate::term::style::{CYAN, DIM, YELLOW, paint};
use crate::term::tell::tell;

/// Returns what a person says to a text that was shown; `None` to decide later.
pub(super) async fn decide<T: Edited>(proposed: &T, lines: &mut Lines, keyboard: &Keyboard) -> Option<Said> {
    let asking = keyboard.ask();
    let mut changed: Option<T> = None;
    // What was typed and cannot be read yet.
    let mut unread: Option<String> = None;
    loop {
        let this = if changed.is_some() { " this text" } else { "" };
        let question = format!("[a]pprove{this} · [e]dit · [r]efuse, and why · [l]ater:");
        tell(&format!("{} ", paint(CYAN.bold(), &question)));
        let line = lines.recv().await?;
        if opens_editor(&line) {
            let text = unread.take().unwrap_or_else(|| changed.as_ref().unwrap_or(proposed).form());
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
            // Elsewhere that means a rule.
            _ if word == "A" => tell(&paint(DIM, T::RULE)),
            "a" | "approve" | "apply" | "y" | "yes" => {
                let said = says(Verdict::Approve, rest.trim());
                return Some(match changed {
                    Some(text) => text.approve(said),
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

/// Takes what an editor has left: it is shown, or kept where it cannot be read yet.
fn taken<T: Edited>(text: &str, proposed: &T, before: Option<T>) -> (Option<T>, Option<String>) {
    match T::read(text) {
        Ok(plan) if plan == *proposed => {
            tell(&paint(DIM, "it says what was proposed\n"));
            (None, None)
        }
        Ok(plan) => {
            tell(&format!("\n{}", plan.shown("    ")));
            (Some(plan), None)
        }
        Err(fault) => {
            tell(&paint(YELLOW, &format!("{fault}; e goes on with your text\n")));
            (before, Some(text.to_owned()))
        }
    }
}
