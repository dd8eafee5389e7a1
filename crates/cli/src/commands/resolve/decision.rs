//! Decisions, carried out by whoever writes the session: this process, or another one that is left a note.
//!
//! Deciding is done by a drive that has no turns to spend: it carries out what was decided and stops before a model
//! would be asked.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use trunkline_message_tree::Timestamp;
use trunkline_runtime::orders::{Order, Settled, post, settled};
use trunkline_runtime::resolve_queue::{Entry, ProposalId, State, Verdict};
use trunkline_runtime::{Agent, Cancel, RuntimeError, Said, Session, across};
use trunkline_session_store::{InboxId, LetterState, SessionInfo, SessionStore};

use crate::desk::clock::now;
use crate::desk::letters::{self, Entrance};
use crate::desk::place::Store;
use crate::desk::setup::{self, Folder};
use crate::desk::store;
use crate::live::interrupt;
use crate::live::progress::Progress;
use crate::reading::session::Reading;
use crate::shown::time::ago;
use crate::term::fault::Fault;
use crate::term::text::one_line;

/// How often is looked what became of a note.
const LOOK_EVERY: Duration = Duration::from_millis(60);
/// How often a session may change hands while somebody tries to decide in it.
const ENTRANCES: usize = 5;

/// What somebody wants done with a proposal as they saw it.
pub(super) struct Wish {
    pub(super) id: ProposalId,
    pub(super) said: Said,
    /// How often it had been put aside when it was shown.
    pub(super) seen: u32,
}

/// What became of a wish.
pub(super) enum Came {
    /// The proposal stands like this now; the words say why, if it is not as wanted.
    Stands(State, String),
    /// Nothing was decided by it.
    Refused(String),
    /// Whoever writes the session has not read it yet.
    Left,
}

/// What became of all, and who carried it out.
pub(super) struct Outcome {
    pub(super) came: Vec<Came>,
    /// Whether this process wrote the session.
    pub(super) in_person: bool,
}

enum Step {
    Open,
    Posted(InboxId),
    Decided,
    Refused(String),
}

impl Wish {
    pub(super) fn on<P>(entry: &Entry<P>, said: Said) -> Self {
        Wish { id: entry.id, said, seen: entry.put_aside }
    }

    /// Where the proposal is in the end, if all goes well.
    pub(super) fn wanted(&self) -> State {
        match self.said.verdict {
            Verdict::Approve => State::Applied,
            Verdict::Discard => State::Discarded,
        }
    }

    fn request(&self) -> Order {
        Order::Verdict { proposal: self.id, said: self.said.clone(), seen: Some(self.seen) }
    }
}

/// How wishes are carried out.
pub(super) struct How<'a> {
    /// Where the session works, if not where it did.
    pub(super) folder: Option<&'a Path>,
    /// Whether to wait for whoever writes the session, however long that takes.
    pub(super) wait: bool,
    /// What to type again if the folder is not there.
    pub(super) again: String,
}

/// Carries wishes out, or has them carried out.
pub(super) async fn carry_out(
    store: &Store,
    info: &SessionInfo,
    wishes: &[Wish],
    how: &How<'_>,
) -> Result<Outcome, Fault> {
    let mut steps: Vec<Step> = wishes.iter().map(|_| Step::Open).collect();
    let (mut in_person, mut told) = (false, false);
    for _ in 0..ENTRANCES {
        let progress = Progress::of_run(false, true);
        let holder = match letters::enter_free(store, info, agent(info, how, &progress)).await? {
            Entrance::Mine(session) => {
                decide(*session, &progress, wishes, &mut steps).await?;
                in_person = true;
                break;
            }
            Entrance::Theirs(holder) => holder,
        };
        for (wish, step) in wishes.iter().zip(&mut steps) {
            if matches!(step, Step::Open) {
                *step = Step::Posted(post(store.as_ref(), &info.id, &wish.request(), now()).await?);
            }
        }
        if !std::mem::replace(&mut told, true) {
            let name = store::short_name(store.as_ref(), &info.id).await;
            letters::tell_of_note(&name, &holder, letters::SOON);
        }
        if followed(store.as_ref(), info, wishes, &steps, how.wait).await? {
            break;
        }
    }
    let came = what_became(store.as_ref(), info, wishes, &steps).await?;
    Ok(Outcome { came, in_person })
}

async fn agent(info: &SessionInfo, how: &How<'_>, progress: &Arc<Progress>) -> Result<Agent, Fault> {
    let folder = Folder::of(info, how.folder, Some(&how.again))?;
    Ok(setup::without_model(&folder)?.on_event(progress.observer()).build()?)
}

/// Decides as the writer, and does what follows from it.
async fn decide(
    mut session: Session,
    progress: &Progress,
    wishes: &[Wish],
    steps: &mut [Step],
) -> Result<(), Fault> {
    progress.know(session.tree());
    progress.know_plans(session.proposals());
    // What came back is compared with the files by a drive, and cannot be approved before. It can be discarded.
    let came_back = |wish: &Wish| {
        let entry = session.proposals().get(wish.id).filter(|entry| entry.state == State::Stale);
        wish.said.verdict == Verdict::Approve && entry.is_some_and(|entry| entry.put_aside == wish.seen)
    };
    if wishes.iter().zip(steps.iter()).any(|(wish, step)| matches!(step, Step::Open) && came_back(wish)) {
        drive(&mut session, progress).await?;
    }
    for (wish, step) in wishes.iter().zip(steps.iter_mut()) {
        if !matches!(step, Step::Open) {
            continue;
        }
        let seen = session.proposals().get(wish.id).map(|entry| entry.put_aside);
        if seen.is_some_and(|seen| seen != wish.seen) {
            *step = Step::Refused("it was put aside since it was shown; look at it again".to_owned());
            continue;
        }
        *step = match session.decide_with(wish.id, wish.said.clone()).await {
            Ok(()) => Step::Decided,
            Err(RuntimeError::Refused { reason }) => Step::Refused(reason),
            Err(fault @ (RuntimeError::Proposal(_) | RuntimeError::Rule(_))) => {
                Step::Refused(fault.to_string())
            }
            Err(fault) => return Err(fault.into()),
        };
    }
    if steps.iter().all(|step| matches!(step, Step::Refused(_))) {
        return Ok(());
    }
    drive(&mut session, progress).await
}

/// Does what follows from what is decided, and compares what came back.
async fn drive(session: &mut Session, progress: &Progress) -> Result<(), Fault> {
    let cancel = Cancel::new();
    let watching = interrupt::watch(&cancel);
    let driven = session.resume(&cancel).await;
    watching.abort();
    progress.end_line();
    driven?;
    Ok(())
}

/// Watches what the writer makes of its notes. Returns false if it has gone and left something of it undone.
async fn followed(
    store: &dyn SessionStore,
    info: &SessionInfo,
    wishes: &[Wish],
    steps: &[Step],
    wait: bool,
) -> Result<bool, Fault> {
    let start = Instant::now();
    loop {
        // Looked for first: what it does in its last moment is seen below.
        let gone = store.holder(&info.id).await?.is_none();
        let mut open = false;
        for (wish, step) in wishes.iter().zip(steps) {
            let Step::Posted(letter) = step else { continue };
            open |= match became(store, info, *letter).await? {
                None => true,
                Some(Settled::Refused { .. }) => false,
                Some(_) => is_under_way(store, info, wish.id).await?,
            };
        }
        if !open || gone {
            return Ok(!open);
        }
        if !wait && start.elapsed() > letters::PATIENCE {
            return Ok(true);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Returns what became of a note, if anything has.
async fn became(
    store: &dyn SessionStore,
    info: &SessionInfo,
    letter: InboxId,
) -> Result<Option<Settled>, Fault> {
    if store.letter(&info.id, letter).await? == LetterState::Waiting {
        return Ok(None);
    }
    Ok(Some(settled(store, &info.id, letter).await?))
}

/// Returns whether a proposal is decided and not yet done, without reading the session.
async fn is_under_way(store: &dyn SessionStore, info: &SessionInfo, id: ProposalId) -> Result<bool, Fault> {
    let mut query = across::pending_proposals().in_session(info.id.clone()).about(id.to_string());
    query.state = None;
    let state = store.notes(&query).await?.pop().map(|found| found.key.state);
    let under_way = [State::Approved, State::Applying, State::Stale];
    Ok(state.is_some_and(|state| under_way.iter().any(|one| one.to_string() == state)))
}

async fn what_became(
    store: &dyn SessionStore,
    info: &SessionInfo,
    wishes: &[Wish],
    steps: &[Step],
) -> Result<Vec<Came>, Fault> {
    let mut came = Vec::new();
    let reading = Reading::load(store, &store.info(&info.id).await?).await?;
    for (wish, step) in wishes.iter().zip(steps) {
        let refused = match step {
            Step::Posted(letter) => match became(store, info, *letter).await? {
                None => {
                    came.push(Came::Left);
                    continue;
                }
                Some(Settled::Refused { reason }) => Some(reason),
                Some(_) => None,
            },
            Step::Refused(reason) => Some(reason.clone()),
            // The session changed hands whenever it was tried.
            Step::Open => Some("nobody came to decide it; try again".to_owned()),
            Step::Decided => None,
        };
        came.push(match (refused, reading.proposals().get(wish.id)) {
            (Some(reason), Some(entry)) => Came::Refused(instead(entry, wish, &reason)),
            (Some(reason), None) => Came::Refused(one_line(&reason, 300)),
            (None, Some(entry)) => Came::Stands(entry.state, why(entry, wish.wanted())),
            (None, None) => Came::Refused("it is gone".to_owned()),
        });
    }
    Ok(came)
}

/// Says what was decided instead, or in the words of whoever refused.
fn instead<P>(entry: &Entry<P>, wish: &Wish, reason: &str) -> String {
    match &entry.decision {
        Some(first) if first.verdict != wish.said.verdict => {
            let word = match first.verdict {
                Verdict::Approve => "approved",
                Verdict::Discard => "discarded",
            };
            let by = one_line(&first.by.to_string(), 60);
            let why = match first.reason.as_str() {
                "" => String::new(),
                why => format!(": {}", one_line(why, 160)),
            };
            let at = ago(Timestamp(first.at), now());
            format!("{} is {}: the {by} {word} it {at}{why}", entry.id, entry.state)
        }
        _ => one_line(reason, 300),
    }
}

/// Says why a proposal does not stand where it was wanted, as far as that is known.
fn why<P>(entry: &Entry<P>, wanted: State) -> String {
    let reason = entry.decision.as_ref().map(|decision| decision.reason.as_str());
    match (&entry.trouble, entry.state == wanted) {
        (_, true) => String::new(),
        (Some(trouble), _) => one_line(trouble, 200),
        (None, _) if entry.state == State::Discarded => one_line(reason.unwrap_or_default(), 200),
        (None, _) => String::new(),
    }
}
