//! Which sessions and which proposals are meant.
//!
//! What is not settled is found by the keys of notes, so only the sessions in which something waits are read.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use trunkline_message_tree::Timestamp;
use trunkline_runtime::across;
use trunkline_runtime::resolve_queue::{Entry, ProposalId};
use trunkline_session_store::{NoteQuery, SessionId, SessionInfo, SessionStore};

use crate::commands::resolve::drift::Drift;
use crate::desk::place::Place;
use crate::desk::standing::unsettled;
use crate::desk::{letters, store};
use crate::reading::session::Reading;
use crate::shown::session::short;
use crate::term::fault::Fault;
use crate::term::text::{count, one_line};

/// How many sessions are named where one was looked for.
const CANDIDATES: usize = 5;

/// A session in which something may be decided.
pub(super) struct Group {
    pub(super) reading: Reading,
    /// The beginning of its id that people are shown.
    pub(super) name: String,
    /// Who writes it, if anybody does.
    pub(super) writer: Option<String>,
    /// Which files are not as they were.
    pub(super) drift: Drift,
    /// Whether it came with an import and nobody has opened it since: whatever waited in it is dropped then.
    pub(super) is_void: bool,
}

impl Group {
    pub(super) async fn load(
        store: &dyn SessionStore,
        info: &SessionInfo,
        name: String,
        folder: Option<&Path>,
    ) -> Result<Self, Fault> {
        let reading = Reading::load(store, info).await?;
        let writer = letters::writer(store, info).await?;
        let drift = Drift::of(info, &reading, folder).await;
        let void = trunkline_runtime::distrust(Timestamp(0)).kind;
        let is_void = store.inbox(&info.id).await?.iter().any(|letter| letter.kind == void);
        Ok(Group { reading, name, writer, drift, is_void })
    }

    /// The proposals to be listed, oldest first.
    pub(super) fn listed(&self, settled: bool) -> impl Iterator<Item = &Entry<Value>> {
        let waits = move |entry: &&Entry<Value>| !entry.state.is_settled() && !self.is_void;
        self.reading.proposals().iter().filter(move |entry| settled || waits(entry))
    }

    fn oldest(&self, settled: bool) -> Option<u64> {
        self.listed(settled).map(|entry| entry.staged_at).min()
    }
}

/// The groups that were found, the one with the oldest question first, and what could not be read.
pub(super) struct Groups {
    pub(super) groups: Vec<Group>,
    pub(super) unread: Vec<String>,
}

/// Finds what waits: in one session if one is named, else in all. With `settled` also what does not wait any more.
pub(super) async fn groups(
    store: &dyn SessionStore,
    session: Option<&str>,
    settled: bool,
    folder: Option<&Path>,
) -> Result<Groups, Fault> {
    let mut found = Groups { groups: Vec::new(), unread: Vec::new() };
    if let Some(named) = session {
        let info = store::find(store, Some(named)).await?;
        let name = store::short_name(store, &info.id).await;
        found.groups.push(Group::load(store, &info, name, folder).await?);
        return Ok(found);
    }
    let queries = if settled { vec![any()] } else { unsettled().collect() };
    let ids = sessions_with(store, queries).await?;
    let all = store.sessions().await?;
    for info in all.iter().filter(|info| ids.contains(&info.id)) {
        let name = short(&info.id, &all).to_owned();
        match Group::load(store, info, name.clone(), None).await {
            Ok(group) => found.groups.push(group),
            // It does not hide the others.
            Err(fault) => found.unread.push(format!("{name}: {}", fault.as_line())),
        }
    }
    found.groups.retain(|group| group.listed(settled).next().is_some());
    found.groups.sort_by_key(|group| group.oldest(settled));
    Ok(found)
}

/// Finds the session of a proposal: the one that is named, else the one in which it waits, else the last.
pub(super) async fn session_of(
    store: &dyn SessionStore,
    proposal: &str,
    session: Option<&str>,
    (place, rest): (&Place, &str),
) -> Result<SessionInfo, Fault> {
    let Ok(id) = proposal.parse::<ProposalId>() else {
        let shown = one_line(proposal, 40);
        let fault = Fault::usage(format!("there is no proposal {shown:?}: they are called p1, p2 and so on"));
        return Err(fault.hint(format!("`{}` lists what waits", place.command("resolve"))));
    };
    if session.is_some() {
        return store::find(store, session).await;
    }
    let queries = unsettled().map(|query| query.about(id.to_string()));
    let ids = sessions_with(store, queries).await?;
    if ids.is_empty() {
        return store::find(store, None).await;
    }
    let all = store.sessions().await?;
    let waiting: Vec<&SessionInfo> = all.iter().filter(|info| ids.contains(&info.id)).collect();
    match waiting.as_slice() {
        [one] => Ok((*one).clone()),
        several => {
            let mut fault =
                Fault::usage(format!("{id} waits in {}; say which", count(several.len(), "session")));
            for info in several.iter().take(CANDIDATES) {
                let name = short(&info.id, &all);
                let command = place.command(&format!("resolve {id}{rest} -s {name}"));
                let label = match Reading::load(store, info).await {
                    Ok(reading) => reading.proposals().get(id).map(|entry| entry.proposal.label.clone()),
                    Err(_) => None,
                };
                fault = fault.line(format!("{command}   {}", one_line(&label.unwrap_or_default(), 60)));
            }
            let more = several.len().saturating_sub(CANDIDATES);
            Err(if more > 0 {
                fault.line(format!("… and {more} more: `{}`", place.command("resolve")))
            } else {
                fault
            })
        }
    }
}

/// Finds a proposal in its session.
pub(super) fn proposal<'a>(reading: &'a Reading, named: &str) -> Result<&'a Entry<Value>, Fault> {
    let entry = named.parse::<ProposalId>().ok().and_then(|id| reading.proposals().get(id));
    entry.ok_or_else(|| {
        let known: Vec<String> = reading
            .proposals()
            .iter()
            .map(|entry| format!("{} ({}, {})", entry.id, one_line(&entry.proposal.label, 40), entry.state))
            .collect();
        let newest = known.iter().rev().take(8).rev().cloned().collect::<Vec<_>>().join(", ");
        let shown = one_line(named, 40);
        Fault::usage(match known.is_empty() {
            true => format!("there is no proposal {shown:?}: nothing was proposed in this session"),
            false => format!("there is no proposal {shown:?}; there are {newest}"),
        })
    })
}

async fn sessions_with(
    store: &dyn SessionStore,
    queries: impl IntoIterator<Item = NoteQuery>,
) -> Result<BTreeSet<SessionId>, Fault> {
    let mut ids = BTreeSet::new();
    for query in queries {
        ids.extend(store.notes(&query).await?.into_iter().map(|found| found.session));
    }
    Ok(ids)
}

/// What finds every session in which something was ever proposed.
fn any() -> NoteQuery {
    let mut query = across::pending_proposals();
    query.state = None;
    query
}
