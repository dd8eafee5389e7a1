//! A tool that sends mails once they are approved, called and applied without a loop, as its own tests would.

#![expect(clippy::print_stdout, reason = "an example shows itself")]

use std::error::Error;
use std::io;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trunkline_agent_traits::message_tree::NodeId;
use trunkline_agent_traits::resolve_queue::Entry;
use trunkline_agent_traits::schemars::{self, JsonSchema};
use trunkline_agent_traits::{CallPlace, Cancel, PendingAction, Tool, ToolContext, TypedTool};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Mail {
    /// An address.
    to: String,
    text: String,
}

async fn stage(mail: Mail, context: ToolContext) -> Result<&'static str, Box<dyn Error + Send + Sync>> {
    let mut action = PendingAction::new(format!("send a mail to {}", mail.to), json!(mail));
    action.preview.text = mail.text;
    context.push_pending_action(action)?;
    Ok("It is sent once a person has approved it.")
}

async fn send(mail: Mail, _: ToolContext) -> Result<String, io::Error> {
    match mail.to.split_once('@') {
        Some(_) => Ok(format!("Sent to {}.", mail.to)),
        None => Err(io::Error::other(format!("{:?} is no address", mail.to))),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let tool = TypedTool::from_fn("send_mail", "Sends a mail.", stage).apply(send);
    println!("The model is told:\n{:#}\n", tool.spec().input_schema);
    let executor = tool.as_executor().ok_or("it applies")?;

    for arguments in [
        json!({ "to": "ann@example.org", "text": "Dinner at eight?" }),
        json!({ "to": "ann", "text": "Dinner at eight?" }),
        json!({ "to": "ann@example.org" }),
    ] {
        println!("call {arguments}");
        let Value::Object(arguments) = arguments else { continue };
        let call = CallPlace { node: NodeId::ROOT, index: 0, id: "c1".to_owned() };
        let context = ToolContext::new(Cancel::new(), call).collecting_actions();
        println!("  answer: {:?}", tool.run(arguments, &context).await.content);
        for staged in context.take_actions() {
            println!("  staged: {}\n          | {}", staged.label, staged.preview.text);
            // A person approves, perhaps tomorrow and in another process.
            let (outcome, output) = executor.apply(&Entry::in_attempt(staged), &context).await;
            println!("  applied: {outcome:?}, {:?}", output.content);
        }
    }
    Ok(())
}
