//! A small world to tell stories in: a scripted model, files in memory, tools that can be made to misbehave.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::{Timestamp, ToolSpec, notation};
use trunkline_runtime::providers::{Provider, Request, Scripted, Turn};
use trunkline_runtime::resolve_queue::Entry;
use trunkline_runtime::resolve_queue::{Effect, Fingerprint, Outcome};
use trunkline_runtime::session_store::{MemoryStore, SessionId, SessionStore};
use trunkline_runtime::{
    Access, Agent, AgentBuilder, Cancel, EffectClass, Effects, Event, Executor, Finding, Gate, Proposal,
    RuntimeError, Session, Stop, Tool, ToolContext, ToolOutput,
};

/// The files and what was done to them.
#[derive(Clone, Default)]
pub(crate) struct World {
    pub(crate) files: Arc<Mutex<BTreeMap<String, String>>>,
    /// Every effect, in order.
    pub(crate) done: Arc<Mutex<Vec<String>>>,
    /// Every request as the model got it.
    pub(crate) requests: Arc<Mutex<Vec<Request>>>,
    pub(crate) told: Arc<Mutex<Vec<String>>>,
}

impl World {
    pub(crate) fn did(&self, what: impl Into<String>) {
        self.done.lock().unwrap().push(what.into());
    }

    pub(crate) fn effects(&self) -> Vec<String> {
        self.done.lock().unwrap().clone()
    }

    pub(crate) fn last_request(&self) -> String {
        let requests = self.requests.lock().unwrap();
        requests.last().map(|request| notation::print(&request.messages.to_vec())).unwrap_or_default()
    }

    /// Returns an agent whose replies come from `script`, with the tools `read`, `edit`, `shell`, `panic` and `sleep`.
    pub(crate) fn agent(&self, script: impl Fn(&Request) -> Turn + Send + Sync + 'static) -> AgentBuilder {
        self.agent_behind(script, |provider| Box::new(provider))
    }

    /// Like [`agent`](Self::agent), with something between it and the script.
    pub(crate) fn agent_behind(
        &self,
        script: impl Fn(&Request) -> Turn + Send + Sync + 'static,
        wrap: impl FnOnce(Scripted) -> Box<dyn Provider>,
    ) -> AgentBuilder {
        let requests = Arc::clone(&self.requests);
        let provider = Scripted::new("test", "script", move |request| {
            requests.lock().unwrap().push(request.clone());
            script(request)
        });
        let clock = Mutex::new(0_u64);
        let told = Arc::clone(&self.told);
        Agent::builder(wrap(provider))
            .system("You work on files.")
            .clock(move || {
                let mut now = clock.lock().unwrap();
                *now += 1;
                Timestamp(*now)
            })
            .on_event(move |event| {
                if let Event::Proposal(event) = event {
                    let change = serde_json::to_value(&event.change).unwrap();
                    let name = change.as_str().map(str::to_owned);
                    let name =
                        name.or_else(|| change.as_object()?.keys().next().cloned()).unwrap_or_default();
                    told.lock().unwrap().push(format!("{} {name}", event.proposal));
                }
            })
            .tools(tools(self))
    }
}

/// Returns the tools `read`, `edit`, `shell`, `panic`, `sleep` and `stubborn`.
pub(crate) fn tools(world: &World) -> Vec<Box<dyn Tool>> {
    let tool = |name| -> Box<dyn Tool> { Box::new(TestTool { name, world: world.clone() }) };
    ["read", "edit", "shell", "panic", "sleep", "stubborn"].map(tool).into()
}

/// Returns a script that gives these replies one after the other.
pub(crate) fn replies(turns: Vec<Turn>) -> impl Fn(&Request) -> Turn + Send + Sync + 'static {
    let turns = Mutex::new(turns.into_iter());
    move |_| turns.lock().unwrap().next().unwrap_or_else(|| Turn::say("nothing more to say"))
}

struct TestTool {
    name: &'static str,
    world: World,
}

#[async_trait]
impl Tool for TestTool {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": { "path": { "type": "string" }, "text": { "type": "string" } },
            "required": ["path"],
        });
        ToolSpec {
            name: self.name.to_owned(),
            description: "a test".to_owned(),
            input_schema: schema,
            strict: None,
        }
    }

    fn access(&self) -> Access {
        match self.name {
            "read" => Access::ReadOnly,
            "edit" => Access::Proposes,
            _ => Access::Exclusive,
        }
    }

    fn gate(&self, arguments: &Map<String, Value>) -> Option<Gate> {
        let path = arguments.get("path")?.as_str()?;
        matches!(self.name, "shell" | "stubborn")
            .then(|| Gate::new(format!("run {path}"), path).of_command(path))
    }

    fn effects(&self, arguments: &Map<String, Value>) -> Effects {
        let path = arguments.get("path").and_then(Value::as_str).unwrap_or_default();
        match self.name {
            "read" => Effects::new(EffectClass::Pure).reading(path),
            "edit" => Effects::new(EffectClass::Reversible).writing(path),
            "shell" => Effects::default().running(path),
            "panic" => panic!("a tool that crashes when it is asked"),
            _ => Effects::default(),
        }
    }

    async fn run(&self, arguments: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let path = text("path");
        match self.name {
            "read" => {
                // The longer the name, the sooner it is back: order must come from the calls.
                let wait = 12_u64.saturating_sub(path.len() as u64);
                tokio::time::sleep(std::time::Duration::from_millis(wait)).await;
                match self.world.files.lock().unwrap().get(&path) {
                    Some(content) => ToolOutput::text(content.clone()),
                    None => ToolOutput::error(format!("no file {path}")),
                }
            }
            "edit" => {
                let before = self.world.files.lock().unwrap().get(&path).cloned();
                let mut proposal = Proposal::new(
                    format!("edit {path}"),
                    "edit",
                    json!({ "path": path, "text": text("text") }),
                );
                proposal.fingerprints = vec![print(&path, before.as_deref())];
                proposal.after = vec![print(&path, Some(&text("text")))];
                proposal.effect = Effect::Reversible;
                let mut output = ToolOutput::text("a preview");
                output.proposals.push(proposal);
                output
            }
            "shell" => {
                self.world.did(format!("ran {path}"));
                let mut output = ToolOutput::text("ok");
                // A word that cannot stand in a verdict: what a tool calls its finding is the tool's business.
                output.finding = Some(Finding {
                    kind: "Type-Check".to_owned(),
                    command: path,
                    exit_code: Some(0),
                    summary: String::new(),
                    output: Some("5e".repeat(32)),
                });
                output
            }
            "stubborn" => {
                self.world.did("began and will not stop");
                std::future::pending().await
            }
            "sleep" => {
                self.world.did("sleeps");
                context.cancel.cancelled().await;
                ToolOutput::error("stopped while asleep")
            }
            _ => panic!("a tool that crashes"),
        }
    }

    fn as_executor(&self) -> Option<&dyn Executor> {
        Some(self)
    }
}

#[async_trait]
impl Executor for TestTool {
    async fn observe(&self, subjects: &[String]) -> Vec<Fingerprint> {
        let files = self.world.files.lock().unwrap();
        subjects.iter().map(|path| print(path, files.get(path).map(String::as_str))).collect()
    }

    async fn apply(&self, entry: &Entry<Value>, _: &ToolContext) -> (Outcome, ToolOutput) {
        let text = |name: &str| entry.proposal.payload[name].as_str().unwrap_or_default().to_owned();
        if text("text") == "unwritable" {
            return (Outcome::Failed { reason: "the disk is full".to_owned() }, ToolOutput::error("full"));
        }
        self.world.files.lock().unwrap().insert(text("path"), text("text"));
        self.world.did(format!("wrote {}", text("path")));
        (Outcome::Applied, ToolOutput::text("Written."))
    }
}

fn print(path: &str, content: Option<&str>) -> Fingerprint {
    match content {
        Some(content) => Fingerprint::digest(path, content),
        None => Fingerprint::absent(path),
    }
}

/// One session in a store of its own.
pub(crate) struct Story {
    pub(crate) world: World,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) agent: Agent,
    pub(crate) session: Session,
    pub(crate) cancel: Cancel,
}

impl Story {
    pub(crate) async fn begin(world: World, agent: AgentBuilder) -> Story {
        let store = Arc::new(MemoryStore::new());
        let agent = agent.build().unwrap();
        let session = agent.start(store.clone(), "a story", None).await.unwrap();
        Story { world, store, agent, session, cancel: Cancel::new() }
    }

    pub(crate) async fn prompt(&mut self, text: &str) -> Result<Stop, RuntimeError> {
        self.session.prompt(text, &self.cancel).await
    }

    pub(crate) async fn resume(&mut self) -> Result<Stop, RuntimeError> {
        self.session.resume(&self.cancel).await
    }

    /// Leaves the session and takes it up again, as another process would.
    pub(crate) async fn restart(self) -> Story {
        let Story { world, store, agent, session, .. } = self;
        let id = session.id().clone();
        drop(session);
        let session = agent.open(store.clone(), &id).await.unwrap();
        Story { world, store, agent, session, cancel: Cancel::new() }
    }

    pub(crate) fn tree(&self) -> String {
        let printed = notation::print_tree(self.session.tree());
        // Who wrote it and why it stopped is the same everywhere here.
        let dull = ["+ origin test script", "+ stop tool_use", "+ stop end_turn"];
        let lines = printed.lines().filter(|line| !dull.contains(line));
        lines.map(|line| format!("{line}\n")).collect()
    }

    pub(crate) fn id(&self) -> SessionId {
        self.session.id().clone()
    }

    pub(crate) fn store(&self) -> Arc<dyn SessionStore> {
        self.store.clone()
    }
}

/// Prints why a drive ended, on one line.
pub(crate) fn stop_line(stop: &Result<Stop, RuntimeError>) -> String {
    match stop {
        Ok(stop) => stop.to_string(),
        Err(fault) => format!("error: {fault}"),
    }
}
