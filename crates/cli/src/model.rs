//! Whom to ask: read from what was typed and from the usual environment variables.
//!
//! A key goes only where it belongs: to the host whose variable it came from, or to the base URL that was named together
//! with its API.

use trunkline_message_tree::Origin;
use trunkline_providers::{Anthropic, BaseUrl, Dialect, HttpProvider, OpenAiChat, Provider, Secret, Wire};

use crate::args::{Api, Model};
use crate::fault::Fault;

const ANTHROPIC: &str = "https://api.anthropic.com";
const OPENAI: &str = "https://api.openai.com/v1";
const OPENROUTER: &str = "https://openrouter.ai/api/v1";
/// What Anthropic's own client takes for "sonnet"; read 2026-11.
const ANTHROPIC_MODEL: &str = "claude-sonnet-5-5";

const SCREEN: &str = "\
no model to ask: set one of these, or name it on the command line

  Anthropic            export ANTHROPIC_API_KEY=…
  OpenAI               export OPENAI_API_KEY=…       and --model MODEL
  OpenRouter           export OPENROUTER_API_KEY=…   and --model MODEL
  Ollama               export OLLAMA_HOST=127.0.0.1:11434   and --model MODEL
  llama.cpp, vLLM,     --provider openai --base-url http://localhost:8080/v1 --model MODEL
  LM Studio, others    (OPENAI_BASE_URL and TRUNKLINE_MODEL say the same)

`trunkline demo` needs none of them.";

/// Whom to ask, settled.
#[derive(Debug)]
pub(crate) struct Choice {
    api: Api,
    base: BaseUrl,
    key: Option<Secret>,
    model: String,
}

/// Settles whom to ask. `last` is who wrote the session's last reply; `env` looks variables up.
pub(crate) fn choose(
    typed: &Model,
    last: Option<&Origin>,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Choice, Fault> {
    let env = |name: &str| env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let named_model = typed.model.clone().or_else(|| env("TRUNKLINE_MODEL"));
    let api = match (typed.provider, env("TRUNKLINE_PROVIDER")) {
        (Some(api), _) => Some(api),
        (None, Some(name)) => Some(api_named(&name)?),
        (None, None) => None,
    };
    let api = match (api, &typed.base_url) {
        (Some(api), _) => api,
        (None, Some(url)) => {
            if base_url(url)?.host().ends_with("anthropic.com") {
                Api::Anthropic
            } else {
                Api::Openai
            }
        }
        (None, None) => suggested(named_model.as_deref(), last, &env).ok_or_else(|| Fault::usage(SCREEN))?,
    };
    let (base, key) = match api {
        Api::Anthropic => anthropic(typed, &env)?,
        Api::Openai => openai(typed, &env)?,
    };
    let of_session = last.filter(|origin| origin.provider == name_of(api)).map(|origin| origin.model.clone());
    let model = match (named_model.or(of_session), api) {
        (Some(model), _) => model,
        (None, Api::Anthropic) => ANTHROPIC_MODEL.to_owned(),
        (None, Api::Openai) => {
            return Err(Fault::usage(format!("no model named for {base}"))
                .hint("add --model MODEL, or set TRUNKLINE_MODEL"));
        }
    };
    Ok(Choice { api, base, key, model })
}

impl Choice {
    /// Returns the provider.
    pub(crate) fn provider(&self) -> Result<Box<dyn Provider>, Fault> {
        let wire: Box<dyn Wire> = match self.api {
            Api::Anthropic => Box::new(Anthropic::new()),
            Api::Openai => Box::new(OpenAiChat::new(Dialect::for_host(self.base.host()))),
        };
        let origin = Origin { provider: name_of(self.api).to_owned(), model: self.model.clone() };
        let provider = HttpProvider::new(wire, self.base.clone(), self.key.as_ref(), origin)?;
        Ok(Box::new(provider))
    }

    /// Returns who is asked, in a few words.
    pub(crate) fn words(&self) -> String {
        format!("{} at {}", self.model, self.base.host())
    }
}

type Found = (BaseUrl, Option<Secret>);

fn anthropic(typed: &Model, env: &impl Fn(&str) -> Option<String>) -> Result<Found, Fault> {
    let named = typed.base_url.clone().or_else(|| env("ANTHROPIC_BASE_URL"));
    let key = env("ANTHROPIC_API_KEY").map(Secret::new);
    if named.is_none() && key.is_none() {
        return Err(Fault::usage("no key for Anthropic")
            .hint("set ANTHROPIC_API_KEY, or name a server with --base-url"));
    }
    Ok((base_url(named.as_deref().unwrap_or(ANTHROPIC))?, key))
}

fn openai(typed: &Model, env: &impl Fn(&str) -> Option<String>) -> Result<Found, Fault> {
    let key = |name: &str| env(name).map(Secret::new);
    if let Some(named) = typed.base_url.clone().or_else(|| env("OPENAI_BASE_URL")) {
        let base = base_url(&named)?;
        let router = base.host() == "openrouter.ai" || base.host().ends_with(".openrouter.ai");
        let key = if router {
            key("OPENROUTER_API_KEY").or_else(|| key("OPENAI_API_KEY"))
        } else {
            key("OPENAI_API_KEY")
        };
        return Ok((base, key));
    }
    if let Some(key) = key("OPENAI_API_KEY") {
        return Ok((base_url(OPENAI)?, Some(key)));
    }
    if let Some(key) = key("OPENROUTER_API_KEY") {
        return Ok((base_url(OPENROUTER)?, Some(key)));
    }
    if let Some(host) = env("OLLAMA_HOST") {
        return Ok((base_url(&ollama_url(&host))?, None));
    }
    Err(Fault::usage("no key and no address for an OpenAI API")
        .hint("set OPENAI_API_KEY, or name a server with --base-url"))
}

/// Guesses the API from the variables that are set; with both kinds the model's name decides, then the session.
fn suggested(
    model: Option<&str>,
    last: Option<&Origin>,
    env: &impl Fn(&str) -> Option<String>,
) -> Option<Api> {
    let any = |names: &[&str]| names.iter().any(|name| env(name).is_some());
    let anthropic = any(&["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"]);
    let openai = any(&["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENROUTER_API_KEY", "OLLAMA_HOST"]);
    match (anthropic, openai) {
        (false, false) => None,
        (true, false) => Some(Api::Anthropic),
        (false, true) => Some(Api::Openai),
        (true, true) => Some(match (model, last) {
            (Some(model), _) if !model.starts_with("claude") => Api::Openai,
            (None, Some(last)) if last.provider == name_of(Api::Openai) => Api::Openai,
            _ => Api::Anthropic,
        }),
    }
}

fn name_of(api: Api) -> &'static str {
    match api {
        Api::Anthropic => "anthropic",
        Api::Openai => "openai",
    }
}

fn api_named(name: &str) -> Result<Api, Fault> {
    match name {
        "anthropic" => Ok(Api::Anthropic),
        "openai" => Ok(Api::Openai),
        other => Err(Fault::usage(format!("TRUNKLINE_PROVIDER is {other:?}; it can be anthropic or openai"))),
    }
}

fn base_url(text: &str) -> Result<BaseUrl, Fault> {
    text.parse().map_err(|error| Fault::usage(format!("{error}")))
}

/// Reads `OLLAMA_HOST` the way its own client does: scheme and port may be missing, and "all addresses" means this one.
fn ollama_url(host: &str) -> String {
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let rest = rest.trim_end_matches('/');
    let (name, port) = match rest.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            (name, port)
        }
        _ if scheme == "https" => (rest, "443"),
        _ => (rest, "11434"),
    };
    let name = if matches!(name, "" | "0.0.0.0" | "[::]") { "127.0.0.1" } else { name };
    format!("{scheme}://{name}:{port}/v1")
}
