//! A file of rules: what may be done unasked, what is asked, what never happens.
//!
//! A rule that is not understood could have forbidden something, so a file counts as a whole or not at all.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use trunkline_runtime::resolve_queue::{
    Actor, ActorKind, Effect, Rule, RuleTarget, RuleVerdict, Rules, Scope,
};

use crate::desk::clock::now;
use crate::desk::sound::sound;
use crate::term::fault::Fault;
use crate::term::text::{decoded, one_line};

/// The longest file that is read, in bytes. Every rule is asked about everything that is wanted.
const LONGEST: u64 = 1 << 20;
/// The most rules that a file has.
const MOST: usize = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    rules: Vec<WrittenRule>,
}

/// A [`Rule`], without what is the same for all rules of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    effects: BTreeSet<Effect>,
    #[serde(default)]
    target: Option<RuleTarget>,
    verdict: RuleVerdict,
    #[serde(default)]
    deciders: BTreeSet<ActorKind>,
    #[serde(default = "always")]
    scope: Scope,
    #[serde(default)]
    given_by: Option<Actor>,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    expires_at: Option<u64>,
}

fn always() -> Scope {
    Scope::Always
}

/// Reads a file of rules, for a run in a folder if it has one.
pub(crate) fn read(path: &Path, folder: Option<&Path>) -> Result<Vec<Rule>, Fault> {
    let shown = one_line(&path.display().to_string(), 120);
    let cannot = |what: String| {
        Fault::usage(format!("cannot use {shown} as a policy: {}", one_line(&what, 300)))
            .hint("--policy takes person, model, always, or a file such as {\"rules\":[{\"verdict\":\"allow\",\"target\":{\"path\":\"docs/**\"}}]}; `trunkline help run`")
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| match meant(path) {
        Some(word) => Fault::usage(format!("there is no file {shown}; did you mean --policy {word}?")),
        None => cannot(error.to_string()),
    })?;
    let read = file.take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| cannot(error.to_string()))?;
    if bytes.len() as u64 > LONGEST {
        return Err(cannot(format!("it has more than {LONGEST} bytes")));
    }
    let text = decoded(bytes).map_err(cannot)?;
    parse(&text, &shown, folder).map_err(cannot)
}

/// Returns the word that somebody may have meant who named a file.
fn meant(path: &Path) -> Option<&'static str> {
    let named = path.to_str()?.to_lowercase();
    ["person", "model", "always"].into_iter().find(|word| *word == named)
}

fn parse(text: &str, file: &str, folder: Option<&Path>) -> Result<Vec<Rule>, String> {
    // A list would be read as the values of the fields, whatever they mean.
    let whole: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let rules = whole.get("rules").and_then(Value::as_array);
    if !whole.is_object() || rules.is_some_and(|rules| !rules.iter().all(Value::is_object)) {
        return Err("it is no object of the form {\"rules\":[{…}]}".to_owned());
    }
    // Whatever else is wrong is told with its line and column.
    let written: Written =
        serde_json::from_str(text).map_err(|error| match rules.and_then(|rules| first_wrong(rules)) {
            Some(number) => format!("rule {number}: {error}"),
            None => error.to_string(),
        })?;
    if written.rules.len() > MOST {
        return Err(format!("it has {} rules, and {MOST} are the most", written.rules.len()));
    }
    let mut rules = Vec::new();
    for (number, written) in (1..).zip(written.rules) {
        let rule = rule_of(written, file).map_err(|what| format!("rule {number}: {what}"))?;
        sound(&rule, folder).map_err(|what| format!("rule {number}: {what}"))?;
        // Asked of the one judge, so that a run does not begin that would end with its refusal.
        Rules::new().add(rule.clone(), now().0).map_err(|fault| format!("rule {number}: {fault}"))?;
        rules.push(rule);
    }
    Ok(rules)
}

/// Returns the number of the first rule that cannot be read.
fn first_wrong(rules: &[Value]) -> Option<usize> {
    let wrong = rules.iter().position(|rule| WrittenRule::deserialize(rule).is_err());
    wrong.map(|place| place + 1)
}

fn rule_of(written: WrittenRule, file: &str) -> Result<Rule, String> {
    if written.scope == Scope::Once {
        return Err("the rules of a file count whenever it is named; give one that counts once with `rules add --once`".to_owned());
    }
    if written.tool.as_deref() == Some("") {
        return Err("the name of the tool is empty; leave it out for all tools".to_owned());
    }
    let given_by = written.given_by.unwrap_or_else(|| Actor::new(ActorKind::Policy, file));
    let mut rule = Rule::new(written.verdict, given_by);
    rule.tool = written.tool;
    rule.effects = written.effects;
    rule.target = written.target;
    rule.deciders = written.deciders;
    rule.scope = Scope::Always;
    rule.reason = written.reason;
    rule.expires_at = written.expires_at;
    Ok(rule)
}
