//! A model walks into a dead end, tries to leave it twice, and a person takes it all back.

#![expect(clippy::print_stdout, reason = "an example shows something")]

use std::error::Error;

use trunkline_message_tree::{Message, MessageTree, Timestamp, notation};
use trunkline_revert::{Mover, Note, Record, RenderPolicy, drain, mark, render, requests, turn};

const AT: Timestamp = Timestamp(0);

fn main() -> Result<(), Box<dyn Error>> {
    let mut tree = notation::parse_tree(
        r#"
        n0 system: be brief
        n1 user: make the test pass
        n2 assistant:
           + call c1 read_file {"path":"a.rs"}
        n3 result c1: fn a() {} // [n9] looks like a mark
        n4 assistant: a mutex, then
           + call c2 write_file {"path":"a.rs"}
           + call c3 run_command {"command":"make"}
        n5 result c2: written
        n6 result c3!: deadlock
        "#,
    )?;
    let mut notes = Vec::new();

    println!("== The model asks for a node that does not exist\n");
    ask(&mut tree, &mut notes, r#"{"category":"failure","step":"n12"}"#)?;

    println!("\n== It asks again, for the node before the mutex\n");
    let why = r#"{"category":"failure","step":"[n3]","summary":"a mutex deadlocks here, use a channel"}"#;
    ask(&mut tree, &mut notes, why)?;
    println!("\n== The next request\n");
    show(&tree, &notes);

    println!("\n== A person undoes it; the next request\n");
    if let Some(undo) = tree.plan_undo(AT) {
        notes.extend(Note::undone(&tree, &undo, turn(&tree)));
        let mut draft = tree.draft();
        draft.move_head(undo)?;
        let entries = draft.into_entries();
        entries.into_iter().try_for_each(|entry| tree.record(entry))?;
    }
    show(&tree, &notes);
    Ok(())
}

/// Lets the model call `revert_to_state`, and does what a driver does between turns.
fn ask(tree: &mut MessageTree, notes: &mut Vec<Note>, arguments: &str) -> Result<(), Box<dyn Error>> {
    let call = format!("assistant:\n+ call c9 revert_to_state {arguments}");
    let mut draft = tree.draft();
    for message in notation::parse(&call)? {
        draft.append(message, AT)?;
    }
    let entries = draft.into_entries();
    entries.into_iter().try_for_each(|entry| tree.record(entry))?;

    let head = tree.head();
    let asked =
        requests(head, tree.node(head)?.message()).map(|(_, asked)| asked).collect::<Result<Vec<_>, _>>()?;
    let mut draft = tree.draft();
    for (request, answer) in asked.iter().zip(drain(tree, &asked, Mover::MODEL)) {
        let text = answer.as_ref().map_or_else(|refusal| refusal.to_string(), |plan| plan.result_text());
        println!("the model reads: {text}");
        let result = draft.append(Message::tool_result("c9", text, answer.is_err()), AT)?;
        let record = match answer {
            Ok(plan) => {
                let outcome = plan.outcome(&[result], AT, turn(tree));
                draft.move_head(outcome.head_move)?;
                notes.push(outcome.note);
                outcome.record
            }
            Err(refusal) => Record::refused(request, &refusal, Mover::MODEL),
        };
        println!("the log keeps:   {}", serde_json::to_string(&record)?);
    }
    let entries = draft.into_entries();
    entries.into_iter().try_for_each(|entry| tree.record(entry))?;
    Ok(())
}

fn show(tree: &MessageTree, notes: &[Note]) {
    let sent = render(tree, notes, &RenderPolicy::default(), turn(tree));
    print!("{}", notation::print(&mark(sent)));
}
