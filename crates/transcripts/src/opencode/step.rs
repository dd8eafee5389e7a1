//! The parts of an answer by the requests of the model that gave them.
//!
//! Older versions keep all requests of a turn in one message; newer ones begin a message with each.

use trunkline_message_tree::{Content, StopReason, Timestamp, ToolResult, Usage};

use super::part::{By, Said, said};
use super::word::stop;
use crate::json::{Fields, range_in};
use crate::source::Piece;

/// A part that was read.
pub(super) struct Piecemeal<'a> {
    /// Its id.
    pub(super) id: String,
    /// Its type.
    pub(super) kind: String,
    /// Its record.
    pub(super) record: usize,
    /// Its bytes.
    pub(super) raw: &'a str,
    /// When it began.
    pub(super) at: Option<Timestamp>,
    /// What it says.
    pub(super) said: Said,
}

/// What one request of the model gave, or a whole prompt.
#[derive(Default)]
pub(super) struct Step {
    /// What it says.
    pub(super) blocks: Vec<Content>,
    /// Where each block stands.
    pub(super) pieces: Vec<Piece>,
    /// The records of its parts.
    pub(super) records: Vec<usize>,
    /// What became of its calls, with their records and when they began.
    pub(super) results: Vec<(ToolResult, usize, Option<Timestamp>)>,
    /// When it began.
    pub(super) at: Option<Timestamp>,
    /// What it cost.
    pub(super) usage: Option<Usage>,
    /// Why it ended, if it says that it did.
    pub(super) finish: Option<Option<StopReason>>,
    /// Whether a person typed some of it.
    pub(super) typed: bool,
    /// Whether the client put in some of it.
    pub(super) put_in: bool,
}

impl Step {
    /// Adds a part.
    pub(super) fn take(&mut self, text: &str, part: Piecemeal<'_>) {
        self.records.push(part.record);
        self.at = self.at.or(part.at);
        let piece = Piece { record: part.record, range: range_in(text, part.raw) };
        match part.said {
            Said::Block(block, by) => {
                self.typed |= by == By::Person;
                self.put_in |= by == By::Client;
                self.blocks.push(block);
                self.pieces.push(piece);
            }
            Said::Call(call, result) => {
                self.results.extend(result.map(|result| (result, part.record, part.at)));
                self.blocks.push(Content::ToolCall(call));
                self.pieces.push(piece);
            }
            Said::StepFinish { reason, usage } => {
                self.finish = Some(reason.and_then(|word| stop(&word)));
                self.usage = usage.or(self.usage);
            }
            Said::StepStart | Said::Nothing => {}
        }
    }
}

/// Cuts the parts of an answer where a request begins; each piece has the place of its first part.
pub(super) fn steps(text: &str, parts: Vec<Piecemeal<'_>>) -> Vec<(usize, Step)> {
    let mut steps: Vec<(usize, Step)> = Vec::new();
    for (place, part) in parts.into_iter().enumerate() {
        let says = matches!(part.said, Said::Block(..) | Said::Call(..));
        let begins = |step: &Step| {
            matches!(part.said, Said::StepStart) && (!step.blocks.is_empty() || step.finish.is_some())
                || says && step.finish.is_some()
        };
        if steps.last().is_none_or(|(_, step)| begins(step)) {
            steps.push((place, Step::default()));
        }
        if let Some((_, step)) = steps.last_mut() {
            step.take(text, part);
        }
    }
    steps
}

/// Reads parts a second time, for what stands on two ways.
pub(super) fn parts_again<'a>(parts: &[Piecemeal<'a>], of_user: bool) -> Vec<Piecemeal<'a>> {
    let again = |part: &Piecemeal<'a>| {
        let fields = Fields::parse(part.raw).ok()?;
        let said = said(of_user, &part.kind, &fields).ok()?;
        Some(Piecemeal { id: part.id.clone(), kind: part.kind.clone(), said, ..*part })
    };
    parts.iter().filter_map(again).collect()
}
