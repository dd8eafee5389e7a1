//! Whom to ask: read from what was typed and from the usual environment variables.
//!
//! What is typed comes first, then what the session tells, then variables; where each service is and which key goes there, [`services`] knows.
//!
//! [`services`]: crate::desk::services

use std::sync::Arc;

use clap::ValueEnum;
use trunkline_message_tree::Origin;
use trunkline_providers::{BaseUrl, Bounds, CassetteFile, HttpProvider, Provider, Record, RetryPolicy};
use trunkline_runtime::{Asked as Server, distrust};
use trunkline_session_store::SessionStore;

use crate::args::model::{Api, Model};
use crate::desk::asked::{api_of, is_at, name_of, wire_of};
use crate::desk::cassette::{self, Tape};
use crate::desk::services::{Proof, base_url, found, is_everybodys, region_at};
use crate::reading::session::Reading;
use crate::term::fault::Fault;

/// What Anthropic's own client takes for "sonnet"; read 2026-11.
const ANTHROPIC_MODEL: &str = "claude-sonnet-5-5";

const SCREEN: &str = "\
no model to ask: set one of these, or name it on the command line

  Anthropic            export ANTHROPIC_API_KEY=…
  OpenAI               export OPENAI_API_KEY=…       and --model MODEL   (newer API: --provider responses)
  OpenRouter           export OPENROUTER_API_KEY=…   and --model MODEL
  Google Gemini        export GEMINI_API_KEY=…       and --model MODEL
  AWS Bedrock          export AWS_BEARER_TOKEN_BEDROCK=… AWS_REGION=…   and --model MODEL
                       (with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: --provider bedrock)
  Ollama               --provider ollama --model MODEL   (elsewhere: export OLLAMA_HOST=HOST:11434)
  llama.cpp, vLLM,     --provider openai --base-url http://localhost:8080/v1 --model MODEL
  LM Studio, others    (OPENAI_BASE_URL and TRUNKLINE_MODEL say the same)

`trunkline demo` and `trunkline run --replay FILE` need none of them.";

/// A model that can be asked.
pub(crate) struct Asked {
    /// The provider.
    pub(crate) provider: Box<dyn Provider>,
    /// Who it is, in a few words.
    pub(crate) words: String,
    /// What is recorded or played.
    pub(crate) tape: Tape,
    /// Where, if that was named by its address; without user and password.
    pub(crate) url: Option<String>,
    /// What variables have said of it, as flags, where the session has no reply yet that tells who was asked.
    pub(crate) named: Named,
    /// Who is asked what branches came to, if a model is.
    pub(crate) summaries: Option<Box<dyn Provider>>,
}

impl Asked {
    /// A model that only plays.
    pub(crate) fn scripted(provider: Box<dyn Provider>, words: &str) -> Self {
        Asked {
            provider,
            words: words.to_owned(),
            tape: Tape::None,
            url: None,
            named: Named::default(),
            summaries: None,
        }
    }
}

/// What is said of a model by variables and not by flags.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named {
    pub(crate) provider: Option<Api>,
    pub(crate) base_url: Option<String>,
    pub(crate) model: Option<String>,
}

/// What a session tells of whom it has asked.
#[derive(Default)]
pub(crate) struct Before {
    /// Who wrote its last reply.
    pub(crate) last: Option<Origin>,
    /// The server that it asked last, if that was named by its address.
    pub(crate) server: Option<Server>,
}

/// Returns what a session tells; of one that was brought here from elsewhere, no server: nothing may go where a file says.
pub(crate) async fn before(store: &dyn SessionStore, reading: &Reading) -> Result<Before, Fault> {
    let last = reading.tree().trunk().messages().rev().find_map(|message| message.origin.clone());
    let letters = store.inbox(&reading.info.id).await?;
    let foreign = letters.iter().any(|letter| letter.kind == distrust(letter.at).kind);
    Ok(Before { last, server: reading.asked().cloned().filter(|_| !foreign) })
}

/// Finds a model to ask, or a recording of one.
pub(crate) fn open(
    typed: &Model,
    before: &Before,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Asked, Fault> {
    let last = before.last.as_ref();
    let typed = &usual(typed, before, &env);
    if let Some(path) = &typed.replay {
        let player = cassette::play(path, last, typed.bounds())?;
        let words = player.words();
        return Ok(Asked {
            provider: Box::new(player.clone()),
            words,
            tape: Tape::Plays(player),
            url: None,
            named: Named::default(),
            summaries: None,
        });
    }
    let known = again(typed, before, &env);
    let is_remembered = known.is_some();
    let typed = known.as_ref().unwrap_or(typed);
    let choice = choose(typed, last, &env)?;
    let named = match is_remembered || last.is_some() {
        true => Named::default(),
        false => choice.named(typed, &env),
    };
    let words = choice.words();
    let url = typed.base_url.is_some().then(|| choice.base.without_user());
    let Some(path) = &typed.record else {
        return Ok(Asked {
            provider: choice.provider(None, typed.bounds())?,
            words,
            tape: Tape::None,
            url,
            named,
            summaries: None,
        });
    };
    let file = cassette::record(path)?;
    let record: Arc<dyn Record> = Arc::<CassetteFile>::clone(&file);
    let tape = Tape::Records(file, path.clone());
    Ok(Asked {
        provider: choice.provider(Some(record), typed.bounds())?,
        words,
        tape,
        url,
        named,
        summaries: None,
    })
}

/// Returns what is typed, and for a new session what is usual where nothing is: what has answered a session goes on to,
/// whatever is usual by now.
pub(crate) fn usual(typed: &Model, before: &Before, env: impl Fn(&str) -> Option<String>) -> Model {
    match before.last.is_none() && before.server.is_none() {
        true => typed.or_usual(env),
        false => typed.clone(),
    }
}

/// Returns what would have to be typed to ask the server again that a session has asked; `None` if somebody says otherwise.
pub(crate) fn again(typed: &Model, before: &Before, env: impl Fn(&str) -> Option<String>) -> Option<Model> {
    let server = before.server.as_ref()?;
    let named = typed.provider.is_some() || typed.base_url.is_some() || typed.dialect.is_some();
    if named || env("TRUNKLINE_PROVIDER").is_some_and(|name| !name.trim().is_empty()) {
        return None;
    }
    let mut again = typed.clone();
    let url = server.url.clone()?;
    let api = api_of(&server.provider)?;
    let host = url.parse().map(|base: BaseUrl| base.host().to_owned()).unwrap_or_default();
    // Otherwise the name was chosen for its dialect.
    let by_host = name_of(api, &host, &server.model) == server.provider;
    again.dialect = (!by_host).then(|| server.provider.clone());
    (again.base_url, again.provider) = (Some(url), Some(api));
    if again.model.is_none() && env("TRUNKLINE_MODEL").is_none_or(|name| name.trim().is_empty()) {
        again.model = Some(server.model.clone());
    }
    Some(again)
}

/// Whom to ask, settled.
#[derive(Debug)]
pub(crate) struct Choice {
    base: BaseUrl,
    proof: Proof,
    asked: Origin,
}

/// Settles whom to ask. `last` is who wrote the session's last reply; `env` looks variables up.
pub(crate) fn choose(
    typed: &Model,
    last: Option<&Origin>,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Choice, Fault> {
    let env = |name: &str| env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let named_model = typed.model.clone().or_else(|| env("TRUNKLINE_MODEL"));
    let named_api = match (typed.provider, env("TRUNKLINE_PROVIDER")) {
        (Some(api), _) => Some(api),
        (None, Some(name)) => Some(api_named(&name)?),
        (None, None) => None,
    };
    let last_api = last.and_then(|origin| api_of(&origin.provider));
    let named_api = match (&typed.dialect, named_api) {
        (Some(dialect), named) => {
            let api = api_of(dialect);
            if let (Some(named), Some(api), true) = (named, api, typed.provider.is_some())
                && named != api
            {
                return Err(Fault::usage(format!(
                    "the dialect {dialect} is not one of the API that --provider names"
                ))
                .hint("leave --provider away: the dialect names its API"));
            }
            api
        }
        (None, named) => named,
    };
    let api = match (named_api, &typed.base_url) {
        (Some(api), _) => api,
        (None, Some(url)) => api_at(&base_url(url)?),
        (None, None) => {
            suggested(named_model.as_deref(), last_api, &env).ok_or_else(|| Fault::usage(SCREEN))?
        }
    };
    let (base, proof) = found(api, typed, &env)?;
    let of_session = last.filter(|_| last_api == Some(api)).map(|origin| origin.model.clone());
    let model = match (named_model.or(of_session), api) {
        (Some(model), _) => model,
        (None, Api::Anthropic) => ANTHROPIC_MODEL.to_owned(),
        (None, _) => {
            return Err(Fault::usage(format!("no model named for {base}"))
                .hint("add --model MODEL, or set TRUNKLINE_MODEL"));
        }
    };
    let provider = match &typed.dialect {
        Some(dialect) => dialect.clone(),
        None => name_of(api, base.host(), &model).to_owned(),
    };
    // What was said to a server of one's own must not go to a service because a flag was forgotten.
    let own_server = last.is_some_and(|last| match &last.address {
        Some(address) => {
            let to_everybodys = is_everybodys(&base.digest(), &provider);
            *address != base.digest() && to_everybodys && !is_everybodys(address, &last.provider)
        }
        None => last.provider != provider && last.provider == name_of(api, "", &model),
    });
    if own_server && typed.provider.is_none() && typed.base_url.is_none() && typed.dialect.is_none() {
        let host = base.host();
        return Err(Fault::usage(format!(
            "a server whose address is not kept has answered so far; this would go to {host}"
        ))
        .hint("name that server with --base-url, or say --provider if you mean this one"));
    }
    let asked = Origin::new(provider, model).at(base.digest());
    Ok(Choice { base, proof, asked })
}

impl Choice {
    /// Returns the provider; what is asked and answered is also told to `record`.
    pub(crate) fn provider(
        self,
        record: Option<Arc<dyn Record>>,
        bounds: Bounds,
    ) -> Result<Box<dyn Provider>, Fault> {
        let wire = wire_of(&self.asked).expect("the name was made of an API");
        let (key, signer) = match self.proof {
            Proof::None => (None, None),
            Proof::Key(key) => (Some(key), None),
            Proof::Signed(signer) => (None, Some(signer)),
        };
        let provider = HttpProvider::new(wire, self.base, key.as_ref(), self.asked)?.with_bounds(bounds);
        // The run asks again, and records it: one budget for all attempts, also across kills.
        let mut provider = provider.with_retry(RetryPolicy::never());
        if let Some(signer) = signer {
            provider = provider.with_signer(signer);
        }
        if let Some(record) = record {
            provider = provider.with_record(record);
        }
        Ok(Box::new(provider))
    }

    /// Returns what variables have said.
    fn named(&self, typed: &Model, env: &impl Fn(&str) -> Option<String>) -> Named {
        let env = |name: &str| env(name).filter(|value| !value.trim().is_empty());
        let own = !is_everybodys(&self.base.digest(), &self.asked.provider);
        let base_url = (own && typed.base_url.is_none()).then(|| self.base.without_user());
        let by_variable = base_url.is_some() || env("TRUNKLINE_PROVIDER").is_some();
        let is_typed = typed.provider.is_some() || typed.dialect.is_some();
        Named {
            provider: api_of(&self.asked.provider).filter(|_| by_variable && !is_typed),
            base_url,
            model: env("TRUNKLINE_MODEL").map(|_| self.asked.model.clone()).filter(|_| typed.model.is_none()),
        }
    }

    /// Returns who is asked, in a few words.
    fn words(&self) -> String {
        format!("{} at {}", self.asked.model, self.base.host())
    }
}

/// The APIs that are asked when nothing tells between them.
const ORDER: [Api; 4] = [Api::Anthropic, Api::Gemini, Api::Bedrock, Api::Openai];

/// Guesses the API from the variables that are set; with several kinds the model's name decides, then the session.
fn suggested(model: Option<&str>, last: Option<Api>, env: &impl Fn(&str) -> Option<String>) -> Option<Api> {
    let any = |names: &[&str]| names.iter().any(|name| env(name).is_some());
    let can_be_asked = |api: &Api| match api {
        Api::Anthropic => any(&["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"]),
        Api::Openai => any(&["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENROUTER_API_KEY", "OLLAMA_HOST"]),
        Api::Responses => any(&["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENROUTER_API_KEY"]),
        Api::Gemini => any(&["GEMINI_API_KEY", "GOOGLE_API_KEY"]),
        // Who has other credentials of AWS has them for other things, until a session says otherwise.
        Api::Bedrock if last != Some(Api::Bedrock) => any(&["AWS_BEARER_TOKEN_BEDROCK"]),
        Api::Bedrock => any(&["AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"]),
        Api::Ollama => last == Some(Api::Ollama),
    };
    let told = match model {
        None => last,
        Some(claude) if claude.starts_with("claude") => Some(Api::Anthropic),
        Some(gemini) if gemini.trim_start_matches("models/").starts_with("gemini") => Some(Api::Gemini),
        Some(id) if is_of_bedrock(id) => Some(Api::Bedrock),
        // Others may be anywhere, so also where the session was.
        Some(_) => last.filter(|last| matches!(last, Api::Responses | Api::Ollama)),
    };
    // Those who speak Chat have models of all makers.
    let chat = model.map(|_| Api::Openai);
    told.into_iter().chain(chat).chain(ORDER).find(can_be_asked)
}

/// Whether a model's name is an id of Bedrock: `anthropic.claude-…`, `eu.amazon.nova-…`, or an ARN.
fn is_of_bedrock(model: &str) -> bool {
    let begins_with_word =
        |(first, _): (&str, &str)| !first.contains(|c: char| c.is_ascii_digit() || c == '/');
    model.starts_with("arn:aws") || model.split_once('.').is_some_and(begins_with_word)
}

fn api_named(name: &str) -> Result<Api, Fault> {
    Api::from_str(name, false).map_err(|_| {
        let known: Vec<String> = Api::value_variants()
            .iter()
            .filter_map(|api| Some(api.to_possible_value()?.get_name().to_owned()))
            .collect();
        Fault::usage(format!("TRUNKLINE_PROVIDER is {name:?}; it can be {}", known.join(", ")))
    })
}

/// Guesses the API from an address that was named alone: most servers speak Chat.
fn api_at(base: &BaseUrl) -> Api {
    // Google and Amazon offer Chat too, below a path that says so.
    let speaks_chat = base.to_string().contains("/openai");
    match base.host() {
        host if is_at(host, "anthropic.com") => Api::Anthropic,
        host if is_at(host, "generativelanguage.googleapis.com") && !speaks_chat => Api::Gemini,
        host if region_at(host).is_some() && !speaks_chat => Api::Bedrock,
        _ => Api::Openai,
    }
}

pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
