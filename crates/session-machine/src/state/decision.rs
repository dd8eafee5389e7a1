//! What the log holds of runs: the one that is open, the verdicts, and what is not bound yet.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use trunkline_decision_objects::{
    Change, Decision, DecisionId, Decisions, PatchSet, RunId, RunRecord, TouchedFile,
};
use trunkline_message_tree::NodeId;
use trunkline_session_store::{Note, Record};

use crate::notes::binding::{self, BINDING, BOUND, BindingNote, TO_BIND, WANTED, is_about};
use crate::notes::decision::{
    BASED, DECIDED, DECIDING, DecidingNote, EVIDENCE, FINDING, FindingNote, LAYER, LEASED, LEFT, OPENED,
    OpenedNote, PATCH_SET, RESTORING, RUN, Rest, RestoringLease, RestoringNote,
};
use crate::notes::look::{LOOK, LookNote};
use crate::notes::record::{bad, read};
use crate::state::looks::Looks;
use crate::state::written::Written;
use crate::words::bound::Binding;
use crate::words::error::RuntimeError;
use crate::words::files::{Base, Deciding, Left};
use crate::words::start::Start;

/// A run that has no verdict yet.
pub struct OpenRun {
    /// The run.
    pub record: RunRecord,
    /// The message that it started from; what comes later belongs to it.
    pub(crate) prompt: NodeId,
    /// The copies of that message that reverts have made.
    copies: Vec<NodeId>,
    /// Where in the log it was opened.
    pub(crate) opened: u64,
    /// The newest message then, on whatever branch; replies that came later are its own.
    pub(crate) newest: NodeId,
    pub(crate) base: Base,
    /// When calls of it could change files.
    pub looks: Looks,
    /// The tools of which calls have begun in it.
    pub(crate) started: BTreeSet<String>,
    /// The decision that it takes back, if that is what it is for.
    pub restoring: Option<Restoring>,
    /// What was about to be committed, and where the head was; it means nothing once the head is elsewhere.
    pub(crate) deciding: Option<DecidingNote>,
    pub(crate) patch_sets: Vec<PatchSet>,
    pub(crate) findings: Vec<FindingNote>,
    /// Canonical texts.
    evidence: Vec<String>,
    /// What was about to be bound, oldest first; each may be done already.
    pub bindings: Vec<BindingNote>,
    /// Whether it was begun by somebody who wants its decision bound.
    binds: bool,
}

/// What the log holds of this layer.
#[derive(Default)]
pub struct Part {
    /// The run that has no verdict yet, if there is one.
    pub run: Option<Box<OpenRun>>,
    /// All decisions.
    pub decisions: Decisions,
    /// The verdicts in the order of the log, each with the node that was the newest when it came.
    pub(crate) verdicts: Vec<(NodeId, Arc<Decision>)>,
    /// The runs that took something back, or were to.
    rollbacks: HashSet<RunId>,
    /// How each run left the files, by the run.
    pub(crate) left: HashMap<String, Left>,
    /// The head at which a person ended the latest run for good: nothing goes on there before somebody says more.
    rests: Option<NodeId>,
    /// The run that has just got its decision.
    closed: Option<Box<Unbound>>,
    /// What is recorded and not bound yet, oldest first.
    pub to_bind: Vec<Unbound>,
}

/// What a run takes back.
pub struct Restoring {
    /// The decision.
    pub of: DecisionId,
    /// Whether whoever asked for it wanted it committed; `None` where that is not recorded.
    pub commits: Option<bool>,
    /// The files that were to be written; the others were as before already.
    pub(crate) files: Vec<String>,
    /// Why it is taken back, where that was said.
    pub(crate) reason: Option<String>,
    /// Under which lease files were put back last; `None` where none were, or by an earlier version.
    pub lease: Option<RestoringLease>,
}

impl Part {
    pub(crate) fn record(
        &mut self,
        note: &Note,
        seq: u64,
        newest: NodeId,
        written: Written,
    ) -> Result<(), RuntimeError> {
        match note.kind.as_str() {
            OPENED => {
                let opened: OpenedNote = read(note)?;
                let record = RunRecord::parse(opened.run.as_bytes()).map_err(|fault| bad(note, fault))?;
                let OpenedNote { prompt, base, looks, .. } = opened;
                self.run = Some(Box::new(OpenRun {
                    record,
                    prompt,
                    copies: Vec::new(),
                    opened: seq,
                    newest,
                    looks: Looks::new(looks, base.clone(), written),
                    started: BTreeSet::new(),
                    base,
                    restoring: None,
                    deciding: None,
                    patch_sets: Vec::new(),
                    findings: Vec::new(),
                    evidence: Vec::new(),
                    bindings: Vec::new(),
                    binds: false,
                }));
            }
            BASED => {
                let Start { base, looks } = read(note)?;
                if let Some(run) = &mut self.run {
                    run.looks = Looks::new(looks, base.clone(), written);
                    run.base = base;
                }
            }
            LOOK => {
                let look: LookNote = read(note)?;
                if let Some(run) = &mut self.run {
                    run.looks.record(look, written);
                }
            }
            FINDING => {
                let finding: FindingNote = read(note)?;
                if let Some(run) = &mut self.run {
                    run.findings.push(finding);
                }
            }
            DECIDING => {
                let deciding: DecidingNote = read(note)?;
                if let Some(run) = &mut self.run {
                    run.deciding = Some(deciding);
                }
            }
            RESTORING => {
                let RestoringNote { of, commits, files, reason } = read(note)?;
                let of = of.parse().map_err(|fault| bad(note, fault))?;
                if let Some(run) = &mut self.run {
                    run.restoring = Some(Restoring { of, commits, files, reason, lease: None });
                    self.rollbacks.insert(run.record.id());
                }
            }
            LEASED => {
                let lease = read(note)?;
                if let Some(restoring) = self.run.as_mut().and_then(|run| run.restoring.as_mut()) {
                    restoring.lease = Some(lease);
                }
            }
            PATCH_SET => {
                let patch_set = PatchSet::parse(note.body.as_bytes()).map_err(|fault| bad(note, fault))?;
                if let Some(run) = &mut self.run {
                    run.patch_sets.push(patch_set);
                }
            }
            EVIDENCE => {
                if let Some(run) = &mut self.run {
                    run.evidence.push(note.body.clone());
                }
            }
            BINDING => {
                let binding: BindingNote = read(note)?;
                if let Some(run) = &mut self.run {
                    run.bindings.push(binding);
                }
            }
            BOUND => self.bound(note),
            DECIDED => {
                let decision = Decision::parse(note.body.as_bytes()).map_err(|fault| bad(note, fault))?;
                let decision = Arc::new(decision);
                self.decisions.admit(Arc::clone(&decision)).map_err(|fault| bad(note, fault))?;
                if let Some(run) = self.run.take_if(|run| run.record.id() == decision.run()) {
                    self.closed = Some(Box::new(Unbound::of(&run, &decision)));
                }
                self.verdicts.push((newest, decision));
            }
            // Where it cannot be read the run cannot be rolled back, and that is all.
            LEFT => {
                if let Ok(left) = read::<Left>(note) {
                    self.left.insert(left.run.clone(), left);
                }
            }
            // Advice: where it cannot be read, a resume goes on.
            RUN => self.rests = read::<Rest>(note).ok().and_then(|mark| mark.rests),
            _ => {}
        }
        Ok(())
    }

    /// Takes in that a call of a tool has begun.
    pub(crate) fn started(&mut self, tool: &str) {
        if let Some(run) = self.run.as_mut().filter(|run| !run.started.contains(tool)) {
            run.started.insert(tool.to_owned());
        }
    }

    /// Takes in that words of a person were copied: a run goes on from the copy of its prompt.
    pub(crate) fn follow(&mut self, copies: &[(NodeId, NodeId)]) {
        let Some(run) = &mut self.run else { return };
        for (original, copy) in copies {
            if run.prompts().any(|prompt| prompt == *original) {
                run.copies.push(*copy);
            }
        }
    }

    /// Returns the lines in which the tests that ran in a turn are summed up.
    pub(crate) fn tests(&self, turn: NodeId) -> impl Iterator<Item = &str> {
        let findings = self.run.iter().flat_map(|run| &run.findings);
        let tests = findings.filter(move |note| note.call.node == turn && note.finding.kind == "test");
        tests.map(|note| note.finding.summary.as_str())
    }

    /// Takes in that nothing more comes of the log: a binding is asked for in the batch of its decision.
    pub fn log_ends(&mut self) {
        self.closed = None;
        self.verdicts.shrink_to_fit();
    }

    /// Takes out the verdicts in the order of the log, each with the node that was the newest when it came.
    pub fn take_verdicts(&mut self) -> Vec<(NodeId, Decision)> {
        // What is shared with them would have to be copied.
        self.decisions = Decisions::new();
        let verdicts = std::mem::take(&mut self.verdicts).into_iter();
        verdicts.map(|(newest, decision)| (newest, Arc::unwrap_or_clone(decision))).collect()
    }

    /// Returns whether a run is open.
    pub fn is_open(&self) -> bool {
        self.run.is_some()
    }

    /// Returns the number of the record that opened the run without a verdict, and the newest message then.
    pub(crate) fn open_since(&self) -> Option<(u64, NodeId)> {
        self.run.as_ref().map(|run| (run.opened, run.newest))
    }

    /// Returns whether a decision is being bound or taken back.
    pub fn is_being_settled(&self) -> bool {
        !self.to_bind.is_empty() || self.run.as_ref().is_some_and(|run| run.restoring.is_some())
    }

    /// Returns whether nothing goes on at this head before somebody says more.
    pub(crate) fn rests(&self, head: NodeId) -> bool {
        self.run.is_none() && self.rests == Some(head)
    }

    /// Returns the verdict of the latest run; a rollback takes nothing up and is no run to go on from.
    pub(crate) fn last(&self) -> Option<&Decision> {
        let mut verdicts = self.verdicts.iter().rev().map(|(_, decision)| &**decision);
        verdicts.find(|decision| !self.rollbacks.contains(&decision.run()))
    }

    /// Takes in how a run stands with the repository.
    pub(crate) fn bound(&mut self, note: &Note) {
        let Some(key) = &note.key else { return };
        match key.state.as_str() {
            WANTED => {
                let meant = self.run.as_mut().filter(|run| run.record.id().to_string() == key.key);
                if let Some(run) = meant {
                    run.binds = true;
                }
            }
            TO_BIND => {
                let meant = self.closed.take().filter(|closed| closed.run.to_string() == key.key);
                self.to_bind.extend(meant.map(|closed| *closed));
            }
            _ => self.to_bind.retain(|unbound| unbound.run.to_string() != key.key),
        }
    }

    /// Forgets everything that was to be done in a repository or to files, or could be: it was said elsewhere.
    pub(crate) fn distrust(&mut self) {
        self.to_bind.clear();
        self.left.clear();
        self.closed = None;
        if let Some(run) = &mut self.run {
            (run.binds, run.deciding, run.restoring) = (false, None, None);
            // The files of another machine; and what is said of them would be handed to git.
            run.base = Base::default();
            run.looks = Looks::new(false, run.base.clone(), Written::default());
            run.started.clear();
            run.bindings.clear();
            run.patch_sets.clear();
            run.findings.clear();
            run.evidence.clear();
        }
    }

    /// Adds to a batch what has to be kept for binding: that a run that begins in it is to be bound, and that one that ends
    /// in it is not yet.
    pub fn complete(&self, records: &mut Vec<Record>, binds: bool) {
        let mut marks = Vec::new();
        for note in records.iter().filter_map(note_of_layer) {
            let Some(key) = &note.key else { continue };
            let wanted = binds || self.run.as_ref().is_some_and(|run| run.binds);
            let done = || records.iter().filter_map(note_of_layer).any(|other| is_about(other, &key.key));
            match note.kind.as_str() {
                OPENED if binds => marks.push(binding::wanted(&key.key, note.at)),
                DECIDED if wanted && !done() => marks.push(binding::to_bind(&key.key, note.at)),
                _ => {}
            }
        }
        records.extend(marks);
    }
}

impl OpenRun {
    /// Returns the message that it started from, and its copies.
    pub(crate) fn prompts(&self) -> impl Iterator<Item = NodeId> {
        std::iter::once(self.prompt).chain(self.copies.iter().copied())
    }

    /// Returns the files that were about to be committed, as they are called in the folder.
    pub(crate) fn announced_paths(&self, deciding: &Deciding) -> Vec<String> {
        let note = self.deciding.iter().find(|note| note.deciding.patch_set == deciding.patch_set);
        if let Some(note) = note.filter(|note| !note.paths.is_empty()) {
            return note.paths.clone();
        }
        let named = self.patch_sets.iter().filter(|set| set.id().to_string() == deciding.patch_set);
        let ends = |file: &TouchedFile| match &file.change {
            Change::Renamed { from } => vec![from.as_str().to_owned(), file.path.as_str().to_owned()],
            _ => vec![file.path.as_str().to_owned()],
        };
        named.flat_map(PatchSet::files).flat_map(ends).collect()
    }

    /// Returns the messages whose calls have proved something, in order.
    pub(crate) fn proofs(&self) -> impl Iterator<Item = NodeId> {
        self.findings.iter().map(|note| note.call.node)
    }

    /// Returns whether it loses its prompt when these nodes leave the trunk and those come back.
    pub(crate) fn is_left(&self, left: &[NodeId], back: &[NodeId]) -> bool {
        let mut prompts = self.prompts();
        let stands = |prompt: NodeId| back.contains(&prompt);
        // Where one of them stands, no other does: a copy is made when its original leaves.
        self.prompts().any(|prompt| left.contains(&prompt)) && !prompts.any(stands)
    }

    /// Returns what was about to be committed, if nothing was said since.
    pub(crate) fn deciding(&self, head: NodeId) -> Option<&Deciding> {
        self.deciding.as_ref().filter(|note| note.head == head).map(|note| &note.deciding)
    }
}

/// A decision that is recorded and was to be bound, and is not yet.
#[derive(Clone, Debug)]
pub struct Unbound {
    /// The run.
    pub run: RunId,
    pub(crate) decision: String,
    pub(crate) binding: Binding,
}

impl Unbound {
    /// Takes over what a run that has just got its decision is bound with.
    pub(crate) fn of(run: &OpenRun, decision: &Decision) -> Self {
        let binding = Binding {
            run: run.record.print(),
            decision: decision.print(),
            patch_sets: run.patch_sets.iter().map(|set| set.print()).collect(),
            evidence: run.evidence.clone(),
            prepared: None,
        };
        Unbound { run: decision.run(), decision: decision.id().to_string(), binding }
    }
}

fn note_of_layer(record: &Record) -> Option<&Note> {
    match record {
        Record::Note(note) if note.layer == LAYER => Some(note),
        _ => None,
    }
}
