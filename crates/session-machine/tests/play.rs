//! Plays a session as text: a script goes in, the steps and what each recorded come out.
//!
//! No task, no store, no clock: the log is a list, files are texts in a map. Before each step the log is folded again from its
//! beginning, and what comes next has to be the same; so each story is also a test of every kill between two steps.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write;

use expect_test::Expect;
use serde_json::{Map, Value, json};
use trunkline_message_tree::{
    Author, Content, Entry as TreeEntry, Message, MessageTree, NodeId, Origin, Role, StopReason, Timestamp,
    ToolCall, ToolSpec,
};
use trunkline_providers::{ProviderError, Support};
use trunkline_resolve_queue::{
    Effect, Entry, Fingerprint, Outcome, ProposalId, SubjectState, Verdict, resolve_tool,
};
use trunkline_session_machine::acts::apply::{self, Begun, Ended};
use trunkline_session_machine::acts::asked::{Asked, find_out};
use trunkline_session_machine::acts::calls::{self, Returned};
use trunkline_session_machine::acts::plan::Plan;
use trunkline_session_machine::acts::question::{Answer, Pause, Question};
use trunkline_session_machine::acts::recorded::complete;
use trunkline_session_machine::acts::recover::{self, Sight};
use trunkline_session_machine::acts::reply::{self, Came};
use trunkline_session_machine::acts::resolve::{self, Next};
use trunkline_session_machine::acts::view::View;
use trunkline_session_machine::acts::{close, decide, expire, hold, moves, open, settle, stage};
use trunkline_session_machine::next::{Facts, Step, next};
use trunkline_session_machine::setup::{AskedModel, Setup};
use trunkline_session_machine::state::State;
use trunkline_session_machine::words::start::Start;
use trunkline_session_machine::{
    Access, Approval, Base, CallPlace, ChangedFile, Changes, CloseAs, FileChange, FileStates, Gate, Kept,
    OwnChanges, Proposal, Reverts, RuntimeError, Said, Stop, ToolOutput,
};
use trunkline_session_store::Record;
use uuid::Uuid;

/// A day that does not change.
const START: u64 = 1_700_000_000_000;

/// Plays a script and compares what came of it.
pub(crate) fn check(script: &str, expected: Expect) {
    expected.assert_eq(&play(script).told);
}

/// Plays a script. Each line is one of:
///
/// ```text
/// approval always      who decides: person (as unless told), model or always
/// reverts              the model may leave a branch
/// commits              runs are committed
/// model: words         an answer of the model, in the order in which it is asked
/// model: read c1 {"path":"a"}; shell c2 {"command":"make"}
/// cut: words           an answer that breaks off
/// result c1 = words    what a call gives; "done" unless told
/// propose c1 a = text  the call stages that a file gets this text
/// file a = text        somebody writes a file
/// > words              a prompt; the session goes on until it stops
/// resume, cancel       it goes on; with cancel nothing new is begun
/// approve p1, discard p1 why, undo, go n3, back n3 lesson, close checkpoint words
/// crash p1             an apply begins, and nothing is heard of it any more
/// ```
pub(crate) fn play(script: &str) -> Play {
    let mut play = Play::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        play.line(line);
    }
    play
}

/// A session in memory, with the world around it.
pub(crate) struct Play {
    pub(crate) told: String,
    pub(crate) log: Vec<Record>,
    setup: Setup,
    state: State,
    replies: VecDeque<Message>,
    results: HashMap<String, String>,
    proposed: HashMap<String, Vec<(String, String)>>,
    files: BTreeMap<String, String>,
    base: BTreeMap<String, String>,
    commits: bool,
    committed: Option<String>,
    names: u128,
    now: u64,
}

impl Play {
    fn new() -> Self {
        let origin = Origin::new("made-up", "parrot");
        let mut setup = Setup::new(AskedModel::new(origin, "none", |_| Support::None));
        let object = || json!({ "type": "object" });
        setup.catalogue.add(ToolSpec::new("read", "Reads a file", object()), Access::ReadOnly);
        setup.catalogue.add(ToolSpec::new("edit", "Stages an edit", object()), Access::Proposes);
        setup.catalogue.add(ToolSpec::new("shell", "Runs a command", object()), Access::Exclusive);
        setup.complete();
        let tree = MessageTree::new(Message::system("Be short."), Timestamp(START));
        let root = Record::Entry(tree.root_entry());
        let state = State::begin(Some(&root)).unwrap();
        Play {
            told: String::new(),
            log: vec![root],
            setup,
            state,
            replies: VecDeque::new(),
            results: HashMap::new(),
            proposed: HashMap::new(),
            files: BTreeMap::new(),
            base: BTreeMap::new(),
            commits: false,
            committed: None,
            names: 0,
            now: START,
        }
    }

    fn line(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "approval" => {
                self.setup.resolve.approval = match rest {
                    "always" => Approval::Always,
                    "model" => Approval::Model,
                    _ => Approval::Person,
                };
                self.setup.complete();
            }
            "reverts" => {
                self.setup.revert = Some(Box::new(Reverts::default()));
                self.setup.complete();
            }
            "commits" => (self.commits, self.setup.files.looks) = (true, true),
            "model:" => self.replies.push_back(reply_of(rest, StopReason::EndTurn)),
            "cut:" => self.replies.push_back(reply_of(rest, StopReason::Cut)),
            "result" => {
                let (call, text) = rest.split_once(" = ").unwrap();
                self.results.insert(call.to_owned(), text.to_owned());
            }
            "propose" => {
                let (call, change) = rest.split_once(' ').unwrap();
                let (path, text) = change.split_once(" = ").unwrap();
                let change = (path.to_owned(), text.to_owned());
                self.proposed.entry(call.to_owned()).or_default().push(change);
            }
            "file" => {
                let (path, text) = rest.split_once(" = ").unwrap();
                self.files.insert(path.to_owned(), text.to_owned());
            }
            _ => {
                let _ = writeln!(self.told, "{line}");
                let done = self.order(word, rest);
                self.tell(done);
            }
        }
    }

    fn order(&mut self, word: &str, rest: &str) -> Result<(), RuntimeError> {
        let (first, more) = rest.split_once(' ').unwrap_or((rest, ""));
        let proposal = || first.parse::<ProposalId>().unwrap();
        let node = || first.parse::<NodeId>().unwrap();
        match word {
            ">" => {
                self.perform(|view, asked| open::prompt(view, asked, rest))?;
                self.drive(false)
            }
            "resume" => self.drive(false),
            "cancel" => self.drive(true),
            "approve" => {
                let said = Said::new(Verdict::Approve, more);
                self.perform(|view, asked| decide::decide(view, asked, proposal(), (&said, None), None))
            }
            "discard" => {
                let said = Said::new(Verdict::Discard, more);
                self.perform(|view, asked| decide::decide(view, asked, proposal(), (&said, None), None))
            }
            "undo" => self.perform(moves::undo),
            "go" => self.perform(|view, asked| moves::go(view, asked, node())).map(drop),
            "back" => self.perform(|view, asked| moves::go_back(view, asked, node(), Some(more))),
            "close" => {
                let words = more.to_owned();
                let how = match first {
                    "checkpoint" => CloseAs::Checkpoint { words },
                    "abandon" => CloseAs::Abandon { reason: words },
                    _ => CloseAs::Retry { reason: words },
                };
                close::check(&self.view(), &how, false)?;
                self.perform(|view, asked| close::close(view, asked, &how)).map(drop)
            }
            "crash" => {
                let begun = self.perform(|view, asked| apply::begin(view, asked, proposal(), None))?;
                assert!(matches!(begun, Begun::Attempt(_)), "the attempt begins");
                if more == "after" {
                    self.write(proposal());
                }
                Ok(())
            }
            other => panic!("no such line: {other}"),
        }
    }

    fn tell(&mut self, done: Result<(), RuntimeError>) {
        if let Err(fault) = done {
            let _ = writeln!(self.told, "    {fault}");
        }
    }

    /// Goes on until nothing can go on.
    fn drive(&mut self, cancelled: bool) -> Result<(), RuntimeError> {
        let mut facts = Facts::default();
        // Whoever wrote before is gone, since one play is one process after another.
        (facts.cancelled, facts.before.gone) = (cancelled, true);
        for _ in 0..100 {
            let step = self.next(&facts)?;
            if !matches!(step, Step::Expire | Step::TellUntold | Step::LookUp(..)) {
                let _ = writeln!(self.told, "  {}", name_of(&step));
            }
            match step {
                Step::Answer(answers) => {
                    let plan = calls::answer(&self.view(), answers);
                    self.record(plan)?;
                }
                Step::Gate(place, asked) => {
                    self.perform(|view, _| stage::stage_gate(view, &place, &asked))?;
                }
                Step::Run(running) => {
                    let attempts = self.perform(|view, asked| calls::begin(view, asked, &running))?;
                    for (call, attempt) in running.into_iter().zip(attempts) {
                        let output = self.output(&call.place, &call.tool);
                        let elapsed = Default::default();
                        let returned = Returned {
                            output,
                            pushed: Vec::new(),
                            ran: true,
                            elapsed,
                            effects: Default::default(),
                        };
                        let named = (&call.place, call.tool.as_str(), attempt);
                        let plan = calls::finish(&self.view(), named, returned)?;
                        self.record(plan)?;
                    }
                }
                Step::Resolve(place, arguments) => self.resolve(&place, &arguments)?,
                Step::Ask(_) | Step::Stop(_) => return Ok(()),
                Step::Settle => self.perform(settle::settle)?,
                Step::Apply(id) => self.apply(id, None)?,
                Step::Check(id) => self.perform(|view, asked| apply::check(view, asked, id))?,
                Step::Approve(id) => self.perform(|view, _| decide::approve_ahead(view, id))?,
                Step::Forbid(id) => self.perform(|view, _| decide::decide_ahead(view, id))?,
                Step::GiveUp(id) => self.perform(|view, _| apply::give_up(view, id))?,
                Step::Nudge(words) => {
                    facts.nudged += 1;
                    self.perform(|view, _| open::say(view, &words))?;
                }
                Step::OpenRun => self.perform(open::begin_run)?,
                Step::Wait(until) => facts.waited = Some(until),
                Step::Request => {
                    let _ = self.perform(|view, _| hold::hold(view))?;
                    let Some(message) = self.replies.pop_front() else {
                        let _ = writeln!(self.told, "    the model has no more answers");
                        return Ok(());
                    };
                    let fault = (message.stop == Some(StopReason::Cut)).then_some(ProviderError::Cut);
                    let came = Came { fault, ..Came::whole(message) };
                    let plan = reply::take_reply(&self.view(), came)?;
                    self.record(plan)??;
                }
                Step::Conclude => {
                    let commits = self.commits;
                    let found = self.perform(|view, asked| close::announce(view, asked, commits))?;
                    self.perform(|view, asked| close::conclude(view, asked, &found, (commits, None), None))?;
                    return Ok(());
                }
                Step::Expire => self.perform(|view, _| expire::expire_due(view))?,
                Step::TellUntold => self.perform(|view, _| open::tell_untold(view))?,
                Step::LookUp(id, sight) => self.look_up(id, sight)?,
                Step::Bind(_) | Step::AskGit => panic!("no git was given"),
                Step::Compact(_) | Step::MakeRoom(_) => panic!("no policy was given"),
                Step::ReadInbox { .. } | Step::AwaitApply(..) => panic!("nobody else is there"),
            }
        }
        panic!("no end:\n{}", self.told)
    }

    fn look_up(&mut self, id: ProposalId, sight: Sight) -> Result<(), RuntimeError> {
        match self.perform(|view, asked| recover::settle(view, asked, id, sight))? {
            Some(kept) => self.perform(|view, asked| recover::settle_tidied(view, asked, (id, &kept), sight)),
            None => Ok(()),
        }
    }

    fn resolve(&mut self, place: &CallPlace, arguments: &str) -> Result<(), RuntimeError> {
        let taken_up = resolve::take_up(&self.view(), place);
        let next = match taken_up {
            Some(plan) => self.record(plan)?,
            None => match resolve_tool::parse_arguments(arguments) {
                Ok(meant) => self.perform(|view, _| resolve::resolve(view, place, &meant))?,
                Err(fault) => {
                    let plan = resolve::answer(&self.view(), place, fault.to_string());
                    self.record(plan)?
                }
            },
        };
        if let Next::CarryOn(id) = next
            && self.perform(|view, asked| resolve::carry_on(view, asked, id, place))?
        {
            self.apply(id, Some(place))?;
        }
        Ok(())
    }

    fn apply(&mut self, id: ProposalId, call: Option<&CallPlace>) -> Result<(), RuntimeError> {
        let begun = self.perform(|view, asked| apply::begin(view, asked, id, call))?;
        let Begun::Attempt(attempt) = begun else { return Ok(()) };
        self.write(id);
        let ended = Ended { attempt, outcome: Outcome::Applied, words: "written".to_owned() };
        match self.perform(|view, asked| apply::end(view, asked, &ended, call))? {
            Some(kept) => self.perform(|view, asked| apply::end_tidied(view, asked, (&ended, &kept), call)),
            None => Ok(()),
        }
    }

    /// Writes what a proposal says.
    fn write(&mut self, id: ProposalId) {
        let entry = self.state.resolve.queue.get(id).unwrap();
        let (path, text) = change_of(entry);
        self.files.insert(path, text);
    }

    fn output(&self, place: &CallPlace, tool: &str) -> ToolOutput {
        let text = self.results.get(&place.id).map_or("done", String::as_str);
        let mut output = ToolOutput::text(text);
        for (path, text) in self.proposed.get(&place.id).into_iter().flatten() {
            let payload = json!({ "path": path, "text": text });
            let mut proposal = Proposal::new(format!("write {path}"), tool.to_owned(), payload);
            proposal.effect = Effect::Reversible;
            proposal.fingerprints = vec![self.print(path)];
            proposal.after = vec![print_of(path, Some(text))];
            output.proposals.push(proposal);
        }
        output
    }

    fn print(&self, path: &str) -> Fingerprint {
        print_of(path, self.files.get(path))
    }

    /// Returns what happens next; a fold of the whole log has to say the same.
    fn next(&mut self, facts: &Facts) -> Result<Step, RuntimeError> {
        let step = self.find_out(|view, asked| next(view, asked, facts))?;
        let mut folded = State::begin(self.log.first())?;
        self.log.iter().skip(1).try_for_each(|record| folded.record(record))?;
        let kept = std::mem::replace(&mut self.state, folded);
        let again = self.find_out(|view, asked| next(view, asked, facts))?;
        assert_eq!(name_of(&step), name_of(&again), "a resume goes another way\n{}", self.told);
        self.state = kept;
        Ok(step)
    }

    fn view(&self) -> View<'_> {
        View::new(&self.state, &self.setup, Timestamp(self.now))
    }

    fn find_out<T>(
        &mut self,
        act: impl Fn(&View<'_>, &mut Asked<'_>) -> Result<T, Pause>,
    ) -> Result<T, RuntimeError> {
        let mut names = self.names;
        let mut files = std::mem::take(&mut self.files);
        let (base, queue) = (self.base.clone(), &self.state.resolve.queue);
        let mut committed = self.committed.clone();
        let mut begun_at = None;
        let learned = find_out(&self.view(), act, |question| {
            let kept = |id: &ProposalId| queue.get(*id).map(change_of);
            Ok(match question {
                Question::Calls(calls) => {
                    let gate = |arguments: &Map<String, Value>| {
                        let command = arguments.get("command")?.as_str()?;
                        Some(Gate::new(format!("run {command}"), command).of_command(command))
                    };
                    let declared = calls.iter().map(|call| match call.tool.as_str() {
                        "shell" if call.asks_gate => Ok(gate(&call.arguments)),
                        _ => Ok(None),
                    });
                    Answer::Calls(declared.collect())
                }
                Question::Effects(calls) => {
                    Answer::Effects(calls.iter().map(|_| Default::default()).collect())
                }
                Question::Ids(count) => {
                    let ids = (0..*count).map(|_| {
                        names += 1;
                        Uuid::from_u128((7 << 76) | (2 << 62) | names)
                    });
                    Answer::Ids(ids.collect())
                }
                Question::Keep(id) => {
                    let kept = kept(id).map(|(path, _)| {
                        let bytes = files.get(&path).map(|text| text.clone().into_bytes());
                        Kept { fingerprint: print_of(&path, files.get(&path)), bytes }
                    });
                    Answer::Kept(Some(kept.into_iter().collect()))
                }
                Question::Observe(id) => {
                    Answer::Observed(kept(id).map(|(path, _)| vec![print_of(&path, files.get(&path))]))
                }
                Question::PutBack(_, kept) => {
                    for one in kept.0.iter() {
                        let path = one.fingerprint.subject.clone();
                        match &one.bytes {
                            Some(bytes) => {
                                drop(files.insert(path, String::from_utf8(bytes.clone()).unwrap()))
                            }
                            None => drop(files.remove(&path)),
                        }
                    }
                    Answer::PutBack
                }
                Question::Discarded(entries) => Answer::Words(entries.iter().map(|_| None).collect()),
                Question::Start => {
                    begun_at = Some(files.clone());
                    let base = Base { commit: Some("a".repeat(40)), tree: Some("b".repeat(40)) };
                    Answer::Start(Ok(Start { base, looks: false }))
                }
                Question::OwnChanges(..) => {
                    let changes = changes(&base, &files);
                    Answer::OwnChanges(Ok(OwnChanges { changes, ..OwnChanges::default() }))
                }
                Question::States(_, _, _, _, paths) => {
                    let state = |path: &String| FileStates {
                        path: path.clone(),
                        before: base.get(path).map(|text| digest(text)),
                        after: files.get(path).map(|text| digest(text)),
                        before_executable: None,
                        after_executable: None,
                    };
                    Answer::States(Ok(paths.iter().map(state).collect()))
                }
                Question::FindCommit(_) => Answer::Commit(Ok(committed.clone())),
                Question::Commit(_) => {
                    committed.get_or_insert_with(|| "d".repeat(40));
                    Answer::Commit(Ok(committed.clone()))
                }
                other => panic!("nothing is told of {other:?}"),
            })
        });
        self.files = files;
        self.names = names;
        self.committed = committed;
        if let Some(begun_at) = begun_at {
            self.base = begun_at;
        }
        learned
    }

    fn perform<T>(
        &mut self,
        act: impl Fn(&View<'_>, &mut Asked<'_>) -> Result<Plan<T>, Pause>,
    ) -> Result<T, RuntimeError> {
        let plan = self.find_out(act)?;
        self.record(plan)
    }

    fn record<T>(&mut self, plan: Plan<T>) -> Result<T, RuntimeError> {
        let mut records = plan.records;
        complete(&self.state, &self.setup, &mut records)?;
        for record in records {
            let _ = writeln!(self.told, "    + {}", drawn(&record));
            self.state.record(&record)?;
            self.log.push(record);
            self.now += 1;
        }
        Ok(plan.then)
    }
}

/// Reads an answer: words, or calls.
fn reply_of(text: &str, stop: StopReason) -> Message {
    let calls: Vec<Content> = text.split("; ").filter_map(call_of).collect();
    let content = if calls.is_empty() { vec![Content::Text { text: text.to_owned() }] } else { calls };
    let mut message = Message::new(Role::Assistant, Author::Model, content);
    (message.origin, message.stop) = (Some(Origin::new("made-up", "parrot")), Some(stop));
    message
}

fn call_of(text: &str) -> Option<Content> {
    let (name, rest) = text.split_once(' ')?;
    let (id, arguments) = rest.split_once(' ')?;
    let is_call = arguments.starts_with('{');
    let (name, id, arguments) = (name.to_owned(), id.to_owned(), arguments.to_owned());
    is_call.then_some(Content::ToolCall(ToolCall { id, name, arguments, signature: None }))
}

fn change_of(entry: &Entry<Value>) -> (String, String) {
    let payload = &entry.proposal.payload;
    let field = |name: &str| payload.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    (field("path"), field("text"))
}

fn print_of(path: &str, text: Option<&String>) -> Fingerprint {
    let state = text.map_or(SubjectState::Absent, |text| SubjectState::Digest(digest(text)));
    Fingerprint { subject: path.to_owned(), state }
}

/// A digest as files have it, made of the text in hex.
fn digest(text: &str) -> String {
    let mut hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    hex.truncate(64);
    format!("sha256:{hex:0<64}")
}

fn changes(base: &BTreeMap<String, String>, files: &BTreeMap<String, String>) -> Changes {
    let changed = files.iter().filter(|(path, text)| base.get(*path) != Some(text));
    let changed = changed.map(|(path, _)| {
        let change = if base.contains_key(path) { FileChange::Modified } else { FileChange::Added };
        ChangedFile { path: path.clone(), change, added: Some(1), deleted: Some(0) }
    });
    Changes { files: changed.collect(), diff: String::new(), tree: Some("c".repeat(40)) }
}

/// A step in one line.
fn name_of(step: &Step) -> String {
    let ids = |ids: &[ProposalId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match step {
        Step::Answer(answers) => {
            let told = answers.iter().map(|(place, text)| format!("{} {text:?}", place.id));
            format!("answer {}", told.collect::<Vec<_>>().join(", "))
        }
        Step::Gate(place, asked) => format!("gate {} {}", place.id, asked.gate.label),
        Step::Run(calls) => {
            let called = calls.iter().map(|call| format!("{} {}", call.tool, call.place.id));
            format!("run {}", called.collect::<Vec<_>>().join(", "))
        }
        Step::Resolve(place, _) => format!("resolve {}", place.id),
        Step::Ask(waiting) => format!("ask about {}", ids(waiting)),
        Step::Settle => "settle".to_owned(),
        Step::Apply(id) => format!("apply {id}"),
        Step::Check(id) => format!("check {id}"),
        Step::Approve(id) => format!("approve {id}"),
        Step::Forbid(id) => format!("forbid {id}"),
        Step::GiveUp(id) => format!("drop {id}"),
        Step::Nudge(words) => format!("nudge {words:?}"),
        Step::OpenRun => "open a run".to_owned(),
        Step::Compact(_) => "compact".to_owned(),
        Step::Request => "request".to_owned(),
        Step::Wait(until) => format!("wait until +{} ms", until.0 - START),
        Step::Conclude => "conclude".to_owned(),
        Step::Expire => "expire".to_owned(),
        Step::TellUntold => "tell".to_owned(),
        Step::LookUp(id, _) => format!("look up {id}"),
        Step::Bind(_) => "bind".to_owned(),
        Step::AskGit => "ask git".to_owned(),
        Step::MakeRoom(_) => "make room".to_owned(),
        Step::ReadInbox { .. } => "read the inbox".to_owned(),
        Step::AwaitApply(attempt, _) => format!("await {attempt}"),
        Step::Stop(Stop::Cancelled | Stop::Idle) => "rest".to_owned(),
        Step::Stop(stop) => format!("stop {stop}"),
    }
}

/// A record in one line.
fn drawn(record: &Record) -> String {
    match record {
        Record::Entry(TreeEntry::Node { id, parent, message, link, .. }) => {
            let under = parent.map_or(String::new(), |parent| format!(" under {parent}"));
            let filed = if link.is_filed() { " filed" } else { "" };
            let mut said = message.text();
            for call in message.calls() {
                let _ = write!(said, "{} {}", call.name, call.id);
                said.push(' ');
            }
            for result in message.results() {
                let _ = write!(said, "{}: {}", result.call_id, result.text());
            }
            let author = format!("{:?}", message.author).to_lowercase();
            format!("{id}{under}{filed} {author}: {}", said.trim().replace('\n', " / "))
        }
        Record::Entry(TreeEntry::Move(moved)) => format!("head to {}", moved.to),
        Record::Note(note) => {
            let key = note.key.as_ref();
            let key =
                key.filter(|key| !key.key.contains('-')).map(|key| format!(" {} {}", key.key, key.state));
            let verdict =
                note.key.as_ref().filter(|_| note.kind == "decided").map(|key| format!(" {}", key.state));
            format!("{}/{}{}{}", note.layer, note.kind, key.unwrap_or_default(), verdict.unwrap_or_default())
        }
        Record::Blob(blob) => format!("{} bytes", blob.bytes.len()),
    }
}
