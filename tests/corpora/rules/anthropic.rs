//! Messages of Anthropic.

use serde_json::{Value, json};

use super::super::compare::{About, Rule, Verdict};

pub(super) const RULES: &[Rule] = &[
    Rule {
        about: About::Choice,
        sentence: "we mark what goes to the prompt cache by our own policy: the newest user turns, the instructions, \
                   the tools",
        explain: |spot| Verdict::explained_if(spot.is(&["*.cache_control"])),
    },
    Rule {
        about: About::Choice,
        sentence: "the wire demands a limit of output tokens, so we set one if none was given",
        explain: |spot| Verdict::explained_if(spot.is(&["max_tokens"]) && spot.is_added()),
    },
    Rule {
        about: About::Form,
        sentence: "the choice `auto` is the default beside tools",
        explain: |spot| super::auto(spot, &json!({"type": "auto"})),
    },
    Rule {
        about: About::Form,
        sentence: "user messages in a row are one turn to the service; we send results and what follows them in one",
        explain: |spot| match (spot.theirs, spot.ours) {
            (Value::Array(theirs), Value::Array(ours))
                if spot.is(&["messages"]) && theirs.len() != ours.len() =>
            {
                Verdict::Instead(super::joined(theirs, "user"), super::joined(ours, "user"))
            }
            _ => Verdict::No,
        },
    },
    Rule {
        about: About::Choice,
        sentence: "on Vertex AI the model stands in the path: who sends there takes it out of the body",
        explain: |spot| {
            let there = !spot.their_body["anthropic_version"].is_null() && spot.is_added();
            Verdict::explained_if(spot.is(&["model"]) && there)
        },
    },
    Rule {
        about: About::Form,
        sentence: "instructions that say nothing are not sent",
        explain: |spot| {
            Verdict::explained_if(spot.is(&["system"]) && spot.is_missing() && *spot.theirs == "")
        },
    },
    Rule {
        about: About::Form,
        sentence: "a tool of type `custom` is one without a type",
        explain: |spot| Verdict::explained_if(spot.is(&["tools[].type"]) && *spot.theirs == "custom"),
    },
];
