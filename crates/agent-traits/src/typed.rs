//! Tools whose arguments are a type: a function, and what is declared about it.
//!
//! The schema that the model is told and the reader of what it wrote come from one type, so they cannot drift apart.

use std::future::Future;
use std::pin::Pin;

use async_trait::async_trait;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, RestrictFormats};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use trunkline_message_tree::{ToolSpec, tool_label};
use trunkline_providers::OutputSchema;
use trunkline_resolve_queue::{End, Fingerprint};
use trunkline_revert::Effects;
use trunkline_session_machine::{Access, Gate, ToolOutput};

use crate::context::ToolContext;
use crate::executor::Executor;
use crate::output::IntoToolOutput;
use crate::tool::Tool;
use crate::typed_executor::TypedExecutor;

/// A tool made of a function that takes its arguments as a type.
///
/// ```
/// use trunkline_agent_traits::{Access, ToolContext, TypedTool};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct ReadArguments {
///     /// The file, relative to the working directory.
///     path: String,
///     /// How many lines at most.
///     lines: Option<usize>,
/// }
///
/// async fn read(arguments: ReadArguments, _: ToolContext) -> Result<String, std::io::Error> {
///     let text = std::fs::read_to_string(&arguments.path)?;
///     let lines = text.lines().take(arguments.lines.unwrap_or(usize::MAX));
///     Ok(lines.collect::<Vec<_>>().join("\n"))
/// }
///
/// let tool = TypedTool::from_fn("read", "Reads a text file.", read).access(Access::ReadOnly);
/// ```
///
/// Arguments that do not fit the type never reach the function: the model is told which field is wrong and why. A
/// tool whose applies can be undone, or put back after a crash, implements [`Tool`] and [`Executor`].
pub struct TypedTool<A> {
    name: String,
    description: String,
    label: Option<String>,
    schema: Value,
    access: Access,
    gate: Option<Box<Declared<A, Option<Gate>>>>,
    effects: Option<Box<Declared<A, Effects>>>,
    run: Box<Run<A>>,
    executor: TypedExecutor,
}

type Declared<A, T> = dyn Fn(&A) -> T + Send + Sync;
type Run<A> = dyn Fn(A, ToolContext) -> Running + Send + Sync;
type Running = Pin<Box<dyn Future<Output = ToolOutput> + Send>>;

impl<A: DeserializeOwned + JsonSchema + Send + 'static> TypedTool<A> {
    /// Returns a tool that runs `run`. Its calls count as [`Access::Exclusive`] and need no approval, unless told.
    ///
    /// `A` is a struct with named fields, whose comments are what the model reads about them. No agent is built with a type
    /// whose schema is no object. An enum whose variants are objects is one, but not every service takes
    /// alternatives at the root of a schema: Anthropic does not (seen 2026-11). Put it into a field.
    ///
    /// `run` gives words, [`Json`](crate::Json), parts, or a [`Result`] of these. The context is its own, so that the future may keep it.
    pub fn from_fn<F, R, O>(name: impl Into<String>, description: impl Into<String>, run: F) -> Self
    where
        F: Fn(A, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = O> + Send + 'static,
        O: IntoToolOutput,
    {
        TypedTool {
            name: name.into(),
            description: description.into(),
            label: None,
            schema: schema_of::<A>(),
            access: Access::Exclusive,
            gate: None,
            effects: None,
            run: Box::new(move |arguments, context| {
                let running = run(arguments, context);
                Box::pin(async move { running.await.into_output() })
            }),
            executor: TypedExecutor::default(),
        }
    }

    /// Sets what people are shown for it; see [`Tool::label`].
    #[must_use]
    pub fn with_label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets what the tool does to the world; see [`Tool::access`].
    #[must_use]
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Sets what must be approved before a call may run; see [`Tool::gate`]. Not asked about arguments that do not fit,
    /// which do not run.
    #[must_use]
    pub fn gate(mut self, gate: impl Fn(&A) -> Option<Gate> + Send + Sync + 'static) -> Self {
        self.gate = Some(Box::new(gate));
        self
    }

    /// Sets what a call does to the world if it succeeds; see [`Tool::effects`]. Of arguments that do not fit it is unknown.
    #[must_use]
    pub fn effects(mut self, effects: impl Fn(&A) -> Effects + Send + Sync + 'static) -> Self {
        self.effects = Some(Box::new(effects));
        self
    }

    /// Sets what does what a call of the tool has staged, once it was approved; see [`Executor::apply`].
    ///
    /// A call stages with [`ToolContext::push_pending_action`], and `P` is what its payload is read as: perhaps days later, in
    /// another process, and by a later version of the tool. A payload that does not fit fails, and the model is told which
    /// field is wrong. An output that is an error says that nothing was done. [`ToolContext::decision`] has what the person who
    /// approved it has handed over.
    ///
    /// ```
    /// use trunkline_agent_traits::{PendingAction, ToolContext, TypedTool};
    ///
    /// #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    /// struct Mail {
    ///     to: String,
    ///     text: String,
    /// }
    ///
    /// async fn stage(mail: Mail, context: ToolContext) -> Result<&'static str, Box<dyn std::error::Error + Send + Sync>> {
    ///     let label = format!("send a mail to {}", mail.to);
    ///     context.push_pending_action(PendingAction::new(label, serde_json::to_value(mail)?))?;
    ///     Ok("It is sent once a person has approved it.")
    /// }
    ///
    /// async fn send(mail: Mail, _: ToolContext) -> Result<String, std::io::Error> {
    ///     // … hands it to a server …
    ///     Ok(format!("Sent to {}.", mail.to))
    /// }
    ///
    /// let tool = TypedTool::from_fn("send_mail", "Sends a mail.", stage).apply(send);
    /// ```
    #[must_use]
    pub fn apply<P, F, R, O>(mut self, apply: F) -> Self
    where
        P: DeserializeOwned,
        F: Fn(P, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = O> + Send + 'static,
        O: IntoToolOutput,
    {
        self.executor.apply_with(apply);
        self
    }

    /// Sets what cleans up behind what a call of the tool has staged, when that ends without having been applied; see
    /// [`DiscardHook::discarded`](crate::DiscardHook::discarded) for when and how often. `P` is what its payload is read as.
    ///
    /// What a model or a person discards answers with what `discarded` gives; `()` leaves the words to the loop.
    ///
    /// ```
    /// use trunkline_agent_traits::resolve_queue::End;
    /// use trunkline_agent_traits::{ToolContext, TypedTool};
    /// # #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    /// # struct Draft { path: String }
    /// # async fn stage(_: Draft, _: ToolContext) -> &'static str { "" }
    /// # async fn send(_: Draft, _: ToolContext) -> &'static str { "" }
    ///
    /// async fn throw_away(draft: Draft, end: End, _: ToolContext) -> Result<(), std::io::Error> {
    ///     // Called a second time, it is gone already.
    ///     match std::fs::remove_file(&draft.path) {
    ///         Err(fault) if fault.kind() != std::io::ErrorKind::NotFound => Err(fault),
    ///         _ => Ok(()),
    ///     }
    /// }
    ///
    /// let tool = TypedTool::from_fn("send_draft", "Sends a draft.", stage).apply(send).discarded(throw_away);
    /// ```
    #[must_use]
    pub fn discarded<P, F, R, O>(mut self, discarded: F) -> Self
    where
        P: DeserializeOwned,
        F: Fn(P, End, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = O> + Send + 'static,
        O: IntoToolOutput,
    {
        self.executor.discarded_with(discarded);
        self
    }

    /// Sets what looks how things are that a staged action was computed from or writes; see [`Executor::observe`]. Of an action
    /// with fingerprints nothing is applied without it.
    #[must_use]
    pub fn observe<F, R>(mut self, observe: F) -> Self
    where
        F: Fn(Vec<String>) -> R + Send + Sync + 'static,
        R: Future<Output = Vec<Fingerprint>> + Send + 'static,
    {
        self.executor.observe_with(observe);
        self
    }
}

#[async_trait]
impl<A: DeserializeOwned + JsonSchema + Send + 'static> Tool for TypedTool<A> {
    fn reads_arguments(&self) -> bool {
        true
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec::new(&self.name, &self.description, self.schema.clone())
    }

    fn label(&self) -> String {
        self.label.clone().unwrap_or_else(|| tool_label(&self.name))
    }

    fn access(&self) -> Access {
        self.access
    }

    fn gate(&self, arguments: &Map<String, Value>) -> Option<Gate> {
        let gate = self.gate.as_ref()?;
        gate(&read(arguments.clone()).ok()?)
    }

    fn effects(&self, arguments: &Map<String, Value>) -> Effects {
        let Some(effects) = &self.effects else { return Effects::default() };
        read(arguments.clone()).map(|arguments| effects(&arguments)).unwrap_or_default()
    }

    async fn run(&self, arguments: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        match read(arguments) {
            Ok(arguments) => (self.run)(arguments, context.clone()).await,
            Err(fault) => ToolOutput::error(format!("not run: the arguments do not fit the tool: {fault}")),
        }
    }

    fn as_executor(&self) -> Option<&dyn Executor> {
        self.executor.does_anything().then_some(&self.executor as &dyn Executor)
    }
}

/// Returns the form of answers that a type reads: what a request asks the model to answer in.
pub fn output_schema<T: DeserializeOwned + JsonSchema>() -> OutputSchema {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let name: String = T::schema_name().chars().take(64).collect();
    let name = name.replace(|letter| !fits(letter), "_");
    let schema = root::<T>(settings().with_transform(RecursiveTransform(strict)));
    OutputSchema::new(name, schema.to_value())
}

/// Reads arguments, or says which field is wrong and why.
fn read<A: DeserializeOwned>(arguments: Map<String, Value>) -> Result<A, String> {
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|fault| {
        // What was read is in the text, and may be long.
        let why: String = fault.inner().to_string().chars().take(300).collect();
        let mut path: String = fault.path().to_string().chars().take(300).collect();
        if path == "." {
            path.clear();
        } else {
            path.push_str(": ");
        }
        path + &why
    })
}

/// Returns the schema of arguments as services take it.
fn schema_of<A: JsonSchema>() -> Value {
    let mut schema = root::<A>(settings());
    let alternatives = schema.get("oneOf").or(schema.get("anyOf")).is_some();
    if alternatives && schema.get("type").is_none() {
        // Arguments are an object in any case, and services want it said at the root.
        schema.insert("type".to_owned(), json!("object"));
    }
    if schema.get("type").is_some_and(|kind| kind == "object") && schema.get("properties").is_none() {
        schema.insert("properties".to_owned(), json!({}));
    }
    schema.to_value()
}

/// Nothing is referred to that can stand in its place, and nothing is said that only a validator would read.
fn settings() -> SchemaSettings {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    // `uint32` and the like are no formats of JSON Schema, and their bounds stand beside them.
    settings.with_transform(RestrictFormats::default())
}

fn root<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("$schema");
    schema.remove("title");
    schema
}

/// Makes a schema one that services hold a model to: Anthropic refuses bounds, OpenAI members that may be left out, and both
/// objects that take any others (their guides on structured outputs, read 2026-11).
fn strict(schema: &mut Schema) {
    for bound in ["minimum", "maximum"] {
        schema.remove(bound);
    }
    let members = schema.get("properties").and_then(Value::as_object);
    let Some(names) = members.map(|members| members.keys().cloned().collect::<Vec<_>>()) else { return };
    schema.insert("required".to_owned(), json!(names));
    if schema.get("additionalProperties").is_none() {
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
}
