//! The inbox: what others ask of the session that this process holds.
//!
//! A letter is consumed in the batch that records its effect, so it takes effect exactly once. A letter that can have no
//! effect is consumed with a note that says why.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Naming, NodeId, Timestamp, ToolResult};
use trunkline_session_store::{
    Activity, Holder, InboxId, Letter, Record, SessionId, SessionStore, StoreError, consumed,
};

use crate::late::LateBody;
use crate::{Cancel, Session};
use trunkline_session_machine::journal::{self, LetterRefused};
use trunkline_session_machine::{CallPlace, Event, RuntimeError};

pub use crate::moves::MoveAct;
pub use crate::stalls::StepAnswer;
use crate::stalls::StepBody;
use crate::undoing::{TAKE_BACK, TakeBack};

use crate::closing::{CLOSE_RUN, CloseBody};

/// How long to wait after an inbox could not be read.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(500);

pub(crate) const PROMPT: &str = "prompt";
pub(crate) const CANCEL: &str = "cancel";
const MOVE: &str = "move";
const NAME: &str = "name";
pub(crate) const LATE: &str = "late_result";
const STEP_BACK: &str = "step_back";
pub(crate) const VERDICT: &str = "verdict";
const GIVE_RULE: &str = "give_rule";
const REVOKE_RULE: &str = "revoke_rule";
pub(crate) const DISTRUST: &str = "distrust";

/// What can be asked of a session that another process holds. Post it with [`post`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Request {
    /// Words for the model.
    Prompt {
        /// The words.
        text: String,
    },
    /// End the present turn. If none goes on though somebody holds the session, the one that begins next: a run that has
    /// just started is stopped too.
    Cancel,
    /// Close the open run. The drive that goes on ends with that, as by a cancel; a run that is closed as
    /// [`CloseAs::Retry`](crate::CloseAs::Retry) is followed by one that waits for the next
    /// [`resume`](Session::resume). See [`Session::close_run`].
    CloseRun {
        /// Which: if another one is open by then, nothing is done.
        run: trunkline_decision_objects::RunId,
        /// How, and why.
        close: trunkline_session_machine::CloseAs,
    },
    /// Decide on a proposal.
    Verdict {
        /// Which.
        proposal: trunkline_resolve_queue::ProposalId,
        /// What was said to it.
        said: trunkline_session_machine::Said,
        /// How often the sender had seen it put aside:
        /// [`Entry::put_aside`](trunkline_resolve_queue::Entry::put_aside) of what they were shown. An answer that was given
        /// on a branch that was left decides nothing on another.
        seen: Option<u32>,
    },
    /// Offer to take back what an applied proposal did; see [`Session::take_back`].
    TakeBack {
        /// Which.
        proposal: trunkline_resolve_queue::ProposalId,
    },
    /// Give a rule, as a person: anybody else who is named as its giver is refused.
    GiveRule {
        /// Which.
        rule: trunkline_resolve_queue::Rule,
    },
    /// Take a rule back, as a person.
    RevokeRule {
        /// Which.
        rule: trunkline_resolve_queue::RuleId,
        /// Why; may be empty.
        reason: String,
    },
    /// Void everything that waits or was approved, and every rule: the session came from elsewhere, and so did they.
    Distrust,
    /// Move the head.
    Move {
        /// How.
        act: MoveAct,
        /// Where the sender saw the head. It may have grown since, as it does while a run goes on; if it went elsewhere,
        /// nothing is done, and an undo or redo takes effect only on the move that was the latest then.
        expected_head: NodeId,
    },
    /// Give a name to a node or a branch, or take it away. Where the head is does not matter for it.
    Name {
        /// Which name, and to what.
        naming: Naming,
    },
    /// What a call gave that ended outside of the loop; see [`Session::late_result`].
    LateResult {
        /// The place of the call.
        call: CallPlace,
        /// What it gave.
        result: ToolResult,
    },
    /// Answer a step back that is proposed.
    StepBack {
        /// Which.
        proposal: trunkline_revert::ProposalId,
        /// What.
        answer: StepAnswer,
        /// Where the sender saw the head. It may have grown since, as it does while a run goes on; if it went elsewhere,
        /// nothing is done.
        expected_head: NodeId,
    },
}

#[derive(Serialize, Deserialize)]
struct PromptBody {
    text: String,
}

#[derive(Serialize, Deserialize)]
struct MoveBody {
    act: MoveAct,
    expected_head: NodeId,
}

#[derive(Serialize, Deserialize)]
struct VerdictBody {
    proposal: trunkline_resolve_queue::ProposalId,
    #[serde(flatten)]
    said: trunkline_session_machine::Said,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct RevokeBody {
    rule: trunkline_resolve_queue::RuleId,
    reason: String,
}

/// Leaves a request for whoever holds the session, or will. [`settled`] waits for what becomes of it.
///
/// # Errors
///
/// [`RuntimeError::Store`].
pub async fn post(
    store: &dyn SessionStore,
    session: &SessionId,
    request: &Request,
    at: Timestamp,
) -> Result<InboxId, RuntimeError> {
    let json = |body: serde_json::Result<String>| body.expect("a letter is plain data with text keys");
    let (kind, body) = match request {
        Request::Prompt { text } => (PROMPT, json(serde_json::to_string(&PromptBody { text: text.clone() }))),
        Request::Cancel => (CANCEL, "{}".to_owned()),
        Request::CloseRun { run, close } => {
            let body = CloseBody { run: run.to_string(), close: close.clone() };
            (CLOSE_RUN, json(serde_json::to_string(&body)))
        }
        Request::Verdict { proposal, said, seen } => {
            let body = VerdictBody { proposal: *proposal, said: said.clone(), seen: *seen };
            (VERDICT, json(serde_json::to_string(&body)))
        }
        Request::TakeBack { proposal } => (TAKE_BACK, json(serde_json::to_string(&TakeBack::of(*proposal)))),
        Request::GiveRule { rule } => (GIVE_RULE, json(serde_json::to_string(rule))),
        Request::RevokeRule { rule, reason } => {
            (REVOKE_RULE, json(serde_json::to_string(&RevokeBody { rule: *rule, reason: reason.clone() })))
        }
        Request::Distrust => (DISTRUST, "{}".to_owned()),
        Request::Move { act, expected_head } => {
            let body = MoveBody { act: act.clone(), expected_head: *expected_head };
            (MOVE, json(serde_json::to_string(&body)))
        }
        Request::Name { naming } => (NAME, json(serde_json::to_string(naming))),
        Request::LateResult { call, result } => {
            let body = LateBody { call: call.clone(), result: result.clone() };
            (LATE, json(serde_json::to_string(&body)))
        }
        Request::StepBack { proposal, answer, expected_head } => {
            let (proposal, expected_head) = (*proposal, *expected_head);
            let body = StepBody { proposal, answer: answer.clone(), expected_head };
            (STEP_BACK, json(serde_json::to_string(&body)))
        }
    };
    Ok(store.post(session, kind, &body, at).await?)
}

/// What became of a letter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Settled {
    /// It has taken effect.
    Done {
        /// The number of the last record that its effect is in.
        seq: u64,
    },
    /// It could have no effect and was put aside.
    Refused {
        /// Why, as [`Event::LetterRefused`] told it.
        reason: String,
    },
}

/// Waits until the writer of the session has settled a letter. May be dropped at any time.
///
/// A letter is read between steps, and a prompt after the turn. If nobody writes the session this waits for the next
/// writer: see [`SessionStore::holder`], and open the session instead.
///
/// # Errors
///
/// [`RuntimeError::Store`], also if there is no such letter or the session is deleted meanwhile.
pub async fn settled(
    store: &dyn SessionStore,
    session: &SessionId,
    letter: InboxId,
) -> Result<Settled, RuntimeError> {
    let seq = consumed(store, session, letter).await?;
    // A refusal is a batch of its own, so its note is the last record there was.
    for kept in store.read(session, seq.saturating_sub(1), 1).await? {
        if let Record::Note(note) = kept.record(session)?
            && (note.layer.as_str(), note.kind.as_str()) == (journal::LAYER, journal::LETTER_REFUSED)
        {
            let refused: LetterRefused = journal::read(&note)?;
            if refused.letter == letter.0 {
                return Ok(Settled::Refused { reason: refused.reason });
            }
        }
    }
    Ok(Settled::Done { seq })
}

/// Says who has taken a session over.
pub(crate) fn by(holder: Option<String>) -> String {
    holder.unwrap_or_else(|| "somebody else".to_owned())
}

/// Returns whether a letter ends the turn at hand, which belongs to that run. One that means another run is put aside
/// between two steps, and disturbs nobody.
fn ends_turn(letter: &Letter, run: Option<&str>) -> bool {
    if letter.kind == CLOSE_RUN {
        return body::<CloseBody>(letter).is_ok_and(|close| Some(close.run.as_str()) == run);
    }
    letter.kind == CANCEL
}

/// Waits until there is a letter after `seen`, or, as [`Session::asked_to_end`], until the session is taken over.
///
/// A letter that was seen and has to wait must not disturb whoever is asked meanwhile.
pub(crate) async fn arrived(
    store: &dyn SessionStore,
    session: &SessionId,
    token: u64,
    seen: Option<InboxId>,
) -> Result<(), String> {
    watch(store, session, (token, Activity::default()), |inbox| newest(inbox) > seen).await
}

/// Looks into the inbox whenever something has happened in the session since its activity was what was seen, until it is as
/// `wanted`. Never returns if that cannot be read: the next write finds it out.
async fn watch(
    store: &dyn SessionStore,
    session: &SessionId,
    (token, mut seen): (u64, Activity),
    wanted: impl Fn(&[Letter]) -> bool + Send,
) -> Result<(), String> {
    loop {
        match look(store, session, token, seen).await {
            Ok((_, Found::Other(holder))) => return Err(by(holder.and_then(|holder| holder.name))),
            Ok((_, Found::Inbox(inbox))) if wanted(&inbox) => return Ok(()),
            Ok((now, _)) => seen = now,
            Err(_) => tokio::time::sleep(LOOK_AGAIN_AFTER).await,
        }
    }
}

/// What is found in a session in which something has happened.
enum Found {
    Inbox(Vec<Letter>),
    /// It was taken over, maybe by a process that has ended since.
    Other(Option<Holder>),
}

async fn look(
    store: &dyn SessionStore,
    session: &SessionId,
    token: u64,
    seen: Activity,
) -> Result<(Activity, Found), StoreError> {
    // The counters first, so that what comes while the rest is read is not missed.
    let now = store.changed(session, seen).await?;
    let found = match now.token == token {
        true => Found::Inbox(store.inbox(session).await?),
        false => Found::Other(store.holder(session).await?),
    };
    Ok((now, found))
}

pub(crate) fn newest(inbox: &[Letter]) -> Option<InboxId> {
    inbox.iter().map(|letter| letter.id).max()
}

impl Session {
    /// Waits until somebody asks to cancel, or to close the run that is open now, or has taken the session over: then the
    /// error says who. Lives apart from the session, which can write meanwhile.
    pub(crate) fn asked_to_end(&self) -> impl Future<Output = Result<(), String>> + Send + use<> {
        let (store, id, token) = (self.store.clone(), self.lease.session().clone(), self.lease.token());
        let seen = self.seen_without_letters();
        let run = self.open_run().map(|run| run.to_string());
        async move {
            let ends = |inbox: &[Letter]| inbox.iter().any(|letter| ends_turn(letter, run.as_deref()));
            watch(store.as_ref(), &id, (token, seen), ends).await
        }
    }

    /// Waits until somebody has taken the session over, and says who.
    pub(crate) fn taken_over(&self) -> impl Future<Output = String> + Send + use<> {
        let (store, id, token) = (self.store.clone(), self.lease.session().clone(), self.lease.token());
        let seen = self.seen_without_letters();
        async move {
            match watch(store.as_ref(), &id, (token, seen), |_| false).await {
                Err(by) => by,
                // Nothing else is waited for.
                Ok(()) => std::future::pending().await,
            }
        }
    }

    /// Reads the inbox.
    pub(crate) async fn read_inbox(&mut self) -> Result<Vec<Letter>, RuntimeError> {
        let (now, inbox) = self.store.look(self.lease.session()).await?;
        self.seen = (inbox.is_empty() && now.token == self.lease.token()).then_some(now);
        Ok(inbox)
    }

    /// Returns what the activity of the session is as long as only this process does anything in it, if no letter waited when its
    /// inbox was read last. Otherwise what it never is, so that to wait for a change is to read the inbox at once.
    fn seen_without_letters(&self) -> Activity {
        let Some(mut seen) = self.seen else { return Activity::default() };
        seen.records = self.state.seq;
        seen
    }

    /// Remembers what has been left until now, and returns it: a cancel among it is not for a turn that begins later.
    pub(crate) async fn look_at_inbox(&mut self) -> Result<Vec<Letter>, RuntimeError> {
        let inbox = self.read_inbox().await?;
        // Those that were consumed meanwhile do not count, and what was old stays old.
        self.old = self.old.max(newest(&inbox));
        Ok(inbox)
    }

    /// Consumes what asked to end a turn that is over, of what was read of the inbox.
    pub(crate) async fn take_old_cancels(&mut self, inbox: Vec<Letter>) -> Result<(), RuntimeError> {
        for letter in inbox {
            if letter.kind == CANCEL && Some(letter.id) <= self.old {
                self.take_cancel(&letter).await?;
            }
        }
        Ok(())
    }

    /// Voids what an import brought along, before anything else can act on it.
    pub(crate) async fn distrust_import(&mut self) -> Result<(), RuntimeError> {
        for letter in self.store.inbox(self.lease.session()).await? {
            if letter.kind == DISTRUST {
                self.take_distrust(letter.id).await?;
            }
        }
        Ok(())
    }

    /// Takes in every letter that can take effect now. Returns the name of the newest that was looked at.
    ///
    /// What is posted meanwhile has not been looked at, and must not be taken for something that has to wait.
    pub(crate) async fn take_letters(&mut self, cancel: &Cancel) -> Result<Option<InboxId>, RuntimeError> {
        let inbox = self.read_inbox().await?;
        let newest = newest(&inbox);
        for letter in inbox {
            self.take_or_refuse(&letter, cancel).await?;
        }
        Ok(newest)
    }

    /// Takes in one letter, or puts it aside with the reason why it can have no effect.
    pub(crate) async fn take_or_refuse(
        &mut self,
        letter: &Letter,
        cancel: &Cancel,
    ) -> Result<(), RuntimeError> {
        match self.take(letter, cancel).await {
            Err(RuntimeError::Refused { reason }) => self.refuse(letter, reason).await,
            Err(fault @ (RuntimeError::Proposal(_) | RuntimeError::Rule(_))) => {
                self.refuse(letter, fault.to_string()).await
            }
            Err(fault @ (RuntimeError::NoOpenRun | RuntimeError::Unsettled { .. })) => {
                self.refuse(letter, fault.to_string()).await
            }
            other => other,
        }
    }

    async fn take(&mut self, letter: &Letter, cancel: &Cancel) -> Result<(), RuntimeError> {
        match letter.kind.as_str() {
            CANCEL => {
                cancel.cancel();
                self.take_cancel(letter).await
            }
            CLOSE_RUN => self.take_close_letter(letter).await,
            PROMPT if !self.has_place_for_prompt() => Ok(()),
            PROMPT => {
                let body: PromptBody = body(letter)?;
                self.add_prompt(&body.text, Some(letter.id)).await
            }
            MOVE => {
                let MoveBody { act, expected_head } = body(letter)?;
                self.check_seen(&act, expected_head)?;
                match act {
                    MoveAct::Revert { to, lesson } => {
                        self.revert_for(to, lesson.as_deref(), Some(letter.id)).await
                    }
                    MoveAct::Go { to } => self.go_for(to, Some(letter.id)).await.map(drop),
                    MoveAct::Merge { tips } => self.merge_for(&tips, Some(letter.id)).await.map(drop),
                    MoveAct::Undo => self.undo_for(Some(letter.id)).await,
                    MoveAct::Redo => self.redo_for(Some(letter.id)).await,
                }
            }
            NAME => self.name_for(body(letter)?, Some(letter.id)).await,
            LATE => self.take_late_letter(letter).await,
            STEP_BACK => self.take_step_back(letter).await,
            VERDICT => {
                let VerdictBody { proposal, said, seen } = body(letter)?;
                self.take_verdict(proposal, &said, seen, Some(letter.id)).await
            }
            GIVE_RULE => self.give_rule_for(body(letter)?, Some(letter.id)).await.map(drop),
            REVOKE_RULE => {
                let RevokeBody { rule, reason } = body(letter)?;
                self.revoke_rule_for(rule, &reason, Some(letter.id)).await
            }
            TAKE_BACK => self.take_back_letter(letter).await,
            DISTRUST => self.take_distrust(letter.id).await,
            other => Err(RuntimeError::Refused {
                reason: format!("nothing is known of letters of kind {other:?}"),
            }),
        }
    }

    /// Checks that a move still means what its sender meant: where they saw the head is on the trunk, which may have grown
    /// since, as it does while a model writes. What they wanted to take back has to be the latest move still.
    fn check_seen(&self, act: &MoveAct, expected_head: NodeId) -> Result<(), RuntimeError> {
        let tree = &self.state.tree;
        let latest = tree.moves().len().checked_sub(1).and_then(|place| tree.reflog().nth(place));
        let meant = match act {
            MoveAct::Undo | MoveAct::Redo => {
                expected_head == tree.head() || latest.is_some_and(|latest| latest.newest < expected_head)
            }
            _ => true,
        };
        if meant && tree.is_on_trunk(expected_head) {
            return Ok(());
        }
        let head = tree.head();
        let reason = format!("the head is {head} by another move, this was asked for at {expected_head}");
        Err(RuntimeError::Refused { reason })
    }

    async fn take_cancel(&mut self, letter: &Letter) -> Result<(), RuntimeError> {
        let taken = journal::letter_taken(letter.id, CANCEL, self.settings().now());
        self.commit(vec![taken], Some(letter.id)).await
    }

    async fn refuse(&mut self, letter: &Letter, reason: String) -> Result<(), RuntimeError> {
        let refused =
            LetterRefused { letter: letter.id.0, kind: letter.kind.clone(), reason: reason.clone() };
        let at = self.settings().now();
        let record = journal::note(journal::LAYER, journal::LETTER_REFUSED, at, &refused);
        self.commit(vec![record], Some(letter.id)).await?;
        self.tell(&Event::LetterRefused { kind: letter.kind.clone(), reason });
        Ok(())
    }
}

pub(crate) fn body<T: serde::de::DeserializeOwned>(letter: &Letter) -> Result<T, RuntimeError> {
    serde_json::from_str(&letter.body)
        .map_err(|fault| RuntimeError::Refused { reason: format!("the letter cannot be read: {fault}") })
}
