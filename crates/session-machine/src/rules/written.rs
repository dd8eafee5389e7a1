//! What staged actions have written: which were applied, by whose word, and what was at each place before.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;
use trunkline_decision_objects::{Actor, ActorKind as Kind};
use trunkline_message_tree::NodeId;
use trunkline_resolve_queue::{Actor as Decider, ActorKind, Effect, Entry, State as At, SubjectState};

use crate::state::resolve::Part;
use crate::words::files::Touched;
use crate::words::work::Id;

/// A file that was written, or perhaps was, because somebody approved it.
pub(crate) struct Written {
    pub(crate) subject: String,
    /// The message whose call proposed it.
    pub(crate) staged_by: NodeId,
    pub(crate) reversible: bool,
    /// Whether it was written for certain.
    pub(crate) known: bool,
}

/// Returns the files that were written once a message stood in the log.
pub(crate) fn written_since(part: &Part, since: NodeId) -> Vec<Written> {
    let mut written = Vec::new();
    let after = |id: &Id| part.came.get(id).is_some_and(|newest| *newest >= since);
    for entry in part.queue.iter().filter(|entry| after(&entry.id)) {
        let known = match entry.state {
            At::Applied => true,
            At::Applying | At::Unknown => false,
            _ => continue,
        };
        let proposal = &entry.proposal;
        let Some(staged_by) = proposal.call.as_ref().and_then(|call| call.node.parse().ok()) else {
            continue;
        };
        written.extend(entry.part().map(|subject| Written {
            subject: subject.to_owned(),
            staged_by,
            reversible: proposal.effect == Effect::Reversible,
            known,
        }));
    }
    written
}

/// Returns what was applied after `since`, in the order in which it was, each with the message whose call asked for it.
pub(crate) fn applied(part: &Part, since: u64) -> Vec<(String, Option<NodeId>)> {
    let mut ours: Vec<(u64, Id)> =
        part.applied.iter().filter(|(_, at)| **at > since).map(|(id, at)| (*at, *id)).collect();
    ours.sort_unstable();
    let told = ours.into_iter().map(|(_, id)| {
        let call = part.queue.get(id).and_then(|entry| entry.proposal.call.as_ref());
        (id.to_string(), call.and_then(|call| call.node.parse().ok()))
    });
    told.collect()
}

/// Returns who approved everything that was applied after `since`; `None` if nothing was, or not all by one and the same.
pub(crate) fn approver(part: &Part, since: u64) -> Option<Actor> {
    // Whoever approved a plan, or the end of a run, has approved nothing of what was done.
    let done = |(id, at): &(&Id, &u64)| **at > since && !part.is_word(**id);
    let ours = part.applied.iter().filter(done);
    let mut by = ours.map(|(id, _)| Some(&part.queue.get(*id)?.decision.as_ref()?.by));
    let first = by.next()??;
    if by.any(|other| other != Some(first)) {
        return None;
    }
    actor_of(first)
}

/// Returns who decided on a proposal, as verdicts name them.
pub(crate) fn actor_of(by: &Decider) -> Option<Actor> {
    let (kind, unnamed) = match by.kind {
        ActorKind::Person => (Kind::Human, "user"),
        ActorKind::Policy => (Kind::System, "rule"),
        ActorKind::Model => (Kind::Agent, "model"),
        _ => return None,
    };
    let name = if by.name.trim().is_empty() { unnamed } else { &by.name };
    Actor::new(kind, name).ok()
}

/// Returns the first-written state of each path that was applied after `since`, or perhaps was.
pub(crate) fn touched(part: &Part, since: u64) -> Vec<Touched> {
    let mut touched: Vec<Touched> = Vec::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for entry in attempted(part, since) {
        let states: HashMap<&str, &SubjectState> =
            entry.proposal.fingerprints.iter().rev().map(|one| (one.subject.as_str(), &one.state)).collect();
        // What was left out of it somebody else may have changed since.
        for written in entry.part() {
            if let (Some(before), true) = (states.get(written), !known.contains(written)) {
                known.insert(written);
                let before = match before {
                    SubjectState::Absent => None,
                    SubjectState::Digest(digest) => Some(digest.clone()),
                };
                touched.push(Touched { path: written.to_owned(), before });
            }
        }
    }
    touched
}

/// Returns the files of attempts that were dropped after they had begun, as where somebody else had written to one meanwhile: how
/// much of what stands there is the run's own nobody can tell.
pub(crate) fn dropped(part: &Part, since: u64) -> BTreeSet<String> {
    let ended = |entry: &&Entry<Value>| !matches!(entry.state, At::Applied | At::Applying | At::Unknown);
    let dropped = attempted(part, since).filter(ended);
    dropped.flat_map(|entry| entry.part().map(str::to_owned)).collect()
}

/// Returns the files that applied proposals have moved after `since`: by the new path, the one that each had before the first move.
pub(crate) fn moved(part: &Part, since: u64) -> BTreeMap<String, String> {
    let mut ours: Vec<(u64, Id)> =
        part.applied.iter().filter(|(_, at)| **at > since).map(|(id, at)| (*at, *id)).collect();
    ours.sort_unstable();
    let mut moved: BTreeMap<String, String> = BTreeMap::new();
    for entry in ours.into_iter().filter_map(|(_, id)| part.queue.get(id)) {
        let written: BTreeSet<&str> = entry.part().collect();
        let (mut gone, mut came) = (ends(entry, false, &written), ends(entry, true, &written));
        // Where two files with the same bytes come or go nothing tells which became which.
        let alone =
            |digest: &str, list: &[(&str, &str)]| list.iter().filter(|(_, one)| *one == digest).count() == 1;
        let (from, to) = (gone.clone(), came.clone());
        gone.retain(|(_, digest)| alone(digest, &from) && alone(digest, &to));
        came.retain(|(_, digest)| alone(digest, &from) && alone(digest, &to));
        let before = std::mem::take(&mut moved);
        let pair = |(to, digest): &(&str, &str)| {
            let (from, _) = gone.iter().find(|(_, one)| one == digest)?;
            let first = before.get(*from).map_or(*from, String::as_str);
            Some(((*to).to_owned(), first.to_owned()))
        };
        moved.extend(came.iter().filter_map(pair));
        let left: BTreeSet<&str> = gone.iter().map(|(path, _)| *path).collect();
        for (to, from) in before.iter().filter(|(to, _)| !left.contains(to.as_str())) {
            moved.entry(to.clone()).or_insert_with(|| from.clone());
        }
    }
    moved.retain(|to, from| to != from);
    moved
}

/// Returns the files that come with a proposal, or go with it, each with the digest of what it is or was.
fn ends<'e>(entry: &'e Entry<Value>, come: bool, written: &BTreeSet<&str>) -> Vec<(&'e str, &'e str)> {
    let (before, after) = (&entry.proposal.fingerprints, &entry.proposal.after);
    let (there, absent) = if come { (after, before) } else { (before, after) };
    let is_absent =
        |path: &str| absent.iter().any(|one| one.subject == path && one.state == SubjectState::Absent);
    let end = there.iter().filter(|one| written.contains(one.subject.as_str()) && is_absent(&one.subject));
    end.filter_map(|one| match &one.state {
        SubjectState::Digest(digest) => Some((one.subject.as_str(), digest.as_str())),
        SubjectState::Absent => None,
    })
    .collect()
}

/// Returns whether each proposal that was applied after `since`, or perhaps was, names what it writes. A call that waited
/// names nothing, and is looked at when it runs.
pub(crate) fn names_what_it_wrote(part: &Part, since: u64) -> bool {
    attempted(part, since).filter(|entry| part.gated_call(entry.id).is_none()).all(|entry| {
        let known: BTreeSet<&str> =
            entry.proposal.fingerprints.iter().map(|one| one.subject.as_str()).collect();
        let mut written = entry.part().peekable();
        // What does not show in fingerprints may be in other files.
        let shows = entry.proposal.effect.shows_in_fingerprints();
        shows && written.peek().is_some() && written.all(|written| known.contains(written))
    })
}

fn attempted(part: &Part, since: u64) -> impl Iterator<Item = &Entry<Value>> {
    let ours = move |id: &Id| part.attempted.get(id).is_some_and(|at| *at > since);
    part.queue.iter().filter(move |entry| ours(&entry.id))
}
