//! What a wire takes, as data.
//!
//! Every field is one rule that some provider was seen to enforce, and its doc says which row of the catalogue of
//! known failures it answers (`A4`, `C11`, …), or where else it was read. A wire that is not known here is described by
//! changing the fields of one that is, or of [`WireRules::open`], which forbids nothing.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The rules of one wire.
///
/// Rows such as A4 are those of the table on the crate page. All were read in 2026-11 unless a field says otherwise.
///
/// ```
/// use trunkline_sanitize::{Tail, WireRules};
///
/// // An older Claude model, which takes an assistant message in the last place and continues it.
/// let mut rules = WireRules::anthropic();
/// rules.tail = Tail::Any;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WireRules {
    /// The wire's name; opaque blocks that carry it are kept, and the judge knows provider texts by it.
    pub name: Cow<'static, str>,
    /// Whether two messages of one role in a row are refused.
    ///
    /// B1 and B2: `roles must alternate`. First-party Anthropic is said to merge them, proxies and older models
    /// refuse, and joining loses nothing, so `anthropic` says yes. OpenAI Chat takes them (recorded).
    pub alternate: bool,
    /// What the first message after the instructions must be. B4.
    pub head: Head,
    /// What the last message must be. B7.
    pub tail: Tail,
    /// Whether white space at the end of a last assistant message is refused. B8.
    pub final_white_space_refused: bool,
    /// Where instructions may stand. B3; Anthropic has a top-level field, some newer models also take the role in
    /// the list (recorded), OpenAI Chat takes it anywhere.
    pub system: SystemPlace,
    /// Where results travel. A1-A3 and A14-A15.
    pub results: ResultPlace,
    /// Whether a result may hold pictures and documents. C15: OpenAI Chat refuses them in a `tool` message.
    pub media_in_results: bool,
    /// What becomes of text that is empty or white space. C1 and C2.
    ///
    /// A result that holds one text and nothing else is free: it travels as a string, and a string may be empty.
    pub blank_text: BlankText,
    /// Within what a call id must be unique. A7: ``tool_use` ids must be unique``, across the history.
    pub ids_unique_in: IdScope,
    /// What a call id may look like. C11, C12, C13, and A18 for the empty one.
    pub ids: IdRule,
    /// What becomes of reasoning. D1, D2.
    pub reasoning: Reasoning,
    /// Whether a running tool loop must start with reasoning while thinking is on. D3.
    pub thinking_leads_tool_loop: bool,
    /// Whether reasoning in a last assistant message is refused while thinking is off. D4.
    pub final_thinking_needs_thinking: bool,
    /// Whether thinking and a forced tool choice exclude each other. D10.
    pub forced_choice_stops_thinking: bool,
    /// Whether calls that the provider runs itself have a place on this wire. A24.
    pub server_tools: bool,
}

impl WireRules {
    /// Returns the rules of Anthropic Messages, for models that refuse an assistant message in the last place.
    ///
    /// Read from error texts that users quote and from recorded requests, 2026-11.
    pub fn anthropic() -> Self {
        WireRules {
            name: Cow::Borrowed("anthropic"),
            alternate: true,
            head: Head::User,
            tail: Tail::User,
            final_white_space_refused: true,
            system: SystemPlace::Leading,
            results: ResultPlace::UserMessage,
            media_in_results: true,
            // A blank text beside a call was accepted (recorded: claude-haiku-4-5, 2026); alone it is refused.
            blank_text: BlankText::BesideCall,
            ids_unique_in: IdScope::History,
            // C11: the pattern is in the error text. No limit of length is known.
            ids: IdRule { alphabet: IdAlphabet::Word, max_length: None, exact_length: None },
            reasoning: Reasoning::Signed,
            thinking_leads_tool_loop: true,
            final_thinking_needs_thinking: true,
            forced_choice_stops_thinking: true,
            server_tools: true,
        }
    }

    /// Returns the rules of OpenAI Chat Completions, and of servers that follow it closely.
    ///
    /// Read from error texts that users quote and from recorded requests, 2026-11.
    pub fn openai_chat() -> Self {
        WireRules {
            name: Cow::Borrowed("openai-chat"),
            results: ResultPlace::ToolMessage,
            media_in_results: false,
            ids_unique_in: IdScope::Message,
            // C12: "maximum length 40"; newer deployments say 64, the smaller one satisfies both.
            ids: IdRule { alphabet: IdAlphabet::Any, max_length: Some(40), exact_length: None },
            reasoning: Reasoning::Absent,
            server_tools: false,
            ..WireRules::open("openai-chat")
        }
    }

    /// Returns rules that forbid nothing but what no wire takes, to describe a wire that is not known here.
    ///
    /// What no wire takes: calls and results that do not pair up, arguments that are not an object (C9, C10), blocks in
    /// a message of the wrong role (A9), messages without content (C3), a list without messages.
    pub fn open(name: impl Into<Cow<'static, str>>) -> Self {
        WireRules {
            name: name.into(),
            alternate: false,
            head: Head::Any,
            tail: Tail::Any,
            final_white_space_refused: false,
            system: SystemPlace::Anywhere,
            results: ResultPlace::UserMessage,
            media_in_results: true,
            blank_text: BlankText::Allowed,
            ids_unique_in: IdScope::Message,
            ids: IdRule { alphabet: IdAlphabet::Any, max_length: None, exact_length: None },
            reasoning: Reasoning::Any,
            thinking_leads_tool_loop: false,
            final_thinking_needs_thinking: false,
            forced_choice_stops_thinking: false,
            server_tools: true,
        }
    }
}

/// What the first message after the instructions must be.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Head {
    /// Anything. OpenAI Chat took a history that begins with an assistant's call (recorded).
    Any,
    /// A user message.
    User,
}

/// What the last message must be.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Tail {
    /// Anything.
    Any,
    /// Anything but an assistant message, unless its provider paused it ([`StopReason::Pause`]).
    ///
    /// [`StopReason::Pause`]: trunkline_message_tree::StopReason::Pause
    User,
}

/// Where instructions may stand.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SystemPlace {
    /// Before everything else. An empty message is legal there, since there is nothing to send.
    Leading,
    /// Anywhere but between a call and its results.
    Anywhere,
}

/// Where results travel.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResultPlace {
    /// In the one user message that follows the calls, before anything else in it.
    ///
    /// Tool messages and the user message after them become that one message on the wire.
    UserMessage,
    /// In tool messages of their own directly after the calls; a user message holds none.
    ToolMessage,
}

/// What becomes of text that is empty or white space.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlankText {
    /// It is taken.
    Allowed,
    /// White space is taken in an assistant message that holds a call; all else is refused.
    BesideCall,
    /// It is refused everywhere.
    Refused,
}

/// Within what a call id must be unique.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum IdScope {
    /// Among the calls of one message.
    Message,
    /// In the whole list.
    History,
}

/// What a call id may look like. The empty id is refused everywhere.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "a rule set of one's own writes it as a literal")]
pub struct IdRule {
    /// Which characters it may hold.
    pub alphabet: IdAlphabet,
    /// How many bytes it may have at most.
    pub max_length: Option<usize>,
    /// How many bytes it must have. C13: Mistral wants nine. Less than eight leaves too few ids to tell calls apart.
    pub exact_length: Option<usize>,
}

/// Which characters a call id may hold.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum IdAlphabet {
    /// Any.
    Any,
    /// `a-z A-Z 0-9 _ -`.
    Word,
    /// `a-z A-Z 0-9`.
    Alphanumeric,
}

/// What becomes of reasoning.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reasoning {
    /// It goes back as it is.
    Any,
    /// It goes back if it is signed and the provider and model of this request wrote it.
    Signed,
    /// It has no place on this wire.
    Absent,
}
