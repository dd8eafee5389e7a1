//! What a model is told of arguments that do not fit, and which schemas a tool may have.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::{Just, Strategy, any};
use proptest::sample::{select, subsequence};
use proptest::{prop_oneof, proptest};
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::ToolSpec;
use trunkline_runtime::providers::{Request, Scripted, Turn};
use trunkline_runtime::session_store::MemoryStore;
use trunkline_runtime::{Access, Agent, AgentError, Cancel, Tool, ToolContext, ToolOutput};

const FITS: &str = "fits";
const NOT_RUN: &str = "not run: the arguments do not fit the tool: ";
/// As many as a model is told.
const MOST: usize = 5;

struct Fitting(Value);

#[async_trait]
impl Tool for Fitting {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("fit", "A test.", self.0.clone())
    }

    fn access(&self) -> Access {
        Access::ReadOnly
    }

    async fn run(&self, _: Map<String, Value>, _: &ToolContext) -> ToolOutput {
        ToolOutput::text(FITS)
    }
}

/// What a model is told of calls with these arguments.
fn told(schema: &Value, arguments: &[Value]) -> Vec<String> {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&told);
    let calls = arguments.to_vec();
    let model = Scripted::new("scripted", "m", move |request: &Request| {
        let results = request.messages.iter().flat_map(|message| message.results());
        let texts: Vec<String> = results.map(|result| result.text()).collect();
        if texts.is_empty() {
            let call = |turn: Turn, (index, one): (usize, &Value)| turn.call(format!("c{index}"), "fit", one);
            return calls.iter().enumerate().fold(Turn::new(), call);
        }
        *heard.lock().unwrap() = texts;
        Turn::say("done")
    });
    let agent = Agent::builder(model).tool(Fitting(schema.clone())).build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let mut session = agent.start(Arc::new(MemoryStore::new()), "fitting", None).await.unwrap();
        session.prompt("fit", &Cancel::new()).await.unwrap();
    });
    let told = told.lock().unwrap();
    told.clone()
}

/// The same by the words of `jsonschema`.
fn expected(schema: &Value, arguments: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(schema).unwrap();
    let faults = validator.iter_errors(arguments).map(|fault| match fault.instance_path().as_str() {
        "" => fault.to_string(),
        place => format!("{place}: {fault}"),
    });
    faults.collect()
}

/// Both say the same; the order is no promise.
fn check(schema: &Value, arguments: &[Value]) {
    for (one, told) in arguments.iter().zip(told(schema, arguments)) {
        let mut expected = expected(schema, one);
        expected.sort();
        match told.strip_prefix(NOT_RUN) {
            Some(faults) => {
                let mut told: Vec<&str> = faults.split("; ").collect();
                told.sort_unstable();
                if expected.len() <= MOST {
                    assert_eq!(told, expected, "{schema} of {one}");
                } else {
                    assert_eq!(told.len(), MOST, "{schema} of {one}");
                    assert!(told.iter().all(|fault| expected.iter().any(|one| one == fault)), "{told:?}");
                }
            }
            None => assert_eq!((told.as_str(), expected.len()), (FITS, 0), "{schema} of {one}: {expected:?}"),
        }
    }
}

#[test]
fn a_model_is_told_each_thing_that_does_not_fit() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "description": "a file"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 9},
            "mode": {"enum": ["one", "two", "three", "four"]},
            "step": {"type": ["string", "integer"]},
            "edits": {"type": "array", "items": {"type": "object", "properties": {"a/b": true}, "required": ["a/b"], "additionalProperties": false}},
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let arguments = [
        json!({"path": "a", "limit": 3, "mode": "one", "step": 1, "edits": []}),
        json!({"path": "", "limit": 10, "mode": "five", "step": null}),
        json!({"path": 7, "limit": 0.5, "other": 1, "more": 2}),
        json!({"path": "a", "edits": [{"a/b": 1, "c": 2}, {}, 3]}),
    ];
    expect_test::expect![[r#"
        fits
        not run: the arguments do not fit the tool: /limit: 10 is greater than the maximum of 9; /mode: "five" is not one of "one", "two" or 2 other candidates; /path: "" is shorter than 1 character; /step: null is not of types "integer", "string"
        not run: the arguments do not fit the tool: /limit: 0.5 is not of type "integer"; /limit: 0.5 is less than the minimum of 1; /path: 7 is not of type "string"; Additional properties are not allowed ('more', 'other' were unexpected)
        not run: the arguments do not fit the tool: /edits/0: Additional properties are not allowed ('c' was unexpected); /edits/1: "a/b" is a required property; /edits/2: 3 is not of type "object"
    "#]]
    .assert_eq(&told(&schema, &arguments).iter().map(|line| format!("{line}\n")).collect::<String>());
    check(&schema, &arguments);
}

#[test]
fn a_schema_that_is_none_is_refused_with_the_reason() {
    let refused = |schema: Value| match Agent::builder(Scripted::new("s", "m", |_| Turn::say("")))
        .tool(Fitting(schema))
        .build()
    {
        Err(AgentError::Schema { fault, .. }) => fault,
        Err(other) => panic!("{other}"),
        Ok(_) => FITS.to_owned(),
    };
    assert_eq!(refused(json!({"type": "text"})), "\"text\" is not a type");
    assert_eq!(
        refused(json!({"type": ["array", "null"]})),
        "arguments are an object, and not [\"array\",\"null\"]"
    );
    assert_eq!(refused(json!({"type": ["object", "null"]})), FITS);
    assert_eq!(refused(json!({"properties": {"a": {"required": "b"}}})), "\"b\" is not a list");
    assert_eq!(
        refused(json!({"properties": {"a": 1}})),
        "1 is not a schema, which is an object, true or false"
    );
    // What only remarks, or what the standard does not know, demands nothing.
    assert_eq!(refused(json!({"title": "t", "format": "date", "x-own": 1})), FITS);
    let more = refused(json!({"properties": {"a": {"oneOf": [{"type": "string"}]}}}));
    if cfg!(feature = "json-schema") {
        assert_eq!(more, FITS);
    } else {
        assert_eq!(more, "\"oneOf\" is only checked with the feature `json-schema` of trunkline-runtime");
    }
}

#[cfg(feature = "json-schema")]
#[test]
fn a_schema_that_demands_more_is_checked_whole() {
    let either = json!([{"required": ["a"]}, {"required": ["b"]}]);
    let schema = json!({"type": "object", "oneOf": either, "properties": {"a": {"pattern": "^x"}}});
    check(&schema, &[json!({"a": "x"}), json!({"a": "y"}), json!({"b": 1}), json!({})]);
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..4_i64).prop_map(Value::from),
        select(vec![0.5, 1.0, 2.5, 1e20]).prop_map(Value::from),
        select(vec!["", "a", "ab", "é~/"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        let fields = btree_map(select(vec!["a", "b", "c~/"]), inner.clone(), 0..4);
        let object = |fields: BTreeMap<&str, Value>| {
            Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
        };
        prop_oneof![vec(inner, 0..4).prop_map(Value::from), fields.prop_map(object)]
    })
}

fn arguments() -> impl Strategy<Value = Value> {
    btree_map(select(vec!["a", "b", "c~/"]), value(), 0..4).prop_map(|fields| json!(fields))
}

/// Some words of a schema, each with a value that it may have.
fn words() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let kinds = vec!["null", "boolean", "integer", "number", "string", "array", "object"];
    let kind = prop_oneof![
        select(kinds.clone()).prop_map(Value::from),
        subsequence(kinds, 1..4).prop_map(|kinds| json!(kinds)),
    ];
    let number = || prop_oneof![(-1..3_i64).prop_map(Value::from), Just(json!(1.5))];
    let count = || prop_oneof![(0..3_u64).prop_map(Value::from), Just(json!(1.0))];
    let names = subsequence(vec!["a", "b", "c~/"], 0..4).prop_map(|names| json!(names));
    (
        (of(kind), of(value()), of(vec(value(), 1..5).prop_map(distinct)), of(names)),
        (of(number()), of(number()), of(count()), of(count()), of(count()), of(count())),
        select(vec![0_usize, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
    )
        .prop_map(|((kind, constant, values, names), (low, high, short, long, few, many), lead)| {
            let all = [
                ("type", kind),
                ("const", constant),
                ("enum", values),
                ("required", names),
                ("minimum", low),
                ("maximum", high),
                ("minLength", short),
                ("maxLength", long),
                ("minItems", few),
                ("maxItems", many),
            ];
            // A few at a time: one that has all of them refuses everything by its first word.
            let chosen = |(index, _): &(usize, _)| (index + lead) % 3 == 0;
            let chosen = all.into_iter().enumerate().filter(chosen).map(|(_, word)| word);
            chosen.filter_map(|(word, value)| Some((word, value?))).collect()
        })
}

/// The standard asks for it.
fn distinct(values: Vec<Value>) -> Value {
    let mut kept: Vec<Value> = Vec::new();
    for value in values {
        if !kept.iter().any(|one| one == &value || one.as_f64().is_some() && one.as_f64() == value.as_f64()) {
            kept.push(value);
        }
    }
    Value::Array(kept)
}

/// The fields of a schema that takes no others: at least one, or `jsonschema` does not name those that are too many; and those that
/// are required, or it misses one that is there.
fn known(
    fields: Option<BTreeMap<&'static str, Value>>,
    words: &[(&str, Value)],
) -> BTreeMap<&'static str, Value> {
    let mut fields = fields.unwrap_or_default();
    let required = words.iter().filter(|(word, _)| *word == "required").map(|(_, names)| names);
    let is_required = |name: &&str| {
        *name == "b"
            || required
                .clone()
                .any(|names| names.as_array().is_some_and(|names| names.contains(&json!(name))))
    };
    for name in ["a", "b", "c~/"].into_iter().filter(is_required) {
        fields.entry(name).or_insert(json!(true));
    }
    fields
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        8 => words().prop_map(|words| json!(words.into_iter().collect::<BTreeMap<_, _>>())),
        1 => any::<bool>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let fields = of(btree_map(select(vec!["a", "b", "c~/"]), inner.clone(), 0..4));
        let more = of(prop_oneof![Just(json!(false)), inner.clone()]);
        (words(), fields, more, of(inner)).prop_map(|(words, fields, more, items)| {
            let fields = if more == Some(json!(false)) { Some(known(fields, &words)) } else { fields };
            let below = [
                ("properties", fields.map(|fields| json!(fields))),
                ("additionalProperties", more),
                ("items", items),
            ];
            let below = below.into_iter().filter_map(|(word, value)| Some((word, value?)));
            json!(words.into_iter().chain(below).collect::<BTreeMap<_, _>>())
        })
    })
}

proptest! {
    #[test]
    fn what_is_told_is_what_jsonschema_tells(schema in schema(), arguments in vec(arguments(), 6)) {
        // Wires take no tool whose arguments are anything but an object.
        let schema = json!({"type": "object", "properties": {"a": schema}});
        check(&schema, &arguments);
    }
}
