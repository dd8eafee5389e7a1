//! Says each repair in one line.

use std::fmt;

use trunkline_message_tree::Role;

use super::{BlockKind, QuoteCause, Repair, RepairKind, ThinkingLoss, ThinkingOffCause};

impl fmt::Display for Repair {
    /// Prints one line, without the place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            RepairKind::Rehomed { block, from, to } => {
                write!(f, "moved {block} to {}: not allowed in {}", role(*to), role(*from))
            }
            RepairKind::SystemToUser => {
                f.write_str("turned instructions into a user message: not at the head")
            }
            RepairKind::ThinkingDropped { blocks, why } => {
                write!(f, "dropped thinking ({blocks}): {}", why.because())
            }
            RepairKind::ThinkingQuoted { blocks } => {
                write!(f, "turned thinking ({blocks}) into text: written by another model")
            }
            RepairKind::ThinkingAdded => {
                f.write_str("added empty thinking: calls must have some beside them")
            }
            RepairKind::SignatureDropped { call_id } => {
                write!(f, "dropped signature of call {}: made by another model", Id(call_id))
            }
            RepairKind::SignatureAdded { call_id } => {
                write!(f, "added signature stub to call {}: none of this model", Id(call_id))
            }
            RepairKind::Reordered { results } => {
                write!(f, "put results ({results}) in the order of their calls")
            }
            RepairKind::CallsMovedBack { calls } => {
                write!(f, "moved calls ({calls}) behind the words of their message: results must follow them")
            }
            RepairKind::ResultFilled { call_id } => {
                write!(f, "filled result {}: an error must say something", Id(call_id))
            }
            RepairKind::ResultCut { call_id, bytes } => {
                write!(f, "cut {bytes} bytes out of result {}: larger than the context window", Id(call_id))
            }
            RepairKind::Flattened { call_id } => {
                write!(f, "turned call {} and its result into text: no tools are offered", Id(call_id))
            }
            RepairKind::Bridged => {
                f.write_str("added assistant message: the user must not speak right after results")
            }
            RepairKind::MediaReplaced { parts } => {
                write!(f, "replaced media ({parts}) by words: not taken on this wire")
            }
            RepairKind::ForeignDropped { block } => {
                write!(f, "dropped {block}: belongs to another provider or model")
            }
            RepairKind::BrokenDropped { block } => write!(f, "dropped {block}: incomplete"),
            RepairKind::FieldDropped { holder, field, .. } => {
                write!(f, "left out the field {} of {holder}: not known to this service", Id(field))
            }
            RepairKind::BlankDropped => f.write_str("dropped text: blank"),
            RepairKind::BlankPartsDropped { call_id } => {
                write!(f, "dropped text of result {}: blank", Id(call_id))
            }
            RepairKind::ReplayDropped { call_id } => write!(f, "dropped call {}: said twice", Id(call_id)),
            RepairKind::Renamed { from, to, taken } => {
                let why = if *taken { "id taken" } else { "id not accepted" };
                write!(f, "renamed call {} to {}: {why}", Id(from), Id(to))
            }
            RepairKind::NameReplaced { call_id, from, to } => {
                write!(
                    f,
                    "replaced the name {from:?} of call {} by {}: name not accepted",
                    Id(call_id),
                    Id(to)
                )
            }
            RepairKind::ArgumentsReplaced { call_id, .. } => {
                write!(f, "replaced arguments of call {}: not an object", Id(call_id))
            }
            RepairKind::Answered { call_id, .. } => write!(f, "answered call {}: no result", Id(call_id)),
            RepairKind::Moved { call_id } => write!(f, "moved result {}: not next to its call", Id(call_id)),
            RepairKind::Split { results } => write!(f, "split results ({results}) off a user message"),
            RepairKind::Merged { call_id } => write!(f, "merged result {}: second result", Id(call_id)),
            RepairKind::DuplicateDropped { call_id } => {
                write!(f, "dropped result {}: same as the first", Id(call_id))
            }
            RepairKind::Quoted { call_id, why } => {
                write!(f, "quoted result {}: {}", Id(call_id), why.because())
            }
            RepairKind::ResultDropped { call_id, why } => {
                write!(f, "dropped result {}: empty, and {}", Id(call_id), why.because())
            }
            RepairKind::MediaMoved { call_id, parts } => {
                write!(f, "moved media ({parts}) of result {}: only allowed in a user message", Id(call_id))
            }
            RepairKind::EmptyDropped { role: of } => write!(f, "dropped {} message: empty", role(*of)),
            RepairKind::EmptyStubbed => f.write_str("filled user message: empty"),
            RepairKind::Joined { role: of } => write!(f, "joined {} message to the one before", role(*of)),
            RepairKind::HeadAdded => f.write_str("added user message: the list must begin with one"),
            RepairKind::TailAdded => {
                f.write_str("added user message: the list must not end with the assistant")
            }
            RepairKind::Trimmed => f.write_str("trimmed the last message: ends in white space"),
            RepairKind::ThinkingOff { why: ThinkingOffCause::Lost } => {
                f.write_str("thinking off for this request: the tool loop has lost its reasoning")
            }
            RepairKind::ThinkingOff { why: ThinkingOffCause::ChoiceForced } => {
                f.write_str("thinking off for this request: a tool choice is forced")
            }
        }
    }
}

impl ThinkingLoss {
    fn because(self) -> &'static str {
        match self {
            ThinkingLoss::Foreign => "written by another model",
            ThinkingLoss::Unsigned => "not signed",
            ThinkingLoss::NotOnWire => "not on this wire",
            ThinkingLoss::Misplaced => "not in an assistant message",
            ThinkingLoss::Final => "last message while thinking is off",
            ThinkingLoss::NoFollower => "nothing follows it",
            ThinkingLoss::Parted => "a block between had to go",
            ThinkingLoss::PrefixChanged => "what stands before it has changed",
            ThinkingLoss::LoopOver => "its tool loop is over",
        }
    }
}

impl QuoteCause {
    fn because(self) -> &'static str {
        match self {
            QuoteCause::NoCall => "no call before it",
            QuoteCause::Late => "later than the next answer",
        }
    }
}

impl fmt::Display for BlockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BlockKind::Text => "text",
            BlockKind::Thinking => "thinking",
            BlockKind::Image => "image",
            BlockKind::Document => "document",
            BlockKind::Call => "call",
            BlockKind::Result => "result",
            BlockKind::ServerCall => "server call",
            BlockKind::ServerResult => "server result",
            BlockKind::Opaque => "opaque block",
        })
    }
}

/// An id as it stands; quoted where a bare one would be lost in the line.
struct Id<'a>(&'a str);

impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = !self.0.is_empty() && self.0.bytes().all(|byte| byte.is_ascii_graphic());
        if bare { f.write_str(self.0) } else { write!(f, "{:?}", self.0) }
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}
