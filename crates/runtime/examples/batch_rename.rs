//! A tool of one's own that stages: what it would rename is shown, and done once a person has approved it.

#![expect(clippy::print_stdout, reason = "an example shows itself")]

use serde_json::json;
use std::{error::Error, fs, io, sync::Arc};
use trunkline_runtime::providers::{Scripted, Turn};
use trunkline_runtime::resolve_queue::{Fingerprint, Verdict};
use trunkline_runtime::schemars::{self, JsonSchema};
use trunkline_runtime::session_store::MemoryStore;
use trunkline_runtime::{Agent, Cancel, PendingAction, ToolContext, TypedTool};

#[derive(serde::Deserialize, JsonSchema)]
struct Endings {
    folder: String,
    from: String,
    to: String,
}

/// How a file is: by its length and time here; a digest of its bytes is safer.
fn look(path: &String) -> Fingerprint {
    let told = |file: fs::Metadata| format!("{} bytes, {:?}", file.len(), file.modified());
    fs::metadata(path).map_or(Fingerprint::absent(path), |file| Fingerprint::digest(path, told(file)))
}

async fn stage(ends: Endings, context: ToolContext) -> Result<&'static str, Box<dyn Error + Send + Sync>> {
    let names = fs::read_dir(&ends.folder)?.flatten().map(|file| file.path().display().to_string());
    let pair = |from: String| Some([format!("{}{}", from.strip_suffix(&ends.from)?, ends.to), from]);
    let pairs: Vec<[String; 2]> = names.filter_map(pair).collect();
    let mut action = PendingAction::new(format!("rename *{} to *{}", ends.from, ends.to), json!(pairs));
    action.preview.text = pairs.iter().map(|[to, from]| format!("{from} → {to}\n")).collect();
    // Where one of them is not so any more when it is approved, nothing is renamed.
    action.fingerprints = pairs.iter().flatten().map(look).collect();
    Ok(context.push_pending_action(action).map(|()| "They are renamed once a person has approved it.")?)
}

async fn rename(pairs: Vec<[String; 2]>, _: ToolContext) -> io::Result<String> {
    pairs.iter().try_for_each(|[to, from]| fs::rename(from, to)).map(|()| "Renamed.".to_owned())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("a.jpeg"), "a picture")?;
    let call = json!({ "folder": folder.path(), "from": ".jpeg", "to": ".jpg" });
    let model = Scripted::new("scripted", "tidy", move |request| match request.messages.len() {
        ..3 => Turn::new().call("c1", "rename_endings", &call),
        _ => Turn::say("Done."),
    });
    let tool = TypedTool::from_fn("rename_endings", "Gives files of a folder another ending.", stage);
    let tool = tool.apply(rename).observe(async |paths| paths.iter().map(look).collect());
    let agent = Agent::builder(model).tool(tool).build()?;
    let mut session = agent.start(Arc::new(MemoryStore::new()), "tidying", None).await?;
    println!("{}", session.prompt("Let pictures end alike.", &Cancel::new()).await?);
    let waits = session.proposals().pending().next().ok_or("nothing waits")?;
    println!("{}:\n{}", waits.proposal.label, waits.proposal.preview.text);
    session.decide(waits.id, Verdict::Approve, "").await?;
    println!("{}", session.resume(&Cancel::new()).await?);
    Ok(())
}
