//! Tools whose arguments are a type.

use std::io;

use expect_test::expect;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use trunkline_agent_traits::message_tree::{NodeId, Part};
use trunkline_agent_traits::resolve_queue::{End, Entry, Fingerprint, Outcome};
use trunkline_agent_traits::schemars::{self, JsonSchema};
use trunkline_agent_traits::{
    Access, CallPlace, Cancel, Effects, Gate, IntoToolOutput, Json, PendingAction, PendingActionError,
    Proposal, Tool, ToolContext, ToolOutput, TypedTool, output_schema,
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

    let form = output_schema::<Answer<u8>>();
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

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A mail that is sent once it was approved.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Mail {
    to: String,
}

async fn stage(mail: Mail, context: ToolContext) -> Result<&'static str, PendingActionError> {
    let label = format!("send a mail to {}", mail.to);
    context.push_pending_action(PendingAction::new(label, json!(mail)))?;
    Ok("staged")
}

async fn send(mail: Mail, _: ToolContext) -> Result<String, io::Error> {
    match mail.to.as_str() {
        "nobody" => Err(io::Error::other("no such address")),
        to => Ok(format!("sent to {to}")),
    }
}

async fn apply(tool: &dyn Tool, payload: Value) -> String {
    let proposal = Proposal::new("send", tool.spec().name, payload);
    let executor = tool.as_executor().expect("it applies");
    let (outcome, output) = executor.apply(&Entry::in_attempt(proposal), &context()).await;
    format!("{outcome:?}, {:?}", output.content)
}

#[tokio::test]
async fn what_a_call_stages_its_tool_applies() {
    let tool = TypedTool::from_fn("send_mail", "Sends a mail.", stage).apply(send);
    let context = context().collecting_actions();
    let Value::Object(arguments) = json!({ "to": "a@example.org" }) else { panic!("it is an object") };
    assert_eq!(tool.run(arguments, &context).await, ToolOutput::text("staged"));
    let staged = context.take_actions();
    assert_eq!(
        staged.iter().map(|one| one.label.as_str()).collect::<Vec<_>>(),
        ["send a mail to a@example.org"]
    );
    let mut told = apply(&tool, staged[0].payload.clone()).await;
    for payload in [json!({ "to": "nobody" }), json!({ "to": 7 }), json!(null)] {
        told += &format!("\n{}", apply(&tool, payload).await);
    }
    expect![[r#"
        Applied, [Text { text: "sent to a@example.org" }]
        Failed { reason: "no such address" }, [Text { text: "no such address" }]
        Failed { reason: "not applied: what was staged does not fit the tool any more: to: invalid type: integer `7`, expected a string" }, [Text { text: "not applied: what was staged does not fit the tool any more: to: invalid type: integer `7`, expected a string" }]
        Failed { reason: "not applied: what was staged does not fit the tool any more: invalid type: null, expected struct Mail" }, [Text { text: "not applied: what was staged does not fit the tool any more: invalid type: null, expected struct Mail" }]"#]].assert_eq(&told);
}

#[tokio::test]
async fn what_comes_after_a_call_is_not_staged() {
    let context = context().collecting_actions();
    let action = || PendingAction::new("late", json!({}));
    assert!(context.take_actions().is_empty());
    assert_eq!(context.push_pending_action(action()), Err(PendingActionError::CallOver));
    let alone = self::context();
    assert_eq!(alone.push_pending_action(action()), Err(PendingActionError::Unavailable));
    assert!(alone.take_actions().is_empty());
}

#[tokio::test]
async fn a_tool_applies_and_looks_only_if_it_was_told_how() {
    let plain = TypedTool::from_fn("send_mail", "Sends a mail.", stage);
    assert!(plain.as_executor().is_none());
    let applies = TypedTool::from_fn("send_mail", "Sends a mail.", stage).apply(send);
    let subjects = ["a".to_owned(), "b".to_owned()];
    assert!(applies.as_executor().expect("it applies").observe(&subjects).await.is_empty());
    let looks = applies
        .observe(|subjects: Vec<String>| async move { subjects.iter().map(Fingerprint::absent).collect() });
    let seen = looks.as_executor().expect("it applies").observe(&subjects).await;
    assert_eq!(seen.iter().map(|one| one.subject.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let proposal = Entry::in_attempt(Proposal::new("send", "send_mail", json!({ "to": "b" })));
    let (outcome, _) = looks.as_executor().expect("it applies").apply(&proposal, &context()).await;
    assert_eq!(outcome, Outcome::Applied);
}

async fn discard(tool: &dyn Tool, payload: Value, extra: Option<Map<String, Value>>) -> String {
    let mut entry = Entry::discarded(Proposal::new("send", tool.spec().name, payload), "no");
    if let Some(decision) = &mut entry.decision {
        decision.extra = extra;
    }
    let (executor, end) = (tool.as_executor().expect("it cleans up"), entry.end.clone().expect("it ended"));
    let hook = executor.as_discard_hook().expect("it cleans up");
    format!("{:?}", hook.discarded(&entry, &end, &context()).await.map(|said| (said.is_error, said.content)))
}

#[tokio::test]
async fn a_tool_cleans_up_only_if_it_was_told_how_and_says_what_it_likes() {
    let plain = TypedTool::from_fn("send_mail", "Sends a mail.", stage).apply(send);
    assert!(plain.as_executor().expect("it applies").as_discard_hook().is_none());
    let silent = plain.discarded(|_: Mail, _: End, _: ToolContext| async {});
    let says = TypedTool::from_fn("send_mail", "Sends a mail.", stage).discarded(
        |mail: Mail, end: End, context: ToolContext| async move {
            let decision = context.decision.expect("somebody has decided");
            let keep = decision.extra.and_then(|extra| extra.get("keep")?.as_bool());
            match keep {
                Some(true) => Err(io::Error::other("it is kept")),
                _ => Ok(format!("{end} to {}: {}, {}", mail.to, end.cause, decision.reason)),
            }
        },
    );
    let (fits, extra) = (json!({ "to": "b" }), json!({ "keep": true }).as_object().cloned());
    let told = [
        discard(&silent, fits.clone(), None).await,
        discard(&silent, json!(null), None).await,
        discard(&says, fits.clone(), None).await,
        discard(&says, fits, extra).await,
    ];
    expect![[r#"
        None
        Some((true, [Text { text: "not cleaned up: what was staged does not fit the tool any more: invalid type: null, expected struct Mail" }]))
        Some((false, [Text { text: "p1-end-1 to b: discarded, no" }]))
        Some((true, [Text { text: "it is kept" }]))"#]].assert_eq(&told.join("\n"));
}

#[tokio::test]
async fn an_apply_sees_what_the_decider_has_handed_over() {
    let tool = TypedTool::from_fn("send_mail", "Sends a mail.", stage).apply(
        |mail: Mail, context: ToolContext| async move {
            let decision = context.decision.expect("somebody has decided");
            format!("{}: {}", mail.to, json!(decision.extra))
        },
    );
    let mut entry = Entry::in_attempt(Proposal::new("send", "send_mail", json!({ "to": "b" })));
    entry.decision.as_mut().expect("it is approved").extra = json!({ "copies": 2 }).as_object().cloned();
    let (_, output) = tool.as_executor().expect("it applies").apply(&entry, &context()).await;
    assert_eq!(output, ToolOutput::text("b: {\"copies\":2}"));
}

#[test]
fn people_are_shown_a_label_that_is_in_no_spec() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}
    async fn nothing(_: Nothing, _: ToolContext) -> &'static str {
        "nothing"
    }
    let plain = TypedTool::from_fn("edit_file", "Edits.", nothing);
    let named = TypedTool::from_fn("edit_file", "Edits.", nothing).with_label("Change a file");
    assert_eq!((plain.label(), named.label()), ("Edit file".to_owned(), "Change a file".to_owned()));
    assert_eq!(plain.spec(), named.spec());
}
