//! The JSON of Chat Completions: what we write and what we read.
//!
//! Reading is lenient on purpose: a field that one dialect sends as a string, another sends as an object or a list.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Dialect;
use crate::beside::Members;
use crate::text::{self, Text};

/// The body without its messages.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tools: Option<Vec<Offer<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) frequency_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) presence_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<ReasoningSwitch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<ThinkingSwitch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt_cache_retention: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<&'a BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) service_tier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stream_options: Option<StreamOptions>,
    /// Fields whose names differ between dialects.
    #[serde(flatten)]
    pub(super) named: BTreeMap<&'static str, Value>,
}

#[derive(Serialize)]
pub(super) struct ReasoningSwitch {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) effort: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct ThinkingSwitch {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
}

#[derive(Serialize)]
pub(super) struct ResponseFormat<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) json_schema: NamedSchema<'a>,
}

#[derive(Serialize)]
pub(super) struct NamedSchema<'a> {
    pub(super) name: &'a str,
    pub(super) strict: bool,
    pub(super) schema: &'a Value,
}

#[derive(Serialize)]
pub(super) struct StreamOptions {
    pub(super) include_usage: bool,
}

/// A tool of ours, or one that the provider runs.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Offer<'a> {
    Ours(Tool<'a>),
    Theirs(&'a Value),
}

#[derive(Serialize)]
pub(super) struct Tool<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) function: Function<'a>,
}

#[derive(Serialize)]
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) description: &'a str,
    pub(super) parameters: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) strict: Option<bool>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Choice<'a> {
    Word(&'static str),
    Named {
        #[serde(rename = "type")]
        kind: &'static str,
        function: Name<'a>,
    },
}

#[derive(Serialize)]
pub(super) struct Name<'a> {
    pub(super) name: &'a str,
}

#[derive(Serialize)]
pub(super) struct WireMessage<'a> {
    pub(super) role: &'static str,
    pub(super) content: Words<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_details: Option<Cow<'a, RawValue>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<&'a str>,
}

/// Reasoning as we carry it: a raw block with `"type":"reasoning"`.
#[derive(Deserialize)]
pub(super) struct Carried<'a> {
    #[serde(borrow)]
    pub(super) reasoning_details: Option<&'a RawValue>,
}

impl WireMessage<'_> {
    /// Returns how many bytes before its end a breakpoint can be put: into the last part of its content.
    pub(super) fn takes_mark(&self, dialect: &Dialect) -> Option<usize> {
        match &self.content {
            Words::Parts(parts) if dialect.cache_breakpoints && matches!(self.role, "user" | "system") => {
                match parts.last() {
                    Some(PartShape::Known(KnownPart::Text { text, .. })) if text.trim().is_empty() => None,
                    // `}]}`: the content is the last field of these roles.
                    Some(PartShape::Known(_)) => Some(3),
                    Some(PartShape::Raw(_)) | None => None,
                }
            }
            _ => None,
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Words<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<PartShape<'a>>),
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum PartShape<'a> {
    Known(KnownPart<'a>),
    Raw(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum KnownPart<'a> {
    Text {
        text: &'a str,
        #[serde(flatten)]
        beside: Members<'a>,
    },
    ImageUrl {
        image_url: Url<'a>,
    },
    File {
        file: File<'a>,
    },
    DocumentUrl {
        document_url: Cow<'a, str>,
    },
}

#[derive(Serialize)]
pub(super) struct Url<'a> {
    pub(super) url: Cow<'a, str>,
}

#[derive(Serialize)]
pub(super) struct File<'a> {
    pub(super) filename: &'static str,
    pub(super) file_data: Cow<'a, str>,
}

#[derive(Serialize)]
pub(super) struct Call<'a> {
    pub(super) id: &'a str,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) function: CallFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extra_content: Option<ExtraContent<'a>>,
    #[serde(flatten)]
    pub(super) beside: Members<'a>,
}

#[derive(Serialize)]
pub(super) struct CallFunction<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: &'a str,
}

/// One chunk of a stream, or a whole completion.
///
/// What a chunk repeats from the one before stays unread until it is needed.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) model: Text<'a>,
    #[serde(borrow)]
    pub(super) choices: Option<Vec<ChoiceShape<'a>>>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) x_groq: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// An error whose fields stand at the top.
#[derive(Deserialize)]
pub(super) struct FlatError<'a> {
    #[serde(borrow, default)]
    object: Text<'a>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    detail: Option<&'a RawValue>,
}

impl FlatError<'_> {
    pub(super) fn is_error(&self) -> bool {
        self.object.0 == "error" || self.message.is_some() || self.detail.is_some()
    }
}

/// Groq's older place for usage.
#[derive(Deserialize)]
pub(super) struct Groq {
    pub(super) usage: Option<UsageShape>,
}

#[derive(Deserialize)]
pub(super) struct ChoiceShape<'a> {
    #[serde(default, deserialize_with = "text::number")]
    pub(super) index: Option<i64>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Text<'a>,
    /// The word of the service behind a router.
    #[serde(borrow, default)]
    pub(super) native_finish_reason: Text<'a>,
}

/// What a message grows by, or all of it. Read by hand and kept small, because nearly every chunk has one and is moved
/// several times.
#[derive(Default)]
pub(super) struct Delta<'a> {
    pub(super) content: Said<'a>,
    /// Under either name; some servers send the same words under both.
    pub(super) reasoning: Text<'a>,
    /// Whether it stood under `reasoning_content`.
    pub(super) by_old_name: bool,
    pub(super) reasoning_details: Option<&'a RawValue>,
    pub(super) refusal: Option<Box<Text<'a>>>,
    pub(super) tool_calls: Vec<CallPiece<'a>>,
    pub(super) annotations: Option<&'a RawValue>,
    /// A call in the form that came before `tool_calls`.
    pub(super) function_call: Option<Box<FunctionPiece<'a>>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Delta<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Delta<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a delta or a message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Delta<'de>, A::Error> {
                let mut delta = Delta::default();
                while let Some(field) = fields.next_key()? {
                    match field {
                        DeltaField::Content => delta.content = fields.next_value()?,
                        DeltaField::ReasoningContent | DeltaField::Reasoning => {
                            let words: Text<'de> = fields.next_value()?;
                            delta.by_old_name |= field == DeltaField::ReasoningContent && !words.is_empty();
                            if delta.reasoning.is_empty() {
                                delta.reasoning = words;
                            }
                        }
                        DeltaField::ReasoningDetails => delta.reasoning_details = fields.next_value()?,
                        DeltaField::Refusal => {
                            let words: Text<'de> = fields.next_value()?;
                            delta.refusal = (!words.is_empty()).then(|| Box::new(words));
                        }
                        DeltaField::ToolCalls => {
                            delta.tool_calls = fields.next_value::<CallPieces<'de>>()?.0;
                        }
                        DeltaField::Annotations => delta.annotations = fields.next_value()?,
                        DeltaField::FunctionCall => {
                            delta.function_call =
                                fields.next_value::<Option<FunctionPiece<'de>>>()?.map(Box::new);
                        }
                        DeltaField::Other => {
                            let _: IgnoredAny = fields.next_value()?;
                        }
                    }
                }
                Ok(delta)
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

#[derive(PartialEq, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum DeltaField {
    Content,
    ReasoningContent,
    Reasoning,
    ReasoningDetails,
    Refusal,
    ToolCalls,
    Annotations,
    FunctionCall,
    #[serde(other)]
    Other,
}

/// Calls: a list, or the only one itself, as some servers write it.
struct CallPieces<'a>(Vec<CallPiece<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for CallPieces<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = CallPieces<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of calls or one call")
            }

            fn visit_unit<E>(self) -> Result<CallPieces<'de>, E> {
                Ok(CallPieces(Vec::new()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<CallPieces<'de>, A::Error> {
                let mut pieces = Vec::new();
                while let Some(piece) = list.next_element()? {
                    pieces.push(piece);
                }
                Ok(CallPieces(pieces))
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<CallPieces<'de>, A::Error> {
                let piece = CallPiece::deserialize(MapAccessDeserializer::new(fields))?;
                Ok(CallPieces(if piece.is_empty() { Vec::new() } else { vec![piece] }))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

#[derive(Default, Deserialize)]
pub(super) struct CallPiece<'a> {
    #[serde(default, deserialize_with = "text::number")]
    pub(super) index: Option<i64>,
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) function: Option<FunctionPiece<'a>>,
    #[serde(borrow)]
    pub(super) extra_content: Option<&'a RawValue>,
    /// Servers that leave the function's object out have its fields here.
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

impl CallPiece<'_> {
    fn is_empty(&self) -> bool {
        let function = self.function.is_some() || !self.name.is_empty() || self.arguments.is_some();
        !function && self.id.is_empty() && self.extra_content.is_none()
    }
}

/// What Google's models add to a call, also behind gateways: `{"google":{"thought_signature":"…"}}`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExtraContent<'a> {
    #[serde(borrow)]
    pub(super) google: Google<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Google<'a> {
    #[serde(borrow)]
    pub(super) thought_signature: Cow<'a, str>,
}

#[derive(Deserialize)]
pub(super) struct FunctionPiece<'a> {
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// A content: a string, or a list of parts.
pub(super) enum Said<'a> {
    Words(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

impl Default for Said<'_> {
    fn default() -> Self {
        Said::Words(Cow::Borrowed(""))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Said<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Said<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of parts")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Said<'de>, E> {
                Ok(Said::Words(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Said<'de>, E> {
                Ok(Said::Words(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E>(self) -> Result<Said<'de>, E> {
                Ok(Said::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Said<'de>, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = list.next_element()? {
                    parts.push(part);
                }
                Ok(Said::Parts(parts))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

/// One part of a content that is a list.
#[derive(Deserialize)]
pub(super) struct ContentPart<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(super) text: Text<'a>,
    #[serde(borrow)]
    pub(super) thinking: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct UsageShape {
    pub(super) prompt_tokens: Option<u64>,
    pub(super) completion_tokens: Option<u64>,
    pub(super) prompt_tokens_details: Option<PromptDetails>,
    pub(super) completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's word for cached tokens.
    pub(super) prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct PromptDetails {
    pub(super) cached_tokens: Option<u64>,
    pub(super) cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct CompletionDetails {
    pub(super) reasoning_tokens: Option<u64>,
}
