//! Tools whose arguments are a type: a function, and what is declared about it.
//!
//! The schema that the model is told and the reader of what it wrote come from one type, so they cannot drift apart.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;

use async_trait::async_trait;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, RestrictFormats};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use trunkline_message_tree::{Part, ToolSpec};
use trunkline_providers::OutputSchema;
use trunkline_revert::Effects;
use trunkline_session_machine::{Access, Gate, ToolOutput};

use super::tool::{Tool, ToolContext};

/// A tool made of a function that takes its arguments as a type.
///
/// ```
/// use trunkline_runtime::{Access, ToolContext, TypedTool};
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
/// tool that stages proposals and applies them itself implements [`Tool`].
pub struct TypedTool<A> {
    name: String,
    description: String,
    schema: Value,
    access: Access,
    gate: Option<Box<Declared<A, Option<Gate>>>>,
    effects: Option<Box<Declared<A, Effects>>>,
    run: Box<Run<A>>,
}

/// How many causes of an error a model is told.
const CAUSES_TOLD: usize = 8;

type Declared<A, T> = dyn Fn(&A) -> T + Send + Sync;
type Run<A> = dyn Fn(A, ToolContext) -> Running + Send + Sync;
type Running = Pin<Box<dyn Future<Output = ToolOutput> + Send>>;

/// What a tool can give its model: words, [`Json`], parts, a [`ToolOutput`], or a [`Result`] of these.
///
/// The error of a result is told as a failure: its words, and those of up to eight causes as far as they do not say the same.
/// It is anything that becomes a boxed error: an error of `std` or `thiserror`, words, or one that is boxed already.
///
/// ```
/// use trunkline_runtime::{IntoToolOutput, Json, ToolOutput};
///
/// assert_eq!(Json(vec![1, 2]).into_output(), ToolOutput::text("[1,2]"));
/// assert_eq!(Err::<String, _>("no such file").into_output(), ToolOutput::error("no such file"));
/// ```
pub trait IntoToolOutput {
    /// Returns what the model is told.
    fn into_output(self) -> ToolOutput;
}

/// A value that the model is told as JSON, on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is a name for how its only field is told")]
pub struct Json<T>(pub T);

impl<A: DeserializeOwned + JsonSchema + Send + 'static> TypedTool<A> {
    /// Returns a tool that runs `run`. Its calls count as [`Access::Exclusive`] and need no approval, unless told.
    ///
    /// `A` is a struct with named fields, whose comments are what the model reads about them. [`AgentBuilder::build`]
    /// refuses a type whose schema is no object. An enum whose variants are objects is one, but not every service takes
    /// alternatives at the root of a schema: Anthropic does not (seen 2026-11). Put it into a field.
    ///
    /// `run` gives words, [`Json`], parts, or a [`Result`] of these. The context is its own, so that the future may keep it.
    ///
    /// [`AgentBuilder::build`]: crate::AgentBuilder::build
    pub fn from_fn<F, R, O>(name: impl Into<String>, description: impl Into<String>, run: F) -> Self
    where
        F: Fn(A, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = O> + Send + 'static,
        O: IntoToolOutput,
    {
        TypedTool {
            name: name.into(),
            description: description.into(),
            schema: schema_of::<A>(),
            access: Access::Exclusive,
            gate: None,
            effects: None,
            run: Box::new(move |arguments, context| {
                let running = run(arguments, context);
                Box::pin(async move { running.await.into_output() })
            }),
        }
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
}

#[async_trait]
impl<A: DeserializeOwned + JsonSchema + Send + 'static> Tool for TypedTool<A> {
    fn reads_arguments(&self) -> bool {
        true
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec::new(&self.name, &self.description, self.schema.clone())
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
}

impl IntoToolOutput for ToolOutput {
    fn into_output(self) -> ToolOutput {
        self
    }
}

impl IntoToolOutput for String {
    fn into_output(self) -> ToolOutput {
        ToolOutput::text(self)
    }
}

impl IntoToolOutput for &str {
    fn into_output(self) -> ToolOutput {
        ToolOutput::text(self)
    }
}

impl IntoToolOutput for Vec<Part> {
    fn into_output(self) -> ToolOutput {
        let mut output = ToolOutput::default();
        output.content = self;
        output
    }
}

impl<T: Serialize> IntoToolOutput for Json<T> {
    fn into_output(self) -> ToolOutput {
        match serde_json::to_string(&self.0) {
            Ok(text) => ToolOutput::text(text),
            Err(fault) => ToolOutput::error(format!("the tool gave what is no JSON: {fault}")),
        }
    }
}

impl<T: IntoToolOutput, E: Into<Box<dyn Error + Send + Sync>>> IntoToolOutput for Result<T, E> {
    fn into_output(self) -> ToolOutput {
        let fault = match self {
            Ok(output) => return output.into_output(),
            Err(fault) => fault.into(),
        };
        let mut words = fault.to_string();
        let mut cause = fault.source();
        for _ in 0..CAUSES_TOLD {
            let Some(this) = cause else { break };
            let told = this.to_string();
            // Some errors say their cause themselves.
            if !words.contains(&told) {
                words = format!("{words}: {told}");
            }
            cause = this.source();
        }
        ToolOutput::error(words)
    }
}

/// Returns the form of answers that a type reads.
pub(crate) fn output_of<T: DeserializeOwned + JsonSchema>() -> OutputSchema {
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
