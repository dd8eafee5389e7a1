//! A conversation on which everything is done that can be done to one, kept in a store as the runtime keeps it.
//!
//! The acts are those of the layers below the runtime. One of the runtime's own goes in as one more [`Act`], played on a
//! session over the same store.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use tokio::runtime::Runtime;
use trunkline_message_tree::{
    Content, Draft, Entry, HeadMove, Message, MessageTree, MoveKind, NodeId, Origin, StopReason, Timestamp,
    ToolCall,
};
use trunkline_runtime::revert::{
    Ask, CallPlace, Category, Clock, Granted, MERGE_TOOL_NAME, Mover, Note, Outcome, PRUNE_TOOL_NAME,
    Prompts, PruneRecord, PruneRequest, Prunings, RETURN_TOOL_NAME, Record as RevertRecord, RenderPolicy,
    Request as RevertRequest, TOOL_NAME, drain, drain_asks, merge, plan, plan_pruning, render_at, requests,
    turn,
};
use trunkline_session_store::{
    Batch, Lease, NewSession, Note as StoredNote, Position, Record, SessionId, SessionStore,
};

/// Parts of the tree's length, so that most nodes that are named exist.
pub(crate) type Pick = usize;

#[derive(Clone, Debug)]
pub(crate) enum Act {
    Prompt,
    Harness,
    Answer(u8),
    /// A message with calls, of which some are answered at once.
    Tools {
        calls: usize,
        answered: usize,
        repeats: bool,
        thinks: bool,
    },
    /// The result of a call that was not answered comes after all.
    Late(Pick),
    Model {
        asked: Vec<(Pick, u8)>,
        rebases: bool,
    },
    /// The model goes back to a branch, merges some, or leaves results out.
    Own(Vec<(Pick, OwnAct)>),
    Person(Pick, u8),
    Undo,
    Redo,
    Fork(Pick),
    Merge(Vec<Pick>),
    Cover(Pick, Pick),
    Restart,
}

/// What a model may do with branches that it left, and with results.
#[derive(Copy, Clone, Debug)]
pub(crate) enum OwnAct {
    Return,
    Merge,
    Prune,
}

fn pick() -> impl Strategy<Value = Pick> {
    0..1000_usize
}

/// A move of the head that can be undone.
pub(crate) fn moves() -> impl Strategy<Value = Act> {
    let asked = prop::collection::vec((pick(), 0..4_u8), 1..3);
    prop_oneof![
        3 => (asked, any::<bool>()).prop_map(|(asked, rebases)| Act::Model { asked, rebases }),
        3 => (pick(), 0..4_u8).prop_map(|(target, category)| Act::Person(target, category)),
        2 => pick().prop_map(Act::Fork),
        2 => prop::collection::vec(pick(), 1..3).prop_map(Act::Merge),
    ]
}

/// What the model does with what it left.
pub(crate) fn own() -> impl Strategy<Value = Act> {
    let act = prop_oneof![3 => Just(OwnAct::Return), 2 => Just(OwnAct::Merge), 1 => Just(OwnAct::Prune)];
    prop::collection::vec((pick(), act), 1..3).prop_map(Act::Own)
}

pub(crate) fn acts() -> impl Strategy<Value = Vec<Act>> {
    let tools = (1..4_usize, 0..5_usize, any::<bool>(), any::<bool>());
    let tools = tools.prop_map(|(calls, answered, repeats, thinks)| Act::Tools {
        calls,
        answered: answered.min(calls),
        repeats,
        thinks,
    });
    let act = prop_oneof![
        3 => Just(Act::Prompt),
        1 => Just(Act::Harness),
        3 => (0..4_u8).prop_map(Act::Answer),
        6 => tools,
        2 => pick().prop_map(Act::Late),
        6 => moves(),
        6 => own(),
        2 => Just(Act::Undo),
        2 => Just(Act::Redo),
        2 => (pick(), pick()).prop_map(|(from, to)| Act::Cover(from, to)),
        1 => Just(Act::Restart),
    ];
    prop::collection::vec(act, 0..28)
}

/// A call that has no result yet.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    node: NodeId,
    id: String,
    pub(crate) words: String,
}

/// A result with the words by which it is known.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub(crate) call: NodeId,
    pub(crate) result: NodeId,
    pub(crate) words: String,
}

pub(crate) struct World {
    pub(crate) tokio: Runtime,
    pub(crate) store: Arc<dyn SessionStore>,
    lease: Lease,
    seq: u64,
    pub(crate) tree: MessageTree,
    pub(crate) notes: Vec<Note>,
    pub(crate) records: Vec<RevertRecord>,
    pub(crate) policy: RenderPolicy,
    pub(crate) prunings: Prunings,
    // What the law knows beside the log: by whom each node left the trunk last, seen from the trunk itself.
    pub(crate) left_by: HashMap<NodeId, Who>,
    /// What a request of the model was granted that reaches beside the trunk: nodes that it brought back or merged.
    pub(crate) reached: Vec<NodeId>,
    open: Vec<Open>,
    pub(crate) answered: Vec<Answered>,
    calls: usize,
    time: u64,
}

/// Who took a node off the trunk.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Model,
    Other,
}

/// What a log says.
pub(crate) struct Told {
    pub(crate) tree: MessageTree,
    pub(crate) notes: Vec<Note>,
    pub(crate) records: Vec<RevertRecord>,
    pub(crate) prunings: Prunings,
}

impl World {
    pub(crate) fn begin(store: Arc<dyn SessionStore>, tokio: Runtime) -> World {
        let tree = MessageTree::new(Message::system("be brief"), Timestamp(0));
        let id = SessionId::parse("00000000-0000-7000-8000-000000000001").expect("it is a UUID");
        let root = tree.root_entry();
        let new =
            NewSession { id: id.clone(), title: String::new(), workspace: None, at: Timestamp(0), root };
        let lease = tokio.block_on(async {
            store.create(new).await.expect("it is new");
            store.lease(&id).await.expect("nobody else has it")
        });
        let mut policy = RenderPolicy::default();
        (policy.lesson_window_turns, policy.lesson_window_count) = (3, 1);
        (policy.finding_window_turns, policy.finding_window_count) = (2, 1);
        World {
            tokio,
            store,
            lease,
            seq: 1,
            tree,
            notes: Vec::new(),
            records: Vec::new(),
            policy,
            prunings: Prunings::default(),
            left_by: HashMap::new(),
            reached: Vec::new(),
            open: Vec::new(),
            answered: Vec::new(),
            calls: 0,
            time: 0,
        }
    }

    pub(crate) fn at(&self) -> Timestamp {
        Timestamp(self.time)
    }

    fn node(&self, pick: Pick) -> NodeId {
        NodeId::new((pick % self.tree.len()) as u32)
    }

    /// Writes one batch and lets memory follow, as the runtime does.
    fn commit(&mut self, entries: Vec<Entry>, notes: Vec<Note>, records: Vec<RevertRecord>) {
        self.commit_all(entries, notes, records, &[]);
    }

    fn commit_all(
        &mut self,
        entries: Vec<Entry>,
        notes: Vec<Note>,
        records: Vec<RevertRecord>,
        pruned: &[PruneRecord],
    ) {
        if entries.is_empty() && notes.is_empty() && records.is_empty() {
            return;
        }
        let at = self.at();
        let stored = |kind: &str, body: String| Record::Note(StoredNote::new("revert", kind, at, body));
        let json = "it is plain data";
        let mut batch: Vec<Record> = entries.iter().cloned().map(Record::Entry).collect();
        batch.extend(notes.iter().map(|note| stored("note", serde_json::to_string(note).expect(json))));
        batch.extend(
            records.iter().map(|record| stored("drained", serde_json::to_string(record).expect(json))),
        );
        batch
            .extend(pruned.iter().map(|record| stored("pruned", serde_json::to_string(record).expect(json))));
        let position = Position { seq: self.seq, head: self.tree.head() };
        let count = batch.len() as u64;
        let appended = self.tokio.block_on(self.store.append(&self.lease, Batch::new(position, batch)));
        appended.expect("what a draft gives can be kept");
        self.seq += count;
        for entry in entries {
            self.tree.record(entry).expect("what a draft gives fits the tree");
        }
        self.notes.extend(notes);
        self.records.extend(records);
    }

    pub(crate) fn append(&mut self, message: Message) -> NodeId {
        let mut draft = self.tree.draft();
        let id = draft.append(message, self.at()).expect("there is room");
        let entries = draft.into_entries();
        self.commit(entries, Vec::new(), Vec::new());
        id
    }

    pub(crate) fn play(&mut self, act: &Act) {
        let (before, length) = (self.tree.trunk().ids().to_vec(), self.tree.len());
        self.do_act(act);
        let who = if matches!(act, Act::Model { .. } | Act::Own(_)) { Who::Model } else { Who::Other };
        // What was appended in the same act and left with it was on the trunk in between.
        let appended = (length..self.tree.len()).map(|id| NodeId::new(id as u32));
        let appended = appended.filter(|id| self.tree.node(*id).is_ok_and(|node| !node.is_filed()));
        let left = before.into_iter().chain(appended).filter(|id| !self.tree.is_on_trunk(*id));
        self.left_by.extend(left.collect::<Vec<_>>().into_iter().map(|id| (id, who)));
    }

    fn do_act(&mut self, act: &Act) {
        self.time += 1;
        match act {
            Act::Prompt => _ = self.append(Message::user("and [n3] now?")),
            Act::Harness => _ = self.append(Message::harness("go on")),
            Act::Answer(kind) => _ = self.append(answer(*kind)),
            Act::Tools { calls, answered, repeats, thinks } => {
                self.tools(*calls, *answered, *repeats, *thinks);
            }
            Act::Late(which) => self.late(*which),
            Act::Model { asked, rebases } => self.model(asked, *rebases),
            Act::Own(asked) => self.own(asked),
            Act::Person(target, category) => {
                let request =
                    RevertRequest::new(categories(*category), self.node(*target), Some("a [n1] person"));
                if let Ok(plan) = plan(&self.tree, &request, Mover::PERSON) {
                    let outcome = plan.outcome(&[], self.at(), turn(&self.tree));
                    let (entries, note, record) = self.carried(self.tree.draft(), outcome);
                    self.commit(entries, vec![note], vec![record]);
                }
            }
            Act::Undo => {
                let Some(undo) = self.tree.plan_undo(self.at()) else { return };
                let note = Note::undone(&self.tree, &undo, turn(&self.tree));
                let entries = self.moved(undo);
                self.commit(entries, note.into_iter().collect(), Vec::new());
            }
            Act::Redo => {
                let Some(redo) = self.tree.plan_redo(self.at()) else { return };
                let entries = self.moved(redo);
                self.commit(entries, Vec::new(), Vec::new());
            }
            Act::Fork(to) => {
                let (from, to) = (self.tree.head(), self.node(*to));
                let entries = self.moved(HeadMove { from, to, kind: MoveKind::Fork, at: self.at() });
                self.commit(entries, Vec::new(), Vec::new());
            }
            Act::Merge(tips) => {
                let tips: Vec<NodeId> = tips.iter().map(|tip| self.tree.tip(self.node(*tip))).collect();
                let Ok(merge) = merge(&self.tree, &self.notes, &tips) else { return };
                let outcome = merge.outcome(self.at());
                let mut draft = self.tree.draft();
                draft.move_head(outcome.head_move).expect("the head is there");
                draft.merge(outcome.with, outcome.message, self.at()).expect("they are off the trunk");
                let entries = draft.into_entries();
                self.commit(entries, Vec::new(), Vec::new());
            }
            Act::Cover(from, to) => {
                let trunk = self.tree.trunk().ids();
                let (from, to) = (1 + from % trunk.len(), 1 + to % trunk.len());
                let (Some(first), Some(last)) = (trunk.get(from.min(to)), trunk.get(from.max(to))) else {
                    return;
                };
                let mut draft = self.tree.draft();
                draft.cover(*first, *last, Message::harness("a summary"), self.at()).expect("it is a span");
                let entries = draft.into_entries();
                self.commit(entries, Vec::new(), Vec::new());
            }
            Act::Restart => {
                let Told { tree, notes, records, prunings } = self.told();
                (self.tree, self.notes, self.records) = (tree, notes, records);
                self.prunings = prunings;
            }
        }
    }

    fn moved(&self, head_move: HeadMove) -> Vec<Entry> {
        let mut draft = self.tree.draft();
        draft.move_head(head_move).expect("the node exists");
        draft.into_entries()
    }

    fn tools(&mut self, calls: usize, answered: usize, repeats: bool, thinks: bool) {
        let mut message = Message::assistant("");
        message.origin = Some(origin());
        message.stop = Some(StopReason::ToolUse);
        message.content.clear();
        if thinks {
            let signature = Some("c2ln".to_owned());
            message.content.push(Content::Thinking { text: "hm".to_owned(), signature });
        }
        let mut ids = Vec::new();
        for place in 0..calls {
            self.calls += 1;
            ids.push(if repeats { format!("call_{place}") } else { format!("call_{}", self.calls) });
        }
        message.content.extend(ids.iter().map(|id| call(id, "read_file", "{}")));
        let node = self.append(message);
        for (place, id) in ids.into_iter().enumerate() {
            let long = if place == 0 { "x".repeat(500) } else { String::new() };
            let open = Open { node, id, words: format!("answer-{node}-{place}.{long}") };
            if place < answered {
                self.answer(open);
            } else {
                self.open.push(open);
            }
        }
    }

    /// A result enters the trunk if its call is there, and is filed under its call otherwise.
    fn answer(&mut self, open: Open) {
        let message = Message::tool_result(&open.id, open.words.clone(), false);
        let result = if self.tree.takes_results_of(open.node) {
            self.append(message)
        } else {
            let mut draft = self.tree.draft();
            let id = draft.file(open.node, message, self.at()).expect("the call exists");
            let entries = draft.into_entries();
            self.commit(entries, Vec::new(), Vec::new());
            id
        };
        self.answered.push(Answered { call: open.node, result, words: open.words });
    }

    fn late(&mut self, which: Pick) {
        if !self.open.is_empty() {
            let open = self.open.remove(which % self.open.len());
            self.answer(open);
        }
    }

    /// The model asks for reverts in one message; they are drained, answered and, if one was granted, carried out, in one
    /// batch.
    fn model(&mut self, asked: &[(Pick, u8)], rebases: bool) {
        let mover = if rebases { Mover { prompts: Prompts::Rebase, ..Mover::MODEL } } else { Mover::MODEL };
        let mut message = Message::assistant("");
        message.origin = Some(origin());
        message.stop = Some(StopReason::ToolUse);
        message.content.clear();
        for (target, category) in asked {
            self.calls += 1;
            let (category, step) = (categories(*category), self.node(*target));
            let arguments = serde_json::json!({ "category": category.name(), "step": step.to_string(), "summary": "why" });
            message.content.push(call(&format!("call_{}", self.calls), TOOL_NAME, &arguments.to_string()));
        }
        let node = self.append(message);
        let stored = self.tree.node(node).expect("it was appended").message().clone();
        let read: Vec<RevertRequest> =
            requests(node, &stored).map(|(_, request)| request.expect("they are whole")).collect();
        let mut draft = self.tree.draft();
        let (mut appended, mut planned, mut refused) = (Vec::new(), None, Vec::new());
        for ((answer, request), call) in
            drain(&self.tree, &read, mover).into_iter().zip(&read).zip(stored.calls())
        {
            let (text, is_error) = match &answer {
                Ok(plan) => (plan.result_text(), false),
                Err(refusal) => (refusal.to_string(), true),
            };
            let result = Message::tool_result(&call.id, text, is_error);
            appended.push(draft.append(result, self.at()).expect("there is room"));
            match answer {
                Ok(plan) => planned = Some(plan),
                Err(refusal) => refused.push(RevertRecord::refused(request, &refusal, mover)),
            }
        }
        let Some(plan) = planned else {
            let entries = draft.into_entries();
            return self.commit(entries, Vec::new(), refused);
        };
        let outcome = plan.outcome(&appended, self.at(), turn(&self.tree));
        let (entries, note, record) = self.carried(draft, outcome);
        refused.push(record);
        self.commit(entries, vec![note], refused);
    }

    /// The model asks for branches and results in one message, which is settled in one batch.
    fn own(&mut self, asked: &[(Pick, OwnAct)]) {
        let mut message = Message::assistant("");
        message.origin = Some(origin());
        message.stop = Some(StopReason::ToolUse);
        message.content.clear();
        for (pick, act) in asked {
            self.calls += 1;
            let (id, node) = (format!("call_{}", self.calls), self.node(*pick).to_string());
            let (name, arguments) = match act {
                OwnAct::Return => (
                    RETURN_TOOL_NAME,
                    serde_json::json!({ "category": "tangent", "branch": node, "summary": "on [n1] another" }),
                ),
                OwnAct::Merge => (MERGE_TOOL_NAME, serde_json::json!({ "branches": [node] })),
                OwnAct::Prune => (PRUNE_TOOL_NAME, serde_json::json!({ "results": [node] })),
            };
            message.content.push(call(&id, name, &arguments.to_string()));
        }
        let node = self.append(message);
        let stored = self.tree.node(node).expect("it was appended").message().clone();
        let asks: Vec<(CallPlace, Ask)> =
            Ask::of(node, &stored).map(|(place, ask)| (place, ask.expect("they are whole"))).collect();
        let only: Vec<Ask> = asks.iter().map(|(_, ask)| ask.clone()).collect();
        let granted = drain_asks(&self.tree, (&self.notes, &self.records), &only, Mover::MODEL);
        let answers: HashMap<usize, Result<Granted, String>> = asks
            .iter()
            .zip(granted)
            .map(|((place, _), answer)| (place.index, answer.map_err(|refusal| refusal.to_string())))
            .collect();
        let mut draft = self.tree.draft();
        let (mut appended, mut done, mut pruned) = (Vec::new(), None, Vec::new());
        for (index, call) in stored.calls().enumerate() {
            let place = CallPlace { node, index, call_id: call.id.clone() };
            let (text, is_error) = match answers.get(&index) {
                Some(Ok(answer)) => {
                    done = Some(answer.clone());
                    ("done".to_owned(), false)
                }
                Some(Err(refusal)) => (refusal.clone(), true),
                None => {
                    let request = PruneRequest::parse(&call.arguments, place).expect("it is whole");
                    match plan_pruning(&self.tree, &self.prunings, &request, |_, _| None) {
                        Ok(plan) => {
                            pruned.push(plan.clone());
                            (plan.result_text(), false)
                        }
                        Err(refusal) => (refusal.to_string(), true),
                    }
                }
            };
            let result = Message::new(
                trunkline_message_tree::Role::Tool,
                trunkline_message_tree::Author::Harness,
                Message::tool_result(&call.id, text, is_error).content,
            );
            appended.push(draft.append(result, self.at()).expect("there is room"));
        }
        let since = draft.head();
        let (mut notes, mut records) = (Vec::new(), Vec::new());
        let entries = match done {
            Some(Granted::Move(plan)) => {
                self.reached.extend(&plan.back);
                pruned.clear();
                let outcome = plan.outcome(&appended, self.at(), turn(&self.tree));
                let (entries, note, record) = self.carried(draft, outcome);
                (notes, records) = (vec![note], vec![record]);
                entries
            }
            Some(Granted::Merge(mut merge)) => {
                let tips: Vec<NodeId> = merge.with.clone();
                for tip in tips {
                    let line = self.tree.ancestry(tip).expect("it exists").map(|(id, _)| id);
                    self.reached.extend(line.take_while(|id| !self.tree.is_on_trunk(*id)));
                }
                merge.into = draft.head();
                let outcome = merge.outcome(self.at());
                draft.move_head(outcome.head_move).expect("the head is there");
                draft.merge(outcome.with, outcome.message, self.at()).expect("they are off the trunk");
                draft.into_entries()
            }
            None => draft.into_entries(),
        };
        let pruned: Vec<PruneRecord> = pruned.into_iter().map(|plan| plan.record(since, None)).collect();
        pruned.iter().for_each(|record| self.prunings.record(record));
        self.commit_all(entries, notes, records, &pruned);
    }

    /// Ends a draft with the move of a revert and what follows it.
    fn carried(&self, mut draft: Draft<'_>, outcome: Outcome) -> (Vec<Entry>, Note, RevertRecord) {
        draft.move_head(outcome.head_move.clone()).expect("the head is there");
        let mut copies = Vec::new();
        for copy in &outcome.copies {
            copies.push(draft.append(copy.message.clone(), self.at()).expect("there is room"));
        }
        let outcome = outcome.with_copies(&copies);
        (draft.into_entries(), outcome.note, outcome.record)
    }

    /// What a process that starts now reads.
    pub(crate) fn told(&self) -> Told {
        let log = self.tokio.block_on(self.store.load(self.lease.session())).expect("it can be read");
        let (mut entries, mut notes, mut records) = (Vec::new(), Vec::new(), Vec::new());
        let mut prunings = Prunings::default();
        for (_, record) in log.records {
            match record {
                Record::Entry(entry) => entries.push(entry),
                Record::Note(note) if note.kind == "note" => {
                    notes.push(serde_json::from_str(&note.body).expect("we wrote it"));
                }
                Record::Note(note) if note.kind == "pruned" => {
                    prunings.record(&serde_json::from_str(&note.body).expect("we wrote it"));
                }
                Record::Note(note) => records.push(serde_json::from_str(&note.body).expect("we wrote it")),
                Record::Blob(_) => {}
            }
        }
        let tree = MessageTree::replay(entries).expect("it is the log of one tree");
        Told { tree, notes, records, prunings }
    }

    /// The list that a model is sent now, before it is made legal for a wire.
    pub(crate) fn rendered(&self) -> Vec<Message> {
        let clock = Clock::new(turn(&self.tree)).with_prunings(&self.prunings);
        render_at(&self.tree, &self.notes, &self.policy, &clock).messages
    }
}

pub(crate) fn origin() -> Origin {
    Origin::new("p", "m")
}

pub(crate) fn categories(index: u8) -> Category {
    Category::ALL[usize::from(index) % Category::ALL.len()]
}

fn call(id: &str, name: &str, arguments: &str) -> Content {
    let (id, name, arguments) = (id.to_owned(), name.to_owned(), arguments.to_owned());
    Content::ToolCall(ToolCall { id, name, arguments, signature: None })
}

fn answer(kind: u8) -> Message {
    let mut message = Message::assistant(["so [n2] it is", "", " ", "done"][usize::from(kind) % 4]);
    message.origin = Some(origin());
    message.stop = Some(if kind == 2 { StopReason::MaxTokens } else { StopReason::EndTurn });
    message
}
