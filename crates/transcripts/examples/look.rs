//! Reads a small session, or the file that is named, and prints what the next request would carry.

#![expect(clippy::print_stdout, reason = "an example shows something")]

use std::error::Error;

use trunkline_message_tree::notation;
use trunkline_transcripts::{Kind, read};

/// A session in which two tools ran side by side, a hook spoke, a line broke, and a person changed their mind.
const SESSION: &str = r#"
{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s1","cwd":"/project","timestamp":"2026-02-01T10:00:00.000Z","message":{"role":"user","content":"what do a.rs and b.rs say?"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","requestId":"q1","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"text","text":"Let me look."}]}}
{"type":"assistant","uuid":"a2","parentUuid":"a1","requestId":"q1","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"c1","name":"Read","input":{"path":"a.rs"}}]}}
{"type":"progress","uuid":"h1","parentUuid":"a2","data":{"type":"hook_progress"}}
{"type":"assistant","uuid":"a3","parentUuid":"a2","requestId":"q1","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"c2","name":"Read","input":{"path":"b.rs"}}]}}
{"type":"user","uuid":"r1","parentUuid":"a2","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"fn a() {}"}]}}
{"type":"user","uuid":"r2","parentUuid":"a3","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"fn b() {}"}]}}
{"type":"assistant","uuid":"a4","parentUuid":"r1","requestId":"q2","message":{"id":"m2","role":"assistant","model":"claude-x","content":[{"type":"text","text":"One function each."}]}}
{"type":"user","uuid":"u2","parentUuid":"a4","message":{"role":"user","content":"join them"}}
{"type":"assistant","uuid":"a5","parentUuid":"u2","requestId":"q3","message":{"id":"m3","ro
{"type":"user","uuid":"u3","parentUuid":"a4","message":{"role":"user","content":"no: test them"}}
{"type":"ai-title","aiTitle":"Two small files","sessionId":"s1"}
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let bytes = match std::env::args_os().nth(1) {
        Some(path) => std::fs::read(path)?,
        None => SESSION.trim_start().as_bytes().to_vec(),
    };
    let transcript = read(&bytes)?;
    for conversation in transcript.conversations() {
        let kind = match &conversation.kind {
            Kind::Main => "goes on",
            Kind::Covered => "covered by a summary",
            Kind::Branch => "left by going back",
            _ => "a sub-agent's",
        };
        let title = conversation.title.as_deref().unwrap_or("untitled");
        println!("# {} {title} ({kind})\n", transcript.format);
        println!("{}\n", notation::print(&conversation.messages).trim_end());
    }
    for fault in &transcript.faults {
        println!("-- {fault}");
    }
    Ok(())
}
