//! `trunkline rules`: what was decided ahead, and by whom.

use std::path::Path;

use serde_json::{Value, json};
use trunkline_message_tree::Timestamp;
use trunkline_runtime::orders::{Order, Settled};
use trunkline_runtime::resolve_queue::{
    Actor, ActorKind, BadPattern, CommandPattern, Effect, Rule, RuleEntry, RuleId, RuleTarget, RuleVerdict,
    Scope, plain_words,
};
use trunkline_session_store::SessionInfo;

use crate::args::resolve::{AddRule, EffectWord, RuleWord, Rules, RulesAct};
use crate::desk::clock::now;
use crate::desk::letters::{self, Entrance};
use crate::desk::person::user;
use crate::desk::place::{Place, Store};
use crate::desk::setup;
use crate::desk::sound::sound;
use crate::desk::store;
use crate::reading::session::Reading;
use crate::shown::rule::line;
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{DIM, paint};
use crate::term::tell::tell;
use crate::term::text::{count, one_line};

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
        Wish::Give(rule) => Order::GiveRule { rule: rule.clone() },
        Wish::Revoke(id, reason) => Order::RevokeRule { rule: *id, reason: reason.clone() },
    };
    let agent = async { setup::for_moves(&Reading::load(store.as_ref(), info).await?) };
    match letters::enter_free(store, info, agent).await? {
        Entrance::Mine(mut session) => match &wish {
            Wish::Give(rule) => session.give_rule(rule.clone()).await.map(drop)?,
            Wish::Revoke(id, reason) => session.revoke_rule(*id, reason).await?,
        },
        Entrance::Theirs(holder) => {
            match letters::ask(place, store.as_ref(), info, &holder, &request, args.wait).await? {
                Some(Settled::Refused { reason }) => return Err(Fault::new(one_line(&reason, 300))),
                Some(_) => {}
                None => return Ok(Exit::Done),
            }
        }
    }
    let reading = Reading::load(store.as_ref(), &store.info(&info.id).await?).await?;
    let entry = match &wish {
        Wish::Give(rule) => reading.rules().iter().rfind(|entry| entry.rule == *rule),
        Wish::Revoke(id, _) => reading.rules().get(*id),
    };
    if let Some(entry) = entry {
        out::print(&line(entry, now()))?;
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
    out::print(&shown.iter().map(|entry| line(entry, now)).collect::<String>())?;
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

fn as_json(entry: &RuleEntry, now: Timestamp) -> Value {
    let mut listed = json!(entry);
    if let Some(fields) = listed.as_object_mut() {
        fields.insert("counts".to_owned(), json!(entry.counts(now.0)));
    }
    listed
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
