//! Does acts: asks the world what they have to know, and writes what they plan.

use std::sync::Arc;
use trunkline_session_machine::Event;
use trunkline_session_machine::executors;

use trunkline_resolve_queue::{Fingerprint, ProposalId};
use trunkline_revert::Effects;
use trunkline_session_store::{Digest, InboxId};

use crate::agent::new_id;
use crate::{Session, Tool, Workspace, contained};
use trunkline_session_machine::acts::{Answer, Asked, Pause, Plan, Question, View, roll_back};
use trunkline_session_machine::{Kept, OwnChanges, RuntimeError, WorkspaceFault};

impl Session {
    /// Does an act. Returns what follows from it.
    pub(crate) async fn perform<T>(
        &mut self,
        act: impl Fn(&View<'_>, &mut Asked<'_>) -> Result<Plan<T>, Pause>,
    ) -> Result<T, RuntimeError> {
        self.perform_for(None, act).await
    }

    /// Does an act that a letter asks for, which is consumed with what the act records.
    pub(crate) async fn perform_for<T>(
        &mut self,
        letter: Option<InboxId>,
        act: impl Fn(&View<'_>, &mut Asked<'_>) -> Result<Plan<T>, Pause>,
    ) -> Result<T, RuntimeError> {
        let plan = self.find_out(act).await?;
        self.write(plan, letter).await
    }

    /// Does what of an act writes nothing. While it waits the log does not grow, so that all answers count.
    pub(crate) async fn find_out<T>(
        &self,
        act: impl Fn(&View<'_>, &mut Asked<'_>) -> Result<T, Pause>,
    ) -> Result<T, RuntimeError> {
        let mut known = Vec::new();
        let mut view = self.view();
        let began = view.at;
        loop {
            match act(&view, &mut Asked::of(&known)) {
                Ok(learned) => return Ok(learned),
                Err(Pause::Refused(fault)) => return Err(fault),
                Err(Pause::Needs(question, counting)) => {
                    known.truncate(counting);
                    // Most acts ask nothing: what waits for an answer is large, and kept apart.
                    let answer = Box::pin(self.answer_to(&question)).await?;
                    known.push((*question, answer));
                    view = View { began, ..self.view() };
                }
            }
        }
    }

    /// Records what was planned, and then tells of it.
    pub(crate) async fn write<T>(
        &mut self,
        plan: Plan<T>,
        letter: Option<InboxId>,
    ) -> Result<T, RuntimeError> {
        self.commit(plan.records, letter).await?;
        for event in &plan.events {
            if let (Event::LookFailed { .. }, Some(run)) = (event, &mut self.state.decision.run) {
                run.looks.tell_fault();
            }
            self.tell(event);
        }
        Ok(plan.then)
    }

    /// Returns what an act looks at now.
    pub(crate) fn view(&self) -> View<'_> {
        let settings = self.settings();
        let at = settings.now();
        View { state: &self.state, setup: &settings.setup, token: self.lease.token(), at, began: at }
    }

    async fn answer_to(&self, question: &Question) -> Result<Answer, RuntimeError> {
        let queue = &self.state.resolve.queue;
        Ok(match question {
            Question::Keep(id) => match (queue.get(*id), self.executor(*id)) {
                (Some(entry), Some(tool)) => {
                    Answer::Kept(contained::keep(tool.as_ref(), entry).await.map(Arc::from))
                }
                _ => Answer::Kept(None),
            },
            Question::Observe(id) => match (queue.get(*id), self.executor(*id)) {
                (Some(entry), Some(tool)) => {
                    Answer::Observed(contained::observe(tool.as_ref(), &entry.proposal).await)
                }
                _ => Answer::Observed(None),
            },
            Question::Preimages(named) => Answer::Kept(self.preimages(named).await?.map(Arc::from)),
            Question::PutBack(id, kept) => {
                if let (Some(entry), Some(tool)) = (queue.get(*id), self.executor(*id)) {
                    let _ = contained::put_back(tool.as_ref(), entry, &kept.0).await;
                }
                Answer::PutBack
            }
            Question::Undo(entry, kept) => match self.executor(entry.id) {
                Some(tool) => Answer::Undo(contained::undo(tool.as_ref(), entry, &kept.0).await),
                None => Answer::Undo(None),
            },
            Question::Discarded(entries) => {
                let mut words = Vec::new();
                for entry in entries {
                    words.push(match self.executor(entry.id) {
                        Some(tool) => contained::discarded(tool.as_ref(), entry).await,
                        None => None,
                    });
                }
                Answer::Words(words)
            }
            Question::Calls(calls) => {
                let asked = calls.iter().map(|call| match self.settings().implementations.get(&call.tool) {
                    Some(one) => {
                        one.schema.check(&call.arguments)?;
                        match call.asks_gate {
                            true => contained::gate(one.tool.as_ref(), &call.arguments),
                            false => Ok(None),
                        }
                    }
                    None => Ok(None),
                });
                Answer::Calls(asked.collect())
            }
            Question::Effects(calls) => {
                let asked = calls.iter().map(|(tool, arguments)| match self.implementation(tool) {
                    Some(tool) => contained::effects(tool, arguments),
                    None => Effects::default(),
                });
                Answer::Effects(asked.collect())
            }
            Question::Ids(count) => Answer::Ids((0..*count).map(|_| new_id()).collect()),
            Question::Start => Answer::Start(self.base().await),
            Question::Look => Answer::Look(self.look_at_files().await),
            Question::OwnChanges(base, touched, Some(spans)) => {
                Answer::OwnChanges(self.folder()?.own_changes(base, touched, spans).await)
            }
            Question::OwnChanges(base, touched, None) => {
                let changes = self.folder()?.changes(base, touched).await;
                Answer::OwnChanges(changes.map(|changes| OwnChanges { changes, ..OwnChanges::default() }))
            }
            Question::States(base, after, touched, spans, paths) => {
                let (after, spans) = (after.as_deref(), spans.as_deref());
                Answer::States(self.folder()?.states(base, after, touched, spans, paths).await)
            }
            Question::Compare(left, kept) => {
                Answer::Compared(self.folder()?.compare(left, &roll_back::files(kept)).await)
            }
            Question::FindCommit(deciding) => Answer::Commit(self.folder()?.find_commit(deciding).await),
            Question::Commit(deciding) => Answer::Commit(self.folder()?.commit(deciding).await),
            Question::WriteCommit(deciding) => Answer::Prepared(self.folder()?.write_commit(deciding).await),
            Question::Bound(binding) => Answer::Bound(self.folder()?.bound(binding).await),
            Question::Bind(binding) => Answer::Bind(self.folder()?.bind(binding).await),
        })
    }

    /// Returns where the files are; an act asks nothing of them where it is not known.
    fn folder(&self) -> Result<&dyn Workspace, WorkspaceFault> {
        let message = "this session was opened without its folder".to_owned();
        self.settings().workspace.as_deref().ok_or(WorkspaceFault { message })
    }

    fn implementation(&self, name: &str) -> Option<&dyn Tool> {
        self.settings().implementations.get(name).map(|one| one.tool.as_ref())
    }

    /// Returns the tool that applies a proposal.
    pub(crate) fn executor(&self, id: ProposalId) -> Option<Arc<dyn Tool>> {
        let proposal = &self.state.resolve.queue.get(id)?.proposal;
        let name = executors::executor_of(&self.state, &self.settings().setup.catalogue, proposal)?;
        self.settings().implementations.get(name).map(|one| one.tool.clone())
    }

    /// Reads bytes that the log names; `None` if not all of them can be had.
    pub(crate) async fn preimages(
        &self,
        named: &[(Fingerprint, Option<Digest>)],
    ) -> Result<Option<Vec<Kept>>, RuntimeError> {
        let mut kept = Vec::new();
        for (fingerprint, digest) in named {
            let bytes = match digest {
                None => None,
                Some(digest) => match self.store.blob(self.lease.session(), digest).await? {
                    Some(bytes) => Some(bytes),
                    None => return Ok(None),
                },
            };
            kept.push(Kept { fingerprint: fingerprint.clone(), bytes });
        }
        Ok(Some(kept))
    }
}
