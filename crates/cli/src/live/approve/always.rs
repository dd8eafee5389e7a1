//! Rules that a person may give together with an answer, so that the same is not asked again.
//!
//! Each is narrow, of this session, and shown in full before it counts.

use serde_json::Value;
use trunkline_runtime::resolve_queue::{
    Actor, ActorKind, CommandPattern, Entry, PathPattern, Rule, RuleTarget, RuleVerdict, plain_words,
};

use crate::desk::person::user;

/// Programs that run what their words say: what they begin with says nothing of what is done.
const RUNNERS: [&str; 12] =
    ["sudo", "doas", "env", "xargs", "nohup", "nice", "timeout", "sh", "bash", "zsh", "ssh", "npx"];

/// Returns the rules that would have allowed this, the narrowest first.
pub(crate) fn offers(entry: &Entry<Value>) -> Vec<Rule> {
    let mut targets: Vec<Option<RuleTarget>> = Vec::new();
    match command(entry) {
        Some(command) => {
            let patterns = plain_words(command).map(|words| command_patterns(&words)).unwrap_or_default();
            targets.extend(patterns.into_iter().map(|pattern| Some(RuleTarget::Command(pattern))));
        }
        None => {
            let paths: Vec<&str> = entry.part().collect();
            targets.extend(path_patterns(&paths).into_iter().map(|pattern| Some(RuleTarget::Path(pattern))));
        }
    }
    // Last what goes by the tool alone.
    targets.push(None);
    targets.into_iter().map(|target| rule(entry, target)).collect()
}

fn rule(entry: &Entry<Value>, target: Option<RuleTarget>) -> Rule {
    let mut rule = Rule::new(RuleVerdict::Allow, Actor::new(ActorKind::Person, user()));
    // Whatever writes there is meant, and whatever else the tool may do is not.
    if !matches!(target, Some(RuleTarget::Path(_))) {
        rule.tool = Some(entry.proposal.source_tool.clone());
    }
    // A command has no other.
    if command(entry).is_none() {
        rule.effects.insert(entry.proposal.effect);
    }
    rule.target = target;
    rule
}

/// Returns the command that waits to be run, if it is one.
fn command(entry: &Entry<Value>) -> Option<&str> {
    entry.proposal.payload.get("command")?.as_str()
}

fn command_patterns(words: &[String]) -> Vec<CommandPattern> {
    let exactly = CommandPattern::exactly(words.iter().cloned()).ok();
    let beginning = match words {
        [program, act, ..] if !act.starts_with('-') && !RUNNERS.contains(&program.as_str()) => {
            CommandPattern::beginning([program.clone(), act.clone()]).ok()
        }
        _ => None,
    };
    exactly.into_iter().chain(beginning).collect()
}

fn path_patterns(paths: &[&str]) -> Vec<PathPattern> {
    let exactly = match paths {
        [path] => PathPattern::exactly(path).ok(),
        _ => None,
    };
    let folder = common_folder(paths)
        // A sign that means more in a pattern would make the rule wider than its words.
        .filter(|folder| !folder.contains(['*', '?']))
        .and_then(|folder| format!("{folder}/**").parse().ok());
    exactly.into_iter().chain(folder).collect()
}

/// Returns the folder that all paths are in, unless it is the whole project.
fn common_folder(paths: &[&str]) -> Option<String> {
    let mut folders = paths
        .iter()
        .map(|path| path.rsplit_once('/').map_or("", |(folder, _)| folder).split('/').collect::<Vec<_>>());
    let mut common = folders.next()?;
    for folder in folders {
        let shared = common.iter().zip(&folder).take_while(|(one, other)| one == other).count();
        common.truncate(shared);
    }
    let common = common.join("/");
    (!common.is_empty()).then_some(common)
}
