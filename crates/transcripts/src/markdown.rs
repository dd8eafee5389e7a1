//! Messages as Markdown, for people.
//!
//! What was said stands as it was said; what a tool was asked and what it answered stand in fences that nothing inside of them can
//! close.

use trunkline_message_tree::{Author, Content, Message, Part, Role};

use crate::conversation::{Heading, Written};
use crate::source::Losses;

/// Writes messages as Markdown: a heading for each, with its title above all.
///
/// ```
/// use trunkline_message_tree::Message;
/// use trunkline_transcripts::{Heading, export_markdown};
///
/// let written = export_markdown(&[Message::user("hi"), Message::assistant("hello")], &Heading::default());
/// assert_eq!(String::from_utf8(written.bytes)?, "## You\n\nhi\n\n## Model\n\nhello\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn export_markdown(messages: &[Message], heading: &Heading) -> Written {
    let mut losses = Vec::new();
    let mut paragraphs = Vec::new();
    if !heading.title.trim().is_empty() {
        paragraphs.push(format!("# {}", on_one_line(&heading.title)));
    }
    for (index, message) in messages.iter().enumerate() {
        let mut losses = Losses { list: &mut losses, message: index, node: message.node };
        if !message.content.iter().all(|block| block.as_result().is_some()) {
            paragraphs.push(format!("## {}", who(message)));
        }
        for block in &message.content {
            paragraphs.extend(block_of(block, &mut losses));
        }
    }
    let mut text = paragraphs.join("\n\n");
    if !text.is_empty() {
        text.push('\n');
    }
    Written { bytes: text.into_bytes(), losses }
}

fn who(message: &Message) -> String {
    match (message.role, message.author) {
        (Role::System, _) => "Instructions".to_owned(),
        (Role::Assistant, _) => match &message.origin {
            Some(origin) => format!("Model ({})", on_one_line(&origin.model)),
            None => "Model".to_owned(),
        },
        (Role::User, Author::Person) => "You".to_owned(),
        (Role::User, _) => "Harness".to_owned(),
        (Role::Tool, _) => "Tool".to_owned(),
    }
}

fn block_of(block: &Content, losses: &mut Losses<'_>) -> Vec<String> {
    match block {
        Content::Text { text } if text.trim().is_empty() => Vec::new(),
        Content::Text { text } => vec![text.trim_end().to_owned()],
        Content::Thinking { text, .. } if text.trim().is_empty() => Vec::new(),
        Content::Thinking { text, .. } => vec![quoted(text)],
        Content::ToolCall(call) => {
            vec![format!("**{}**", on_one_line(&call.name)), fenced(&call.arguments, "json")]
        }
        Content::ToolResult(result) => {
            let mut told = vec![if result.is_error { "*failed:*" } else { "*answered:*" }.to_owned()];
            for part in &result.content {
                match part {
                    Part::Text { text } => told.push(fenced(text, "")),
                    Part::Image(_) | Part::Document(_) | Part::Opaque { .. } => {
                        losses.note("what a tool answered beside words".to_owned());
                    }
                }
            }
            told
        }
        Content::Image(media) | Content::Document(media) => {
            losses.note(format!("bytes of type {}", media.media_type));
            vec![format!("*[{}]*", on_one_line(&media.media_type))]
        }
        Content::RedactedThinking { .. } => {
            losses.note("encrypted reasoning".to_owned());
            Vec::new()
        }
        Content::ServerCall { json, .. }
        | Content::ServerResult { json, .. }
        | Content::Opaque { json, .. } => {
            vec![fenced(json, "json")]
        }
    }
}

/// Puts a text between fences that are longer than any in it.
fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|sign| sign != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

fn quoted(text: &str) -> String {
    let lines: Vec<String> =
        text.trim_end().lines().map(|line| format!("> {line}").trim_end().to_owned()).collect();
    lines.join("\n")
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}
