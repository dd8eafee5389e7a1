//! Tools whose arguments are a type.

use std::io;
use std::sync::{Arc, Mutex};

use expect_test::expect;
use serde::Deserialize;
use serde_json::{Value, json};
use trunkline_runtime::message_tree::{NodeId, Part};
use trunkline_runtime::providers::{OutputSchema, Scripted, Turn};
use trunkline_runtime::schemars::{self, JsonSchema};
use trunkline_runtime::session_store::MemoryStore;
use trunkline_runtime::{
    Access, Agent, AgentError, CallPlace, Cancel, Effects, Gate, IntoToolOutput, Json, Stop, Tool,
    ToolContext, ToolOutput, TypedTool,
};

/// What to replace.
#[derive(Deserialize, JsonSchema)]
struct Replace {
    /// The file.
    path: String,
    lines: Vec<Range>,
    how: Option<How>,
}

#[derive(Deserialize, JsonSchema)]
struct Range {
    from: u32,
    to: u32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum How {
    Once,
    Everywhere,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Folder {
    name: String,
    folders: Vec<Folder>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is of interest")]
enum Shape {
    Point,
    Circle { radius: u8 },
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

async fn replace(arguments: Replace, _: ToolContext) -> Result<String, io::Error> {
    if arguments.path == "missing" {
        return Err(io::Error::other("no such file"));
    }
    let lines: u32 = arguments.lines.iter().map(|range| range.to - range.from).sum();
    let how = match arguments.how {
        None => "as always",
        Some(How::Once) => "once",
        Some(How::Everywhere) => "everywhere",
    };
    Ok(format!("{lines} lines of {}, {how}", arguments.path))
}

fn tool() -> TypedTool<Replace> {
    TypedTool::from_fn("replace", "Replaces lines.", replace)
}

fn context() -> ToolContext {
    let call = CallPlace { node: NodeId::new(1), index: 0, id: "c1".to_owned() };
    ToolContext::new(Cancel::new(), call)
}

async fn run(tool: &dyn Tool, arguments: Value) -> String {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let output = tool.run(arguments, &context()).await;
    let words: Vec<String> = output.content.iter().map(|part| format!("{part:?}")).collect();
    let failed = if output.is_error { "failed: " } else { "" };
    match output.content.as_slice() {
        [Part::Text { text }] => format!("{failed}{text}"),
        _ => format!("{failed}{}", words.join(" ")),
    }
}

fn schema<A: for<'a> Deserialize<'a> + JsonSchema + Send + 'static>() -> String {
    let tool = TypedTool::from_fn("t", "", |_: A, _| async { "" });
    format!("{:#}\n", tool.spec().input_schema)
}

#[test]
fn a_schema_says_all_in_one_place() {
    expect![[r#"
        {
          "description": "What to replace.",
          "properties": {
            "how": {
              "enum": [
                "once",
                "everywhere",
                null
              ],
              "type": [
                "string",
                "null"
              ]
            },
            "lines": {
              "items": {
                "properties": {
                  "from": {
                    "minimum": 0,
                    "type": "integer"
                  },
                  "to": {
                    "minimum": 0,
                    "type": "integer"
                  }
                },
                "required": [
                  "from",
                  "to"
                ],
                "type": "object"
              },
              "type": "array"
            },
            "path": {
              "description": "The file.",
              "type": "string"
            }
          },
          "required": [
            "path",
            "lines"
          ],
          "type": "object"
        }
    "#]]
    .assert_eq(&schema::<Replace>());
    expect![[r#"
        {
          "oneOf": [
            {
              "properties": {
                "kind": {
                  "const": "point",
                  "type": "string"
                }
              },
              "required": [
                "kind"
              ],
              "type": "object"
            },
            {
              "properties": {
                "kind": {
                  "const": "circle",
                  "type": "string"
                },
                "radius": {
                  "maximum": 255,
                  "minimum": 0,
                  "type": "integer"
                }
              },
              "required": [
                "kind",
                "radius"
              ],
              "type": "object"
            }
          ],
          "properties": {},
          "type": "object"
        }
    "#]]
    .assert_eq(&schema::<Shape>());
    expect![[r#"
        {
          "properties": {},
          "type": "object"
        }
    "#]]
    .assert_eq(&schema::<Nothing>());
    // What holds itself cannot be written out.
    expect![[r##"
        {
          "properties": {
            "folders": {
              "items": {
                "$ref": "#"
              },
              "type": "array"
            },
            "name": {
              "type": "string"
            }
          },
          "required": [
            "name",
            "folders"
          ],
          "type": "object"
        }
    "##]]
    .assert_eq(&schema::<Folder>());
}

#[tokio::test]
async fn arguments_come_as_their_type_and_an_error_is_told() {
    let told = run(&tool(), json!({ "path": "a", "lines": [{ "from": 1, "to": 3 }] })).await;
    assert_eq!(told, "2 lines of a, as always");
    let told = run(&tool(), json!({ "path": "a", "lines": [], "how": "once" })).await;
    assert_eq!(told, "0 lines of a, once");
    assert_eq!(run(&tool(), json!({ "path": "missing", "lines": [] })).await, "failed: no such file");
}

#[tokio::test]
async fn of_arguments_that_do_not_fit_the_model_learns_the_field_and_the_reason() {
    let mut told = String::new();
    for arguments in [
        json!({}),
        json!({ "path": 7, "lines": [] }),
        json!({ "path": "a", "lines": [{ "from": 1, "to": 2 }, { "from": "one", "to": 2 }] }),
        json!({ "path": "a", "lines": [], "how": "x".repeat(10_000) }),
    ] {
        let one = run(&tool(), arguments).await;
        assert!(one.len() < 500, "{one}");
        told += &format!("{}\n", one.replace(&"x".repeat(100), "…"));
    }
    expect![[r#"
        failed: not run: the arguments do not fit the tool: missing field `path`
        failed: not run: the arguments do not fit the tool: path: invalid type: integer `7`, expected a string
        failed: not run: the arguments do not fit the tool: lines[1].from: invalid type: string "one", expected u32
        failed: not run: the arguments do not fit the tool: how: unknown variant `……xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
    "#]].assert_eq(&told);
}

#[test]
fn what_is_declared_about_a_call_goes_by_its_arguments() {
    let tool = tool()
        .access(Access::Proposes)
        .gate(|arguments| (arguments.path == "secret").then(|| Gate::new("replace in secret", "")))
        .effects(|arguments| Effects::default().writing(&arguments.path));
    let tool: &dyn Tool = &tool;
    let of = |value: Value| value.as_object().unwrap().clone();
    assert_eq!(tool.access(), Access::Proposes);
    assert_eq!(tool.gate(&of(json!({ "path": "a", "lines": [] }))), None);
    assert!(tool.gate(&of(json!({ "path": "secret", "lines": [] }))).is_some());
    // It does not run, so there is nothing to approve.
    assert_eq!(tool.gate(&of(json!({ "path": "secret" }))), None);
    assert_eq!(tool.effects(&of(json!({ "path": "a", "lines": [] }))).writes, ["a"]);
    assert_eq!(tool.effects(&of(json!({ "path": 7 }))), Effects::default());
}

#[test]
fn many_things_become_what_the_model_is_told() {
    #[derive(Debug, thiserror::Error)]
    #[error("the file cannot be read")]
    struct Unreadable(#[source] io::Error);

    assert_eq!(Json(json!({ "a": 1 })).into_output(), ToolOutput::text(r#"{"a":1}"#));
    assert!(Json(std::collections::BTreeMap::from([(vec![1], 1)])).into_output().is_error);
    assert_eq!(Ok::<_, io::Error>("yes").into_output(), ToolOutput::text("yes"));
    assert_eq!(Err::<&str, _>("no").into_output(), ToolOutput::error("no"));
    let caused = Unreadable(io::Error::other("the disk is gone"));
    let told = ToolOutput::error("the file cannot be read: the disk is gone");
    assert_eq!(Err::<Vec<Part>, _>(caused).into_output(), told);
}

#[tokio::test]
async fn an_agent_runs_it_and_names_its_session() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&seen);
    let which = TypedTool::from_fn("which", "Tells the session.", move |_: Nothing, context| {
        heard.lock().unwrap().push(context.session.map(|id| id.to_string()));
        async { "noted" }
    });
    let model = Scripted::new("scripted", "m", |request| match request.messages.last() {
        Some(last) if last.results().next().is_some() => Turn::say("done"),
        _ => Turn::new().call("c1", "which", &json!({})),
    });
    let agent = Agent::builder(model).tool(which.access(Access::ReadOnly)).build().unwrap();
    let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
    let stop = session.prompt("hi", &Cancel::new()).await.unwrap();
    assert!(matches!(stop, Stop::Decided(_)));
    assert_eq!(*seen.lock().unwrap(), [Some(session.id().to_string())]);
}

#[test]
fn arguments_that_are_no_object_are_refused_when_the_agent_is_built() {
    let tool = TypedTool::from_fn("say", "", |text: String, _| async move { text });
    let agent = Agent::builder(Scripted::new("scripted", "m", |_| Turn::say("done"))).tool(tool).build();
    let fault = agent.err().unwrap();
    assert!(matches!(fault, AgentError::Schema { .. }));
    let told = r#"the schema of tool "say" is not valid: arguments are an object, and not "string""#;
    assert_eq!(fault.to_string(), told);
}

#[test]
fn the_form_of_an_answer_names_all_and_takes_no_others() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Answer<T> {
        /// What it is.
        value: T,
        unit: Option<How>,
        ranges: Vec<Range>,
    }

    let requests: Arc<Mutex<Vec<OutputSchema>>> = Arc::default();
    let heard = Arc::clone(&requests);
    let model = Scripted::new("scripted", "m", move |request| {
        heard.lock().unwrap().extend(request.output.clone());
        Turn::say("{}")
    });
    let agent = Agent::builder(model).output_type::<Answer<u8>>().build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
        session.prompt("hi", &Cancel::new()).await.unwrap();
    });
    let form = requests.lock().unwrap().pop().unwrap();
    assert!(form.strict);
    expect![[r#"
        Answer
        {
          "additionalProperties": false,
          "properties": {
            "ranges": {
              "items": {
                "additionalProperties": false,
                "properties": {
                  "from": {
                    "type": "integer"
                  },
                  "to": {
                    "type": "integer"
                  }
                },
                "required": [
                  "from",
                  "to"
                ],
                "type": "object"
              },
              "type": "array"
            },
            "unit": {
              "enum": [
                "once",
                "everywhere",
                null
              ],
              "type": [
                "string",
                "null"
              ]
            },
            "value": {
              "description": "What it is.",
              "type": "integer"
            }
          },
          "required": [
            "ranges",
            "unit",
            "value"
          ],
          "type": "object"
        }
    "#]]
    .assert_eq(&format!("{}\n{:#}\n", form.name, form.schema));
}
