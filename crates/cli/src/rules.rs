//! `trunkline rules`: what was decided ahead, and by whom.

mod sound;

use std::path::Path;

use serde_json::{Value, json};
use trunkline_message_tree::Timestamp;
use trunkline_runtime::letters::{Request, Settled};
use trunkline_runtime::resolve_queue::{
    Actor, ActorKind, BadPattern, CommandPattern, Effect, Rule, RuleChange, RuleEntry, RuleEvent, RuleId,
    RuleTarget, RuleVerdict, Scope, plain_words,
};
use trunkline_session_store::{Claim, SessionInfo};

pub(crate) use self::sound::sound;

use crate::args::resolve::{AddRule, EffectWord, RuleWord, Rules, RulesAct};
use crate::letters::{self, Entrance};
use crate::place::{Place, Store};
use crate::reading::Reading;
use crate::resolve::user;
use crate::setup::{self, Folder};
use crate::store::{self, ago, now};
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{BOLD, DIM, GREEN, RED, YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::{count, one_line};

/// Why a rule is taken back that the agent does not keep any more.
const NOT_KEPT: &str = "no longer kept";

/// What somebody wants done with the rules of a session.
enum Wish {
    Give(Rule),
    Revoke(RuleId, String),
}

/// Lists, gives or takes back.
pub(crate) async fn run(args: &Rules, place: &Place) -> Result<Exit, Fault> {
    let wish = match &args.act {
        None => None,
        Some(RulesAct::Add(add)) => Some(Wish::Give(rule_of(add)?)),
        Some(RulesAct::Revoke { rule, reason }) => {
            let unread = |_| {
                Fault::usage(format!(
                    "there is no rule {:?}: they are called r1, r2 and so on",
                    one_line(rule, 40)
                ))
            };
            Some(Wish::Revoke(rule.parse().map_err(unread)?, reason.clone()))
        }
    };
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), args.session.as_deref()).await?;
    if let Some(Wish::Give(rule)) = &wish {
        sound(rule, info.workspace.as_deref().map(Path::new)).map_err(Fault::usage)?;
    }
    match wish {
        None => list(args, &store, &info, place).await,
        Some(wish) => carry_out(args, wish, &store, &info, place).await,
    }
}

async fn carry_out(
    args: &Rules,
    wish: Wish,
    store: &Store,
    info: &SessionInfo,
    place: &Place,
) -> Result<Exit, Fault> {
    let request = match &wish {
        Wish::Give(rule) => Request::GiveRule { rule: rule.clone() },
        Wish::Revoke(id, reason) => Request::RevokeRule { rule: *id, reason: reason.clone() },
    };
    let holder = match letters::writer(store.as_ref(), info).await? {
        Some(holder) => Some(holder),
        None => {
            let reading = Reading::load(store.as_ref(), info).await?;
            let agent = setup::without_model(&Folder::for_moves(&reading)?)?.build()?;
            match letters::enter(&agent, store, info, Claim::IfFree).await? {
                Entrance::Mine(mut session) => {
                    match &wish {
                        Wish::Give(rule) => session.give_rule(rule.clone()).await.map(drop)?,
                        Wish::Revoke(id, reason) => session.revoke_rule(*id, reason).await?,
                    }
                    None
                }
                // It came in the meantime.
                Entrance::Theirs(holder) => Some(holder),
            }
        }
    };
    if let Some(holder) = holder {
        match letters::ask(place, store.as_ref(), info, &holder, &request, args.wait).await? {
            Some(Settled::Refused { reason }) => return Err(Fault::new(one_line(&reason, 300))),
            Some(_) => {}
            None => return Ok(Exit::Done),
        }
    }
    let reading = Reading::load(store.as_ref(), &store.info(&info.id).await?).await?;
    let entry = match &wish {
        Wish::Give(rule) => reading.rules().iter().rfind(|entry| entry.rule == *rule),
        Wish::Revoke(id, _) => reading.rules().get(*id),
    };
    if let Some(entry) = entry {
        out::print(&line(entry))?;
    }
    Ok(Exit::Done)
}

async fn list(args: &Rules, store: &Store, info: &SessionInfo, place: &Place) -> Result<Exit, Fault> {
    let reading = Reading::load(store.as_ref(), info).await?;
    let now = now();
    let shown: Vec<&RuleEntry> =
        reading.rules().iter().filter(|entry| args.all || entry.counts(now.0)).collect();
    if args.json {
        let listed: Vec<Value> = shown.iter().map(|entry| as_json(entry, now)).collect();
        out::print_json(&json!({ "version": 1, "session": info.id, "rules": listed }))?;
        return Ok(Exit::Done);
    }
    out::print(&shown.iter().map(|entry| line(entry)).collect::<String>())?;
    let name = store::short_name(store.as_ref(), &info.id).await;
    let over = reading.rules().iter().count() - shown.len();
    if shown.is_empty() {
        tell(&format!("no rule counts in session {name}: the policy of the run decides\n"));
    }
    if over > 0 {
        let all = place.command(&format!("rules --all -s {name}"));
        tell(&paint(DIM, &format!("  {} that no longer count: {all}\n", count(over, "rule"))));
    }
    Ok(Exit::Done)
}

/// Returns a rule and what became of it on one line.
fn line(entry: &RuleEntry) -> String {
    let (now, rule) = (now(), &entry.rule);
    let (verdict, style) = match rule.verdict {
        RuleVerdict::Allow => ("allow", GREEN),
        RuleVerdict::Ask => ("ask", YELLOW),
        RuleVerdict::Deny => ("deny", RED),
    };
    let mut line = format!(
        "{}  {}  {}  {}",
        paint(BOLD, &format!("{:<3}", entry.id.to_string())),
        paint(style, &format!("{verdict:<5}")),
        about(rule),
        scope(rule.scope),
    );
    let by = one_line(&rule.given_by.to_string(), 60);
    let mut rest = format!("  by the {by} {}", ago(Timestamp(entry.added_at), now));
    if entry.used > 0 {
        rest.push_str(&format!(", used {}", times(entry.used)));
    }
    if let Some(end) = rule.expires_at {
        rest.push_str(&format!(", {}", crate::resolve::expiry(Timestamp(end), now)));
    }
    if !rule.reason.is_empty() {
        rest.push_str(&format!(": {}", one_line(&rule.reason, 100)));
    }
    line.push_str(&paint(DIM, &rest));
    if let Some((by, reason)) = &entry.revoked {
        line.push_str(&paint(YELLOW, &format!("  {}", revoked(by, reason))));
    }
    line + "\n"
}

/// Says who took a rule back, or that the file of the run does not have it any more.
fn revoked(by: &Actor, reason: &str) -> String {
    if by.kind == ActorKind::Policy && reason == NOT_KEPT {
        return "no longer in the policy file".to_owned();
    }
    let why = if reason.is_empty() { String::new() } else { format!(": {}", one_line(reason, 160)) };
    format!("taken back by the {}{why}", one_line(&by.to_string(), 60))
}

fn times(used: u32) -> String {
    if used == 1 { "once".to_owned() } else { format!("{used} times") }
}

fn as_json(entry: &RuleEntry, now: Timestamp) -> Value {
    let mut listed = json!(entry);
    if let Some(fields) = listed.as_object_mut() {
        fields.insert("counts".to_owned(), json!(entry.counts(now.0)));
    }
    listed
}

/// Tells what happened to a rule; nothing of a use, which the decision tells.
pub(crate) fn event(event: &RuleEvent) -> Option<String> {
    let id = event.rule;
    Some(match &event.change {
        RuleChange::Added(rule) => {
            let by = one_line(&rule.given_by.to_string(), 60);
            paint(DIM, &format!("· rule {id} by the {by}: {}", told(rule)))
        }
        RuleChange::Revoked { by, reason } => paint(DIM, &format!("· rule {id} {}", revoked(by, reason))),
        _ => return None,
    })
}

/// Makes the rule that was typed.
fn rule_of(add: &AddRule) -> Result<Rule, Fault> {
    let verdict = match add.verdict {
        RuleWord::Allow => RuleVerdict::Allow,
        RuleWord::Ask => RuleVerdict::Ask,
        RuleWord::Deny => RuleVerdict::Deny,
    };
    let mut rule = Rule::new(verdict, Actor::new(ActorKind::Person, user()));
    if add.tool.as_deref().is_some_and(str::is_empty) {
        return Err(Fault::usage("the name of the tool is empty"));
    }
    rule.tool = add.tool.clone();
    rule.effects = add.effect.iter().map(|effect| effect_of(*effect)).collect();
    let bad = |fault: BadPattern| Fault::usage(one_line(&fault.to_string(), 300));
    if let Some(path) = &add.path {
        rule.target = Some(RuleTarget::Path(path.parse().map_err(bad)?));
    }
    if let Some(command) = &add.command {
        let words = plain_words(command).ok_or_else(|| {
            Fault::usage(format!("{:?} is more than a program and its words", one_line(command, 80)))
                .hint("a rule goes by plain words, such as \"cargo test\"; what a shell would make more of matches none")
        })?;
        let pattern = match add.exactly {
            true => CommandPattern::exactly(words),
            false => CommandPattern::beginning(words),
        };
        rule.target = Some(RuleTarget::Command(pattern.map_err(bad)?));
    }
    if add.once {
        rule.scope = Scope::Once;
    }
    rule.reason.clone_from(&add.reason);
    rule.expires_at = add.lasting.map(|lasting| now().0.saturating_add(lasting));
    Ok(rule)
}

fn effect_of(word: EffectWord) -> Effect {
    match word {
        EffectWord::Pure => Effect::Pure,
        EffectWord::Reversible => Effect::Reversible,
        EffectWord::Compensable => Effect::Compensable,
        EffectWord::Irreversible => Effect::Irreversible,
    }
}

/// Returns what a rule says, in one line.
pub(crate) fn told(rule: &Rule) -> String {
    let verdict = match rule.verdict {
        RuleVerdict::Allow => "allow",
        RuleVerdict::Ask => "ask",
        RuleVerdict::Deny => "never",
    };
    format!("{verdict} {}, {}", about(rule), scope(rule.scope))
}

/// Returns what a rule is about.
pub(crate) fn about(rule: &Rule) -> String {
    let tool = rule.tool.as_deref().map(|tool| one_line(tool, 40));
    let mut about = match (&rule.target, tool) {
        (Some(RuleTarget::Path(pattern)), tool) => {
            let what = tool.map_or_else(|| "what is written to".to_owned(), |tool| format!("{tool} on"));
            format!("{what} {}", one_line(&pattern.to_string(), 120))
        }
        (Some(RuleTarget::Command(pattern)), tool) => {
            let what = tool.unwrap_or_else(|| "the command".to_owned());
            format!("{what}: {}", one_line(&pattern.to_string(), 120))
        }
        (Some(_), tool) => format!("{} on something else", tool.unwrap_or_else(|| "any tool".to_owned())),
        (None, Some(tool)) => format!("{tool}, whatever it does"),
        (None, None) => "whatever any tool does".to_owned(),
    };
    if !rule.effects.is_empty() {
        let effects: Vec<String> = rule.effects.iter().map(ToString::to_string).collect();
        about.push_str(&format!(" ({})", effects.join(" or ")));
    }
    if rule.verdict == RuleVerdict::Ask && !rule.deciders.is_empty() {
        let deciders: Vec<String> = rule.deciders.iter().map(ToString::to_string).collect();
        about.push_str(&format!("; {} or a person decides", deciders.join(" or ")));
    }
    about
}

/// Returns for how long a rule counts.
pub(crate) fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Once => "once",
        Scope::Session => "in this session",
        Scope::Always => "always",
    }
}
