//! The candidates of a run: changes that it made or proposed and that a person can choose among.
//!
//! One is what a verdict names. Another arises when a proposal is superseded, by a newer one or because its branch was left: its diff is
//! the patch; one that was discarded or has expired is none. Another when a branch is left on which proposals were applied: theirs together are the patch. All of it stands in the
//! log, so nothing is written for it; what commands changed on such a branch shows in no diff, and is not among them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::num::NonZeroU32;

use serde_json::Value;
use trunkline_decision_objects::{
    Change, Diff, Digest, GitOid, Invalid, PatchSet, PatchSetId, RunId, TouchedFile,
};
use trunkline_message_tree::{HeadMove, NodeId, Timestamp};
use trunkline_resolve_queue::{
    Change as QueueChange, Decision, Entry, Event as QueueEvent, Fingerprint, ProposalId, Queue, State as At,
    SubjectState, Supersession, Verdict,
};
use trunkline_revert::Record as Reverted;
use trunkline_session_store::Note;

use super::made::{Made, name};
use super::runs::OpenRun;
use crate::notes::record::read;
use crate::notes::resolve::{EVENT, GATED, GatedNote};
use crate::notes::{partial, plan};
use crate::words::path::relative_path;

/// Diffs that are longer together are named by their digest.
const DIFF_KEPT_BYTES: usize = 256 * 1024;

/// Changes of a run that a person can choose.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// The number of the record that it stands in, or follows from.
    pub seq: u64,
    /// When it arose.
    pub at: Timestamp,
    /// Its place among those of its run, from 1, in the order in which they arose.
    pub sequence: u32,
    /// Where it comes from.
    pub of: CandidateOf,
    /// The changes.
    pub patch_set: PatchSet,
}

/// Where a candidate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CandidateOf {
    /// The run itself, as its end named it.
    Run,
    /// A proposal that was superseded.
    Proposal(ProposalId),
    /// A branch that was left, by its last node, and the proposals that were applied on it.
    Branch {
        /// The node.
        end: NodeId,
        /// The proposals, in the order in which they were applied.
        applied: Vec<ProposalId>,
    },
}

/// What a note makes of a proposal that others are told of.
pub(super) enum Came {
    /// It was applied, and changes files.
    Applied(ProposalId),
    /// It was refused, or its time has passed: nothing follows.
    Refused(ProposalId),
}

/// What is known of candidates so far.
#[derive(Default)]
pub(super) struct Candidates {
    pub(super) found: Vec<Candidate>,
    /// How many each run has.
    counts: HashMap<RunId, u32>,
    queue: Queue<Value>,
    /// In which run each proposal was staged, and on what.
    staged: HashMap<ProposalId, (RunId, Option<GitOid>)>,
    /// What was applied, by the message whose call proposed it: the record, and the run.
    applied: HashMap<NodeId, Vec<(u64, ProposalId, RunId)>>,
    gates: HashMap<(NodeId, u32), ProposalId>,
    /// The patch sets that were recorded.
    recorded: HashSet<PatchSetId>,
    /// What is a candidate already.
    known: HashSet<(RunId, Vec<ProposalId>)>,
    /// The run that was opened last, and the message that it started from with its copies.
    prompts: Option<(RunId, Vec<NodeId>)>,
    /// What a move has left together with the prompt of its run.
    left: Option<Candidate>,
    /// Each node's parent and how far it is from the root.
    lines: HashMap<NodeId, (NodeId, u32)>,
}

impl Candidates {
    /// Takes in a node. Where one follows right on a move that left the prompt of a run, that is a copy of it, and the run goes on.
    pub(super) fn node(&mut self, made: &mut Made, id: NodeId, parent: Option<NodeId>, is_filed: bool) {
        if is_filed {
            return;
        }
        if let Some(left) = self.left.take() {
            self.tell(made, left);
        }
        // A parent is older: what a damaged log says otherwise would lead in a circle.
        if let Some(parent) = parent.filter(|parent| *parent < id) {
            let depth = self.lines.get(&parent).map_or(0, |(_, depth)| *depth);
            self.lines.entry(id).or_insert((parent, depth.saturating_add(1)));
        }
    }

    /// Takes in that a run was opened with this message.
    pub(super) fn opened(&mut self, run: RunId, note: &Note) {
        let prompt = serde_json::from_str::<partial::Opened>(&note.body).ok().map(|opened| opened.prompt);
        self.prompts = Some((run, prompt.into_iter().collect()));
    }

    /// Takes in what a revert has copied: a run goes on from the copy of its prompt.
    pub(super) fn copied(&mut self, note: &Note) {
        let (Some((_, prompts)), Ok(record)) = (&mut self.prompts, read::<Reverted>(note)) else { return };
        for link in record.rebased {
            if prompts.contains(&link.original) {
                prompts.push(link.copy);
            }
        }
    }

    /// Takes in a patch set that was recorded.
    pub(super) fn recorded(&mut self, seq: u64, patch_set: PatchSet, at: Timestamp) {
        if self.recorded.insert(patch_set.id()) {
            self.keep(Candidate { seq, at, sequence: 0, of: CandidateOf::Run, patch_set });
        }
    }

    /// Returns the place of the next candidate of a run. What was recorded has its place only here: its bytes say none.
    fn next_of(&self, run: RunId) -> NonZeroU32 {
        let known = self.counts.get(&run).copied().unwrap_or_default();
        NonZeroU32::MIN.saturating_add(known)
    }

    fn keep(&mut self, mut candidate: Candidate) {
        let count = self.counts.entry(candidate.patch_set.run()).or_default();
        *count = count.saturating_add(1);
        candidate.sequence = *count;
        self.found.push(candidate);
    }

    /// Takes in a note of what was proposed. Returns what came of it, if that is told.
    pub(super) fn note(&mut self, made: &mut Made, run: Option<&OpenRun>, note: &Note) -> Option<Came> {
        if note.kind == GATED {
            let GatedNote { call, proposal, .. } = read(note).ok()?;
            self.gates.insert((call.node, call.index), proposal);
            return None;
        }
        if note.kind != EVENT {
            return None;
        }
        let event: QueueEvent<Value> = read(note).ok()?;
        let id = event.proposal;
        // It comes back in the same batch, to wait for a person: that puts nothing aside.
        let is_withheld = matches!(&event.change, QueueChange::Superseded { cause: Supersession::BranchLeft { by } } if by == plan::ASKED_FOR);
        let before = self.queue.get(id).map(|entry| entry.state);
        let state = self.queue.record(event).ok()?;
        if before == Some(state) {
            return None;
        }
        match (state, run) {
            (_, Some(run)) if before.is_none() => {
                self.staged.insert(id, (run.id, run.base));
            }
            (At::Applied, Some(run)) => {
                // What was approved and shows in no file, as a command, a plan or an asked end, patches nothing.
                let entry = self.queue.get(id).filter(|entry| writes_files(entry))?;
                let call = entry.proposal.call.as_ref().and_then(|call| call.node.parse().ok());
                if let Some(node) = call {
                    self.applied.entry(node).or_default().push((made.seq, id, run.id));
                }
                return Some(Came::Applied(id));
            }
            (At::Superseded, _) if !is_withheld => self.put_aside(made, id, note.at),
            (At::Discarded | At::Expired, _) => return Some(Came::Refused(id)),
            _ => {}
        }
        None
    }

    fn put_aside(&mut self, made: &mut Made, id: ProposalId, at: Timestamp) {
        let (Some(entry), Some((run, base))) = (self.queue.get(id), self.staged.get(&id).copied()) else {
            return;
        };
        if !writes_files(entry) || !self.known.insert((run, vec![id])) {
            return;
        }
        let named = PatchSetId::new(name("candidate", run.uuid(), made.seq, id.0));
        if let Ok(patch_set) = patch_set(named, (run, base), &[entry]) {
            let patch_set = patch_set.with_sequence(self.next_of(run));
            made.push(Ok(patch_set.clone()));
            let of = CandidateOf::Proposal(id);
            self.keep(Candidate { seq: made.seq, at, sequence: 0, of, patch_set });
        }
    }

    /// Takes in that the head went elsewhere: what was applied on the branch that it left is a candidate.
    ///
    /// A run whose prompt is left ends in the batch of the move, and its own patch set tells the branch then. So the candidate of such a
    /// move is kept back: a node that follows shows that the run goes on with a copy of its prompt.
    pub(super) fn moved(&mut self, made: &mut Made, run: Option<&OpenRun>, head_move: &HeadMove) {
        // Here the end of the run follows: the same batch has a second move, as where a step back is accepted at once.
        self.left = None;
        let Some(run) = run else { return };
        if self.applied.is_empty() {
            return;
        }
        let (left, back) = self.exchanged_by(head_move);
        let on_it = left.iter().filter_map(|node| self.applied.get(node)).flatten();
        let mut ours: Vec<(u64, ProposalId)> =
            on_it.filter(|(_, _, of)| *of == run.id).map(|(seq, id, _)| (*seq, *id)).collect();
        ours.sort_unstable();
        let entries: Vec<&Entry<Value>> = ours.iter().filter_map(|(_, id)| self.queue.get(*id)).collect();
        let applied: Vec<ProposalId> = entries.iter().map(|entry| entry.id).collect();
        if applied.is_empty() || self.known.contains(&(run.id, applied.clone())) {
            return;
        }
        let named = PatchSetId::new(name("candidate", run.id.uuid(), made.seq, 0));
        let Ok(patch_set) = patch_set(named, (run.id, run.base), &entries) else { return };
        let of = CandidateOf::Branch { end: head_move.from, applied };
        let candidate = Candidate { seq: made.seq, at: head_move.at, sequence: 0, of, patch_set };
        let prompts =
            self.prompts.as_ref().filter(|(of, _)| *of == run.id).map(|(_, prompts)| prompts.as_slice());
        let has = |nodes: &[NodeId]| prompts.unwrap_or_default().iter().any(|prompt| nodes.contains(prompt));
        match has(&left) && !has(&back) {
            true => self.left = Some(candidate),
            false => self.tell(made, candidate),
        }
    }

    fn tell(&mut self, made: &mut Made, mut candidate: Candidate) {
        if let CandidateOf::Branch { applied, .. } = &candidate.of {
            self.known.insert((candidate.patch_set.run(), applied.clone()));
        }
        let sequence = self.next_of(candidate.patch_set.run());
        candidate.patch_set = candidate.patch_set.with_sequence(sequence);
        made.push_of(candidate.seq, Ok(candidate.patch_set.clone()));
        self.keep(candidate);
    }

    /// Takes in that a run has its verdict.
    pub(super) fn decided(&mut self, run: RunId) {
        self.left.take_if(|left| left.patch_set.run() == run);
    }

    /// Returns the nodes that a move takes off the trunk, and those that it brings back.
    fn exchanged_by(&self, head_move: &HeadMove) -> (Vec<NodeId>, Vec<NodeId>) {
        let line = |node: NodeId| self.lines.get(&node).copied();
        let depth = |node: NodeId| line(node).map_or(0, |(_, depth)| depth);
        let (mut from, mut to) = (head_move.from, head_move.to);
        let (mut left, mut back) = (Vec::new(), Vec::new());
        // Ends in every log: each step leads to an older node.
        while from != to {
            let climbs = depth(from) >= depth(to);
            let Some((parent, _)) = line(if climbs { from } else { to }) else { break };
            let (nodes, at) = if climbs { (&mut left, &mut from) } else { (&mut back, &mut to) };
            nodes.push(*at);
            *at = parent;
        }
        (left, back)
    }

    /// Returns who has refused a proposal, and why.
    pub(super) fn refusal(&self, id: ProposalId) -> Option<&Decision> {
        self.queue.get(id)?.decision.as_ref().filter(|decision| decision.verdict == Verdict::Discard)
    }

    /// Returns whether a call was not allowed to run.
    pub(super) fn is_denied(&self, place: (NodeId, u32)) -> bool {
        let entry = self.gates.get(&place).and_then(|id| self.queue.get(*id));
        entry.is_some_and(|entry| matches!(entry.state, At::Discarded | At::Expired))
    }
}

/// Whether what a proposal does shows in files, by their names.
fn writes_files(entry: &Entry<Value>) -> bool {
    let proposal = &entry.proposal;
    proposal.effect.shows_in_fingerprints() && !proposal.after.is_empty() && entry.part().next().is_some()
}

/// Returns what proposals do together, one after the other.
fn patch_set(
    id: Result<PatchSetId, Invalid>,
    (run, base): (RunId, Option<GitOid>),
    entries: &[&Entry<Value>],
) -> Result<PatchSet, Invalid> {
    let mut states: BTreeMap<&str, (Option<&SubjectState>, Option<&SubjectState>)> = BTreeMap::new();
    let mut text = String::new();
    let mut all_shown = true;
    for entry in entries {
        let proposal = &entry.proposal;
        for subject in entry.part() {
            let (before, after) =
                (state_of(&proposal.fingerprints, subject), state_of(&proposal.after, subject));
            states.entry(subject).and_modify(|known| known.1 = after).or_insert((before, after));
        }
        match &proposal.preview.diff {
            Some(diff) => text.push_str(diff),
            None => all_shown = false,
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
    }
    let mut seen = HashSet::new();
    let mut files = Vec::new();
    for (subject, (before, after)) in states {
        let change = match (before, after) {
            (_, Some(SubjectState::Absent)) => Change::Deleted,
            (Some(SubjectState::Absent), _) => Change::Added,
            _ => Change::Modified,
        };
        let path = relative_path(subject)?;
        if seen.insert(path.clone()) {
            files.push(TouchedFile { path, change, added_lines: None, deleted_lines: None });
        }
    }
    let diff = match all_shown && text.len() <= DIFF_KEPT_BYTES {
        true => Diff::kept(text),
        false if all_shown => Diff::named(Digest::of(text.as_bytes())),
        // What has no diff is named by what its tool would apply.
        false => {
            let payloads: Vec<String> =
                entries.iter().map(|entry| entry.proposal.payload.to_string()).collect();
            Diff::named(Digest::of(payloads.join("\n").as_bytes()))
        }
    };
    PatchSet::new(id?, run, base, files, diff)
}

fn state_of<'a>(prints: &'a [Fingerprint], subject: &str) -> Option<&'a SubjectState> {
    prints.iter().find(|print| print.subject == subject).map(|print| &print.state)
}
