//! What an attempt left behind that never reported its end: looked up in the files, put back if it is half done.
//!
//! After it the world is whole before or whole after, or it cannot be told: then the model is told, and nothing is done again.
//! What is killed in here is done again by the next writer, from what is recorded.

use std::sync::Arc;

use serde_json::Value;
use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{
    Aftermath, Entry, Fingerprint, Lease, Observation, ProposalId, State as At, Supersession,
};
use trunkline_session_store::InboxId;

use crate::acts::asked::Asked;
use crate::acts::chain::{Chain, discarded};
use crate::acts::named::on_one_line;
use crate::acts::plan::Plan;
use crate::acts::question::Pause;
use crate::acts::view::View;
use crate::notes::decision::based;
use crate::notes::resolve::{IMPORT, distrusted, note, standing};
use crate::rules::staged::{harness, is_left};
use crate::words::call::Kept;
use crate::words::error::RuntimeError;

/// Said wherever a tool crashed, or is not there any more, when the files had to be compared.
pub(crate) const NOBODY_LOOKED: &str = "its tool could not look at the files";

/// What put aside what was in flight when its branch was left.
pub(crate) const LEFT_MEANWHILE: &str = "a move while it was applied";

/// How often a tool is asked to put back what it left half done, if that does not help.
const TRIES: usize = 2;

/// How many files are named to the model.
const MOST_NAMED: usize = 20;

/// What is known of the writer that began an attempt.
pub enum Holder {
    /// Can write no more, although the lease stands.
    Gone,
    /// The lease is over, at this time at the latest.
    Lapsed(Timestamp),
    /// May still write.
    Alive(Lease),
}

/// What is known of whoever wrote a session before its present writer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before {
    /// Whether it is gone for certain: the store gives the session free only then.
    pub gone: bool,
    /// Whether no lease of it can stand any more, whatever the clocks say: the present writer has been one for as long as
    /// leases last.
    pub lapsed: bool,
}

/// How an attempt of an earlier writer is settled.
#[derive(Clone, Copy)]
pub struct Sight {
    /// Whether whoever began it had a lease that is over only by the clock.
    pub fenced: bool,
    /// When it was found.
    pub at: Timestamp,
    /// Whether anything may be put back: the approval, and the bytes, were given here.
    pub trusted: bool,
}

/// Returns what is known of the writer that began the attempt at a proposal.
pub fn holder_of(view: &View<'_>, entry: &Entry<Value>, before: Before) -> Holder {
    let Some(lease) = entry.lease.clone().filter(|lease| lease.stands(view.at.0)) else {
        return Holder::Lapsed(view.at);
    };
    let gone = before.gone && !view.state.resolve.is_standing(entry.attempt());
    if gone || lease.holder == view.writer() {
        return Holder::Gone;
    }
    // It was not renewed since this one writes, so it is over by then, whatever their clock or ours says.
    match before.lapsed {
        true => Holder::Lapsed(Timestamp(lease.until)),
        false => Holder::Alive(lease),
    }
}

/// What becomes of an attempt that is found when a session is opened.
pub enum Opened {
    /// It is settled in this way.
    Settle(Sight),
    /// It is left to a writer that may be at it still. Recorded once: whoever comes next finds nobody who writes the session, and must
    /// know that somebody writes the files.
    Leave(Plan),
}

/// Returns what becomes of an attempt that is found when a session is opened. Not `trusted` is what an import has brought: neither
/// its approval nor its bytes were seen by anybody here, and whoever applied it there writes nothing here.
pub fn at_opening(view: &View<'_>, entry: &Entry<Value>, before: Before, trusted: bool) -> Opened {
    let holder = if trusted { holder_of(view, entry, before) } else { Holder::Gone };
    match holder {
        Holder::Gone => Opened::Settle(Sight { fenced: true, at: view.at, trusted }),
        Holder::Lapsed(at) => Opened::Settle(Sight { fenced: false, at, trusted }),
        Holder::Alive(_) => {
            let news = !view.state.resolve.is_standing(entry.attempt());
            Opened::Leave(Plan::of(news.then(|| standing(entry.attempt(), view.at)).into_iter().collect()))
        }
    }
}

/// Puts aside for good whatever waits or could come back: neither its preview nor its approval was made here.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn distrust(view: &View<'_>, asked: &mut Asked<'_>, letter: InboxId) -> Result<Plan, Pause> {
    let at = view.at;
    let mut chain = Chain::of(view.state);
    let waiting: Vec<(ProposalId, At)> =
        chain.queue.unsettled().map(|entry| (entry.id, entry.state)).collect();
    let mut dropped = Vec::new();
    for (id, state) in waiting {
        if state == At::Applying {
            // What was in flight has been looked up before, unless somebody may be at it still.
            chain.push(chain.queue.recover_fenced(id, Observation::Unclear, harness(), at.0))?;
        }
        if matches!(state, At::Applying | At::Unknown) {
            // Looked up in the files it could only be offered again.
            chain.push(chain.queue.recover(id, Observation::Unclear, harness(), at.0))?;
        }
        let cause = Supersession::BranchLeft { by: IMPORT.to_owned() };
        if let Ok(event) = chain.queue.supersede(id, cause, at.0) {
            chain.push(Ok(event))?;
            dropped.push(id.to_string());
        }
    }
    if !dropped.is_empty() {
        let text = format!(
            "This session was brought here from elsewhere. What waited there is dropped: {}. Propose it again if it is \
             still wanted.",
            dropped.join(", ")
        );
        chain.records.extend(view.telling(&text)?);
    }
    chain.void_rules(at)?;
    let mut records = chain.records;
    records.push(distrusted(letter, at));
    // What is different from now on is what the run does here. Where the files cannot be looked at, its end says so.
    if view.state.decision.is_open() {
        match asked.start() {
            Ok(start) => records.push(based(&start, at)),
            Err(Pause::Refused(RuntimeError::Workspace(_))) => {}
            Err(pause) => return Err(pause),
        }
    }
    Ok(Plan::of(records))
}

/// Settles an attempt. Where its traces have to go first it is taken over, and what was there before it returned:
/// [`settle_tidied`] goes on.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn settle(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    id: ProposalId,
    sight: Sight,
) -> Result<Plan<Option<Arc<[Kept]>>>, Pause> {
    let Some(entry) = view.state.resolve.queue.get(id) else { return Ok(Plan::nothing().then(None)) };
    let gated = view.state.resolve.gated_call(id).is_some();
    let observed = if gated { None } else { asked.observe_twice(id)? };
    if entry.state == At::Applying
        && sight.trusted
        && let Some(seen) = observed
        && view.has_executor(&entry.proposal)
        && let Some(kept) = half_done(view, asked, entry, seen, false)?
    {
        return Ok(take_over(view, id, sight.fenced, sight.at)?.then(Some(kept)));
    }
    Ok(recovered(view, entry, observed, sight)?.then(None))
}

/// Puts back what an attempt left half done, and settles it.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn settle_tidied(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    (id, kept): (ProposalId, &Arc<[Kept]>),
    sight: Sight,
) -> Result<Plan, Pause> {
    let Some(entry) = view.state.resolve.queue.get(id) else { return Ok(Plan::nothing()) };
    let observed = put_back(asked, entry, kept)?;
    // What has to be ended now is our own attempt to tidy up.
    recovered(view, entry, observed, Sight { fenced: true, ..sight })
}

fn recovered(
    view: &View<'_>,
    entry: &Entry<Value>,
    observed: Option<&[Fingerprint]>,
    Sight { fenced, at, .. }: Sight,
) -> Result<Plan, Pause> {
    let id = entry.id;
    let gated = view.state.resolve.gated_call(id).is_some();
    let cut_off = entry.state == At::Applying;
    let found = observed.map(|observed| entry.aftermath(observed));
    let observation = found.as_ref().map_or(Observation::Unclear, |left| left.observation);
    let mut chain = Chain::of(view.state);
    let recovered = match cut_off && fenced {
        true => chain.queue.recover_fenced(id, observation, harness(), at.0),
        false => chain.queue.recover(id, observation, harness(), at.0),
    };
    chain.push(recovered)?;
    let is = |chain: &Chain, state| chain.queue.get(id).is_some_and(|entry| entry.state == state);
    if is(&chain, At::Unknown) {
        // More cannot be found out: it must not be done again, and the model has to know.
        chain.push(chain.queue.recover(id, Observation::Unclear, harness(), at.0))?;
    }
    if let (At::Approved | At::Failed, true) = (
        chain.queue.get(id).map_or(At::Applied, |entry| entry.state),
        is_left(&view.state.tree, &entry.proposal),
    ) {
        // In flight it could not be put aside when its branch was left.
        let cause = Supersession::BranchLeft { by: LEFT_MEANWHILE.to_owned() };
        chain.push(chain.queue.supersede(id, cause, at.0))?;
    }
    let label = &entry.proposal.label;
    if is(&chain, At::Applied) {
        let when = if cut_off { "before the program ended" } else { "after all" };
        chain.records.extend(view.telling(&format!("{id} ({label}) was applied {when}."))?);
    } else if is(&chain, At::Stale) {
        let disturbed = found.as_ref().and_then(disturbed);
        // People read the reason, the model the message.
        let why = disturbed.as_deref().unwrap_or("its outcome is unknown");
        let past = chain.queue.get(id).is_some_and(|entry| entry.is_past(at.0));
        match past {
            true => chain.push(chain.queue.expire(id, at.0))?,
            false => chain.push(discarded(&chain.queue, id, why, at))?,
        }
        let found = match &found {
            Some(left) if left.unseen.is_empty() => disturbed.unwrap_or_else(|| told(left)),
            _ => NOBODY_LOOKED.to_owned(),
        };
        if !gated {
            let text = format!(
                "{id} ({label}) was cut off while it was applied, and {found}. It is dropped; look at the files before \
                 you go on."
            );
            chain.records.extend(view.telling(&text)?);
        }
    }
    Ok(Plan::of(chain.records))
}

/// Returns what was there before an attempt whose traces have to go, as far as they are its own; `None` if there are none
/// or they have to stay. If somebody else has written to one of its files nothing of it is left behind, not even what lies
/// ready beside files that were not reached.
pub(crate) fn half_done(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    entry: &Entry<Value>,
    observed: &[Fingerprint],
    failed: bool,
) -> Result<Option<Arc<[Kept]>>, Pause> {
    let left = entry.aftermath(observed);
    let tidy = match failed {
        // A tool that could say so has cleared up behind itself, but for what it has written.
        true => !left.after.is_empty(),
        false => left.is_half_done(),
    };
    if !tidy || !left.restorable {
        return Ok(None);
    }
    kept_of(view, asked, entry)
}

/// Returns what the latest attempt at a proposal wrote over; `None` if not all of it can be had.
pub(crate) fn kept_of(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    entry: &Entry<Value>,
) -> Result<Option<Arc<[Kept]>>, Pause> {
    match view.state.resolve.preimages.of(entry) {
        Some(named) => asked.preimages(named),
        None => Ok(None),
    }
}

/// Takes an attempt over, before anything is put back.
pub(crate) fn take_over(view: &View<'_>, id: ProposalId, fenced: bool, at: Timestamp) -> Result<Plan, Pause> {
    let (queue, lease) = (&view.state.resolve.queue, view.lease(at));
    let taken = match fenced {
        true => queue.take_over_fenced(id, lease, at.0),
        false => queue.take_over(id, lease, at.0),
    };
    Ok(Plan::of(vec![note(&taken?)]))
}

/// Lets the tool put back what was there. Returns how everything is then.
pub(crate) fn put_back<'a>(
    asked: &mut Asked<'a>,
    entry: &Entry<Value>,
    kept: &Arc<[Kept]>,
) -> Result<Option<&'a [Fingerprint]>, Pause> {
    let mut observed = None;
    for _ in 0..TRIES {
        // What the tool says of it does not count as much as what is there.
        asked.put_back(entry.id, kept)?;
        observed = asked.observe_twice(entry.id)?;
        if observed.is_some_and(|observed| entry.aftermath(observed).is_gone()) {
            break;
        }
    }
    Ok(observed)
}

/// Says what somebody else has written, and how the rest is; `None` if nobody has.
pub(crate) fn disturbed(left: &Aftermath) -> Option<String> {
    if !left.is_disturbed() {
        return None;
    }
    let mut words = format!(
        "somebody else has written to {} meanwhile, which was left as it is",
        shortened(left.foreign.iter())
    );
    if !left.after.is_empty() {
        words.push_str(&format!("; still as after, and not put back: {}", shortened(left.after.iter())));
    }
    match (left.before.is_empty(), left.after.is_empty()) {
        (true, _) => {}
        (false, true) => words.push_str("; everything else is as before"),
        (false, false) => words.push_str("; the others are as before"),
    }
    Some(words)
}

/// Says how files are of which some are as before and others as after.
fn told(left: &Aftermath) -> String {
    let text = "the files are neither as before nor as after";
    let after = left.after.iter().map(|subject| format!("{} as after", on_one_line(subject)));
    let before = left.before.iter().map(|subject| format!("{} as before", on_one_line(subject)));
    let named: Vec<String> = after.chain(before).collect();
    if named.is_empty() { text.to_owned() } else { format!("{text} ({})", shortened(named.iter())) }
}

/// Names what there is, up to a number.
fn shortened<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    let more = names.len().saturating_sub(MOST_NAMED);
    let named: Vec<String> = names.take(MOST_NAMED).map(|name| on_one_line(name)).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}
