//! Asks the person at the terminal.
//!
//! Lines are read by a thread of their own: a read from a terminal cannot be taken back, so whoever waits for an answer
//! must be able to go away from it. What was typed before the question is not an answer to it.

mod always;
mod keyboard;
mod planned;
mod said;

use std::io::{BufRead, IsTerminal};
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::{Mutex, mpsc};
use trunkline_runtime::resolve_queue::{Entry, Verdict};
use trunkline_runtime::{CloseRequest, Decider, PlanRecord, Said};

use self::keyboard::{Keyboard, Lines};
use self::said::says;
use crate::shown::edited::Words;
use crate::shown::parts::{chosen, is_divisible, left_out, numbered, parts};
use crate::shown::proposal::preview;
use crate::shown::rule;
use crate::term::style::{CYAN, DIM, paint};
use crate::term::tell::tell;

/// How many lines are shown unasked.
const SHOWN_LINES: usize = 40;

/// A person at a terminal.
///
/// Nothing is read before the first question: a command that asks nothing leaves to the shell what is typed ahead for it, and is
/// not stopped where it runs in the background.
pub(crate) struct AtTerminal {
    /// `None` before the first question.
    lines: Mutex<Option<Lines>>,
    keyboard: Arc<Keyboard>,
}

impl AtTerminal {
    /// Returns the person, if there is one to ask: stdin and stderr are a terminal.
    pub(crate) fn find() -> Option<Self> {
        if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
            return None;
        }
        Some(AtTerminal { lines: Mutex::new(None), keyboard: Arc::new(Keyboard::default()) })
    }
}

/// Begins to read lines, without what was typed before there was a question. `None` if there can be no thread for it.
fn read_lines(keyboard: &Arc<Keyboard>) -> Option<Lines> {
    let (send, lines) = mpsc::unbounded_channel();
    let keyboard = Arc::clone(keyboard);
    #[cfg(unix)]
    let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
    let read = move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            keyboard.note(&line);
            if send.send(line).is_err() {
                return;
            }
            keyboard.wait();
        }
    };
    std::thread::Builder::new().name("answers".to_owned()).spawn(read).ok()?;
    Some(lines)
}

#[async_trait]
impl Decider for AtTerminal {
    async fn decide(&self, proposal: &Entry<Value>) -> Option<Said> {
        let mut lines = self.lines.lock().await;
        if lines.is_none() {
            *lines = read_lines(&self.keyboard);
        }
        let lines = lines.as_mut()?;
        while lines.try_recv().is_ok() {}
        // All of a plan is shown: what is approved is what was read.
        if let Some(plan) = PlanRecord::of_proposal(&proposal.proposal) {
            tell(&format!("\n{}", preview(proposal, usize::MAX).0));
            return planned::decide(&plan.text(), lines, &self.keyboard).await;
        }
        if let Some(request) = CloseRequest::of_proposal(&proposal.proposal) {
            tell(&format!("\n{}", preview(proposal, usize::MAX).0));
            let words = Words(request.close.words().to_owned());
            return planned::decide(&words, lines, &self.keyboard).await;
        }
        let (shown, more) = preview(proposal, SHOWN_LINES);
        tell(&format!("\n{shown}"));
        let question = question(proposal, more);
        loop {
            tell(&format!("{} ", paint(CYAN.bold(), &question)));
            let line = lines.recv().await?;
            let (word, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
            // The one letter of which the large form means something else.
            if word == "A" || word.eq_ignore_ascii_case("always") {
                match always(proposal, rest, lines).await? {
                    Some(said) => return Some(said),
                    None => continue,
                }
            }
            match word.to_lowercase().as_str() {
                "a" | "apply" | "y" | "yes" => return Some(says(Verdict::Approve, "")),
                "d" | "discard" | "n" | "no" => return Some(says(Verdict::Discard, rest.trim())),
                "f" | "files" if is_divisible(proposal) => {
                    if let Some(said) = files(proposal, rest, lines).await? {
                        return Some(said);
                    }
                }
                "l" | "later" => return None,
                "s" | "show" => tell(&format!("\n{}", preview(proposal, usize::MAX).0)),
                _ => {
                    let files = if is_divisible(proposal) { ", f" } else { "" };
                    let show = if more > 0 { ", s" } else { "" };
                    let keys =
                        format!("type a, d{files}, A{show} or l; for example: d the file is generated\n");
                    tell(&paint(DIM, &keys));
                }
            }
        }
    }
}

fn question(proposal: &Entry<Value>, more: usize) -> String {
    let mut question = "[a]pply · [d]iscard, and why".to_owned();
    if is_divisible(proposal) {
        question.push_str(" · [f]iles, some of them");
    }
    question.push_str(" · [A]lways … · [l]ater");
    if more > 0 {
        question.push_str(&format!(" · [s]how {more} more lines"));
    }
    question + ":"
}

/// Lets a person choose among the files. `None` outside if the terminal went away, inside if they chose nothing.
async fn files(proposal: &Entry<Value>, typed: &str, lines: &mut Lines) -> Option<Option<Said>> {
    let parts = parts(proposal);
    let mut typed = typed.trim().to_owned();
    if typed.is_empty() {
        tell(&numbered(&parts, "  "));
        tell(&format!(
            "{} ",
            paint(CYAN.bold(), "which of them? the others are discarded; Enter for none yet:")
        ));
        typed = lines.recv().await?.trim().to_owned();
    }
    let named: Vec<&str> = typed
        .split(|sign: char| sign == ',' || sign.is_whitespace())
        .filter(|name| !name.is_empty())
        .collect();
    if named.is_empty() {
        return Some(None);
    }
    match chosen(&parts, named) {
        Ok((taken, left)) if left.is_empty() => Some((!taken.is_empty()).then(|| says(Verdict::Approve, ""))),
        Ok((taken, left)) => {
            tell(&left_out(&left));
            Some(Some(says(Verdict::Approve, "").only(taken)))
        }
        Err(fault) => {
            tell(&paint(DIM, &format!("{}\n", fault.as_line())));
            Some(None)
        }
    }
}

/// Lets a person give a rule with their answer. `None` as in [`files`].
async fn always(proposal: &Entry<Value>, typed: &str, lines: &mut Lines) -> Option<Option<Said>> {
    let offers = always::offers(proposal);
    let mut typed = typed.trim().to_owned();
    if typed.parse::<usize>().is_err() {
        for (number, rule) in (1..).zip(&offers) {
            tell(&format!("  {number}  {}\n", rule::told(rule)));
        }
        tell(&format!("{} ", paint(CYAN.bold(), "which rule? it counts from now on; Enter for none:")));
        typed = lines.recv().await?.trim().to_owned();
    }
    let picked =
        typed.parse::<usize>().ok().and_then(|number| offers.into_iter().nth(number.checked_sub(1)?));
    let Some(rule) = picked else {
        tell(&paint(DIM, "no rule was given\n"));
        return Some(None);
    };
    tell(&paint(DIM, &format!("rule: {}; `trunkline rules` lists it\n", rule::told(&rule))));
    Some(Some(says(Verdict::Approve, "").giving(rule)))
}
