//! What the judge says.

use std::fmt;

use serde::Serialize;

use crate::{BlockKind, FieldHolder, Place, ThinkingLoss};

/// A place where a list breaks a rule of its wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Violation {
    /// Where.
    pub at: Place,
    /// Which rule.
    #[serde(flatten)]
    pub kind: ViolationKind,
    /// What the provider says when it refuses, where that is known; `…`, `N` and `M` stand for parts that vary.
    pub provider_text: Option<&'static str>,
}

/// Which rule is broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "violation", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ViolationKind {
    /// A call has no result where the wire looks for it. A1, A2, A14.
    Unanswered {
        /// The call.
        call_id: String,
    },
    /// A result answers no call of the turn before it. A4, A5, A15.
    Orphan {
        /// The call that it names.
        call_id: String,
    },
    /// A result comes after other content. A3.
    ResultNotFirst {
        /// The call.
        call_id: String,
    },
    /// A call has several results. A6.
    SecondResult {
        /// The call.
        call_id: String,
    },
    /// A call id is used again. A7.
    IdTaken {
        /// The id.
        call_id: String,
    },
    /// The wire refuses how a call id looks. A18, C11, C12, C13.
    IdRefused {
        /// The id.
        call_id: String,
    },
    /// The wire refuses how the name of a called tool looks. C17.
    NameRefused {
        /// The call.
        call_id: String,
        /// The name.
        name: String,
    },
    /// Words or reasoning stand behind a call of the same message. A3.
    WordsAfterCall {
        /// The call.
        call_id: String,
    },
    /// Arguments are not a JSON object. C9, C10.
    ArgumentsNotObject {
        /// The call.
        call_id: String,
    },
    /// A block stands in a message of a role that cannot hold it. A9, C15 for media in results.
    Misplaced {
        /// The block.
        block: BlockKind,
    },
    /// Instructions do not stand at the head. B3.
    SystemNotLeading,
    /// Two messages of one role stand in a row. B1, B2.
    SameRole,
    /// The list does not begin with a user message. B4.
    HeadNotUser,
    /// The list ends with an assistant message. B7.
    TailAssistant,
    /// The last assistant message ends in white space. B8.
    FinalWhiteSpace,
    /// A field stands in a message for a service that refuses what it does not know. C18.
    FieldRefused {
        /// What it stands in.
        holder: FieldHolder,
        /// Its name.
        field: String,
    },
    /// A text is empty or white space. C1, C2.
    Blank,
    /// A message holds nothing. C3.
    Empty,
    /// There is no message. C7.
    NoMessages,
    /// There are instructions in a second message, and the wire takes one. B3.
    SecondSystem,
    /// The results of a turn do not stand in the order of its calls. A19.
    ResultsOutOfOrder,
    /// The user speaks right after results. A13, B5.
    WordsAfterResults,
    /// A result that reports a failure says nothing. C6.
    EmptyErrorResult {
        /// The call.
        call_id: String,
    },
    /// A result alone is larger than the context window. C16.
    ResultTooLarge {
        /// The call.
        call_id: String,
    },
    /// A call or a result stands in a request that offers no tools. C14.
    NoToolsOffered,
    /// A picture or a document stands in a list for a wire that takes none.
    MediaRefused,
    /// A call carries a signature that another model made. D8.
    ForeignSignature {
        /// The call.
        call_id: String,
    },
    /// The first call of a turn carries no signature. D8.
    SignatureMissing {
        /// The call.
        call_id: String,
    },
    /// Reasoning stands without anything that follows it. D5.
    ReasoningWithoutFollower,
    /// Calls stand without reasoning beside them while thinking is on. D9.
    ReasoningMissing,
    /// Reasoning is not signed, is not by this model, has no place on this wire (D2), or is bound to something else than what
    /// stands before it (D11).
    ForeignThinking {
        /// Which of these.
        why: ThinkingLoss,
    },
    /// A running tool loop does not begin with its reasoning while thinking is on. D3.
    LoopWithoutThinking,
    /// The last assistant message holds reasoning while thinking is off. D4.
    FinalThinking,
    /// Thinking is on and a tool choice is forced. D10.
    ForcedWhileThinking,
    /// A block belongs to another provider or model, is not JSON, or its other half is missing. A24.
    ForeignBlock {
        /// The block.
        block: BlockKind,
    },
}

impl Violation {
    /// Returns whether it is no more than what a change of provider, model or wire leaves behind, such as the reasoning of
    /// another model.
    ///
    /// Where the list came from nothing is wrong with it, and whoever converts it drops such things anyway. What is left when
    /// these are taken away breaks the list.
    pub fn is_conversion(&self) -> bool {
        match &self.kind {
            ViolationKind::ForeignThinking { why } => {
                matches!(why, ThinkingLoss::Foreign | ThinkingLoss::NotOnWire | ThinkingLoss::LoopOver)
            }
            ViolationKind::ForeignSignature { .. } | ViolationKind::FieldRefused { .. } => true,
            _ => false,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.at)?;
        match &self.kind {
            ViolationKind::Unanswered { call_id } => write!(f, "call {call_id:?} has no result next to it"),
            ViolationKind::Orphan { call_id } => write!(f, "result {call_id:?} has no call next to it"),
            ViolationKind::ResultNotFirst { call_id } => {
                write!(f, "result {call_id:?} comes after other content")
            }
            ViolationKind::SecondResult { call_id } => write!(f, "call {call_id:?} has several results"),
            ViolationKind::IdTaken { call_id } => write!(f, "call id {call_id:?} is used again"),
            ViolationKind::IdRefused { call_id } => write!(f, "call id {call_id:?} is not accepted"),
            ViolationKind::NameRefused { call_id, name } => {
                write!(f, "the name {name:?} of call {call_id:?} is not accepted")
            }
            ViolationKind::WordsAfterCall { call_id } => {
                write!(f, "words stand between call {call_id:?} and its result")
            }
            ViolationKind::ArgumentsNotObject { call_id } => {
                write!(f, "arguments of call {call_id:?} are not an object")
            }
            ViolationKind::Misplaced { block } => write!(f, "{block} may not stand here"),
            ViolationKind::SystemNotLeading => f.write_str("instructions are not at the head"),
            ViolationKind::SecondSystem => f.write_str("instructions stand in a second message"),
            ViolationKind::ResultsOutOfOrder => f.write_str("results are not in the order of their calls"),
            ViolationKind::WordsAfterResults => f.write_str("the user speaks right after results"),
            ViolationKind::EmptyErrorResult { call_id } => {
                write!(f, "error result {call_id:?} says nothing")
            }
            ViolationKind::ResultTooLarge { call_id } => {
                write!(f, "result {call_id:?} is larger than the context window")
            }
            ViolationKind::NoToolsOffered => f.write_str("call or result, but no tools are offered"),
            ViolationKind::MediaRefused => f.write_str("pictures and documents are not taken"),
            ViolationKind::ForeignSignature { call_id } => {
                write!(f, "signature of call {call_id:?} is not by this model")
            }
            ViolationKind::SignatureMissing { call_id } => {
                write!(f, "call {call_id:?} carries no signature")
            }
            ViolationKind::ReasoningWithoutFollower => f.write_str("nothing follows this reasoning"),
            ViolationKind::ReasoningMissing => f.write_str("calls have no reasoning beside them"),
            ViolationKind::SameRole => f.write_str("same role as the message before"),
            ViolationKind::HeadNotUser => f.write_str("the list does not begin with a user message"),
            ViolationKind::TailAssistant => f.write_str("the list ends with an assistant message"),
            ViolationKind::FinalWhiteSpace => f.write_str("the last assistant message ends in white space"),
            ViolationKind::Blank => f.write_str("text is blank"),
            ViolationKind::Empty => f.write_str("message is empty"),
            ViolationKind::NoMessages => f.write_str("there is no message"),
            ViolationKind::ForeignThinking { .. } => f.write_str("thinking may not go to this model"),
            ViolationKind::FieldRefused { holder, field } => {
                write!(f, "the service does not know the field {field:?} of {holder}")
            }
            ViolationKind::LoopWithoutThinking => {
                f.write_str("the tool loop does not begin with its thinking")
            }
            ViolationKind::FinalThinking => {
                f.write_str("the last message holds thinking while thinking is off")
            }
            ViolationKind::ForcedWhileThinking => f.write_str("a tool choice is forced while thinking is on"),
            ViolationKind::ForeignBlock { block } => write!(f, "{block} is foreign or incomplete"),
        }
    }
}
