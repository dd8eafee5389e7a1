//! The account of what was changed, and why.
//!
//! A repair says what it did in one line, which row of the catalogue made it necessary, and whether anything was lost
//! that the model could have used.

mod lines;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::Role;

use crate::{Fate, FieldHolder, Place, fields};

/// One change to a message list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Repair {
    /// Where, in the list that was given.
    pub at: Place,
    /// What was done.
    #[serde(flatten)]
    pub kind: RepairKind,
}

/// What was done, and why.
///
/// A call is named by the id under which it was given, but by the one it goes by now where a repair comes after the renaming:
/// signatures, results that are filled, cut, or lose pictures, and calls that become text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "repair", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RepairKind {
    /// A block stood in a message of a role that cannot hold it, and got one that can.
    Rehomed {
        /// The block.
        block: BlockKind,
        /// The role it stood in.
        from: Role,
        /// The role it stands in now.
        to: Role,
    },
    /// Instructions in the middle of the list became a message of the harness.
    SystemToUser,
    /// Reasoning was left out.
    ThinkingDropped {
        /// How many blocks. Where reasoning is signed, all of a message go or none.
        blocks: usize,
        /// Why.
        why: ThinkingLoss,
    },
    /// Reasoning of another model became quoted text, as [`RequestFacts::foreign_reasoning`] asks for.
    ///
    /// [`RequestFacts::foreign_reasoning`]: crate::RequestFacts::foreign_reasoning
    ThinkingQuoted {
        /// How many blocks became text; for encrypted ones beside them there is a repair of its own.
        blocks: usize,
    },
    /// Empty reasoning was put before calls, because the wire wants to see some.
    ThinkingAdded,
    /// A call lost a signature that another model made.
    SignatureDropped {
        /// The call.
        call_id: String,
    },
    /// A call got the value that stands for a lost signature, [`SIGNATURE_STUB`](crate::SIGNATURE_STUB).
    SignatureAdded {
        /// The call.
        call_id: String,
    },
    /// A block that only its own provider or model understands was left out.
    ForeignDropped {
        /// The block.
        block: BlockKind,
    },
    /// A provider's own call or result was left out, because its other half is not there or it is not JSON.
    BrokenDropped {
        /// The block.
        block: BlockKind,
    },
    /// A field has to be left out that the service refuses because it does not know it. The messages are as they were.
    FieldDropped {
        /// What it stands in.
        holder: FieldHolder,
        /// Its name.
        field: String,
        /// Whether it said something.
        says_something: bool,
    },
    /// An empty text was left out.
    BlankDropped,
    /// Empty texts in a result were left out.
    BlankPartsDropped {
        /// The call that the result answers.
        call_id: String,
    },
    /// The same call stood twice in one message; one was left out.
    ReplayDropped {
        /// The call.
        call_id: String,
    },
    /// A call got another id, and so did its result.
    Renamed {
        /// The id it had.
        from: String,
        /// The id it has now.
        to: String,
        /// Whether the old id was taken; otherwise the wire refuses how it looks.
        taken: bool,
    },
    /// A call got another name in place of one that the wire refuses. It stands in this request only: what the model wrote
    /// is what rules, approval and execution see.
    NameReplaced {
        /// The call.
        call_id: String,
        /// The name that the model wrote.
        from: String,
        /// The name that is sent: that of no offered tool, and of no other name that was replaced.
        to: String,
    },
    /// Arguments that are not an object became `{}`. What was written stands in the call's result, unless it was an
    /// empty value.
    ArgumentsReplaced {
        /// The call.
        call_id: String,
        /// What the model wrote.
        raw: String,
    },
    /// A call without a result got one that says what is known.
    Answered {
        /// The call, by the id that it has in the list that was given.
        call_id: String,
        /// What is known.
        fate: Fate,
        /// The text of the result. Store it and give it back as [`CallFact::said`](crate::CallFact::said).
        said: String,
    },
    /// A result was moved up to its call.
    Moved {
        /// The call.
        call_id: String,
    },
    /// Results were taken out of a user message into tool messages.
    Split {
        /// How many.
        results: usize,
    },
    /// A further result of one call was added to the first.
    Merged {
        /// The call.
        call_id: String,
    },
    /// A further result of one call said the same as the first and was left out.
    DuplicateDropped {
        /// The call.
        call_id: String,
    },
    /// A result that has no open call stands as quoted text where it arrived.
    Quoted {
        /// The call that it names.
        call_id: String,
        /// Why it could not stay.
        why: QuoteCause,
    },
    /// A result that has no open call held nothing and was left out.
    ResultDropped {
        /// The call that it names.
        call_id: String,
        /// Why it could not stay.
        why: QuoteCause,
    },
    /// Words and reasoning that stood behind calls were put before them.
    CallsMovedBack {
        /// How many calls the message has.
        calls: usize,
    },
    /// Results were put in the order of their calls.
    Reordered {
        /// How many results the turn has.
        results: usize,
    },
    /// An empty result that reports a failure got a text that says that nothing was returned.
    ResultFilled {
        /// The call.
        call_id: String,
    },
    /// The middle of a result was left out, because the result alone is larger than the context window.
    ResultCut {
        /// The call.
        call_id: String,
        /// How many bytes were left out.
        bytes: usize,
    },
    /// A call and its result became text, because the request offers no tools.
    Flattened {
        /// The call.
        call_id: String,
    },
    /// An assistant message was put between results and the words of the user.
    Bridged,
    /// Pictures and documents became words that name them, because the wire takes none.
    MediaReplaced {
        /// How many.
        parts: usize,
    },
    /// Pictures and documents of a result were moved to a user message after the results.
    MediaMoved {
        /// The call.
        call_id: String,
        /// How many.
        parts: usize,
    },
    /// A message without content was left out.
    EmptyDropped {
        /// Its role.
        role: Role,
    },
    /// A message without content stands for a turn of the user and got a stub.
    EmptyStubbed,
    /// A message was joined to the one before it, which has the same role.
    Joined {
        /// The role of both.
        role: Role,
    },
    /// A user message was put before a history that began with the assistant or with nothing.
    HeadAdded,
    /// A user message was put after a history that ended with the assistant.
    TailAdded,
    /// White space was cut off the end of the last assistant message.
    Trimmed,
    /// The request must be sent without thinking. The messages are as they were.
    ThinkingOff {
        /// Why.
        why: ThinkingOffCause,
    },
}

/// A kind of block.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlockKind {
    /// Words.
    Text,
    /// Reasoning, in the clear or encrypted.
    Thinking,
    /// A picture.
    Image,
    /// A document.
    Document,
    /// A call.
    Call,
    /// A result.
    Result,
    /// A call that the provider runs.
    ServerCall,
    /// The result of a call that the provider ran.
    ServerResult,
    /// A block that only its own wire understands.
    Opaque,
}

/// Why reasoning was left out.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ThinkingLoss {
    /// Another provider or model wrote it, or it is not known who did.
    Foreign,
    /// It has no signature.
    Unsigned,
    /// The wire has no place for it. Nothing is lost: the model never sees it there.
    NotOnWire,
    /// It stood in a message that is not the assistant's.
    Misplaced,
    /// It stood in the last message while thinking is off.
    Final,
    /// Nothing follows it that it was thought for.
    NoFollower,
    /// A block between two thoughts had to go, and what stands beside reasoning must not be changed.
    Parted,
    /// It is bound to what stood before it when it was written, and something else stands there now.
    PrefixChanged,
    /// Nobody signed it, and the tool loop that it was thought in is over. Nothing is lost: services leave it out themselves.
    LoopOver,
}

/// Why a result cannot stay a result.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QuoteCause {
    /// No call of that id comes before it.
    NoCall,
    /// An assistant message stands between its call and it, so an earlier request has closed the call.
    Late,
}

/// Why a request must be sent without thinking.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ThinkingOffCause {
    /// The running tool loop has lost the reasoning that it began with.
    Lost,
    /// A tool choice is forced.
    ChoiceForced,
}

impl RepairKind {
    /// Returns the name that the kind has in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            RepairKind::Rehomed { .. } => "rehomed",
            RepairKind::SystemToUser => "system_to_user",
            RepairKind::ThinkingDropped { .. } => "thinking_dropped",
            RepairKind::ThinkingQuoted { .. } => "thinking_quoted",
            RepairKind::ThinkingAdded => "thinking_added",
            RepairKind::SignatureDropped { .. } => "signature_dropped",
            RepairKind::SignatureAdded { .. } => "signature_added",
            RepairKind::ForeignDropped { .. } => "foreign_dropped",
            RepairKind::BrokenDropped { .. } => "broken_dropped",
            RepairKind::FieldDropped { .. } => "field_dropped",
            RepairKind::BlankDropped => "blank_dropped",
            RepairKind::BlankPartsDropped { .. } => "blank_parts_dropped",
            RepairKind::ReplayDropped { .. } => "replay_dropped",
            RepairKind::Renamed { .. } => "renamed",
            RepairKind::NameReplaced { .. } => "name_replaced",
            RepairKind::ArgumentsReplaced { .. } => "arguments_replaced",
            RepairKind::Answered { .. } => "answered",
            RepairKind::Moved { .. } => "moved",
            RepairKind::Split { .. } => "split",
            RepairKind::Merged { .. } => "merged",
            RepairKind::DuplicateDropped { .. } => "duplicate_dropped",
            RepairKind::Quoted { .. } => "quoted",
            RepairKind::ResultDropped { .. } => "result_dropped",
            RepairKind::CallsMovedBack { .. } => "calls_moved_back",
            RepairKind::Reordered { .. } => "reordered",
            RepairKind::ResultFilled { .. } => "result_filled",
            RepairKind::ResultCut { .. } => "result_cut",
            RepairKind::Flattened { .. } => "flattened",
            RepairKind::Bridged => "bridged",
            RepairKind::MediaReplaced { .. } => "media_replaced",
            RepairKind::MediaMoved { .. } => "media_moved",
            RepairKind::EmptyDropped { .. } => "empty_dropped",
            RepairKind::EmptyStubbed => "empty_stubbed",
            RepairKind::Joined { .. } => "joined",
            RepairKind::HeadAdded => "head_added",
            RepairKind::TailAdded => "tail_added",
            RepairKind::Trimmed => "trimmed",
            RepairKind::ThinkingOff { .. } => "thinking_off",
        }
    }
}

impl Repair {
    /// Returns whether something was lost that the model could have used.
    ///
    /// Otherwise the repair is harmless: what was said is still said, or was nothing.
    pub fn is_loss(&self) -> bool {
        match &self.kind {
            RepairKind::ThinkingDropped { why, .. } => {
                !matches!(why, ThinkingLoss::NotOnWire | ThinkingLoss::LoopOver)
            }
            RepairKind::ForeignDropped { .. } | RepairKind::BrokenDropped { .. } => true,
            RepairKind::MediaReplaced { .. } | RepairKind::ResultCut { .. } => true,
            RepairKind::FieldDropped { field, says_something, .. } => {
                *says_something && fields::speaks_to_model(field)
            }
            _ => false,
        }
    }

    /// Returns whether it is no more than what a change of provider, model or wire takes along.
    ///
    /// Such a repair heals nothing: where the list came from, it was whole.
    pub fn is_conversion(&self) -> bool {
        match &self.kind {
            RepairKind::ThinkingDropped { why, .. } => {
                matches!(why, ThinkingLoss::Foreign | ThinkingLoss::NotOnWire | ThinkingLoss::LoopOver)
            }
            RepairKind::ThinkingQuoted { .. } | RepairKind::SignatureDropped { .. } => true,
            RepairKind::ForeignDropped { .. } | RepairKind::FieldDropped { .. } => true,
            _ => false,
        }
    }

    /// Returns the row of the catalogue that made the repair necessary; see the table on the crate page.
    pub fn row(&self) -> &'static str {
        match &self.kind {
            RepairKind::Rehomed { .. } => "A9",
            RepairKind::SystemToUser => "B3",
            RepairKind::ThinkingDropped { why: ThinkingLoss::Final, .. } => "D4",
            RepairKind::ThinkingDropped { why: ThinkingLoss::NoFollower, .. } => "D5",
            RepairKind::ThinkingDropped { why: ThinkingLoss::Parted, .. } => "D1",
            RepairKind::ThinkingDropped { why: ThinkingLoss::PrefixChanged, .. } => "D11",
            RepairKind::ThinkingDropped { .. } | RepairKind::ThinkingQuoted { .. } => "D2",
            RepairKind::ThinkingAdded => "D9",
            RepairKind::SignatureDropped { .. } | RepairKind::SignatureAdded { .. } => "D8",
            RepairKind::Reordered { .. } => "A19",
            RepairKind::ResultFilled { .. } => "C6",
            RepairKind::ResultCut { .. } => "C16",
            RepairKind::Flattened { .. } => "C14",
            RepairKind::Bridged => "B5",
            RepairKind::ForeignDropped { .. } | RepairKind::BrokenDropped { .. } => "A24",
            RepairKind::BlankDropped | RepairKind::BlankPartsDropped { .. } => "C1",
            RepairKind::ReplayDropped { .. } | RepairKind::Renamed { taken: true, .. } => "A7",
            RepairKind::Renamed { taken: false, .. } => "C11",
            RepairKind::NameReplaced { .. } => "C17",
            RepairKind::FieldDropped { .. } => "C18",
            RepairKind::ArgumentsReplaced { .. } => "C10",
            RepairKind::Answered { .. } => "A1",
            RepairKind::Moved { .. } | RepairKind::CallsMovedBack { .. } => "A3",
            RepairKind::Split { .. } => "A10",
            RepairKind::Merged { .. } | RepairKind::DuplicateDropped { .. } => "A6",
            RepairKind::Quoted { why, .. } | RepairKind::ResultDropped { why, .. } => match why {
                QuoteCause::NoCall => "A4",
                QuoteCause::Late => "A5",
            },
            RepairKind::MediaMoved { .. } | RepairKind::MediaReplaced { .. } => "C15",
            RepairKind::EmptyDropped { .. } | RepairKind::EmptyStubbed => "C3",
            RepairKind::Joined { .. } => "B1",
            RepairKind::HeadAdded => "B4",
            RepairKind::TailAdded => "B7",
            RepairKind::Trimmed => "B8",
            RepairKind::ThinkingOff { why: ThinkingOffCause::Lost } => "D3",
            RepairKind::ThinkingOff { why: ThinkingOffCause::ChoiceForced } => "D10",
        }
    }
}
