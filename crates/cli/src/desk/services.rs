//! Where the services are, and what shows that we may ask them: each reads its own variables.
//!
//! A key goes only to the host whose variable it came from, or to the base URL that was named together with its API.

use trunkline_providers::{BaseUrl, Secret, SigV4};

use crate::args::model::{Api, Model};
use crate::desk::asked::{is_at, service_at};
use crate::term::fault::Fault;

const ANTHROPIC: &str = "https://api.anthropic.com";
const OPENAI: &str = "https://api.openai.com/v1";
const OPENROUTER: &str = "https://openrouter.ai/api/v1";
const GEMINI: &str = "https://generativelanguage.googleapis.com";
const OLLAMA: &str = "127.0.0.1:11434";

/// What shows that we may ask.
#[derive(Debug)]
pub(crate) enum Proof {
    /// Nothing: local servers want none.
    None,
    /// A key in a header.
    Key(Secret),
    /// Signatures.
    Signed(SigV4),
}

/// Where an API is asked, and with what.
pub(crate) type Found = (BaseUrl, Proof);

/// Finds the address of an API, and what shows that we may ask there. `env` looks variables up.
pub(crate) fn found(api: Api, typed: &Model, env: &impl Fn(&str) -> Option<String>) -> Result<Found, Fault> {
    match api {
        Api::Anthropic => anthropic(typed, env),
        Api::Openai | Api::Responses => openai(typed, env),
        Api::Gemini => gemini(typed, env),
        Api::Bedrock => bedrock(typed, env),
        Api::Ollama => ollama(typed, env),
    }
}

fn anthropic(typed: &Model, env: &impl Fn(&str) -> Option<String>) -> Result<Found, Fault> {
    let named = typed.base_url.clone().or_else(|| env("ANTHROPIC_BASE_URL"));
    let key = key(&["ANTHROPIC_API_KEY"], env);
    if named.is_none() && key.is_none() {
        return Err(Fault::usage("no key for Anthropic")
            .hint("set ANTHROPIC_API_KEY, or name a server with --base-url"));
    }
    Ok((base_url(named.as_deref().unwrap_or(ANTHROPIC))?, proof(key)))
}

fn openai(typed: &Model, env: &impl Fn(&str) -> Option<String>) -> Result<Found, Fault> {
    if let Some(named) = typed.base_url.clone().or_else(|| env("OPENAI_BASE_URL")) {
        let base = base_url(&named)?;
        let own = service_at(base.host()).map_or("OPENAI_API_KEY", |service| service.key);
        return Ok((base, proof(key(&[own, "OPENAI_API_KEY"], env))));
    }
    for (variable, address) in [("OPENAI_API_KEY", OPENAI), ("OPENROUTER_API_KEY", OPENROUTER)] {
        if let Some(key) = key(&[variable], env) {
            return Ok((base_url(address)?, Proof::Key(key)));
        }
    }
    if let Some(host) = env("OLLAMA_HOST") {
        return Ok((base_url(&format!("{}/v1", ollama_url(&host)))?, Proof::None));
    }
    Err(Fault::usage("no key and no address for an OpenAI API")
        .hint("set OPENAI_API_KEY, or name a server with --base-url"))
}

fn gemini(typed: &Model, env: &impl Fn(&str) -> Option<String>) -> Result<Found, Fault> {
    // A key of Google's may be one for maps; the one that says Gemini is meant for this.
    let key = key(&["GEMINI_API_KEY", "GOOGLE_API_KEY"], env);
    if typed.base_url.is_none() && key.is_none() {
        return Err(Fault::usage("no key for Gemini")
            .hint("set GEMINI_API_KEY or GOOGLE_API_KEY, or name a server with --base-url"));
    }
    Ok((base_url(typed.base_url.as_deref().unwrap_or(GEMINI))?, proof(key)))
}

fn bedrock(typed: &Model, env: &impl Fn(&str) -> Option<String>) -> Result<Found, Fault> {
    let named = typed.base_url.as_deref().map(base_url).transpose()?;
    let at_host = named.as_ref().and_then(|base| region_at(base.host())).map(str::to_owned);
    let region = at_host.or_else(|| env("AWS_REGION")).or_else(|| env("AWS_DEFAULT_REGION"));
    let region = region.ok_or_else(|| {
        Fault::usage("no region for Bedrock").hint("set AWS_REGION to the region whose models you may use")
    })?;
    // It becomes a part of the host that the key goes to.
    if !region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Err(Fault::usage(format!("{region:?} is no region of AWS; one looks like us-east-1")));
    }
    let proof = match (key(&["AWS_BEARER_TOKEN_BEDROCK"], env), env("AWS_ACCESS_KEY_ID")) {
        (Some(key), _) => Proof::Key(key),
        (None, Some(id)) => {
            let secret = key(&["AWS_SECRET_ACCESS_KEY"], env).ok_or_else(|| {
                Fault::usage("AWS_ACCESS_KEY_ID is set, AWS_SECRET_ACCESS_KEY is not")
                    .hint("set both, and AWS_SESSION_TOKEN for temporary credentials")
            })?;
            let signer = SigV4::new(region.as_str(), id, secret);
            Proof::Signed(match key(&["AWS_SESSION_TOKEN"], env) {
                Some(token) => signer.with_session_token(token),
                None => signer,
            })
        }
        (None, None) if named.is_some() => Proof::None,
        (None, None) => {
            return Err(Fault::usage("no key for Bedrock")
                .hint("set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
                .hint("`aws configure export-credentials --format env` prints those of a profile"));
        }
    };
    let base = match named {
        Some(base) => base,
        None => {
            let end = if region.starts_with("cn-") { ".cn" } else { "" };
            base_url(&format!("https://bedrock-runtime.{region}.amazonaws.com{end}"))?
        }
    };
    Ok((base, proof))
}

fn ollama(typed: &Model, env: &impl Fn(&str) -> Option<String>) -> Result<Found, Fault> {
    let address = match &typed.base_url {
        Some(url) => url.clone(),
        None => ollama_url(&env("OLLAMA_HOST").unwrap_or_else(|| OLLAMA.to_owned())),
    };
    // Where its other API is, this one is too.
    let address = address.trim().trim_end_matches('/');
    let base = base_url(address.strip_suffix("/v1").unwrap_or(address))?;
    let key = key(&["OLLAMA_API_KEY"], env).filter(|_| is_at(base.host(), "ollama.com"));
    Ok((base, proof(key)))
}

/// Whether an address is one that needs not be named, and not a server of somebody's own.
pub(crate) fn is_everybodys(address: &str, provider: &str) -> bool {
    let known = [ANTHROPIC, OPENAI, OPENROUTER, GEMINI];
    let digests = known.iter().filter_map(|url| Some(url.parse::<BaseUrl>().ok()?.digest()));
    digests.into_iter().any(|known| known == address) || provider.starts_with("bedrock")
}

/// Returns the region of a host of Bedrock's.
pub(crate) fn region_at(host: &str) -> Option<&str> {
    let rest =
        host.strip_prefix("bedrock-runtime.").or_else(|| host.strip_prefix("bedrock-runtime-fips."))?;
    rest.strip_suffix(".amazonaws.com").or_else(|| rest.strip_suffix(".amazonaws.com.cn"))
}

/// Returns the first key that there is.
fn key(variables: &[&str], env: &impl Fn(&str) -> Option<String>) -> Option<Secret> {
    variables.iter().find_map(|name| env(name)).map(Secret::new)
}

fn proof(key: Option<Secret>) -> Proof {
    key.map_or(Proof::None, Proof::Key)
}

pub(crate) fn base_url(text: &str) -> Result<BaseUrl, Fault> {
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
    format!("{scheme}://{name}:{port}")
}
