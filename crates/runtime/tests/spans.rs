//! Spans, as a collector sees them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::{Approval, Stop};

use crate::story::{Story, World, replies};

/// Keeps every span of the runtime: where it stands below another one, and what it says.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Collected>>);

#[derive(Default)]
struct Collected {
    spans: Vec<(usize, &'static str, BTreeMap<&'static str, String>)>,
    entered: Vec<usize>,
}

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

fn index(id: &Id) -> usize {
    usize::try_from(id.into_u64()).unwrap() - 1
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "trunkline_runtime"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut collected = self.0.lock().unwrap();
        let depth = collected.entered.last().map_or(0, |above| collected.spans[*above].0 + 1);
        let mut fields = BTreeMap::new();
        span.record(&mut Fields(&mut fields));
        collected.spans.push((depth, span.metadata().name(), fields));
        Id::from_u64(collected.spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        values.record(&mut Fields(&mut self.0.lock().unwrap().spans[index(span)].2));
    }

    fn enter(&self, span: &Id) {
        self.0.lock().unwrap().entered.push(index(span));
    }

    fn exit(&self, _: &Id) {
        self.0.lock().unwrap().entered.pop();
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}
}

/// Lets a session go on under a collector and compares its spans.
async fn check(turns: Vec<Turn>, prompt: &str, expected: Expect) {
    let world = World::default();
    world.files.lock().unwrap().insert("secret-path".to_owned(), "secret-file".to_owned());
    let agent = world.agent(replies(turns)).approval(Approval::Always);
    let mut story = Story::begin(world, agent).await;
    let session = story.id().to_string();
    let collector = Collector::default();
    // While there is only one collector, a place that another test comes to first is judged by that test's thread, which has none.
    let _second = tracing::Dispatch::new(Collector::default());
    let guard = tracing::subscriber::set_default(collector.clone());
    let _: Result<Stop, _> = story.prompt(prompt).await;
    drop(guard);
    let mut told = String::new();
    for (depth, name, fields) in &collector.0.lock().unwrap().spans {
        told += &format!("{}{name}\n", "  ".repeat(*depth));
        for (name, value) in fields {
            // What the requests of these agents weigh is no matter here.
            let value = match name.starts_with("gen_ai.usage.") && value != "0" {
                true => "some".to_owned(),
                false => value.replace(&session, "SESSION"),
            };
            told += &format!("{}- {name}: {value}\n", "  ".repeat(*depth));
        }
    }
    assert!(!told.contains("secret"), "what was said is in a span:\n{told}");
    expected.assert_eq(&told);
}

#[tokio::test]
async fn a_drive_has_its_requests_calls_and_applies_below_it() {
    let turns = vec![
        Turn::new()
            .call("c1", "read", &json!({ "path": "secret-path" }))
            .call("c2", "read", &json!({ "path": "secret-missing" }))
            .call("c3", "edit", &json!({ "path": "secret-path", "text": "secret-text" })),
        Turn::say("secret-answer"),
    ];
    check(
        turns,
        "secret-prompt",
        expect![[r#"
            invoke_agent
            - gen_ai.conversation.id: SESSION
            - gen_ai.operation.name: invoke_agent
            - gen_ai.provider.name: test
            - gen_ai.request.model: script
            - otel.kind: internal
            - trunkline.stop: decided
              chat
              - gen_ai.conversation.id: SESSION
              - gen_ai.operation.name: chat
              - gen_ai.provider.name: test
              - gen_ai.request.model: script
              - gen_ai.response.finish_reasons: tool_use
              - gen_ai.usage.cache_creation.input_tokens: 0
              - gen_ai.usage.cache_read.input_tokens: 0
              - gen_ai.usage.input_tokens: some
              - gen_ai.usage.output_tokens: some
              - gen_ai.usage.reasoning.output_tokens: 0
              - otel.kind: client
              - otel.name: chat script
              execute_tool
              - gen_ai.conversation.id: SESSION
              - gen_ai.operation.name: execute_tool
              - gen_ai.tool.call.id: c1
              - gen_ai.tool.name: read
              - gen_ai.tool.type: function
              - otel.kind: internal
              - otel.name: execute_tool read
              execute_tool
              - error.type: tool_error
              - gen_ai.conversation.id: SESSION
              - gen_ai.operation.name: execute_tool
              - gen_ai.tool.call.id: c2
              - gen_ai.tool.name: read
              - gen_ai.tool.type: function
              - otel.kind: internal
              - otel.name: execute_tool read
              execute_tool
              - gen_ai.conversation.id: SESSION
              - gen_ai.operation.name: execute_tool
              - gen_ai.tool.call.id: c3
              - gen_ai.tool.name: edit
              - gen_ai.tool.type: function
              - otel.kind: internal
              - otel.name: execute_tool edit
              apply
              - gen_ai.conversation.id: SESSION
              - gen_ai.tool.name: edit
              - otel.kind: internal
              - trunkline.attempt: p1-1
              - trunkline.outcome: applied
              chat
              - gen_ai.conversation.id: SESSION
              - gen_ai.operation.name: chat
              - gen_ai.provider.name: test
              - gen_ai.request.model: script
              - gen_ai.response.finish_reasons: end_turn
              - gen_ai.usage.cache_creation.input_tokens: 0
              - gen_ai.usage.cache_read.input_tokens: 0
              - gen_ai.usage.input_tokens: some
              - gen_ai.usage.output_tokens: some
              - gen_ai.usage.reasoning.output_tokens: 0
              - otel.kind: client
              - otel.name: chat script
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_drive_that_fails_says_of_what_kind_it_was() {
    check(
        vec![Turn::new(), Turn::new(), Turn::new()],
        "secret-prompt",
        expect![[r#"
            invoke_agent
            - error.type: nothing_came
            - gen_ai.conversation.id: SESSION
            - gen_ai.operation.name: invoke_agent
            - gen_ai.provider.name: test
            - gen_ai.request.model: script
            - otel.kind: internal
              chat
              - gen_ai.conversation.id: SESSION
              - gen_ai.operation.name: chat
              - gen_ai.provider.name: test
              - gen_ai.request.model: script
              - gen_ai.response.finish_reasons: end_turn
              - gen_ai.usage.cache_creation.input_tokens: 0
              - gen_ai.usage.cache_read.input_tokens: 0
              - gen_ai.usage.input_tokens: some
              - gen_ai.usage.output_tokens: 0
              - gen_ai.usage.reasoning.output_tokens: 0
              - otel.kind: client
              - otel.name: chat script
              chat
              - gen_ai.conversation.id: SESSION
              - gen_ai.operation.name: chat
              - gen_ai.provider.name: test
              - gen_ai.request.model: script
              - gen_ai.response.finish_reasons: end_turn
              - gen_ai.usage.cache_creation.input_tokens: 0
              - gen_ai.usage.cache_read.input_tokens: 0
              - gen_ai.usage.input_tokens: some
              - gen_ai.usage.output_tokens: 0
              - gen_ai.usage.reasoning.output_tokens: 0
              - otel.kind: client
              - otel.name: chat script
        "#]],
    )
    .await;
}
