//! The world around a played session: files in memory, what calls give, and the answers to what an act has to know.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use trunkline_message_tree::ToolSpec;
use trunkline_resolve_queue::{Effect, Entry, Fingerprint, ProposalId, SubjectState};
use trunkline_revert::{EffectClass, Effects};
use trunkline_session_machine::acts::asked::{Asked, find_out};
use trunkline_session_machine::acts::question::{Answer, Pause, Question};
use trunkline_session_machine::acts::view::View;
use trunkline_session_machine::acts::{discard_hook, task};
use trunkline_session_machine::reading::family::candidates;
use trunkline_session_machine::setup::catalogue::Catalogue;
use trunkline_session_machine::words::start::Start;
use trunkline_session_machine::{
    Access, Base, CallPlace, ChangedFile, Changes, FileChange, FileStates, Gate, Kept, KeptFiles, OwnChanges,
    Proposal, RuntimeError, ToolOutput,
};
use uuid::Uuid;

use crate::families::log_of;
use crate::play::Play;

/// The commit that is made.
pub(crate) const COMMIT: &str = "dddddddddddddddddddddddddddddddddddddddd";

impl Play {
    /// Writes what a proposal says, and returns whether that could be done.
    pub(crate) fn write(&mut self, id: ProposalId) -> bool {
        let entry = self.state.resolve.queue.get(id).unwrap();
        let (path, text) = change_of(entry);
        let writable = text != "unwritable";
        if writable {
            self.files.insert(path, text);
        }
        writable
    }

    /// Chooses one of what could be chosen in the run of the newest candidate.
    pub(crate) fn select(&mut self, sequence: u32, reason: &str) -> Result<(), RuntimeError> {
        let all = candidates(&log_of(&self.log));
        let run = all.last().map(|last| last.patch_set.run());
        let found = all.iter().find(|one| Some(one.patch_set.run()) == run && one.sequence == sequence);
        let Some(patch_set) = found.map(|one| &one.patch_set) else {
            self.say("    there is no such candidate");
            return Ok(());
        };
        self.perform(|view, _| task::select(view, patch_set.run(), patch_set.id(), reason))
    }

    pub(crate) fn output(&self, place: &CallPlace, tool: &str) -> ToolOutput {
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

    pub(crate) fn call_hook(&mut self, id: ProposalId, call: Option<&CallPlace>) -> Result<(), RuntimeError> {
        let Some(end) = self.perform(|view, _| discard_hook::begin(view, id, call))? else { return Ok(()) };
        let approved = if end.approved { ", approved" } else { "" };
        self.say(&format!("    hook {end}: {}{approved}", end.cause));
        let heard = self.hears.get(&id).cloned().unwrap_or_default();
        let came = match heard.split_at(heard.len().min(1)) {
            ("", _) => Ok(None),
            _ if heard == "kill" => return Err(RuntimeError::Refused { reason: "killed".to_owned() }),
            _ if heard == "crash" => Err("the tool crashed".to_owned()),
            ("!", words) => Ok(Some(ToolOutput::error(words))),
            _ => Ok(Some(ToolOutput::text(heard))),
        };
        self.perform(|view, _| discard_hook::finish(view, &end, &came, call))
    }

    pub(crate) fn find_out<T>(
        &mut self,
        act: impl Fn(&View<'_>, &mut Asked<'_>) -> Result<T, Pause>,
    ) -> Result<T, RuntimeError> {
        let mut names = self.names;
        let mut files = std::mem::take(&mut self.files);
        let (base, queue, looks) = (self.base.clone(), &self.state.resolve.queue, self.looks);
        let (mut committed, mut message) = (self.committed.clone(), self.message.clone());
        let mut touched = self.touched.clone();
        let (mut begun_at, meant) = (None, self.meant.clone());
        let learned = find_out(&self.view(), act, |question| {
            let kept = |id: &ProposalId| queue.get(*id).map(change_of);
            Ok(match question {
                Question::Calls(calls) => {
                    let gate = |arguments: &Map<String, Value>| {
                        let command = arguments.get("command")?.as_str()?;
                        let command = meant.as_deref().unwrap_or(command);
                        Some(Gate::new(format!("run {command}"), command).of_command(command))
                    };
                    let declared = calls.iter().map(|call| match call.tool.as_str() {
                        "shell" if call.asks_gate => Ok(gate(&call.arguments)),
                        "script" if call.asks_gate => Ok(gate(&call.arguments).map(Gate::unasked)),
                        _ => Ok(None),
                    });
                    Answer::Calls(declared.collect())
                }
                Question::Effects(calls) => Answer::Effects(
                    calls.iter().map(|(tool, arguments)| effects_of(tool, arguments)).collect(),
                ),
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
                // No play keeps what it has written over.
                Question::Preimages(_) => Answer::Kept(None),
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
                Question::Start => {
                    begun_at = Some(files.clone());
                    let tree = if looks { tree_of(&files) } else { "b".repeat(40) };
                    let base = Base { commit: Some("a".repeat(40)), tree: Some(tree) };
                    Answer::Start(Ok(Start { base, looks }))
                }
                Question::Look => {
                    Answer::Look(Ok(Base { commit: Some("a".repeat(40)), tree: Some(tree_of(&files)) }))
                }
                Question::OwnChanges(_, paths, _) => {
                    touched.clone_from(paths);
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
                Question::KeepFiles(_) => Answer::KeptFiles(Ok(KeptFiles {
                    tree: tree_of(&files),
                    commit: "c".repeat(40),
                    reference: "refs/kept".to_owned(),
                })),
                Question::FindCommit(_) => Answer::Commit(Ok(committed.clone())),
                Question::Commit(deciding) => {
                    message.clone_from(&deciding.message);
                    committed.get_or_insert_with(|| COMMIT.to_owned());
                    Answer::Commit(Ok(committed.clone()))
                }
                other => panic!("nothing is told of {other:?}"),
            })
        });
        self.files = files;
        self.names = names;
        (self.committed, self.message, self.touched) = (committed, message, touched);
        if let Some(begun_at) = begun_at {
            self.base = begun_at;
        }
        learned
    }
}

/// The tools that a play has.
pub(crate) fn tools() -> Catalogue {
    let (mut tools, object) = (Catalogue::default(), || json!({ "type": "object" }));
    tools.add(ToolSpec::new("read", "Reads a file", object()), Access::ReadOnly);
    tools.add(ToolSpec::new("edit", "Stages an edit", object()), Access::Proposes);
    tools.add(ToolSpec::new("shell", "Runs a command", object()), Access::Exclusive);
    tools
}

pub(crate) fn change_of(entry: &Entry<Value>) -> (String, String) {
    let payload = &entry.proposal.payload;
    let field = |name: &str| payload.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    (field("path"), field("text"))
}

fn print_of(path: &str, text: Option<&String>) -> Fingerprint {
    let state = text.map_or(SubjectState::Absent, |text| SubjectState::Digest(digest(text)));
    Fingerprint { subject: path.to_owned(), state }
}

/// A name for all files as they are.
fn tree_of(files: &BTreeMap<String, String>) -> String {
    format!("{:?}", trunkline_revert::Digest::of(&format!("{files:?}")))
}

/// A digest as files have it, made of the text in hex.
fn digest(text: &str) -> String {
    let mut hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    hex.truncate(64);
    format!("sha256:{hex:0<64}")
}

/// What a call says that it does.
fn effects_of(tool: &str, arguments: &Map<String, Value>) -> Effects {
    let named = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    match tool {
        "read" => Effects::new(EffectClass::Pure).reading(named("path")),
        "edit" => Effects::new(EffectClass::Reversible).writing(named("path")),
        _ => Effects::default().running(named("command")),
    }
}

fn changes(base: &BTreeMap<String, String>, files: &BTreeMap<String, String>) -> Changes {
    let changed = files.iter().filter(|(path, text)| base.get(*path) != Some(text));
    let changed = changed.map(|(path, _)| {
        let change = if base.contains_key(path) { FileChange::Modified } else { FileChange::Added };
        ChangedFile { path: path.clone(), change, added: Some(1), deleted: Some(0) }
    });
    Changes { files: changed.collect(), diff: String::new(), tree: Some("c".repeat(40)) }
}
