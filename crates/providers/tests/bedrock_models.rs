//! What is asked of one maker's models and not of another's: choices, reasoning, and breakpoints.

use expect_test::expect;
use serde_json::Value;
use trunkline_message_tree::{Message, ToolChoice};
use trunkline_providers::{Bedrock, Cache, Effort, EncodeError, Request, Thinking, Wire};

use crate::bedrock_encode::{CLAUDE, NOVA, asked};
use crate::replies::body;

#[test]
fn choices_are_forced_where_the_model_can_be_forced() {
    let choice = |model: &str, choice: ToolChoice, thinking: Thinking, conversation: &str| {
        let mut request = asked(model, conversation);
        request.tool_choice = choice;
        request.thinking = thinking;
        let body = |request: &Request| match Bedrock::new().encode(request) {
            Ok(http) => {
                let body: Value = serde_json::from_slice(&http.body.to_vec()).expect("JSON");
                let last = body["messages"].as_array().and_then(|messages| messages.last()).cloned();
                format!(
                    "{:?} choice {} fields {} system {} last {}",
                    http.softened,
                    body["toolConfig"]["toolChoice"],
                    body["additionalModelRequestFields"],
                    body["system"],
                    last.unwrap_or_default()["content"]
                )
            }
            Err(error) => error.to_string(),
        };
        let soft = body(&request);
        request.soft_choice = false;
        let strict = body(&request);
        let strict = if strict == soft { "the same".to_owned() } else { strict };
        format!("{soft}\n  strictly: {strict}\n")
    };
    let f = || ToolChoice::Named("f".to_owned());
    let none = ToolChoice::None;
    let answered = "user: hi\nassistant:\n+ call c1 f {}\nresult c1: x";
    let all = [
        choice(NOVA, f(), Thinking::Effort(Effort::Low), "user: hi"),
        choice(NOVA, none.clone(), Thinking::Unsaid, "user: hi"),
        choice(NOVA, none.clone(), Thinking::Unsaid, answered),
        choice(CLAUDE, none, Thinking::Unsaid, answered),
        choice(CLAUDE, ToolChoice::Any, Thinking::Off, answered),
        choice(CLAUDE, ToolChoice::Any, Thinking::Budget(2000), answered),
        choice(CLAUDE, f(), Thinking::Effort(Effort::High), "user: hi"),
        choice("anthropic.claude-opus-4-6-v1", f(), Thinking::Effort(Effort::High), "user: hi"),
    ];
    expect![[r#"
        [] choice {"tool":{"name":"f"}} fields {"reasoningConfig":{"maxReasoningEffort":"low","type":"enabled"}} system null last [{"text":"hi"}]
          strictly: the same
        [ChoiceNone] choice null fields null system null last [{"text":"hi"},{"text":"Answer in words; do not call a tool."}]
          strictly: the bedrock wire does not do tool choice: none
        [ChoiceNone] choice null fields null system [{"text":"Answer in words; do not call a tool."}] last [{"toolResult":{"content":[{"text":"x"}],"toolUseId":"c1"}}]
          strictly: the bedrock wire does not do tool choice: none
        [] choice null fields {"tool_choice":{"type":"none"}} system null last [{"toolResult":{"content":[{"text":"x"}],"toolUseId":"c1"}}]
          strictly: the bedrock wire does not do tool choice: none
        [] choice {"any":{}} fields {"thinking":{"type":"disabled"}} system null last [{"toolResult":{"content":[{"text":"x"}],"toolUseId":"c1"}}]
          strictly: the same
        [ChoiceAny] choice null fields {"thinking":{"budget_tokens":2000,"type":"enabled"}} system null last [{"toolResult":{"content":[{"text":"x"}],"toolUseId":"c1"}},{"text":"Answer with a call of one of the tools, not in words."}]
          strictly: the bedrock wire does not do reasoning together with a forced tool choice
        [ChoiceNamed] choice null fields {"thinking":{"budget_tokens":7168,"type":"enabled"}} system null last [{"text":"hi"},{"text":"Answer with a call of the tool f, not in words."}]
          strictly: the bedrock wire does not do reasoning together with a forced tool choice
        [] choice {"tool":{"name":"f"}} fields {"output_config":{"effort":"high"},"thinking":{"type":"adaptive"}} system null last [{"text":"hi"}]
          strictly: the same
    "#]].assert_eq(&all.concat());
}

#[test]
fn reasoning_is_asked_for_in_the_words_of_the_maker() {
    let fields = |model: &str, thinking: Thinking| {
        let mut request = Request::new(model, vec![Message::user("hi")]);
        request.thinking = thinking;
        request.cache = Cache::Off;
        match Bedrock::new().encode(&request) {
            Ok(http) => {
                let body: Value = serde_json::from_slice(&http.body.to_vec()).expect("JSON");
                body["additionalModelRequestFields"].to_string()
            }
            Err(error) => error.to_string(),
        }
    };
    let models = [
        "anthropic.claude-3-7-sonnet-20250219-v1:0",
        "us.anthropic.claude-opus-4-20250514-v1:0",
        "anthropic.claude-opus-4-6-v1",
        "global.anthropic.claude-opus-4-7",
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-5",
        NOVA,
        "amazon.nova-lite-v1:0",
        "qwen.qwen3-32b-v1:0",
        "deepseek.v3.2",
        "zai.glm-4.7",
        "zai.glm-5.3",
        "openai.gpt-oss-120b-1:0",
        "openai.gpt-6-sol",
        "xai.grok-4-7",
        "meta.llama4-maverick-17b-instruct-v1:0",
    ];
    let mut all = String::new();
    for model in models {
        all.push_str(&format!("{model}\n"));
        for thinking in [
            Thinking::Off,
            Thinking::Budget(4000),
            Thinking::Effort(Effort::Minimal),
            Thinking::Effort(Effort::Max),
        ] {
            all.push_str(&format!("  {thinking:?}: {}\n", fields(model, thinking)));
        }
    }
    expect![[r#"
        anthropic.claude-3-7-sonnet-20250219-v1:0
          Off: {"thinking":{"type":"disabled"}}
          Budget(4000): {"thinking":{"budget_tokens":4000,"type":"enabled"}}
          Effort(Minimal): {"thinking":{"budget_tokens":1024,"type":"enabled"}}
          Effort(Max): {"thinking":{"budget_tokens":7168,"type":"enabled"}}
        us.anthropic.claude-opus-4-20250514-v1:0
          Off: {"thinking":{"type":"disabled"}}
          Budget(4000): {"thinking":{"budget_tokens":4000,"type":"enabled"}}
          Effort(Minimal): {"thinking":{"budget_tokens":1024,"type":"enabled"}}
          Effort(Max): {"thinking":{"budget_tokens":7168,"type":"enabled"}}
        anthropic.claude-opus-4-6-v1
          Off: {"thinking":{"type":"disabled"}}
          Budget(4000): {"thinking":{"budget_tokens":4000,"type":"enabled"}}
          Effort(Minimal): {"output_config":{"effort":"low"},"thinking":{"type":"adaptive"}}
          Effort(Max): {"output_config":{"effort":"max"},"thinking":{"type":"adaptive"}}
        global.anthropic.claude-opus-4-7
          Off: {"thinking":{"type":"disabled"}}
          Budget(4000): {"output_config":{"effort":"medium"},"thinking":{"type":"adaptive"}}
          Effort(Minimal): {"output_config":{"effort":"low"},"thinking":{"type":"adaptive"}}
          Effort(Max): {"output_config":{"effort":"max"},"thinking":{"type":"adaptive"}}
        arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-5
          Off: {"thinking":{"type":"disabled"}}
          Budget(4000): {"output_config":{"effort":"medium"},"thinking":{"type":"adaptive"}}
          Effort(Minimal): {"output_config":{"effort":"low"},"thinking":{"type":"adaptive"}}
          Effort(Max): {"output_config":{"effort":"max"},"thinking":{"type":"adaptive"}}
        us.amazon.nova-2-lite-v1:0
          Off: {"reasoningConfig":{"type":"disabled"}}
          Budget(4000): {"reasoningConfig":{"maxReasoningEffort":"medium","type":"enabled"}}
          Effort(Minimal): {"reasoningConfig":{"maxReasoningEffort":"low","type":"enabled"}}
          Effort(Max): {"reasoningConfig":{"maxReasoningEffort":"high","type":"enabled"}}
        amazon.nova-lite-v1:0
          Off: the bedrock wire does not do reasoning off with this model
          Budget(4000): the bedrock wire does not do a choice of how much this model reasons
          Effort(Minimal): the bedrock wire does not do a choice of how much this model reasons
          Effort(Max): the bedrock wire does not do a choice of how much this model reasons
        qwen.qwen3-32b-v1:0
          Off: {"reasoning_config":"none"}
          Budget(4000): {"reasoning_config":"medium"}
          Effort(Minimal): {"reasoning_config":"low"}
          Effort(Max): {"reasoning_config":"high"}
        deepseek.v3.2
          Off: {"reasoning_effort":"none"}
          Budget(4000): {"reasoning_effort":"high"}
          Effort(Minimal): {"reasoning_effort":"high"}
          Effort(Max): {"reasoning_effort":"high"}
        zai.glm-4.7
          Off: {"reasoning_effort":"none"}
          Budget(4000): {"reasoning_effort":"high"}
          Effort(Minimal): {"reasoning_effort":"high"}
          Effort(Max): {"reasoning_effort":"high"}
        zai.glm-5.3
          Off: the bedrock wire does not do reasoning off with this model
          Budget(4000): {"reasoning_effort":"medium"}
          Effort(Minimal): {"reasoning_effort":"low"}
          Effort(Max): {"reasoning_effort":"max"}
        openai.gpt-oss-120b-1:0
          Off: the bedrock wire does not do reasoning off with this model
          Budget(4000): {"reasoning_effort":"medium"}
          Effort(Minimal): {"reasoning_effort":"low"}
          Effort(Max): {"reasoning_effort":"high"}
        openai.gpt-6-sol
          Off: {"reasoning":{"effort":"none"}}
          Budget(4000): {"reasoning":{"effort":"medium"}}
          Effort(Minimal): {"reasoning":{"effort":"low"}}
          Effort(Max): {"reasoning":{"effort":"xhigh"}}
        xai.grok-4-7
          Off: the bedrock wire does not do reasoning off with this model
          Budget(4000): {"reasoning":{"effort":"medium"}}
          Effort(Minimal): {"reasoning":{"effort":"low"}}
          Effort(Max): {"reasoning":{"effort":"xhigh"}}
        meta.llama4-maverick-17b-instruct-v1:0
          Off: the bedrock wire does not do reasoning off with this model
          Budget(4000): the bedrock wire does not do a choice of how much this model reasons
          Effort(Minimal): the bedrock wire does not do a choice of how much this model reasons
          Effort(Max): the bedrock wire does not do a choice of how much this model reasons
    "#]]
    .assert_eq(&all);
}

#[test]
fn reasoning_leaves_something_of_the_answer() {
    let budget = |thinking: Thinking, max_output_tokens: u32| {
        let mut request = Request::new("anthropic.claude-haiku-4-5", vec![Message::user("hi")]);
        request.thinking = thinking;
        request.max_output_tokens = Some(max_output_tokens);
        Bedrock::new().encode(&request).map(|http| {
            let body: Value = serde_json::from_slice(&http.body.to_vec()).expect("JSON");
            body["additionalModelRequestFields"]["thinking"]["budget_tokens"].as_u64()
        })
    };
    assert_eq!(budget(Thinking::Effort(Effort::High), 8192), Ok(Some(7168)));
    assert_eq!(budget(Thinking::Effort(Effort::High), 1100), Ok(Some(1024)));
    let refused = |budget, max_output_tokens| Err(EncodeError::ThinkingBudget { budget, max_output_tokens });
    assert_eq!(budget(Thinking::Effort(Effort::Low), 1024), refused(1024, 1024));
    assert_eq!(budget(Thinking::Budget(8192), 8192), refused(8192, 8192));
}

#[test]
fn the_model_behind_a_name_can_be_told() {
    let mut request = Request::new(
        "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc",
        vec![Message::user("hi")],
    );
    request.top_k = Some(5);
    let unknown = Bedrock::new().encode(&request).expect_err("nobody knows whose it is");
    assert_eq!(unknown.to_string(), "the bedrock wire does not do top-k with this model");
    let told = Bedrock::behind("anthropic.claude-haiku-4-5").encode(&request).expect("it was told");
    assert!(told.path.contains("abc"), "{}", told.path);
}

/// Where the breakpoints are.
fn marks(model: &str, cache: Cache, conversation: &str) -> String {
    let mut request = asked(model, conversation);
    request.cache = cache;
    body(&Bedrock::new(), &request)
        .parse::<Value>()
        .map(|body| {
            let tools = &body["toolConfig"]["tools"];
            let messages = &body["messages"];
            format!("system {}\ntools {tools}\n{messages}\n", body["system"])
        })
        .unwrap_or_default()
}

#[test]
fn breakpoints_stand_behind_what_they_mark() {
    let conversation = "system: be brief
         user: one
         assistant: two
         user: three
         assistant:
           + call c1 f {}
         result c1: four";
    let claude = marks(CLAUDE, Cache::Short, conversation);
    expect![[r#"
        system [{"text":"be brief"},{"cachePoint":{"type":"default"}}]
        tools [{"toolSpec":{"inputSchema":{"json":{"type":"object"}},"name":"f"}},{"cachePoint":{"type":"default"}}]
        [{"content":[{"text":"one"}],"role":"user"},{"content":[{"text":"two"}],"role":"assistant"},{"content":[{"text":"three"},{"cachePoint":{"type":"default"}}],"role":"user"},{"content":[{"toolUse":{"input":{},"name":"f","toolUseId":"c1"}}],"role":"assistant"},{"content":[{"toolResult":{"content":[{"text":"four"}],"toolUseId":"c1"}},{"cachePoint":{"type":"default"}}],"role":"user"}]
    "#]].assert_eq(&claude);
    assert_eq!(
        marks(CLAUDE, Cache::Long, conversation),
        claude.replace("{\"type\":\"default", "{\"ttl\":\"1h\",\"type\":\"default")
    );
    let older = "anthropic.claude-3-7-sonnet-20250219-v1:0";
    assert_eq!(marks(older, Cache::Long, conversation), claude);
    expect![[r#"
        system [{"text":"be brief"},{"cachePoint":{"type":"default"}}]
        tools [{"toolSpec":{"inputSchema":{"json":{"type":"object"}},"name":"f"}}]
        [{"content":[{"text":"one"}],"role":"user"},{"content":[{"text":"two"}],"role":"assistant"},{"content":[{"text":"three"},{"cachePoint":{"type":"default"}}],"role":"user"},{"content":[{"toolUse":{"input":{},"name":"f","toolUseId":"c1"}}],"role":"assistant"},{"content":[{"toolResult":{"content":[{"text":"four"}],"toolUseId":"c1"}},{"cachePoint":{"type":"default"}}],"role":"user"}]
    "#]].assert_eq(&marks(NOVA, Cache::Long, conversation));
    assert_eq!(marks(CLAUDE, Cache::Off, conversation).matches("cachePoint").count(), 0);
    assert_eq!(marks("meta.llama4", Cache::Short, conversation).matches("cachePoint").count(), 0);
}

#[test]
fn breakpoints_that_raw_blocks_bring_along_count() {
    let point = "opaque bedrock {\"cachePoint\":{\"type\":\"default\"}}";
    let conversation = format!(
        "system: be brief
         user: one
           + {point}
           + text: two
           + {point}
         assistant: three
         user: four"
    );
    expect![[r#"
        system [{"text":"be brief"},{"cachePoint":{"type":"default"}}]
        tools [{"toolSpec":{"inputSchema":{"json":{"type":"object"}},"name":"f"}}]
        [{"content":[{"text":"one"},{"cachePoint":{"type":"default"}},{"text":"two"},{"cachePoint":{"type":"default"}}],"role":"user"},{"content":[{"text":"three"}],"role":"assistant"},{"content":[{"text":"four"},{"cachePoint":{"type":"default"}}],"role":"user"}]
    "#]].assert_eq(&marks(CLAUDE, Cache::Short, &conversation));
}
