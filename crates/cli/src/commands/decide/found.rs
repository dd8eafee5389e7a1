//! Which decision is to be taken back, and in which session it stands.

use std::collections::BTreeMap;

use serde::Deserialize;
use trunkline_runtime::across;
use trunkline_runtime::decision_objects::{Decision, DecisionId, Verdict};
use trunkline_session_store::{SessionId, SessionInfo, SessionStore};

use crate::desk::place::Place;
use crate::desk::store;
use crate::reading::session::Reading;
use crate::term::fault::Fault;
use crate::term::text::{count, one_line};

/// How many decisions are named where one was looked for.
const NAMED: usize = 5;
/// The newest decision of a session that changed files.
const LAST: &str = "last";

/// Finds the session of a decision, wherever in the store it is; `last` is of the newest session.
pub(super) async fn session_of(
    store: &dyn SessionStore,
    named: &str,
    place: &Place,
) -> Result<SessionInfo, Fault> {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    let lower = named.trim().to_ascii_lowercase();
    if lower.is_empty() || lower == LAST {
        return store::find(store, None).await;
    }
    let mut holders: BTreeMap<SessionId, String> = BTreeMap::new();
    let verdicts = store.notes(&across::verdicts()).await?;
    let mut newest: Vec<(u64, String)> = Vec::new();
    for note in verdicts {
        // What cannot be read cannot be rolled back.
        let Ok(Named { id }) = serde_json::from_str(&note.body) else { continue };
        // It becomes part of a command, and an import can call a decision anything.
        if id.parse::<DecisionId>().is_err() {
            continue;
        }
        newest.push((note.at.0, format!("{}  {}", one_line(&id, 40), one_line(&note.key.state, 80))));
        if id.starts_with(&lower) || note.key.key.starts_with(&lower) {
            holders.entry(note.session).or_insert(id);
        }
    }
    let found: Vec<(&SessionId, &String)> = holders.iter().take(NAMED).collect();
    let shown = one_line(named, 60);
    match found.as_slice() {
        [] => {
            let open = store.notes(&across::open_runs()).await?;
            if let Some(open) = open.into_iter().find(|note| note.key.key.starts_with(&lower)) {
                let name = store::short_name(store, &open.session).await;
                let close = place.command(&format!("decide abandon \"…\" -s {name}"));
                return Err(Fault::new(format!("the run {shown:?} is open: nothing was decided yet"))
                    .hint(format!("`{close}` ends it, and then it can be rolled back")));
            }
            newest.sort_unstable_by(|one, other| other.cmp(one));
            let fault = Fault::usage(format!("there is no decision {shown:?} in this store"));
            let fault = newest.into_iter().take(NAMED).fold(fault, |fault, (_, line)| fault.line(line));
            Err(fault.hint(listed(place)))
        }
        [(session, _)] => Ok(store.info(session).await?),
        several => {
            let sessions = count(holders.len(), "session");
            let mut fault = Fault::usage(format!("{shown:?} is the beginning of decisions in {sessions}"));
            for (session, id) in several {
                let name = store::short_name(store, session).await;
                let command = format!("decide rollback {} -s {name}", one_line(id, 40));
                fault = fault.command("", place.command(&command));
            }
            Err(fault.hint("type more of it, or name the session"))
        }
    }
}

/// Finds the decision that is meant: by the beginning of its id or of its run's.
pub(super) fn decision(
    reading: &Reading,
    named: &str,
    session: &str,
    place: &Place,
) -> Result<DecisionId, Fault> {
    let decisions: Vec<&Decision> = reading.verdicts().iter().rev().map(|(_, decision)| decision).collect();
    let changed = |decision: &&&Decision| decision.has_changes();
    let named = named.trim().to_ascii_lowercase();
    if named == LAST {
        let last = decisions.iter().find(changed).map(|decision| decision.id());
        return last.ok_or_else(|| {
            Fault::new(format!("no change by a run of session {session} is recorded")).hint(listed(place))
        });
    }
    let fits = |decision: &&&Decision| {
        let ids = [decision.id().to_string(), decision.run().to_string()];
        !named.is_empty() && ids.iter().any(|id| id.starts_with(&named))
    };
    let found: Vec<&&Decision> = decisions.iter().filter(fits).collect();
    if let [one] = found.as_slice() {
        return stands_again(one, &decisions, session, place).map_or(Ok(one.id()), Err);
    }
    let shown = one_line(&named, 60);
    let (fault, some) = match found.is_empty() {
        true => (
            Fault::usage(format!("there is no decision {shown:?} in session {session}")),
            decisions.iter().filter(changed).collect(),
        ),
        false => {
            (Fault::usage(format!("{shown:?} is the beginning of {}", count(found.len(), "decision"))), found)
        }
    };
    let line =
        |decision: &Decision| format!("{}  {}", decision.id(), one_line(&decision.verdict().to_string(), 80));
    let fault = some.iter().take(NAMED).fold(fault, |fault, decision| fault.line(line(decision)));
    Err(fault.hint(listed(place)))
}

/// Tells of a decision whose rollback was taken back what has to be rolled back in its place.
fn stands_again(decision: &Decision, all: &[&Decision], session: &str, place: &Place) -> Option<Fault> {
    // The oldest first: only what was recorded later takes something back, so that there is no circle.
    let mut chain: Vec<DecisionId> = Vec::new();
    for other in all.iter().rev() {
        let last = chain.last().copied().unwrap_or(decision.id());
        if matches!(other.verdict(), Verdict::Rollback { of, .. } if *of == last) {
            chain.push(other.id());
        }
    }
    let ([first, .., last], true) = (chain.as_slice(), chain.len().is_multiple_of(2)) else { return None };
    let command = place.command(&format!("decide rollback {last} -s {session}"));
    Some(
        Fault::new(format!(
            "decision {} was rolled back by {first}, and its changes were brought back by {last}",
            decision.id()
        ))
        .hint(format!("`{command}` takes them back")),
    )
}

/// Says what lists the decisions.
fn listed(place: &Place) -> String {
    format!("`{}` lists those of all sessions; name one by its id", place.command("decisions --all"))
}
