//! What a wire takes, as data.
//!
//! Every field is one rule that some provider was seen to enforce, and its doc says which row of the catalogue of
//! known failures it answers (`A4`, `C11`, …), or where else it was read. A wire that is not known here is described by
//! changing the fields of one that is, or of [`WireRules::open`], which forbids nothing. The sets for known wires are in `wires`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Media, MediaSource};

use crate::TakenFields;

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
/// In JSON a field that is not there is that of [`WireRules::open`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct WireRules {
    /// The name of the rule set, such as `mistral`; the judge knows some provider texts by it.
    pub name: Cow<'static, str>,
    /// The wire that is spoken, such as `openai-chat`; opaque blocks that carry it are kept.
    pub wire: Cow<'static, str>,
    /// Which messages of one role may stand in a row. A20, B1, B2, B3.
    pub alternate: Alternate,
    /// What the first message after the instructions must be. B4.
    pub head: Head,
    /// What the last message must be. B7.
    pub tail: Tail,
    /// Whether white space at the end of a last assistant message is refused. B8.
    pub final_white_space_refused: bool,
    /// Where instructions may stand. B3; Anthropic has a top-level field, some newer models also take the role in
    /// the list (recorded), OpenAI Chat takes it anywhere.
    pub system: SystemPlace,
    /// Where results travel. A1-A3, A14-A17.
    pub results: ResultPlace,
    /// Whether results of calls of one tool must stand in the order of these calls.
    ///
    /// A19: Gemini and Ollama pair by name and order where ids are left out. Between tools the order is free (recorded).
    pub results_in_call_order: bool,
    /// Whether the user may speak directly after results. A13: some Bedrock models refuse both in one turn; B5: Mistral
    /// refuses `user` after `tool`, and strict templates count it as a second user in a row.
    pub words_after_results: bool,
    /// Which pictures and documents are taken at all. DeepSeek: ``unknown variant `image_url``` (recorded).
    pub media: TakenMedia,
    /// Which pictures and documents may be given by their address.
    pub media_addresses: MediaAddresses,
    /// Of which types pictures and documents may be.
    pub media_types: MediaTypes,
    /// Whether a result may hold pictures and documents. C15: OpenAI Chat refuses them in a `tool` message.
    pub media_in_results: bool,
    /// Whether a result is always a list of blocks, and never a string, which may be blank.
    ///
    /// Bedrock: blank text is refused in it like in any block, and C6, a result that reports a failure must say something.
    pub results_are_blocks: bool,
    /// Whether calls and results are refused in a request that offers no tools. C14: Bedrock.
    pub tool_blocks_need_tools: bool,
    /// What becomes of text that is empty or white space. C1 and C2.
    ///
    /// A result that holds one text and nothing else travels as a string, and a string may be empty, unless
    /// [`results_are_blocks`](WireRules::results_are_blocks).
    pub blank_text: BlankText,
    /// Within what a call id must be unique. A7: ``tool_use` ids must be unique``.
    pub ids_unique_in: IdScope,
    /// What a call id may look like. C11, C12, C13, and A18 for the empty one.
    pub ids: IdRule,
    /// What the name of a called tool may look like. C17: a model calls tools that nobody has, under names of its own.
    ///
    /// A name under which the request [offers](crate::RequestFacts::tools) a tool is not asked about: who takes the offer
    /// takes the call.
    pub names: NameRule,
    /// Whether a reference to a tool, in a result, must be to one that the request offers. C17: Anthropic.
    ///
    /// Asked where [tools](crate::RequestFacts::tools) are known, or none is offered.
    pub references_need_tools: bool,
    /// Whether words and reasoning may stand behind a call in one message. A3: some services behind Anthropic's wire then
    /// miss the results, which must follow the calls.
    pub words_after_calls: bool,
    /// What becomes of reasoning. D1, D2.
    pub reasoning: Reasoning,
    /// Whether reasoning may be the last block of the assistant's turn. Anthropic: ``The final block in an assistant message
    /// cannot be `thinking`.`` (quoted by users of three agents, 2026-11).
    pub thinking_may_end_turn: bool,
    /// Whether signed reasoning is taken back only behind exactly what it was written behind: the same tools, instructions and
    /// messages. D11.
    ///
    /// Off in all sets: it is a matter of the model, not of the wire. Anthropic's newer models refuse such a block otherwise
    /// (`The block is bound to a different conversation`), or leave it out (its documents on preserved thinking, read 2026-11);
    /// OpenAI's leave it out (its guide "Keep the prefix unchanged", read 2026-11).
    /// Behind what each answer was written, [`RequestFacts::prefixes`](crate::RequestFacts::prefixes) says.
    pub reasoning_bound: bool,
    /// Whether reasoning travels in opaque items that must stay with what follows them. D5, D6, D7: OpenAI Responses.
    ///
    /// Then an [opaque block](trunkline_message_tree::Content::Opaque) of this wire whose `type` is `reasoning` counts as reasoning.
    pub reasoning_items: bool,
    /// Whether an assistant message with calls must carry reasoning while thinking is on, be it empty. D9: DeepSeek.
    pub reasoning_beside_calls: bool,
    /// What becomes of signatures that calls carry themselves. D8: Gemini.
    pub call_signatures: CallSignatures,
    /// Whether `null` is taken for arguments. C9; recorded as accepted from Groq's own models.
    pub null_arguments: bool,
    /// Whether a running tool loop must start with reasoning while thinking is on. D3.
    pub thinking_leads_tool_loop: bool,
    /// Whether reasoning in a last assistant message is refused while thinking is off. D4.
    pub final_thinking_needs_thinking: bool,
    /// Whether thinking and a forced tool choice exclude each other. D10.
    ///
    /// Adaptive thinking does not: Anthropic took both (recorded: claude-opus-4-6).
    pub forced_choice_stops_thinking: bool,
    /// Which fields of a message, and which raw parts, the service takes besides what the vocabulary says. C18.
    pub fields: TakenFields,
    /// Whether calls that the provider runs itself have a place on this wire. A24.
    pub server_tools: bool,
}

impl Default for WireRules {
    /// Returns the rules of a wire without a name that forbids nothing.
    fn default() -> Self {
        WireRules::open("")
    }
}

impl WireRules {
    /// Returns why a request under these rules may fail to continue the one before, if it may; see the laws on the crate
    /// page.
    pub fn cache_exception(&self) -> Option<&'static str> {
        self.server_tools.then_some(
            "server_tools: a call that the provider runs is sent while its result may still come, and left out once the user \
             has spoken and it has not",
        )
    }

    /// Whether words of the user may stand between a call and its result.
    pub(crate) fn results_may_wait(&self) -> bool {
        self.results == ResultPlace::AfterTurn && self.words_after_results
    }

    /// Whether a picture like this is taken, in a place that takes pictures.
    pub(crate) fn takes_image(&self, image: &Media) -> bool {
        let address = self.media_addresses == MediaAddresses::Images || self.takes_source(image);
        self.media != TakenMedia::None && address && self.media_types.hold_image(image)
    }

    /// Whether a document like this is taken, in a place that takes documents.
    pub(crate) fn takes_document(&self, document: &Media) -> bool {
        self.media == TakenMedia::All
            && self.takes_source(document)
            && self.media_types.hold_document(document)
    }

    fn takes_source(&self, media: &Media) -> bool {
        match (&media.source, self.media_addresses) {
            (MediaSource::Base64(_), _) | (_, MediaAddresses::Any) => true,
            (MediaSource::Url(address), MediaAddresses::S3) => address.starts_with("s3://"),
            (MediaSource::Url(_), MediaAddresses::Images | MediaAddresses::None) => false,
        }
    }
}

/// Which messages of one role may stand in a row.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Alternate {
    /// Any. First-party Anthropic combines them (its API reference), OpenAI Chat takes them (recorded). All results of a turn
    /// must stand in one of them all the same.
    Free,
    /// Any, unless the later one calls. A20: Gemini wants a user turn before a call; two user turns in a row it takes
    /// (recorded).
    NoCalls,
    /// None. B1, B2 and B3: `roles must alternate`.
    Strict,
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
    /// In one message before everything else. B3: chat templates name "the optional system message".
    One,
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
    /// In tool messages of their own after the calls, before the assistant speaks again: text and further calls may stand between
    /// a call and its result (A17), and so may words of the user, where these may [follow results](WireRules::words_after_results).
    ///
    /// A result that comes when the assistant has spoken again is quoted even so: the service had refused the request in
    /// between (`No tool output found for function call`), so that request had an answer to the call.
    AfterTurn,
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

/// What the name of a called tool may look like. The empty name is refused everywhere.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "a rule set of one's own writes it as a literal")]
pub struct NameRule {
    /// Which characters it may hold.
    pub alphabet: IdAlphabet,
    /// Whether it must begin with a letter or `_`. Gemini.
    pub leads_with_letter: bool,
    /// How many bytes it may have at most. Less than sixteen leaves too few names to tell tools apart.
    pub max_length: Option<usize>,
}

impl NameRule {
    /// Any name but the empty one.
    pub const ANY: NameRule =
        NameRule { alphabet: IdAlphabet::Any, leads_with_letter: false, max_length: None };

    /// Returns the rule of letters, digits, `_` and `-`.
    pub const fn word(max_length: usize) -> Self {
        NameRule { alphabet: IdAlphabet::Word, leads_with_letter: false, max_length: Some(max_length) }
    }
}

/// Which characters a call id, or the name of a tool, may hold.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum IdAlphabet {
    /// Any.
    Any,
    /// `a-z A-Z 0-9 _ -`.
    Word,
    /// `a-z A-Z 0-9 _ . : -`.
    WordDotColon,
    /// `a-z A-Z 0-9`.
    Alphanumeric,
}

/// What becomes of reasoning.
///
/// Reasoning that nobody signed, and that is known to come from the address that is asked, goes back while its tool loop
/// runs only: from the user's last words on. Beyond that it is of no use to the model, unless the wire wants it
/// [beside each call](WireRules::reasoning_beside_calls).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reasoning {
    /// It goes back as it is.
    Any,
    /// It goes back if it is signed and the provider and model of this request wrote it.
    Signed,
    /// As `Signed`. What came without a signature goes back to where it came from, while its tool loop runs, if it was not
    /// cut off: some services that speak Anthropic's wire sign nothing.
    SignedOrReturned,
    /// It goes back if the provider and model of this request wrote it, signed or not.
    Own,
    /// As `Own`, but only what is in the clear: the wire has no field for what is encrypted.
    Plain,
    /// It goes back to where it came from, in the clear and while its tool loop runs: the address is known on both sides
    /// ([`Origin::is_from`](trunkline_message_tree::Origin::is_from)). Elsewhere it is left out.
    Returned,
    /// It has no place on this wire.
    Absent,
}

/// What becomes of signatures that calls carry themselves, or opaque parts of Gemini and beside calls on Chat.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallSignatures {
    /// The wire has no place for them; the encoder leaves them out.
    Ignored,
    /// They go back to the provider and model that made them; others are left out, and opaque parts that carry one with them.
    Own,
    /// As `Own`, and the first call of an assistant message must have one.
    ///
    /// Gemini 3 checks this in the current turn only, back to the user's last words. It is asked for in the whole list,
    /// so that a message is sent the same way when it is no longer part of the current turn.
    Leading,
}

/// Which pictures and documents a wire takes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TakenMedia {
    /// Both.
    All,
    /// Pictures only. Ollama's messages have a field for images and for nothing else.
    Images,
    /// None.
    None,
}

/// Which pictures and documents may be given by their address.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MediaAddresses {
    /// Both, at any address.
    Any,
    /// Pictures only. OpenAI's Chat Completions have a field for the address of a picture and none for that of a file.
    Images,
    /// Both, if they lie in Amazon's storage: the address begins with `s3://`. Bedrock.
    S3,
    /// Neither. Ollama takes their bytes only.
    None,
}

/// Of which types pictures and documents may be.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MediaTypes {
    /// Of any. What is not taken differs from model to model.
    Any,
    /// What lies at an address is not asked about. Of bytes, pictures in PNG, JPEG, GIF and WebP. OpenAI: `You uploaded an
    /// unsupported image. Please make sure your image has of one the following formats` (quoted by users).
    Web,
    /// As [`Web`](MediaTypes::Web), and of documents PDF and every kind of text. Anthropic, from its own client library.
    Messages,
    /// What lies at an address is not asked about. Of bytes, pictures in PNG, JPEG, GIF, WebP, AVIF, HEIC and HEIF; PDF, every kind of
    /// text, sound and video, scripts. Gemini: `Unsupported MIME type: image/svg+xml`; its documents name these, and GIF and AVIF were
    /// measured to be taken (google/adk-python#5694, 2026-05).
    Gemini,
    /// Those that Bedrock Converse has a format for: PNG, JPEG, GIF and WebP; PDF, Word, Excel and every kind of text.
    Converse,
}

impl MediaTypes {
    // Copied into the passes, these two and what reads signatures cost every damaged list a fifth of the time.
    #[cold]
    fn hold_image(self, image: &Media) -> bool {
        let known = ["image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp"];
        let more = ["image/avif", "image/heic", "image/heif"];
        let takes = |essence: &str| {
            known.contains(&essence) || (self == MediaTypes::Gemini && more.contains(&essence))
        };
        self.asks_nothing(image) || takes(&essence(image))
    }

    #[cold]
    fn hold_document(self, document: &Media) -> bool {
        let known = [
            "application/pdf",
            "application/json",
            "application/xml",
            "application/msword",
            "application/vnd.ms-excel",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        ];
        let known = match self {
            MediaTypes::Messages => &known[..1],
            MediaTypes::Gemini => {
                &["application/pdf", "application/rtf", "application/x-javascript", "application/x-python"]
            }
            _ => &known[..],
        };
        let essence = || essence(document);
        let is_heard_or_seen = || essence().starts_with("audio/") || essence().starts_with("video/");
        self == MediaTypes::Web
            || self.asks_nothing(document)
            || essence().starts_with("text/")
            || (self == MediaTypes::Gemini && is_heard_or_seen())
            || known.contains(&essence().as_str())
    }

    fn asks_nothing(self, media: &Media) -> bool {
        let by_bytes = matches!(media.source, MediaSource::Base64(_));
        self == MediaTypes::Any || (self != MediaTypes::Converse && !by_bytes)
    }
}

/// Returns the media type without parameters, in lower case.
fn essence(media: &Media) -> String {
    media.media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
