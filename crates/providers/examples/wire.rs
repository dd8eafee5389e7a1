//! Encodes one conversation for each wire, then decodes an answer that comes in pieces.

#![expect(clippy::print_stdout, reason = "an example speaks to its reader")]

use std::error::Error;

use trunkline_message_tree::{Origin, notation};
use trunkline_providers::{Anthropic, Dialect, Fold, OpenAiChat, OpenAiResponses, Request, Wire};

const CONVERSATION: &str = "
    system: be brief
    user: what is in a.rs?
    assistant: let me look
      + call c1 read_file {\"path\": \"a.rs\"}
    result c1: fn main() {}
    user: and is it good?";

const ANSWER: &str = "\
data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"It is empty.\"}}]}

data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"It does nothing, \"}}]}

data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"and that well.\"},\"finish_reason\":\"stop\"}]}

data: [DONE]

";

fn main() -> Result<(), Box<dyn Error>> {
    let request = Request::new("m", notation::parse(CONVERSATION)?);
    let chat = OpenAiChat::new(Dialect::for_host("localhost"));
    let wires: [&dyn Wire; 3] = [&Anthropic::new(), &chat, &OpenAiResponses::new()];
    for wire in wires {
        let http = wire.encode(&request)?;
        println!("{} {} on {}", http.method, http.path, wire.name());
        println!("{}\n", String::from_utf8_lossy(&http.body.to_vec()));
    }

    let mut decoder = chat.decoder(&request);
    let mut fold = Fold::new(Origin::new("local", "m"));
    let mut events = Vec::new();
    for piece in ANSWER.as_bytes().chunks(100) {
        decoder.push(piece, &mut events)?;
        for event in events.drain(..) {
            println!("{event:?}");
            fold.push(&event);
        }
    }
    decoder.finish(&mut events)?;
    println!("\n{}", notation::print(&[fold.finish()]));

    // A history that would be refused is refused here, by name.
    let unanswered =
        Request::new("m", notation::parse("user: hi\nassistant:\n+ call c1 f {}\nuser: never mind")?);
    if let Err(error) = chat.encode(&unanswered) {
        println!("refused: {error}");
    }
    Ok(())
}
