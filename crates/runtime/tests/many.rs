//! A tool that writes several files as one proposal, one after the other, and can be stopped at any point.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use trunkline_runtime::message_tree::ToolSpec;
use trunkline_runtime::resolve_queue::{Effect, End, Entry, Fingerprint, Outcome, Preview};
use trunkline_runtime::{Access, DiscardHook, Executor, Kept, Proposal, Tool, ToolContext, ToolOutput};

/// How a step of the tool goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The process is gone.
    Stop,
    /// The tool crashes.
    Panic,
    /// The tool gives up where it is, and says so.
    Fail,
    /// It takes as long as nobody lets it go on.
    Wait,
}

/// One thing that was written: in which attempt, what, and `None` for what was removed.
pub(crate) type Write = (String, String, Option<String>);

/// The files, what was written to them, and what goes wrong next.
#[derive(Clone, Default)]
pub(crate) struct Disk {
    pub(crate) files: Arc<Mutex<BTreeMap<String, String>>>,
    /// Every write of an apply, in order.
    pub(crate) writes: Arc<Mutex<Vec<Write>>>,
    /// Every word of the decider that an apply was handed, and every discard that was heard of.
    pub(crate) heard: Arc<Mutex<Vec<String>>>,
    /// For how many files it was asked to put something back.
    pub(crate) put_back: Arc<Mutex<usize>>,
    fault: Arc<Mutex<Option<(usize, Halt)>>>,
    pub(crate) stopped: Arc<Notify>,
    pub(crate) go_on: Arc<Notify>,
}

impl Disk {
    pub(crate) fn put(&self, path: &str, text: &str) {
        self.files.lock().unwrap().insert(path.to_owned(), text.to_owned());
    }

    pub(crate) fn now(&self) -> String {
        let files = self.files.lock().unwrap();
        files.iter().map(|(path, text)| format!("{path}={text}")).collect::<Vec<_>>().join(" ")
    }

    /// Lets the step after `steps` more go wrong.
    pub(crate) fn break_after(&self, steps: usize, halt: Halt) {
        *self.fault.lock().unwrap() = Some((steps, halt));
    }

    pub(crate) fn mend(&self) {
        *self.fault.lock().unwrap() = None;
    }

    /// Returns whether the tool can go on.
    async fn step(&self) -> bool {
        let halt = {
            let mut fault = self.fault.lock().unwrap();
            match *fault {
                None => return true,
                Some((0, halt)) => {
                    *fault = None;
                    halt
                }
                Some((left, halt)) => {
                    *fault = Some((left - 1, halt));
                    return true;
                }
            }
        };
        match halt {
            Halt::Stop => {
                self.stopped.notify_one();
                std::future::pending().await
            }
            Halt::Panic => panic!("a tool that crashes between two files"),
            Halt::Fail => false,
            Halt::Wait => {
                self.stopped.notify_one();
                self.go_on.notified().await;
                true
            }
        }
    }

    fn print(&self, path: &str) -> Fingerprint {
        print(path, self.files.lock().unwrap().get(path).map(String::as_str))
    }

    fn write(&self, path: &str, text: Option<&str>) {
        let mut files = self.files.lock().unwrap();
        match text {
            Some(text) => files.insert(path.to_owned(), text.to_owned()),
            None => files.remove(path),
        };
    }
}

fn print(path: &str, content: Option<&str>) -> Fingerprint {
    match content {
        Some(content) => Fingerprint::digest(path, content),
        None => Fingerprint::absent(path),
    }
}

/// What the tool does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Lacks {
    #[default]
    Nothing,
    /// It keeps nothing, as tools of old.
    Keep,
    /// It cannot take anything back.
    Undo,
    /// It tells every time something else of what it reads.
    Truth,
}

/// Arguments: `edits`, a text or null for each path; `reads`, paths that are only looked at.
pub(crate) struct Many {
    pub(crate) disk: Disk,
    pub(crate) lacks: Lacks,
}

#[async_trait]
impl Tool for Many {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "many".to_owned(),
            description: "a test".to_owned(),
            input_schema: json!({ "type": "object", "properties": {} }),
            strict: None,
        }
    }

    fn access(&self) -> Access {
        Access::Proposes
    }

    async fn run(&self, arguments: Map<String, Value>, _: &ToolContext) -> ToolOutput {
        let edits = arguments["edits"].as_object().cloned().unwrap_or_default();
        let names: Vec<&str> = edits.keys().map(String::as_str).collect();
        let mut proposal =
            Proposal::new(format!("edit {}", names.join(", ")), "many", json!({ "edits": edits }));
        proposal.fingerprints = names.iter().map(|path| self.disk.print(path)).collect();
        let reads = arguments.get("reads").and_then(Value::as_array).into_iter().flatten();
        proposal.fingerprints.extend(reads.filter_map(Value::as_str).map(|path| self.disk.print(path)));
        proposal.after = edits.iter().map(|(path, text)| print(path, text.as_str())).collect();
        proposal.effect = Effect::Reversible;
        proposal.divisible = true;
        let mut output = ToolOutput::text("a preview");
        output.proposals.push(proposal);
        output
    }

    fn as_executor(&self) -> Option<&dyn Executor> {
        Some(self)
    }
}

#[async_trait]
impl Executor for Many {
    async fn observe(&self, subjects: &[String]) -> Vec<Fingerprint> {
        self.disk.step().await;
        subjects.iter().map(|path| self.disk.print(path)).collect()
    }

    async fn keep(&self, entry: &Entry<Value>) -> Vec<Kept> {
        if self.lacks == Lacks::Keep {
            return Vec::new();
        }
        let mut kept = Vec::new();
        for path in entry.part() {
            self.disk.step().await;
            let mut fingerprint = self.disk.print(path);
            if self.lacks == Lacks::Truth {
                fingerprint = Fingerprint::digest(path, "something else");
            }
            let bytes = self.disk.files.lock().unwrap().get(path).map(|text| text.clone().into_bytes());
            kept.push(Kept { fingerprint, bytes });
        }
        kept
    }

    async fn apply(&self, entry: &Entry<Value>, context: &ToolContext) -> (Outcome, ToolOutput) {
        let edits = &entry.proposal.payload["edits"];
        if let Some(decision) = &entry.decision {
            let extra = decision.extra.as_ref().map(|extra| json!(extra).to_string()).unwrap_or_default();
            self.disk.heard.lock().unwrap().push(format!("{}{extra}", decision.reason));
        }
        if context.cancel.is_cancelled() {
            return (Outcome::Failed { reason: "cancelled".to_owned() }, ToolOutput::error("cancelled"));
        }
        let mut first = true;
        for path in entry.part() {
            if !self.disk.step().await {
                return (
                    Outcome::Failed { reason: "the disk is full".to_owned() },
                    ToolOutput::error("full"),
                );
            }
            if first && context.cancel.is_cancelled() {
                return (Outcome::Failed { reason: "cancelled".to_owned() }, ToolOutput::error("cancelled"));
            }
            first = false;
            let text = edits[path].as_str();
            self.disk.write(path, text);
            let write = (entry.attempt().to_string(), path.to_owned(), text.map(str::to_owned));
            self.disk.writes.lock().unwrap().push(write);
        }
        (Outcome::Applied, ToolOutput::text("Written."))
    }

    async fn put_back(&self, entry: &Entry<Value>, kept: &[Kept]) -> Outcome {
        for kept in kept {
            let path = &kept.fingerprint.subject;
            *self.disk.put_back.lock().unwrap() += 1;
            if !self.disk.step().await {
                return Outcome::Failed { reason: "the disk is full".to_owned() };
            }
            let ours = entry.proposal.after.contains(&self.disk.print(path));
            if ours {
                let text = kept.bytes.clone().map(|bytes| String::from_utf8(bytes).unwrap());
                self.disk.write(path, text.as_deref());
            }
        }
        Outcome::Applied
    }

    async fn undo(&self, _: &Entry<Value>, kept: &[Kept]) -> Option<(Value, Preview)> {
        if self.lacks == Lacks::Undo {
            return None;
        }
        let text = |kept: &Kept| kept.bytes.clone().map(|bytes| String::from_utf8(bytes).unwrap());
        let edits: Map<String, Value> =
            kept.iter().map(|kept| (kept.fingerprint.subject.clone(), json!(text(kept)))).collect();
        let preview = Preview { text: format!("back to {}", json!(edits)), diff: None };
        Some((json!({ "edits": edits }), preview))
    }

    fn as_discard_hook(&self) -> Option<&dyn DiscardHook> {
        (self.lacks == Lacks::Nothing).then_some(self as &dyn DiscardHook)
    }
}

#[async_trait]
impl DiscardHook for Many {
    async fn discarded(&self, entry: &Entry<Value>, end: &End, _: &ToolContext) -> Option<ToolOutput> {
        let reason = entry.decision.as_ref().map(|decision| decision.reason.as_str()).unwrap_or_default();
        self.disk.heard.lock().unwrap().push(format!("{end} {}: {reason}", end.cause));
        (reason == "own words").then(|| ToolOutput::text("The tool has thrown it away."))
    }
}
