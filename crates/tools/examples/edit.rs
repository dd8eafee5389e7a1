//! Stages an edit in a temporary folder, lets somebody else interfere, and applies it; then one of two files, and takes it back.

#![expect(clippy::print_stdout, reason = "an example shows itself")]

use serde_json::{Value, json};
use trunkline_agent_traits::message_tree::{NodeId, Part};
use trunkline_agent_traits::resolve_queue::Entry;
use trunkline_agent_traits::{CallPlace, Cancel, ToolContext};
use trunkline_tools::CodingTools;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("greeting.txt");
    std::fs::write(&file, "Good morning,\nworld!\n")?;

    let tools = CodingTools::new(folder.path())?;
    println!("{}\n", tools.sandbox_status());
    let tools = tools.into_tools();
    let named = |name| tools.iter().find(|tool| tool.spec().name == name);
    let (Some(edit), Some(edits)) = (named("edit_file"), named("edit_files")) else { return Ok(()) };
    let Some(run) = named("run_command") else { return Ok(()) };
    let context =
        ToolContext::new(Cancel::new(), CallPlace { node: NodeId::ROOT, index: 0, id: "c1".to_owned() });

    // Who does what is approved.
    let (Some(edit_executor), Some(edits_executor)) = (edit.as_executor(), edits.as_executor()) else {
        return Ok(());
    };

    // The tool proposes; the file stays as it is.
    let change = json!({"path": "greeting.txt", "old_text": "morning", "new_text": "evening"});
    let output = edit.run(object(&change), &context).await;
    println!("{}", words(&output.content));
    let proposal = output.proposals.first().ok_or("nothing was staged")?;
    // A person has approved it, and an attempt begins.
    let entry = Entry::in_attempt(proposal.clone());
    println!("in the file: {:?}\n", std::fs::read_to_string(&file)?);

    // Somebody saves the file meanwhile: the proposal no longer fits and nothing is written.
    std::fs::write(&file, "Good night,\nworld!\n")?;
    println!("{}", words(&edit_executor.apply(&entry, &context).await.1.content));
    println!("in the file: {:?}\n", std::fs::read_to_string(&file)?);

    // They undo that, and now it fits again.
    std::fs::write(&file, "Good morning,\nworld!\n")?;
    println!("{}", words(&edit_executor.apply(&entry, &context).await.1.content));

    // Several files are one proposal. What is there is read before it is applied.
    let change = json!({"edits": [
        {"path": "greeting.txt", "old_text": "world", "new_text": "moon"},
        {"path": "answer.txt", "content": "Good night to you too.\n"},
    ]});
    let output = edits.run(object(&change), &context).await;
    println!("\n{}", words(&output.content));
    let entry = Entry::in_attempt(output.proposals.first().ok_or("nothing was staged")?.clone());
    let kept = edits_executor.keep(&entry).await;
    println!("{}", words(&edits_executor.apply(&entry, &context).await.1.content));
    // From that the way back can be shown and gone, or what a crash left half done be put right.
    if let Some((_, preview)) = edits_executor.undo(&entry, &kept).await {
        println!("To take it back:\n{}", preview.text);
    }
    println!(
        "{:?}; in the file: {:?}",
        edits_executor.put_back(&entry, &kept).await,
        std::fs::read_to_string(&file)?
    );

    // A command says what would have to be approved; here nobody is asked.
    let command = object(&json!({"command": "cat greeting.txt && touch /etc/not-here"}));
    if let Some(gate) = run.gate(&command) {
        println!("\n{}", gate.label);
    }
    println!("{}", words(&run.run(command, &context).await.content));
    Ok(())
}

fn object(value: &Value) -> serde_json::Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn words(content: &[Part]) -> String {
    content
        .iter()
        .filter_map(|part| if let Part::Text { text } = part { Some(text.as_str()) } else { None })
        .collect()
}
