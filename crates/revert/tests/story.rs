//! A conversation that goes on by a script, one act a line, told as text.
//!
//! | line | act |
//! |---|---|
//! | `revert failure n2 why` | the model calls the tool; several requests of one turn are separated by ` \| ` |
//! | `return failure n2 why` `merge n2 n4` | the model calls those tools |
//! | `person failure n2 why` | a person goes back |
//! | `undo` `redo` | a person takes a move back, or makes it again |
//! | `user TEXT` `harness TEXT` `assistant TEXT` | a message |
//! | `tools NAME…` | the model calls these tools, and they answer |
//! | `show` `marked` | prints what a model would be sent now, without and with marks |
//! | `states` | prints which notes are shown |

use std::fmt::Write as _;

use expect_test::Expect;
use trunkline_message_tree::{
    Content, HeadMove, Message, MessageTree, NodeId, Timestamp, ToolCall, notation,
};
use trunkline_revert::{
    Ask, Category, Granted, MERGE_TOOL_NAME, Mover, Note, Plan, Prunings, RETURN_TOOL_NAME, Record, Refusal,
    RenderPolicy, Request, TOOL_NAME, drain, drain_asks, mark, note_states, plan, render, requests, turn,
};

pub(crate) const AT: Timestamp = Timestamp(0);

pub(crate) struct Story {
    pub(crate) tree: MessageTree,
    pub(crate) notes: Vec<Note>,
    pub(crate) records: Vec<Record>,
    pub(crate) policy: RenderPolicy,
    /// What the model has left out of requests.
    pub(crate) prunings: Prunings,
    calls: u32,
    told: String,
}

/// Plays a script on a tree in notation and compares what was told.
pub(crate) fn check(tree: &str, script: &str, expected: Expect) {
    let mut story = Story::new(tree);
    story.play(script);
    expected.assert_eq(&story.told);
}

impl Story {
    pub(crate) fn new(tree: &str) -> Self {
        let tree = notation::parse_tree(tree).unwrap();
        Story {
            tree,
            notes: Vec::new(),
            records: Vec::new(),
            policy: RenderPolicy::default(),
            prunings: Prunings::default(),
            calls: 100,
            told: String::new(),
        }
    }

    pub(crate) fn play(&mut self, script: &str) {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (act, rest) = line.split_once(' ').unwrap_or((line, ""));
            match act {
                "revert" => {
                    let arguments: Vec<String> = rest.split(" | ").map(arguments).collect();
                    self.model_reverts(&arguments);
                }
                "return" => {
                    let call =
                        self.call(RETURN_TOOL_NAME, &arguments(rest).replace("\"step\"", "\"branch\""));
                    self.model_asks(call);
                }
                "merge" => {
                    let branches: Vec<&str> = rest.split(' ').collect();
                    let call =
                        self.call(MERGE_TOOL_NAME, &serde_json::json!({ "branches": branches }).to_string());
                    self.model_asks(call);
                }
                "person" => {
                    let request = Request::parse(&arguments(rest)).unwrap();
                    self.person_reverts(&request);
                }
                "undo" => self.undo(),
                "redo" => self.redo(),
                "user" => self.append(Message::user(rest)),
                "harness" => self.append(Message::harness(rest)),
                "assistant" => self.append(Message::assistant(rest)),
                "tools" => self.tools(&rest.split(' ').collect::<Vec<_>>()),
                "show" => self.told += &notation::print(&self.rendered()),
                "marked" => self.told += &notation::print(&mark(self.rendered())),
                "states" => {
                    for (note, state) in self.notes.iter().zip(self.states()) {
                        writeln!(self.told, "{} of turn {}: {state:?}", note.kind, note.turn).unwrap();
                    }
                }
                _ => panic!("no such act: {line}"),
            }
        }
    }

    pub(crate) fn rendered(&self) -> Vec<Message> {
        render(&self.tree, &self.notes, &self.policy, turn(&self.tree))
    }

    pub(crate) fn states(&self) -> Vec<trunkline_revert::NoteState> {
        note_states(&self.tree, &self.notes, &self.policy, turn(&self.tree))
    }

    pub(crate) fn append(&mut self, message: Message) {
        let mut draft = self.tree.draft();
        draft.append(message, AT).unwrap();
        self.record(draft.into_entries());
    }

    pub(crate) fn tools(&mut self, names: &[&str]) {
        let calls: Vec<ToolCall> = names.iter().map(|name| self.call(name, "{}")).collect();
        self.assistant_calls(&calls);
        for call in &calls {
            self.append(Message::tool_result(&call.id, format!("{} answers", call.name), false));
        }
    }

    /// The model asks for reverts in one message; they are drained, answered and, if one was granted, carried out.
    pub(crate) fn model_reverts(&mut self, arguments: &[String]) {
        let calls: Vec<ToolCall> = arguments.iter().map(|json| self.call(TOOL_NAME, json)).collect();
        self.assistant_calls(&calls);
        let head = self.tree.head();
        let asked: Vec<Request> = requests(head, self.tree.node(head).unwrap().message())
            .map(|(_, asked)| asked.unwrap())
            .collect();
        let answers = drain(&self.tree, &asked, Mover::MODEL);

        let mut draft = self.tree.draft();
        let mut appended = Vec::new();
        for (call, answer) in calls.iter().zip(&answers) {
            let (text, is_error) = match answer {
                Ok(plan) => (plan.result_text(), false),
                Err(refusal) => (refusal.to_string(), true),
            };
            writeln!(self.told, "{} {text}", if is_error { "!" } else { "<" }).unwrap();
            appended.push(draft.append(Message::tool_result(&call.id, text, is_error), AT).unwrap());
        }
        let entries = draft.into_entries();
        self.record(entries);
        for (request, answer) in asked.iter().zip(answers) {
            self.conclude(request, answer, &appended, Mover::MODEL);
        }
    }

    /// The model asks for one thing of its branches, and it is carried out if it is granted.
    fn model_asks(&mut self, call: ToolCall) {
        self.assistant_calls(std::slice::from_ref(&call));
        let head = self.tree.head();
        let asks: Vec<Ask> =
            Ask::of(head, self.tree.node(head).unwrap().message()).map(|(_, ask)| ask.unwrap()).collect();
        let known = (self.notes.as_slice(), self.records.as_slice());
        let answer = drain_asks(&self.tree, known, &asks, Mover::MODEL).remove(0);
        let (text, is_error) = match &answer {
            Ok(Granted::Move(plan)) => (plan.result_text(), false),
            Ok(Granted::Merge(merge)) => (merge.result_text(false), false),
            Err(refusal) => (refusal.to_string(), true),
        };
        writeln!(self.told, "{} {text}", if is_error { "!" } else { "<" }).unwrap();
        self.append(Message::tool_result(&call.id, text, is_error));
        match answer {
            Ok(Granted::Move(plan)) => {
                let outcome = plan.outcome(&[self.tree.head()], AT, turn(&self.tree));
                self.move_head(outcome.head_move);
                self.notes.push(outcome.note);
                self.records.push(outcome.record);
            }
            Ok(Granted::Merge(mut merge)) => {
                merge.into = self.tree.head();
                let outcome = merge.outcome(AT);
                self.move_head(outcome.head_move);
                let mut draft = self.tree.draft();
                draft.merge(outcome.with, outcome.message, AT).unwrap();
                let entries = draft.into_entries();
                self.record(entries);
            }
            Err(_) => {}
        }
    }

    pub(crate) fn person_reverts(&mut self, request: &Request) {
        let answer = plan(&self.tree, request, Mover::PERSON);
        match &answer {
            Ok(plan) => writeln!(self.told, "< {}", plan.result_text()).unwrap(),
            Err(refusal) => writeln!(self.told, "! {refusal}").unwrap(),
        }
        self.conclude(request, answer, &[], Mover::PERSON);
    }

    fn conclude(
        &mut self,
        request: &Request,
        answer: Result<Plan, Refusal>,
        appended: &[NodeId],
        mover: Mover,
    ) {
        match answer {
            Ok(plan) => {
                let outcome = plan.outcome(appended, AT, turn(&self.tree));
                self.move_head(outcome.head_move);
                self.notes.push(outcome.note);
                self.records.push(outcome.record);
            }
            Err(refusal) => self.records.push(Record::refused(request, &refusal, mover)),
        }
    }

    pub(crate) fn undo(&mut self) {
        if let Some(undo) = self.tree.plan_undo(AT) {
            self.notes.extend(Note::undone(&self.tree, &undo, turn(&self.tree)));
            self.move_head(undo);
        }
    }

    pub(crate) fn redo(&mut self) {
        if let Some(redo) = self.tree.plan_redo(AT) {
            assert_eq!(Note::undone(&self.tree, &redo, 0), None);
            self.move_head(redo);
        }
    }

    fn move_head(&mut self, head_move: HeadMove) {
        let mut draft = self.tree.draft();
        draft.move_head(head_move).unwrap();
        self.record(draft.into_entries());
    }

    fn record(&mut self, entries: Vec<trunkline_message_tree::Entry>) {
        for entry in entries {
            self.tree.record(entry).unwrap();
        }
    }

    fn assistant_calls(&mut self, calls: &[ToolCall]) {
        let mut message = Message::assistant("");
        message.content = calls.iter().cloned().map(Content::ToolCall).collect();
        self.append(message);
    }

    fn call(&mut self, name: &str, arguments: &str) -> ToolCall {
        self.calls += 1;
        ToolCall {
            id: format!("c{}", self.calls),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            signature: None,
        }
    }
}

/// Returns the arguments of `failure n2 why`.
pub(crate) fn arguments(text: &str) -> String {
    let mut words = text.splitn(3, ' ');
    let category = Category::from_name(words.next().unwrap()).unwrap();
    let mut fields = serde_json::json!({ "category": category.name(), "step": words.next().unwrap() });
    if let Some(summary) = words.next() {
        fields["summary"] = summary.into();
    }
    fields.to_string()
}
