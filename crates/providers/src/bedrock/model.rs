//! Whose model an id names, and what that model takes besides what all take.
//!
//! The service refuses what a model does not know, so nothing is sent on a guess. Found out by public clients with live
//! requests (read 2026-11) where nothing else is said.

use serde_json::{Map, Value, json};

use super::NAME;
use crate::claude::{claude_version, fitting};
use crate::{Effort, EncodeError, Request, Thinking};

/// A model, as far as it makes a difference.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Model {
    /// Anthropic's, with its version.
    Claude(u32, u32),
    /// Amazon's, with its version.
    Nova(u32),
    Qwen,
    /// DeepSeek from V3 on, and Z.AI's before 5.3: they reason hard or not at all.
    HardOrNot,
    /// Z.AI's from 5.3 on.
    Glm,
    GptOss,
    /// OpenAI's others.
    Gpt,
    Grok,
    Other,
}

impl Model {
    /// Reads an id such as `eu.anthropic.claude-haiku-4-5-20251001-v1:0`, or an ARN that ends in one.
    pub(super) fn of(id: &str) -> Self {
        let id = id.rsplit('/').next().unwrap_or(id);
        let mut parts = id.split('.');
        // A region or `global` may stand first, and stands alone before the maker.
        let makers = ["anthropic", "amazon", "qwen", "deepseek", "zai", "openai", "xai"];
        let Some(maker) = parts.by_ref().take(2).find(|part| makers.contains(part)) else {
            return Model::Other;
        };
        let name = id.split_once(maker).and_then(|(_, rest)| rest.strip_prefix('.')).unwrap_or_default();
        match maker {
            "anthropic" => {
                // A name without a version is taken for a new one.
                let (major, minor) = claude_version(name).unwrap_or((u32::MAX, 0));
                Model::Claude(major, minor)
            }
            "amazon" if name.starts_with("nova-2") => Model::Nova(2),
            "amazon" if name.starts_with("nova") => Model::Nova(1),
            "qwen" => Model::Qwen,
            "deepseek" if name.starts_with("v3") => Model::HardOrNot,
            "zai" if name.starts_with("glm-5.3") => Model::Glm,
            "zai" => Model::HardOrNot,
            "openai" if name.starts_with("gpt-oss") => Model::GptOss,
            "openai" => Model::Gpt,
            "xai" => Model::Grok,
            _ => Model::Other,
        }
    }

    pub(super) fn is_claude(self) -> bool {
        matches!(self, Model::Claude(..))
    }

    /// Whether breakpoints are taken in instructions and messages; others refuse them.
    pub(super) fn caches(self) -> bool {
        match self {
            Model::Claude(major, minor) => (major, minor) >= (3, 5),
            Model::Nova(_) => true,
            _ => false,
        }
    }

    /// Whether a breakpoint is taken among tools; Nova refuses it.
    pub(super) fn caches_tools(self) -> bool {
        self.caches() && self.is_claude()
    }

    /// Whether what is cached can be kept for an hour.
    pub(super) fn caches_long(self) -> bool {
        matches!(self, Model::Claude(major, minor) if (major, minor) >= (4, 5))
    }

    /// Returns the fields of the model's own that the request asks for.
    pub(super) fn fields(self, request: &Request) -> Result<Map<String, Value>, EncodeError> {
        let mut fields = self.thinking(request)?;
        match (request.top_k, self) {
            (None, _) => {}
            (Some(top_k), Model::Claude(..)) => drop(fields.insert("top_k".to_owned(), json!(top_k))),
            (Some(top_k), Model::Nova(_)) => {
                fields.insert("inferenceConfig".to_owned(), json!({ "topK": top_k }));
            }
            (Some(_), _) => return Err(unsupported("top-k with this model")),
        }
        Ok(fields)
    }

    fn thinking(self, request: &Request) -> Result<Map<String, Value>, EncodeError> {
        let effort = match request.thinking {
            Thinking::Unsaid => return Ok(Map::new()),
            Thinking::Off => None,
            Thinking::Budget(budget) => Some(Effort::of_budget(budget)),
            Thinking::Effort(effort) => Some(effort),
        };
        // In three steps, for models that know no others.
        let word = effort.map(|effort| effort.clamp(Effort::Low, Effort::High).word());
        let switch = match effort {
            Some(_) => "high",
            None => "none",
        };
        let fields = match (self, word) {
            (Model::Claude(major, minor), _) => return claude_thinking((major, minor), request),
            (Model::Nova(2), None) => json!({ "reasoningConfig": { "type": "disabled" } }),
            (Model::Nova(2), Some(word)) => {
                json!({ "reasoningConfig": { "type": "enabled", "maxReasoningEffort": word } })
            }
            // Recorded with `high`.
            (Model::Qwen, word) => json!({ "reasoning_config": word.unwrap_or("none") }),
            (Model::HardOrNot, _) => json!({ "reasoning_effort": switch }),
            (Model::Glm, Some(_)) => {
                json!({ "reasoning_effort": effort.map(|effort| effort.max(Effort::Low).word()) })
            }
            (Model::GptOss, Some(word)) => json!({ "reasoning_effort": word }),
            (Model::Gpt, None) => json!({ "reasoning": { "effort": "none" } }),
            (Model::Gpt | Model::Grok, Some(_)) => {
                json!({ "reasoning": { "effort": effort.map(highest_known) } })
            }
            (_, None) => return Err(unsupported("reasoning off with this model")),
            (_, Some(_)) => return Err(unsupported("a choice of how much this model reasons")),
        };
        match fields {
            Value::Object(fields) => Ok(fields),
            _ => Ok(Map::new()),
        }
    }
}

/// Anthropic's own fields, passed on.
fn claude_thinking(version: (u32, u32), request: &Request) -> Result<Map<String, Value>, EncodeError> {
    let limit = request.max_output_tokens.unwrap_or(u32::MAX);
    object(match fitting(request.thinking, version, limit) {
        Thinking::Unsaid => return Ok(Map::new()),
        Thinking::Off => json!({ "thinking": { "type": "disabled" } }),
        Thinking::Budget(budget) if budget >= limit => {
            return Err(EncodeError::ThinkingBudget { budget, max_output_tokens: limit });
        }
        Thinking::Budget(budget) => json!({ "thinking": { "type": "enabled", "budget_tokens": budget } }),
        Thinking::Effort(effort) => json!({
            "thinking": { "type": "adaptive" },
            "output_config": { "effort": effort.max(Effort::Low).word() },
        }),
    })
}

/// Above `high` the models of others have one step here.
fn highest_known(effort: Effort) -> &'static str {
    match effort.max(Effort::Low) {
        Effort::Max => Effort::XHigh.word(),
        effort => effort.word(),
    }
}

fn object(value: Value) -> Result<Map<String, Value>, EncodeError> {
    match value {
        Value::Object(fields) => Ok(fields),
        _ => Ok(Map::new()),
    }
}

fn unsupported(what: &'static str) -> EncodeError {
    EncodeError::Unsupported { wire: NAME, what }
}
