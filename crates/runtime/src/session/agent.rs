//! An agent: a model, its tools, and the layers it is given.

use super::children::Parent;
use crate::session::Session;
use crate::session::compaction::Compaction;
use crate::session::opening::open_session;
use crate::world::contained;
use crate::writer::events::{Events, Readers};
use crate::writer::settings::{Implementation, Settings, new_id, now};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
#[cfg(feature = "typed")]
use trunkline_agent_traits::schemars::JsonSchema;
use trunkline_agent_traits::{Decider, Standing, Summarizer, Tool, ToolContext, Workspace};
use trunkline_session_store::Record;

use serde_json::{Map, Value};
use trunkline_message_tree::{Message, MessageTree, Timestamp};
use trunkline_providers::{Provider, Thinking};
use trunkline_session_store::{Claim, NewSession, SessionId, SessionStore};

use crate::world::schema::Schema;
use trunkline_session_machine::rules::judging;
use trunkline_session_machine::setup::{self, AskedModel, Setup, revert};
use trunkline_session_machine::{AgentError, Event, Retries, RuntimeError};

/// A model with tools. Cheap to clone; many sessions can share one.
#[derive(Clone)]
pub struct Agent {
    pub(crate) settings: Arc<Settings>,
}

/// A snapshot is kept once so many records came that none knows: what is read in some five milliseconds.
const SNAPSHOT_AFTER: u64 = 1024;

/// Puts an agent together.
pub struct AgentBuilder {
    settings: Settings,
    fault: Option<AgentError>,
}

impl Agent {
    /// Begins an agent on a model. Without more it has no tools, and a person decides on everything.
    pub fn builder(provider: impl Provider + 'static) -> AgentBuilder {
        AgentBuilder::new(Arc::new(provider))
    }

    /// Returns what the builder asked for and requests do without, because the provider's wire has no place for it: an
    /// [output schema](AgentBuilder::output_schema), [stop sequences](AgentBuilder::stop_sequences) or a
    /// [seed](AgentBuilder::seed). Empty where the model is asked for everything.
    pub fn left_out(&self) -> Vec<trunkline_providers::Feature> {
        self.settings.setup.left_out()
    }

    /// Begins a session: makes it in the store and becomes its writer.
    ///
    /// `workspace` is a text that lists of sessions show, as a folder. Nobody looks at what it names: files are looked at with
    /// [`AgentBuilder::workspace`].
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Store`] if the store cannot keep it.
    pub async fn start(
        &self,
        store: Arc<dyn SessionStore>,
        title: &str,
        workspace: Option<&str>,
    ) -> Result<Session, RuntimeError> {
        let at = self.settings.now();
        let tree = MessageTree::new(Message::system(self.settings.system.clone()), at);
        let id = SessionId::parse(&new_id().to_string()).expect("a UUID prints as a session id");
        let new = NewSession {
            id: id.clone(),
            title: title.to_owned(),
            workspace: workspace.map(str::to_owned),
            at,
            root: tree.root_entry(),
        };
        store.create(new).await?;
        self.open(store, &id).await
    }

    /// Returns a stream of what happens from now on in all sessions of this agent, in order for each of them. It ends when the
    /// last clone of the agent and its sessions are dropped.
    pub fn events(&self) -> Events {
        self.settings.readers.add()
    }

    /// Begins a session on behalf of a call: in the store of the call's session, with the same text for its workspace. A note
    /// in its log names the call, before any prompt.
    ///
    /// The agent is another one than the caller's, or the same; a tool that begins an agent which has that tool says itself how deep
    /// that may go. Drive the child with `context.cancel.child()`, so that it stops with the call and can be stopped alone. What it
    /// costs counts against its own [`Limits`](crate::Limits), and what it stages waits in its own session.
    ///
    /// A child outlives its call: if the process dies, or the call is dropped, it stays as far as it came, and
    /// [`children_of`](crate::children_of) finds it. If the process dies in here, a session without any record of a parent may be left.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if the call belongs to no session, as in a tool's own tests without
    /// [`ToolContext::in_session`]; those of [`start`](Agent::start).
    pub async fn start_child(&self, context: &ToolContext, title: &str) -> Result<Session, RuntimeError> {
        let (Some(session), Some(store)) = (&context.session, context.store()) else {
            let reason = "the call belongs to no session, so it can have no child".to_owned();
            return Err(RuntimeError::Refused { reason });
        };
        let info = store.info(session).await?;
        let parent = Parent { session: session.clone(), call: context.call.clone() };
        let mut child = self.start(Arc::clone(store), title, info.workspace.as_deref()).await?;
        let note = parent.note(self.settings.now())?;
        child.writer.commit(vec![Record::Note(note)], None).await?;
        Ok(child)
    }

    /// Takes a session up where its log ends, and becomes its writer.
    ///
    /// What a dead process left half done is settled first: attempts to apply are looked up in the files, and calls
    /// that had begun are answered with the truth.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Store`] if somebody else is the writer or the log cannot be read; [`RuntimeError::BadNote`],
    /// [`RuntimeError::Tree`] if its log does not fit together.
    pub async fn open(&self, store: Arc<dyn SessionStore>, id: &SessionId) -> Result<Session, RuntimeError> {
        open_session(Arc::clone(&self.settings), store, id, Claim::IfFree).await
    }

    /// Like [`open`](Agent::open), also if somebody alive is the writer: from then on they can write nothing more, and
    /// learn it as [`RuntimeError::TakenOver`].
    ///
    /// What they were doing to the world in that moment is not stopped by this: their calls that have begun count as cut
    /// off, and the model is told so. For a writer that hangs or cannot be reached; ask others with a letter.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Agent::open), but for [`StoreError::Locked`](trunkline_session_store::StoreError::Locked).
    pub async fn take_over(
        &self,
        store: Arc<dyn SessionStore>,
        id: &SessionId,
    ) -> Result<Session, RuntimeError> {
        open_session(Arc::clone(&self.settings), store, id, Claim::TakeOver).await
    }
}

impl AgentBuilder {
    pub(crate) fn new(provider: Arc<dyn Provider>) -> Self {
        let model =
            AskedModel::new(provider.origin().clone(), provider.wire(), |feature| provider.support(feature));
        let settings = Settings {
            provider,
            setup: Setup::new(model),
            implementations: BTreeMap::new(),
            system: String::new(),
            url: None,
            shelf: Arc::default(),
            observer: None,
            readers: Readers::default(),
            clock: Arc::new(now),
            snapshot_after: SNAPSHOT_AFTER,
            decider: None,
            standing: None,
            compactor: None,
            summarizer: None,
            rules: None,
            workspace: None,
        };
        AgentBuilder { settings, fault: None }
    }

    /// Sets the instructions of sessions that are started; sessions that are taken up keep theirs.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.settings.system = text.into();
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.add(Arc::new(tool));
        self
    }

    /// Adds several tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Box<dyn Tool>>) -> Self {
        tools.into_iter().for_each(|tool| self.add(Arc::from(tool)));
        self
    }

    fn add(&mut self, tool: Arc<dyn Tool>) {
        let spec = tool.spec();
        let name = spec.name.clone();
        let schema = match Schema::read(&spec.input_schema, tool.reads_arguments()) {
            Ok(schema) => schema,
            Err(fault) => {
                self.fault.get_or_insert(AgentError::Schema { tool: name, fault });
                return;
            }
        };
        let has_object = |kind: &Value| match kind {
            Value::Array(kinds) => kinds.iter().any(|kind| kind == "object"),
            kind => kind == "object",
        };
        if let Some(kind) = spec.input_schema.get("type").filter(|kind| !has_object(kind)) {
            let fault = format!("arguments are an object, and not {kind}");
            self.fault.get_or_insert(AgentError::Schema { tool: name, fault });
            return;
        }
        self.settings.setup.catalogue.add(spec, contained::access(tool.as_ref()));
        if contained::has_discard_hook(tool.as_ref()) {
            self.settings.setup.catalogue.hook(&name);
        }
        self.settings.setup.catalogue.label_as(&name, &contained::label(tool.as_ref(), &name));
        if self.settings.implementations.insert(name.clone(), Implementation { tool, schema }).is_some() {
            self.fault.get_or_insert(AgentError::ToolTwice { tool: name });
        }
    }

    /// Lets the model leave a branch with `revert_to_state`. Without this nothing of it exists in a request.
    #[must_use]
    pub fn with_revert(self) -> Self {
        self.with_reverts(trunkline_session_machine::Reverts::default())
    }

    /// Like [`with_revert`](Self::with_revert), with other rules.
    #[must_use]
    pub fn with_reverts(mut self, reverts: trunkline_session_machine::Reverts) -> Self {
        self.settings.setup.revert = Some(Box::new(reverts));
        self
    }

    /// Lets a summary take the place of older messages when the prompt grows towards the window. Without this that
    /// happens only once a service says that the window is full; summaries that stand in a log are shown all the same.
    #[must_use]
    pub fn with_compaction(mut self, compaction: Compaction) -> Self {
        self.settings.setup.compaction = Some(compaction.policy);
        self.settings.compactor = compaction.compactor;
        self
    }

    /// Says who decides on edits and commands; a person unless told.
    #[must_use]
    pub fn approval(mut self, approval: trunkline_session_machine::Approval) -> Self {
        self.settings.setup.resolve.approval = approval;
        self
    }

    /// Gives rules that are kept outside of sessions: decisions made ahead, which stand above what
    /// [`approval`](Self::approval) says. Each counts in every session that this agent opens, until the agent is built
    /// without it.
    ///
    /// A session adopts them when it is opened, and drops those that another agent gave and this one does not. An agent on
    /// which this is never called leaves them as they are; one with an empty list drops them.
    #[must_use]
    pub fn rules(mut self, rules: Vec<trunkline_resolve_queue::Rule>) -> Self {
        use trunkline_resolve_queue::{ActorKind, Scope};
        let mut kept = Vec::new();
        for (mut rule, number) in rules.into_iter().zip(1..) {
            let fault = match (rule.scope, rule.given_by.kind) {
                (Scope::Once, _) => Some("it counts once; give it to a session".to_owned()),
                (_, ActorKind::Person | ActorKind::Policy) => None,
                _ => Some(format!("{} may give no rules; a person may", rule.given_by)),
            };
            if let Some(fault) = fault {
                self.fault.get_or_insert(AgentError::Rule { number, fault });
            }
            // Kept outside it is for every session, however long each of them lasts.
            rule.scope = Scope::Always;
            kept.push(rule);
        }
        self.settings.setup.resolve.model_by_rule = kept.iter().any(judging::asks_model);
        self.settings.rules = Some(kept);
        self
    }

    /// Until a person has approved a plan, each run may only read, whatever
    /// [`approval`](Self::approval) and [`rules`](Self::rules) say: every call whose tool does not say that it only reads is
    /// refused, and so is what it would stage. The model is offered `propose_plan`; what it proposes waits as a proposal that
    /// nobody but a person may approve, as it is or with another text ([`Said::as_edited`](trunkline_session_machine::Said::as_edited)).
    /// An approved plan permits no call.
    ///
    /// The demand is recorded in the batch that opens a run, so whoever goes on with the session is held to it, also an agent
    /// on which this was never called. It ends with an approval on the branch that is worked on: who goes back to before it needs
    /// another one.
    #[must_use]
    pub fn plan_mode(mut self, on: bool) -> Self {
        self.settings.setup.plans = on;
        self
    }

    /// Sets whom to ask what a branch came to, when whoever left it did not say. It needs [`with_revert`](Self::with_revert).
    ///
    /// It is asked after the revert, which never waits for it. What it answers becomes a note of its own at the head of
    /// that moment, between two turns.
    #[must_use]
    pub fn summarizer(mut self, summarizer: impl Summarizer + 'static) -> Self {
        self.settings.summarizer = Some(Arc::new(summarizer));
        self.settings.setup.summarizes = true;
        self
    }

    /// Says whom to ask when a person has to decide; without one the drive stops and everything pending stays.
    #[must_use]
    pub fn decider(mut self, decider: Arc<dyn Decider>) -> Self {
        self.settings.decider = Some(decider);
        self
    }

    /// Lets what is staged from now on expire after this time, unless its tool set a time of its own: what nobody has decided
    /// by then, or was not begun, is not applied any more. Without this nothing expires by itself.
    #[must_use]
    pub fn proposals_expire_after(mut self, time: Duration) -> Self {
        self.settings.setup.expire_after = Some(time);
        self
    }

    /// Says how the model is brought to decide on proposals that wait for it, whatever a session is stored with. Unless told it is that
    /// ([`Order::ToolChoice`](crate::orders::Order::ToolChoice)), or else a reminder first, with one turn of patience and three turns
    /// under pressure.
    #[must_use]
    pub fn choice_policy(mut self, policy: trunkline_resolve_queue::Policy) -> Self {
        self.settings.setup.choices.policy = Some(policy);
        self
    }

    /// Says what calls of `resolve` go to while no proposal waits for the model. There is one; a second takes its place.
    ///
    /// The model is offered the tool then, whoever decides on proposals.
    #[must_use]
    pub fn standing(
        mut self,
        handler: trunkline_resolve_queue::StandingHandler,
        executor: Arc<dyn Standing>,
    ) -> Self {
        self.settings.setup.choices.standing = Some(handler);
        self.settings.standing = Some(executor);
        self
    }

    /// Says which files the runs work on: `trunkline_tools::workspace_for(folder)` is one for a folder. Without it nobody looks
    /// at files, and verdicts say so.
    #[must_use]
    pub fn workspace(mut self, workspace: Arc<dyn Workspace>) -> Self {
        self.settings.workspace = Some(workspace);
        self.settings.setup.files.looks = true;
        self
    }

    /// Lets the end of a run commit what it changed, in the [`workspace`](Self::workspace). Off unless told: nothing is committed
    /// without an explicit act.
    #[must_use]
    pub fn commits(mut self, commits: bool) -> Self {
        self.settings.setup.files.commits = commits;
        self
    }

    /// Lets the decision of each run be bound to the repository of the [`workspace`](Self::workspace): with a commit, in the
    /// step that moves the branch. Off unless told: nothing is written there without an explicit act. By itself it commits
    /// nothing: [`commits`](Self::commits) does.
    ///
    /// What an earlier agent has begun is brought to its end all the same.
    #[must_use]
    pub fn binds(mut self, binds: bool) -> Self {
        self.settings.setup.files.binds = binds;
        self
    }

    /// Lets the message of a commit that is bound name its decision in a last line. Off unless told.
    #[must_use]
    pub fn names_decisions(mut self, names: bool) -> Self {
        self.settings.setup.files.names_decisions = names;
        self
    }

    /// Lets it be recorded what each session is for: its first prompt is its intent, which its runs name, until the last task that
    /// was given for it has ended. Off unless told: then nothing of it is written.
    ///
    /// A task is given with [`Order::GiveTask`](crate::Order::GiveTask), whether or not intents are kept. What the log says of both is
    /// told by [`family_of`](crate::family_of).
    #[must_use]
    pub fn keeps_intents(mut self, keeps: bool) -> Self {
        self.settings.setup.keeps_intents = keeps;
        self
    }

    /// Sets where a drive ends by itself.
    #[must_use]
    pub fn limits(mut self, limits: setup::Limits) -> Self {
        self.settings.setup.limits = limits;
        self
    }

    /// Says how often and how patiently the model is asked again where that may help; see [`Retries`] for what happens
    /// unless told.
    ///
    /// Attempts that the provider itself repeats count as well. One that leaves it all to the agent, as an `HttpProvider`
    /// with `RetryPolicy::never()`, has its waits recorded and survives a kill in the middle of one.
    #[must_use]
    pub fn retries(mut self, retries: Retries) -> Self {
        self.settings.setup.asking.retries = retries;
        self
    }

    /// Sets the most that the model may write in one reply. 8192 tokens unless told.
    #[must_use]
    pub fn max_output_tokens(mut self, tokens: u32) -> Self {
        self.settings.setup.asking.max_output_tokens = tokens;
        self
    }

    /// Sets the sampling temperature; the provider's own unless told.
    #[must_use]
    pub fn temperature(mut self, temperature: f32) -> Self {
        self.settings.setup.asking.temperature = Some(temperature);
        self
    }

    /// Sets the form that each answer of the conversation must have. [`Session::answer`] is its JSON; summaries stay words.
    ///
    /// A service whose wire has no place for it is asked without, and [`Agent::left_out`] says so: then the instructions have to
    /// demand the form. What comes is not checked here: read it with the type that it is for. Some services take no form beside
    /// tools.
    #[must_use]
    pub fn output_schema(mut self, output: trunkline_providers::OutputSchema) -> Self {
        self.settings.setup.asking.output = Some(output);
        self
    }

    /// Sets the strings at which the model stops; they are not part of the answer. None unless told. They are left out where the
    /// wire has no place for them; see [`Agent::left_out`].
    #[must_use]
    pub fn stop_sequences(mut self, stop: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.settings.setup.asking.stop = stop.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the seed, for answers that can be had again as far as the service goes. It is left out where the wire has no place
    /// for it; see [`Agent::left_out`].
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.setup.asking.seed = Some(seed);
        self
    }

    /// Sets whether and how much the model thinks; nothing is said about it unless told. A model that thinks is never
    /// forced to call a tool: several providers answer that with an error.
    #[must_use]
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        self.settings.setup.asking.thinking = thinking;
        self
    }

    /// Adds fields to the body of every request, as the provider names them: what there is no word for here. See
    /// [`Request::extra`](trunkline_providers::Request::extra).
    #[must_use]
    pub fn extra(mut self, fields: Map<String, Value>) -> Self {
        self.settings.setup.asking.extra = fields;
        self
    }

    /// Says whether the model takes signed reasoning back only behind exactly what it was written behind: the same tools,
    /// instructions and messages.
    ///
    /// Without this it is known of some models by [their names](trunkline_providers::Traits::of_model), and learned of a refusal
    /// that says so. With `true` reasoning whose prefix has changed is left out, the tools are the same in every request, and notes
    /// of reverts decay as the setting for such models says; with `false` nothing of that is done.
    #[must_use]
    pub fn bound_reasoning(mut self, bound: bool) -> Self {
        self.settings.setup.asking.bound_reasoning = Some(bound);
        self
    }

    /// Says at which address the provider was named, without user and password, so that the session remembers it: see
    /// [`View::asked`](crate::View::asked). Unless told, nothing of it is kept but the digest in each message's origin.
    #[must_use]
    pub fn asked_at(mut self, url: impl Into<String>) -> Self {
        self.settings.url = Some(url.into());
        self
    }

    /// Tells an observer everything that happens, in order. It runs on the driver's own time: be quick.
    ///
    /// In place of any observer that was given before. What several sessions of this agent do at once comes mixed:
    /// [`on_session_event`](Self::on_session_event) says which one it is, [`Session::on_event`] observes one alone.
    #[must_use]
    pub fn on_event(self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.on_session_event(move |_, event| observer(event))
    }

    /// Tells an observer everything that happens and in which session; in order for each of them.
    ///
    /// In place of any observer that was given before.
    #[must_use]
    pub fn on_session_event(mut self, observer: impl Fn(&SessionId, &Event) + Send + Sync + 'static) -> Self {
        self.settings.observer = Some(Arc::new(observer));
        self
    }

    /// Sets where times come from; the system's clock unless told.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.settings.clock = Arc::new(clock);
        self
    }

    /// Sets after how many records that no snapshot knows a session that is opened keeps one, if its trunk is short; 1,024
    /// by default, [`u64::MAX`] for never, and 0 for each time, whatever it saves.
    ///
    /// While a session is open, one is kept as a drive or a move ends, once as many nodes have left the trunk since the last
    /// one, or a sixteenth of those that were beside it then, whichever is more. None is kept while a step back waits for an answer, or a verdict to be bound.
    ///
    /// A snapshot lets the next opening pass over what stands on branches that were left; see
    /// [`Session::is_whole`]. It is a cache: the store may lose it at any time.
    #[must_use]
    pub fn snapshot_after(mut self, records: u64) -> Self {
        self.settings.snapshot_after = records;
        self
    }

    /// Sets the form that each answer of the conversation must have, as [`output_schema`](Self::output_schema) does, from the
    /// type that reads it: `serde_json::from_str(&session.answer())`.
    ///
    /// The schema is what services hold a model to: each object names all of its members, with `null` for what is left out,
    /// and takes no others. Bounds of numbers are not said: `u8` reads what comes, or refuses it. `T` is a struct with named
    /// fields that does not hold itself.
    #[cfg(feature = "typed")]
    #[must_use]
    pub fn output_type<T: serde::de::DeserializeOwned + JsonSchema>(self) -> Self {
        self.output_schema(trunkline_agent_traits::output_schema::<T>())
    }

    /// Finishes the agent.
    ///
    /// # Errors
    ///
    /// [`AgentError::ToolTwice`], [`AgentError::ReservedName`], [`AgentError::Schema`]; `AgentError::Rule` for a rule that
    /// nobody may keep; `AgentError::NoWorkspace` if it is to commit or to bind and was not told where.
    pub fn build(mut self) -> Result<Agent, AgentError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if self.settings.workspace.is_none() {
            for (asked, on) in
                [("commits", self.settings.setup.files.commits), ("binds", self.settings.setup.files.binds)]
            {
                if on {
                    return Err(AgentError::NoWorkspace { asked });
                }
            }
        }
        let setup = &self.settings.setup;
        let reserved = revert::specs(&setup.revert).into_iter().map(|spec| spec.name);
        let mut reserved = reserved.chain(setup::reserved(setup));
        if let Some(tool) = reserved.find(|name| setup.catalogue.has(name)) {
            return Err(AgentError::ReservedName { tool });
        }
        drop(reserved);
        self.settings.setup.complete();
        Ok(Agent { settings: Arc::new(self.settings) })
    }
}
