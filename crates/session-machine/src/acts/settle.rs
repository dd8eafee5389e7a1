//! The end of a turn: its results are written, what it asked for is carried out, and what a watch sees of it is noted.
//!
//! A turn is watched in the batch that holds its results, so a kill can neither lose what was noticed nor tell it twice.

use trunkline_message_tree::{Author, Entry, Message, MessageTree, NodeId, Timestamp};
use trunkline_revert::{
    Answer, Mover, Observation, Proposal, ProposalEvent, ProposalId, Proposals, Stall, StallEvent,
};
use trunkline_session_store::Record;

use crate::acts::asked::Asked;
use crate::acts::close::leave;
use crate::acts::drained::{self, Drained};
use crate::acts::leaving::{self, Leaving};
use crate::acts::moves::{self, move_head};
use crate::acts::plan::Plan;
use crate::acts::question::Pause;
use crate::acts::turn::{append_results, close_turn, say_after_assistant};
use crate::acts::view::View;
use crate::notes;
use crate::notes::record::entries;
use crate::rules::staged;
use crate::state::{OpenTurn, State, steps};
use crate::words::call::Access;
use crate::words::error::RuntimeError;
use crate::words::reverts::{OnStall, Reverts};

/// Writes the result nodes of the open turn in call order, and with them the move that the turn asked for.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn settle(view: &View<'_>, asked: &mut Asked<'_>) -> Result<Plan, Pause> {
    let (state, tree, at) = (view.state, &view.state.tree, view.at);
    let Some(turn) = state.open_turn() else { return Ok(Plan::nothing()) };
    let mut drained = drained::drain(view, &turn).priced(view, asked)?;
    let mut draft = tree.draft();
    let results = append_results(state, &mut draft, &drained.answers(view), at)?;
    let (mut notes, leaving) = drained.finish(tree, &results, at);
    let leaving = leaving.map(|leaving| leaving.told((view, tree), asked, &draft));
    let mut leaving = leaving.transpose()?;
    if let Some(leaving) = &mut leaving {
        leaving.move_head(tree, &mut draft, at)?;
        // Without its prompt the run is over. What stands at the head then opens the next one, unless that is an answer.
        let abandoned = match leave_the_prompt(state, &[leaving]) {
            true => leave(view, asked, Author::Model)?,
            false => Vec::new(),
        };
        if abandoned.is_empty() {
            say_after_assistant(state, &mut draft, at)?;
        }
        notes.extend(leaving.records(at));
        let name = leaving.move_name();
        notes.extend(staged::supersede_left(&state.resolve.queue, leaving.left(), &name, at));
        notes.extend(staged::restore_back(&state.resolve, leaving.back(), at));
        notes.extend(abandoned);
    }
    if let Some(merge) = drained.take_merge() {
        let record = moves::merge_here(&mut draft, merge, at)?;
        // Before all else that tells of the turn: the move alone could be a person's.
        notes.insert(0, notes::revert::merged(&record, at));
    }
    let mut records: Vec<Record> = entries(draft);
    records.extend(notes);
    watch(view, asked, &turn, (&drained, leaving.as_ref()), &mut records)?;
    Ok(Plan::of(records))
}

/// Takes a step back that was proposed, as a person.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn accept(view: &View<'_>, asked: &mut Asked<'_>, id: ProposalId) -> Result<Plan, Pause> {
    let tree = &view.state.tree;
    let proposal = open_step(view.state, id)?;
    let refused = |reason| RuntimeError::Refused { reason };
    let Some(request) = &proposal.request else {
        return Err(refused(format!("{id} proposes no step that could be accepted")).into());
    };
    if !proposal.stands(tree) {
        return Err(refused(format!("{id} is out of date: the head went elsewhere since")).into());
    }
    let planned = leaving::plan_request(tree, request)?;
    let mut draft = tree.draft();
    let results = close_turn(view, &mut draft, "not run: a person left this branch first")?;
    let leaving = planned.leaving(tree, &results, view.at).told((view, tree), asked, &draft)?;
    let mut notes = leaving.records(view.at);
    if let Some(move_id) = leaving.outcome.record.move_id {
        notes.push(answered(id, Answer::Accepted { move_id }, view.at));
    }
    let moving = (leaving.head_move(), leaving.move_name());
    Ok(Plan::of(move_head(view, asked, draft, notes, moving, (&results, Some(id)))?))
}

/// Declines a step back that was proposed, as a person.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn decline(view: &View<'_>, id: ProposalId, reason: Option<&str>) -> Result<Plan, Pause> {
    open_step(view.state, id)?;
    Ok(Plan::of(vec![answered(id, Answer::declined(reason), view.at)]))
}

fn open_step(state: &State, id: ProposalId) -> Result<&Proposal, RuntimeError> {
    state.revert.steps.open.get(id).ok_or_else(|| {
        let open: Vec<String> = state.revert.steps.open.open().map(|open| open.id.to_string()).collect();
        let open = if open.is_empty() { "none is".to_owned() } else { format!("open: {}", open.join(", ")) };
        RuntimeError::Refused { reason: format!("{id} is not an open proposal of a step back; {open}") }
    })
}

/// Returns whether these steps back, made one after the other at the end of a turn, take the prompt of the open run off
/// the trunk, and neither leave a copy of it nor bring it back.
fn leave_the_prompt(state: &State, steps: &[&Leaving]) -> bool {
    let Some(run) = &state.decision.run else { return false };
    let mut known: Vec<NodeId> = run.prompts().collect();
    let mut standing: Vec<NodeId> =
        known.iter().copied().filter(|prompt| state.tree.is_on_trunk(*prompt)).collect();
    let stood = !standing.is_empty();
    for step in steps {
        let copied = step.copies().into_iter().filter(|(original, _)| known.contains(original));
        let copies: Vec<NodeId> = copied.map(|(_, copy)| copy).collect();
        standing.retain(|prompt| !step.left().contains(prompt));
        // On a branch that comes back, the words stand of which a copy has left.
        standing.extend(step.back().iter().filter(|node| known.contains(node)));
        standing.extend(&copies);
        known.extend(copies);
    }
    stood && standing.is_empty()
}

/// Adds to the records of a turn what a watch sees of it: its digest, what became of open proposals, a new one, and the
/// step itself if a policy takes it.
fn watch(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    turn: &OpenTurn<'_>,
    (drained, leaving): (&Drained, Option<&Leaving>),
    records: &mut Vec<Record>,
) -> Result<(), Pause> {
    let Some(reverts) = &view.setup.revert else { return Ok(()) };
    let (steps, at) = (&view.state.revert.steps, view.at);
    let Some(mut watch) = steps.watching() else { return Ok(()) };
    let results = result_messages(turn.node, records);
    let head = results.last().map_or(turn.node, |(node, _)| *node);
    let answers: Vec<_> = results.iter().filter_map(|(_, message)| message.results().next()).collect();
    let observation =
        Observation::of_turn(head, turn.message, &answers, view.state.decision.tests(turn.node));
    let looks = |tool: &str| view.setup.catalogue.access(tool) == Some(Access::ReadOnly);
    let observation = observation.with_lookers(looks);
    let observation = match view.state.files() {
        Some(files) => observation.with_files(files),
        None => observation,
    };
    let note = notes::revert::turn(&observation, at);

    let mut stall = watch.observe(&StallEvent::Turn(observation));
    let left = leaving.map(|leaving| &leaving.outcome.record);
    if let Some(event) = left.and_then(steps::event_of) {
        // What was noticed before the model went back is out of date with it.
        stall = watch.observe(&event);
    }
    let mut added = Added { open: steps.open.clone(), records: Vec::new(), at };
    for event in steps.open.answered_by_turn(left, &watch) {
        added.tell(event)?;
    }
    if let (Some((request, prompts)), None) = (drained.asked(), leaving)
        && !added.open.is_asked(&view.state.tree, request, prompts)
    {
        let id = added.open.next_id();
        added.make(Proposal::asked(request, prompts, head, id, watch.turns()))?;
    }
    if reverts.stall.enabled {
        let mut place = first_note(records);
        place += usize::from(records.get(place).is_some_and(is_merge));
        records.insert(place, note);
    }
    match stall {
        Some(stall) => propose(view, asked, (reverts, &stall), (leaving, added), records),
        None => {
            records.extend(added.records);
            Ok(())
        }
    }
}

/// Adds the proposal that a stall leads to, and what follows of it. `before` is the step that the turn itself has made.
fn propose(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    (reverts, stall): (&Reverts, &Stall),
    (before, mut added): (Option<&Leaving>, Added),
    records: &mut Vec<Record>,
) -> Result<(), Pause> {
    let at = added.at;
    // Where to go back to depends on the results of this turn, which no tree holds yet. It is rare enough for a copy.
    let mut tree = view.state.tree.clone();
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
        let mut leaving = leaving.told((view, &tree), asked, &draft)?;
        leaving.move_head(&tree, &mut draft, at)?;
        let over = before.is_some_and(|before| leave_the_prompt(view.state, &[before]));
        let steps: Vec<&Leaving> = before.into_iter().chain([&leaving]).collect();
        let abandoned = match !over && leave_the_prompt(view.state, &steps) {
            true => leave(view, asked, Author::Harness)?,
            false => Vec::new(),
        };
        if !over && abandoned.is_empty() {
            say_after_assistant(view.state, &mut draft, at)?;
        }
        added.records.extend(leaving.records(at));
        if let Some(move_id) = leaving.outcome.record.move_id {
            let answer = Answer::Accepted { move_id };
            added.tell(ProposalEvent::Answered { id: proposal.id, answer, by: Author::Harness })?;
        }
        for event in added.open.overtaken_by_move(leaving.left(), None) {
            added.tell(event)?;
        }
        // With what the turn's own move has brought back a moment ago.
        let queue = view.state.resolve.queue_after(records)?;
        let name = leaving.move_name();
        added.records.extend(staged::supersede_left(&queue, leaving.left(), &name, at));
        added.records.extend(abandoned);
    } else if reverts.on_stall != OnStall::TellPerson {
        draft.append(Message::harness(proposal.text_for_model()), at)?;
    }
    let place = first_note(records);
    records.splice(place..place, entries(draft));
    records.extend(added.records);
    Ok(())
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
        self.records.push(notes::revert::proposal(&event, self.at));
        Ok(())
    }

    fn make(&mut self, proposal: Proposal) -> Result<(), RuntimeError> {
        self.open.make(proposal).into_iter().try_for_each(|event| self.tell(event))
    }
}

/// Returns the record of what a person answers.
fn answered(id: ProposalId, answer: Answer, at: Timestamp) -> Record {
    notes::revert::proposal(&ProposalEvent::Answered { id, answer, by: Author::Person }, at)
}

fn is_merge(record: &Record) -> bool {
    matches!(record, Record::Note(note) if (note.layer.as_str(), note.kind.as_str()) == (notes::revert::LAYER, notes::revert::MERGE))
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

/// Checks that the answer to a proposal to step back still means what its sender meant.
///
/// # Errors
///
/// [`RuntimeError::Refused`] if where they saw the head is not on the trunk any more.
pub fn check_seen(view: &View<'_>, expected_head: NodeId) -> Result<(), RuntimeError> {
    if view.state.tree.is_on_trunk(expected_head) {
        return Ok(());
    }
    let reason = format!("{expected_head}, where this was asked for, is not on the trunk any more");
    Err(RuntimeError::Refused { reason })
}
