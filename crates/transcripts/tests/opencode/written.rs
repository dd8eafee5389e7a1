//! Messages become a file that the client imports, and come back from it.

use std::fmt::Write;

use expect_test::expect;
use trunkline_message_tree::{Author, Message, Role, StopReason, Timestamp, Usage, notation};
use trunkline_transcripts::{Format, Heading, export, read};

use super::{compacted, plain, round_trips, transcript_of};
use crate::show::{main, show};

#[test]
fn what_was_not_changed_is_copied_under_new_ids() {
    let transcript = read(plain().as_bytes()).expect("an export");
    let files = round_trips(&transcript);
    assert!(files[0].contains(r#""input":{"b": 1, "a": []}"#), "the bytes are kept");
    expect![[r#"
        {"info":{"id":"ses_new","directory":"/p","title":"primes","time":{"created":1790000000000,"updated":1790000003000},"slug":"a","projectID":"g","version":"1.18.33"},"messages":[
        {"info":{"role":"user","time":{"created":1790000000000},"agent":"build","model":{"providerID":"anthropic","modelID":"claude-x"},"id":"msg_000000000001lajtCDf984fRXx","sessionID":"ses_new"},"parts":[
        {"type":"text","text":"read both","id":"prt_000000000002uMXu9AnHGaO6cA","sessionID":"ses_new","messageID":"msg_000000000001lajtCDf984fRXx"},
        {"type":"text","text":"Called the Read tool","synthetic":true,"id":"prt_000000000003jiLnUKifnt2XMr","sessionID":"ses_new","messageID":"msg_000000000001lajtCDf984fRXx"},
        {"type":"text","text":"only shown","ignored":true,"id":"prt_000000000004yPl2zvq1Ah7CR4","sessionID":"ses_new","messageID":"msg_000000000001lajtCDf984fRXx"},
        {"type":"file","mime":"text/plain","url":"file:///p/a","filename":"a","id":"prt_000000000005f9sfCDzGuq1rVH","sessionID":"ses_new","messageID":"msg_000000000001lajtCDf984fRXx"},
        {"type":"file","mime":"image/png","url":"data:image/png;base64,AA==","id":"prt_000000000006ovfg9A7P2NlVaU","sessionID":"ses_new","messageID":"msg_000000000001lajtCDf984fRXx"}
        ]},
        {"info":{"role":"assistant","time":{"created":1790000001000,"completed":1790000001000},"modelID":"claude-x","providerID":"anthropic","mode":"build","agent":"build","id":"msg_000000000007VfmJNRFemWfAfh","sessionID":"ses_new","parentID":"msg_000000000001lajtCDf984fRXx","finish":"tool-calls","tokens":{"input":1,"output":1,"reasoning":0,"cache":{"read":0,"write":0}},"path":{"cwd":"/p","root":"/p"},"cost":0},"parts":[
        {"type":"step-start","snapshot":"s1","id":"prt_000000000008KdzG577zO46kBa","sessionID":"ses_new","messageID":"msg_000000000007VfmJNRFemWfAfh"},
        {"type":"reasoning","text":"hm","metadata":{"anthropic":{"signature":"SIG"}},"time":{"start":1},"id":"prt_0000000000091N6uIOFE9E0PGn","sessionID":"ses_new","messageID":"msg_000000000007VfmJNRFemWfAfh"},
        {"type":"text","text":"I look","id":"prt_00000000000aA9uuFLNMHkj3L0","sessionID":"ses_new","messageID":"msg_000000000007VfmJNRFemWfAfh"},
        {"type":"tool","callID":"c1","tool":"read","state":{"status":"completed","input":{"b": 1, "a": []},"output":"one","title":"a","metadata":{},"time":{"start":1790000001500,"end":1790000001600}},"id":"prt_00000000000bzUinaVIko3OU5h","sessionID":"ses_new","messageID":"msg_000000000007VfmJNRFemWfAfh"},
        {"type":"tool","callID":"c2","tool":"read","state":{"status":"error","input":{},"error":"no such file","time":{"start":1790000001500,"end":1790000001600}},"id":"prt_00000000000cEC8357R6BrS9Au","sessionID":"ses_new","messageID":"msg_000000000007VfmJNRFemWfAfh"},
        {"type":"step-finish","reason":"tool-calls","cost":0,"tokens":{"total":15,"input":3,"output":2,"reasoning":1,"cache":{"read":4,"write":5}},"id":"prt_00000000000dvvEgIOZLv0NoE7","sessionID":"ses_new","messageID":"msg_000000000007VfmJNRFemWfAfh"},
        {"type":"patch","hash":"h","files":[],"id":"prt_00000000000e4i2hFLhT3X6TJK","sessionID":"ses_new","messageID":"msg_000000000007VfmJNRFemWfAfh"},
        {"type":"step-start","snapshot":"s2","id":"prt_00000000000flR9KTcping08OX","sessionID":"ses_new","messageID":"msg_000000000007VfmJNRFemWfAfh"},
        {"type":"tool","callID":"c3","tool":"shot","state":{"status":"completed","input":{},"output":"","title":"","metadata":{},"time":{"start":1790000001500,"end":1790000001600,"compacted":3},"attachments":[{"id":"prt_x","type":"file","mime":"image/png","url":"data:image/png;base64,BB=="}]},"id":"prt_000000000010aPMHBIh3QERhuP","sessionID":"ses_new","messageID":"msg_000000000007VfmJNRFemWfAfh"},
        {"type":"step-finish","reason":"tool-calls","cost":0,"tokens":{"input":3,"output":2,"reasoning":0,"cache":{"read":0,"write":0}},"id":"prt_000000000011H9TuOZpIAOLMzc","sessionID":"ses_new","messageID":"msg_000000000007VfmJNRFemWfAfh"},
        {"type":"step-start","id":"prt_000000000012YXyATPkZ54pmjJ","sessionID":"ses_new","messageID":"msg_000000000007VfmJNRFemWfAfh"},
        {"type":"text","text":"done","id":"prt_000000000013FH5oggsopDjRoW","sessionID":"ses_new","messageID":"msg_000000000007VfmJNRFemWfAfh"}
        ]},
        {"info":{"role":"user","time":{"created":1790000002000},"agent":"build","model":{"providerID":"anthropic","modelID":"claude-x"},"id":"msg_000000000014UyU3BI1BC1o6tj","sessionID":"ses_new"},"parts":[
        {"type":"text","text":"and now?","id":"prt_000000000015BibgOZ9QwAilxw","sessionID":"ses_new","messageID":"msg_000000000014UyU3BI1BC1o6tj"}
        ]},
        {"info":{"role":"assistant","time":{"created":1790000003000,"completed":1790000003000},"modelID":"claude-x","providerID":"anthropic","mode":"build","agent":"build","id":"msg_000000000016KUPhLWHY4hRQ2A","sessionID":"ses_new","parentID":"msg_000000000014UyU3BI1BC1o6tj","error":{"name":"MessageAbortedError","data":{"message":"x"}},"path":{"cwd":"/p","root":"/p"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}},"parts":[
        {"type":"step-start","id":"prt_0000000000171EWKZnPnoqL57N","sessionID":"ses_new","messageID":"msg_000000000016KUPhLWHY4hRQ2A"},
        {"type":"text","text":"I go","id":"prt_000000000018qBjHHTH8ROmedF","sessionID":"ses_new","messageID":"msg_000000000016KUPhLWHY4hRQ2A"},
        {"type":"tool","callID":"c4","tool":"bash","state":{"status":"running","input":{"x":1},"time":{"start":1}},"id":"prt_000000000019XvpuUkPNBYgJiS","sessionID":"ses_new","messageID":"msg_000000000016KUPhLWHY4hRQ2A"}
        ]}
        ]}
    "#]]
    .assert_eq(&files[0]);
    let compacted = round_trips(&read(compacted().as_bytes()).expect("an export"));
    expect![[r#"
        {"info":{"id":"ses_new","directory":"/p","title":"primes","time":{"created":1790000010000,"updated":1790000010000},"slug":"sesnew","projectID":"global","version":"1.18.33"},"messages":[
        {"info":{"role":"user","time":{"created":1790000008000},"agent":"build","model":{"providerID":"anthropic","modelID":"claude-x"},"id":"msg_000000000001lajtCDf984fRXx","sessionID":"ses_new"},"parts":[
        {"type":"compaction","auto":false,"id":"prt_000000000002uMXu9AnHGaO6cA","sessionID":"ses_new","messageID":"msg_000000000001lajtCDf984fRXx"}
        ]},
        {"info":{"role":"assistant","time":{"created":1790000009000,"completed":1790000009000},"modelID":"claude-x","providerID":"anthropic","mode":"build","agent":"build","id":"msg_000000000003jiLnUKifnt2XMr","sessionID":"ses_new","parentID":"msg_000000000001lajtCDf984fRXx","summary":true,"finish":"stop","path":{"cwd":"/p","root":"/p"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}},"parts":[
        {"type":"text","text":"second summary","id":"prt_000000000004yPl2zvq1Ah7CR4","sessionID":"ses_new","messageID":"msg_000000000003jiLnUKifnt2XMr"}
        ]},
        {"info":{"role":"assistant","time":{"created":1790000009001,"completed":1790000009001},"modelID":"claude-x","providerID":"anthropic","mode":"build","agent":"build","id":"msg_000000000005f9sfCDzGuq1rVH","sessionID":"ses_new","parentID":"msg_000000000001lajtCDf984fRXx","finish":"stop","path":{"cwd":"/p","root":"/p"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}},"parts":[
        {"type":"text","text":"a2","id":"prt_000000000006ovfg9A7P2NlVaU","sessionID":"ses_new","messageID":"msg_000000000005f9sfCDzGuq1rVH"}
        ]},
        {"info":{"role":"user","time":{"created":1790000009002},"agent":"build","model":{"providerID":"anthropic","modelID":"claude-x"},"id":"msg_000000000007VfmJNRFemWfAfh","sessionID":"ses_new"},"parts":[
        {"id":"prt_000000000008KdzG577zO46kBa","sessionID":"ses_new","messageID":"msg_000000000007VfmJNRFemWfAfh","type":"text","text":"What did we do so far?","synthetic":true}
        ]},
        {"info":{"role":"assistant","time":{"created":1790000009003,"completed":1790000009003},"modelID":"claude-x","providerID":"anthropic","mode":"build","agent":"build","id":"msg_0000000000091N6uIOFE9E0PGn","sessionID":"ses_new","parentID":"msg_000000000007VfmJNRFemWfAfh","finish":"stop","path":{"cwd":"/p","root":"/p"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}},"parts":[
        {"type":"reasoning","text":"hm","time":{"start":1},"id":"prt_00000000000aA9uuFLNMHkj3L0","sessionID":"ses_new","messageID":"msg_0000000000091N6uIOFE9E0PGn"},
        {"type":"text","text":"first summary","id":"prt_00000000000bzUinaVIko3OU5h","sessionID":"ses_new","messageID":"msg_0000000000091N6uIOFE9E0PGn"}
        ]},
        {"info":{"role":"user","time":{"created":1790000009004},"agent":"build","model":{"providerID":"anthropic","modelID":"claude-x"},"id":"msg_00000000000cEC8357R6BrS9Au","sessionID":"ses_new"},"parts":[
        {"type":"text","text":"u2","id":"prt_00000000000dvvEgIOZLv0NoE7","sessionID":"ses_new","messageID":"msg_00000000000cEC8357R6BrS9Au"}
        ]},
        {"info":{"role":"assistant","time":{"created":1790000009005,"completed":1790000009005},"modelID":"claude-x","providerID":"anthropic","mode":"build","agent":"build","id":"msg_00000000000e4i2hFLhT3X6TJK","sessionID":"ses_new","parentID":"msg_00000000000cEC8357R6BrS9Au","finish":"stop","path":{"cwd":"/p","root":"/p"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}},"parts":[
        {"type":"text","text":"a3","id":"prt_00000000000flR9KTcping08OX","sessionID":"ses_new","messageID":"msg_00000000000e4i2hFLhT3X6TJK"}
        ]},
        {"info":{"role":"user","time":{"created":1790000010000},"agent":"build","model":{"providerID":"anthropic","modelID":"claude-x"},"id":"msg_000000000010aPMHBIh3QERhuP","sessionID":"ses_new"},"parts":[
        {"type":"text","text":"Continue","synthetic":true,"id":"prt_000000000011H9TuOZpIAOLMzc","sessionID":"ses_new","messageID":"msg_000000000010aPMHBIh3QERhuP"}
        ]}
        ]}
    "#]]
    .assert_eq(&compacted[0]);
}

/// Reads a file, changes its messages, and shows what is written for them when it is read again, and what was lost.
fn changed(file: &str, change: impl FnOnce(&mut Vec<Message>)) -> String {
    let transcript = read(file.as_bytes()).expect("an export");
    let mut messages = main(&transcript).messages;
    change(&mut messages);
    let written = transcript.write(0, &messages, "ses_new").expect("it is there");
    let mut out = show(&transcript_of(&String::from_utf8_lossy(&written.bytes)));
    for loss in &written.losses {
        writeln!(out, "-- loss {} {}", loss.message, loss.what).expect("a string takes all");
    }
    out
}

#[test]
fn a_change_leaves_the_rest_as_it_was() {
    let out = changed(&plain(), |messages| {
        messages[1].content.remove(0);
        messages[3] = Message { node: messages[3].node, ..Message::tool_result("c2", "mended", false) };
        messages.remove(6);
        messages.pop();
    });
    expect![[r#"
        user: read both
        + text: Called the Read tool
        + image image/png base64 "AA=="
        assistant: I look
        + call c1 read {"b": 1, "a": []}
        + call c2 read {}
        + origin anthropic claude-x
        + stop tool_use
        result c1: one
        result c2: mended
        assistant:
        + call c3 shot {}
        + origin anthropic claude-x
        + stop tool_use
        result c3:
        ++ image image/png base64 "BB=="
        user: and now?
    "#]]
    .assert_eq(&out);
    // Without its summary the question would ask for one once more.
    let out = changed(&compacted(), |messages| {
        messages.remove(1);
    });
    expect![[r#"
        harness: What did we do so far?
        assistant: a2
        + origin anthropic claude-x
        + stop end_turn
        harness: What did we do so far?
        assistant:
        + thinking: hm
        + text: first summary
        + origin anthropic claude-x
        + stop end_turn
        user: u2
        assistant: a3
        + origin anthropic claude-x
        + stop end_turn
        harness: Continue
    "#]]
    .assert_eq(&out);
    // Behind other words a summary would hide them.
    let out = changed(&compacted(), |messages| messages.insert(0, Message::user("before")));
    expect![[r#"
        user: before
        harness: What did we do so far?
        assistant: second summary
        + origin anthropic claude-x
        + stop end_turn
        assistant: a2
        + origin anthropic claude-x
        + stop end_turn
        harness: What did we do so far?
        assistant:
        + thinking: hm
        + text: first summary
        + origin anthropic claude-x
        + stop end_turn
        user: u2
        assistant: a3
        + origin anthropic claude-x
        + stop end_turn
        harness: Continue
    "#]]
    .assert_eq(&out);
}

const TALK: &str = r#"
    system: be brief
    user: see
      + image image/png base64 AA==
      + document application/pdf url https://a.b/c.pdf
    assistant:
      + thinking SIG: hm
      + redacted: RED
      + text: I look
      + call c1 Read {"b": 1, "a": []}
      + call c2 Read {}
      + origin anthropic claude-x
      + stop tool_use
    result c1: one
    result c2!: two
      ++ image image/png base64 AA==
    harness: go on
    assistant: done
      + stop end_turn
    assistant:
      + thinking: only
      + call c3 Read not json
      + call c4 Read not json
      + call c5 Read {"a":1}
      + opaque gemini {"a":1}
      + image image/png base64 AA==
      + origin openai-chat m
      + stop cancelled
    user: between
    result c4: late
    result c9: of none
    user:
    assistant:
    harness:
      + image image/png base64 AA==
    assistant: 1
    assistant: 2
      + origin elsewhere m
    result c9:
      ++ text: a
    user: 3
    user: 4
    "#;

#[test]
fn a_conversation_of_another_format_is_written_and_what_is_lost_is_said() {
    let messages = notation::parse(TALK).expect("well written");
    let heading = Heading {
        id: "6f1c6a52-30a5-4dc0-9c0f-0d7a3a2f7b11".to_owned(),
        cwd: "/p".to_owned(),
        title: "primes".to_owned(),
        started: Timestamp(951_782_400_123),
    };
    let written = export(&messages, Format::Opencode, &heading);
    let again = read(&written.bytes).expect("of that format");
    let mut out = show(&again);
    for loss in &written.losses {
        writeln!(out, "-- loss {} {}", loss.message, loss.what).expect("a string takes all");
    }
    expect![[r#"
        user: see
        + image image/png base64 "AA=="
        + document application/pdf url "https://a.b/c.pdf"
        assistant:
        + thinking SIG: hm
        + redacted: RED
        + text: I look
        + call c1 Read {"b": 1, "a": []}
        + call c2 Read {}
        + origin anthropic claude-x
        + stop tool_use
        result c1: one
        result c2!: two
        harness: go on
        assistant: done
        + stop end_turn
        assistant:
        + thinking: only
        + call c3 Read not json
        + call c4 Read {}
        + call c5 Read {"a":1}
        + origin openai-chat m
        + stop cancelled
        result c4: late
        user: between
        user:
        + image image/png base64 "AA=="
        assistant: 1
        assistant: 2
        + origin openai-chat m
        user: 3
        user: 4
        -- loss 0 instructions: the client writes its own into every request
        -- loss 2 what is no text in the failed result of call "c2"
        -- loss 7 the arguments of call "c4", which are no object: "not json"
        -- loss 7 a block that only gemini understands
        -- loss 7 the image in an answer
        -- loss 9 the place of the result of call "c4", which stands with the call
        -- loss 10 the result of call "c9", which stands nowhere before it
        -- loss 11 a message without content
        -- loss 12 a message without content
        -- loss 13 that the client said it and not a person
        -- loss 15 that the answer came over elsewhere
        -- loss 16 the result of call "c9", which stands nowhere before it
    "#]]
    .assert_eq(&out);
    let main = main(&again);
    assert_eq!((main.cwd.as_deref(), main.title.as_deref()), (Some("/p"), Some("primes")));
    assert_eq!(main.started, Some(heading.started));
    assert!(main.id.starts_with("ses_") && main.id.len() == 30, "{}", main.id);
    round_trips(&again);
    assert_eq!(export(&messages, Format::Opencode, &heading).bytes, written.bytes);
    expect![[r#"
        {"info":{"id":"ses_d8c28623e1f8TSsPMXQklP3jAE","slug":"sesd8c28623e1f8tsspmxqklp3jae","projectID":"global","directory":"/p","title":"primes","version":"1.18.33","time":{"created":951782400123,"updated":951782400133}},"messages":[
        {"info":{"id":"msg_000000000001S2hG0YpmsB0Bos","sessionID":"ses_d8c28623e1f8TSsPMXQklP3jAE","role":"user","time":{"created":951782400123},"agent":"build","model":{"providerID":"anthropic","modelID":"claude-x"}},"parts":[
        {"id":"prt_000000000002XF1AfNEW7fi92W","sessionID":"ses_d8c28623e1f8TSsPMXQklP3jAE","messageID":"msg_000000000001S2hG0YpmsB0Bos","type":"text","text":"see"},
        {"id":"prt_000000000003qVuWR66HNVoUxI","sessionID":"ses_d8c28623e1f8TSsPMXQklP3jAE","messageID":"msg_000000000001S2hG0YpmsB0Bos","type":"file","mime":"image/png","url":"data:image/png;base64,AA=="},
        {"id":"prt_000000000004FDf7EpduqYXQul","sessionID":"ses_d8c28623e1f8TSsPMXQklP3jAE","messageID":"msg_000000000001S2hG0YpmsB0Bos","type":"file","mime":"application/pdf","url":"https://a.b/c.pdf"}
        ]},
        {"info":{"id":"msg_000000000005o1qe6Z5xmNzlpY","sessionID":"ses_d8c28623e1f8TSsPMXQklP3jAE","role":"assistant","time":{"created":951782400124,"completed":951782400124},"parentID":"msg_000000000001S2hG0YpmsB0Bos","mode":"build","agent":"build","path":{"cwd":"/p","root":"/p"},"cost":0,"modelID":"claude-x","providerID":"anthropic","tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"tool-calls"},"parts":[
        {"id":"prt_000000000006dgsNfNuOLsLk3C","sessionID":"ses_d8c28623e1f8TSsPMXQklP3jAE","messageID":"msg_000000000005o1qe6Z5xmNzlpY","type":"step-start"},"#]]
    .assert_eq(
        std::str::from_utf8(&written.bytes)
            .expect("text")
            .lines()
            .take(8)
            .collect::<Vec<_>>()
            .join("\n")
            .as_str(),
    );
}

#[test]
fn what_an_answer_cost_and_why_it_ended_comes_back() {
    let cost = Usage {
        input_tokens: 9,
        output_tokens: 7,
        cache_read_tokens: 2,
        cache_write_tokens: 3,
        reasoning_tokens: 4,
    };
    let stops = [
        StopReason::EndTurn,
        StopReason::ToolUse,
        StopReason::MaxTokens,
        StopReason::StopSequence,
        StopReason::Refusal,
        StopReason::ContextWindow,
        StopReason::Pause,
        StopReason::Cancelled,
        StopReason::Cut,
        StopReason::Other("x".to_owned()),
    ];
    let stops = stops.into_iter().map(Some).chain([None]);
    let said = |usage| {
        move |stop| Message {
            stop,
            usage,
            ..Message::new(Role::Assistant, Author::Model, Message::user("a").content)
        }
    };
    let messages: Vec<Message> = stops.clone().map(said(Some(cost))).chain(stops.map(said(None))).collect();
    let written = export(&messages, Format::Opencode, &Heading::default());
    assert_eq!(written.losses, []);
    let mut read = main(&read(&written.bytes).expect("of that format")).messages;
    read.iter_mut().for_each(|message| message.node = None);
    assert_eq!(read, messages);
}

#[test]
fn objects_of_other_people_are_read() {
    // The folders of older versions hold the same objects, one a file.
    let Some(corpora) = std::env::var_os("TRUNKLINE_CORPORA") else { return };
    let folder = std::path::Path::new(&corpora).join("transcripts/agent-sessions/agents/opencode");
    let files = |folder: std::path::PathBuf| {
        let mut paths: Vec<_> =
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().map(|path| std::fs::read_to_string(path).expect("it was listed")).collect::<Vec<_>>()
    };
    let name = |json: &str| {
        let value: serde_json::Value = serde_json::from_str(json).expect("JSON");
        value["id"].as_str().expect("an id").to_owned()
    };
    let mut count = 0;
    for session in files(folder.join("storage_v2/session/proj_test")) {
        let messages = files(folder.join("storage_v2/message").join(name(&session)));
        let with_parts = messages.iter().map(|info| {
            let parts = files(folder.join("storage_v2/part").join(name(info)));
            format!("{{\"info\":{info},\"parts\":[{}]}}", parts.join(","))
        });
        let file =
            format!("{{\"info\":{session},\"messages\":[{}]}}", with_parts.collect::<Vec<_>>().join(","));
        let transcript = read(file.as_bytes()).expect("an export");
        count += main(&transcript).messages.len();
        round_trips(&transcript);
    }
    assert_eq!(count, 8);
}
