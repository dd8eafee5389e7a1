//! Steps back that are proposed: at the end of a turn, and what a person answers.
//!
//! A turn is watched in the batch that holds its results, so a kill can neither lose what was noticed nor tell it twice.

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Author, Entry, Message, MessageTree, NodeId, Timestamp};
use trunkline_revert::{Answer, Mover, Proposal, ProposalEvent, ProposalId, Proposals, Stall, StallEvent};
use trunkline_session_store::{InboxId, Letter, Record};

use crate::acts::turn::{close_turn, say_after_assistant};
use crate::journal;
use crate::journal::entries;
use crate::layers::resolve;
use crate::layers::revert::stall::{self, PROPOSAL, TURN};
use crate::layers::revert::{self, Drained, Leaving};
use crate::letters;
use crate::state::OpenTurn;
use crate::{OnStall, Reverts, RuntimeError, Session};

/// What becomes of a step back that is proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepAnswer {
    /// It is carried out.
    Accept,
    /// It is not.
    Decline {
        /// Why.
        reason: Option<String>,
    },
}

/// What a letter asks for.
#[derive(Serialize, Deserialize)]
pub(crate) struct StepBody {
    pub(crate) proposal: ProposalId,
    pub(crate) answer: StepAnswer,
    pub(crate) expected_head: NodeId,
}

impl Session {
    /// Returns the steps back that are proposed and that nobody has answered, oldest first.
    pub fn proposed_reverts(&self) -> impl DoubleEndedIterator<Item = &Proposal> {
        self.state.revert.steps.open.open()
    }

    /// Carries out a step back that was proposed, as a person: their words may be left behind.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if it is not open, proposes no step, or the head went elsewhere since;
    /// [`RuntimeError::Store`].
    pub async fn accept_revert(&mut self, id: ProposalId) -> Result<(), RuntimeError> {
        self.catch_up().await?;
        self.accept_step(id, None).await
    }

    /// Declines a step back that was proposed. The model is not told.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if it is not open; [`RuntimeError::Store`].
    pub async fn decline_revert(&mut self, id: ProposalId, reason: Option<&str>) -> Result<(), RuntimeError> {
        self.catch_up().await?;
        self.decline_step(id, reason, None).await
    }

    pub(crate) async fn accept_step(
        &mut self,
        id: ProposalId,
        letter: Option<InboxId>,
    ) -> Result<(), RuntimeError> {
        self.load_whole().await?;
        let tree = &self.state.tree;
        let proposal = self.open_step(id)?;
        let refused = |reason| RuntimeError::Refused { reason };
        let Some(request) = &proposal.request else {
            return Err(refused(format!("{id} proposes no step that could be accepted")));
        };
        if !proposal.stands(tree) {
            return Err(refused(format!("{id} is out of date: the head went elsewhere since")));
        }
        let at = self.settings().now();
        let planned = revert::plan_request(tree, request)?;
        let mut draft = tree.draft();
        let results = close_turn(
            (&self.state, &self.settings().setup),
            &mut draft,
            "not run: a person left this branch first",
            at,
        )?;
        let setup = &self.settings().setup;
        let leaving = planned.leaving(tree, &results, at).told((&self.state, tree), setup, &draft);
        let mut notes = leaving.records(at);
        if let Some(move_id) = leaving.outcome.record.move_id {
            notes.push(answered(id, Answer::Accepted { move_id }, at));
        }
        let moving = (leaving.head_move(), leaving.move_name());
        let records = self.moving(draft, notes, moving, &results, Some(id), at).await?;
        self.commit(records, letter).await?;
        self.start_summaries();
        Ok(())
    }

    pub(crate) async fn decline_step(
        &mut self,
        id: ProposalId,
        reason: Option<&str>,
        letter: Option<InboxId>,
    ) -> Result<(), RuntimeError> {
        self.open_step(id)?;
        let at = self.settings().now();
        self.commit(vec![answered(id, Answer::declined(reason), at)], letter).await
    }

    pub(crate) async fn take_step_back(&mut self, letter: &Letter) -> Result<(), RuntimeError> {
        let StepBody { proposal, answer, expected_head } = letters::body(letter)?;
        if !self.state.tree.is_on_trunk(expected_head) {
            let reason = format!("{expected_head}, where this was asked for, is not on the trunk any more");
            return Err(RuntimeError::Refused { reason });
        }
        match answer {
            StepAnswer::Accept => self.accept_step(proposal, Some(letter.id)).await,
            StepAnswer::Decline { reason } => {
                self.decline_step(proposal, reason.as_deref(), Some(letter.id)).await
            }
        }
    }

    fn open_step(&self, id: ProposalId) -> Result<&Proposal, RuntimeError> {
        self.state.revert.steps.open.get(id).ok_or_else(|| {
            let open: Vec<String> = self.proposed_reverts().map(|open| open.id.to_string()).collect();
            let open =
                if open.is_empty() { "none is".to_owned() } else { format!("open: {}", open.join(", ")) };
            RuntimeError::Refused { reason: format!("{id} is not an open proposal of a step back; {open}") }
        })
    }

    /// Adds to the records of a turn what a watch sees of it: its digest, what became of open proposals, a new one, and the
    /// step itself if a policy takes it.
    pub(crate) async fn watch_turn(
        &self,
        turn: &OpenTurn<'_>,
        drained: &Drained,
        leaving: Option<&Leaving>,
        records: &mut Vec<Record>,
        at: Timestamp,
    ) -> Result<(), RuntimeError> {
        let Some(reverts) = &self.settings().setup.revert else { return Ok(()) };
        let steps = &self.state.revert.steps;
        let Some(mut watch) = steps.watching() else { return Ok(()) };
        let results = result_messages(turn.node, records);
        let head = results.last().map_or(turn.node, |(node, _)| *node);
        let answers: Vec<_> = results.iter().filter_map(|(_, message)| message.results().next()).collect();
        let observation =
            stall::observation(head, turn.message, &answers, self.state.decision.tests(turn.node));
        let note = journal::note(revert::LAYER, TURN, at, &observation);

        let mut stall = watch.observe(&StallEvent::Turn(observation));
        let left = leaving.map(|leaving| &leaving.outcome.record);
        if let Some(event) = left.and_then(stall::event_of) {
            // What was noticed before the model went back is out of date with it.
            stall = watch.observe(&event);
        }
        let mut added = Added { open: steps.open.clone(), records: Vec::new(), at };
        for event in stall::answers(&steps.open, left, &watch) {
            added.tell(event)?;
        }
        if let (Some((request, prompts)), None) = (drained.asked(), leaving)
            && !stall::is_asked(&added.open, &self.state.tree, request, prompts)
        {
            let id = added.open.next_id();
            added.make(Proposal::asked(request, prompts, head, id, watch.turns()))?;
        }
        if reverts.stall.enabled {
            let place = first_note(records);
            records.insert(place, note);
        }
        match stall {
            Some(stall) => self.propose(reverts, &stall, leaving, added, records).await,
            None => {
                records.extend(added.records);
                Ok(())
            }
        }
    }

    /// Adds the proposal that a stall leads to, and what follows of it. `before` is the step that the turn itself has made.
    async fn propose(
        &self,
        reverts: &Reverts,
        stall: &Stall,
        before: Option<&Leaving>,
        mut added: Added,
        records: &mut Vec<Record>,
    ) -> Result<(), RuntimeError> {
        let at = added.at;
        // Where to go back to depends on the results of this turn, which no tree holds yet. It is rare enough for a copy.
        let mut tree = self.state.tree.clone();
        for record in records.iter() {
            if let Record::Entry(entry) = record {
                tree.record(entry.clone())?;
            }
        }
        let mover = Mover { author: Author::Model, prompts: reverts.prompts };
        let proposal = stall.propose(&tree, mover, added.open.next_id());
        added.make(proposal.clone())?;
        let accepts = reverts.on_stall == OnStall::Accept;
        let step = if accepts { step(&tree, reverts, &proposal, at) } else { None };
        let mut draft = tree.draft();
        if let Some(leaving) = step {
            let setup = &self.settings().setup;
            let mut leaving = leaving.told((&self.state, &tree), setup, &draft);
            leaving.move_head(&tree, &mut draft, at)?;
            let over = before.is_some_and(|before| self.leave_the_prompt(&[before]));
            let steps: Vec<&Leaving> = before.into_iter().chain([&leaving]).collect();
            let abandoned = match !over && self.leave_the_prompt(&steps) {
                true => self.leave_run(Author::Harness).await?,
                false => Vec::new(),
            };
            if !over && abandoned.is_empty() {
                say_after_assistant(&self.state, &mut draft, at)?;
            }
            added.records.extend(leaving.records(at));
            if let Some(move_id) = leaving.outcome.record.move_id {
                let answer = Answer::Accepted { move_id };
                added.tell(ProposalEvent::Answered { id: proposal.id, answer, by: Author::Harness })?;
            }
            for event in stall::left_behind(&added.open, leaving.left(), None) {
                added.tell(event)?;
            }
            let name = leaving.move_name();
            added.records.extend(resolve::supersede_left(&self.state.resolve, leaving.left(), &name, at));
            added.records.extend(abandoned);
        } else if reverts.on_stall != OnStall::TellPerson {
            draft.append(Message::harness(proposal.text_for_model()), at)?;
        }
        let place = first_note(records);
        records.splice(place..place, entries(draft));
        records.extend(added.records);
        Ok(())
    }
}

/// Plans the step that a policy takes; `None` if there is none to take.
fn step(tree: &MessageTree, reverts: &Reverts, proposal: &Proposal, at: Timestamp) -> Option<Leaving> {
    let mover = Mover { author: Author::Harness, prompts: reverts.prompts };
    let plan = trunkline_revert::plan(tree, proposal.request.as_ref()?, mover).ok()?;
    Some(Leaving { outcome: plan.outcome(&[], at, trunkline_revert::turn(tree)), asks: false })
}

/// What is added to the records of a turn, and the proposals that are open then.
struct Added {
    open: Proposals,
    records: Vec<Record>,
    at: Timestamp,
}

impl Added {
    fn tell(&mut self, event: ProposalEvent) -> Result<(), RuntimeError> {
        self.open.record(&event).map_err(|fault| RuntimeError::Refused { reason: fault.to_string() })?;
        self.records.push(journal::note(revert::LAYER, PROPOSAL, self.at, &event));
        Ok(())
    }

    fn make(&mut self, proposal: Proposal) -> Result<(), RuntimeError> {
        self.open.make(proposal).into_iter().try_for_each(|event| self.tell(event))
    }
}

/// Returns the record of what a person answers.
fn answered(id: ProposalId, answer: Answer, at: Timestamp) -> Record {
    journal::note(revert::LAYER, PROPOSAL, at, &ProposalEvent::Answered { id, answer, by: Author::Person })
}

fn first_note(records: &[Record]) -> usize {
    records.iter().position(|record| matches!(record, Record::Note(_))).unwrap_or(records.len())
}

/// Returns the results of a turn among the records that end it, in the order of their calls.
fn result_messages(turn: NodeId, records: &[Record]) -> Vec<(NodeId, &Message)> {
    let mut last = turn;
    let mut results = Vec::new();
    for record in records {
        match record {
            Record::Entry(Entry::Node { id, parent: Some(parent), message, .. }) if *parent == last => {
                results.push((*id, message));
                last = *id;
            }
            _ => break,
        }
    }
    results
}
