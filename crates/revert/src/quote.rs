//! Quotes messages for whoever sums them up.
//!
//! Every line stands behind a bar, so that nothing in it can look like the end of the quotation or like words of the one
//! who asks.

use std::fmt::Write as _;

use trunkline_message_tree::{Author, Content, Message, NodeId, Role, ToolResult};

use crate::mark::{disarm, is_bidi_control};
use crate::one_line::one_line;

/// The most characters of one text, and the fewest to which it is shortened before whole messages are left out.
const LONGEST: usize = 8_000;
const SHORTEST: usize = 125;

/// Returns messages as a summarizer can be shown them, each line behind a bar (`| `), in at most about `most_bytes`.
///
/// Long texts lose their middle first, then the oldest messages are left out; both are said. What looks like marks and notes
/// is made harmless, and nothing in it begins a line or moves a cursor. Reasoning is left out.
pub fn quoted(messages: &[(NodeId, &Message)], most_bytes: usize) -> String {
    let mut longest = LONGEST;
    loop {
        let pieces: Vec<String> = messages.iter().map(|(id, message)| piece(*id, message, longest)).collect();
        let size: usize = pieces.iter().map(String::len).sum();
        if size <= most_bytes {
            return pieces.concat();
        }
        if longest / 2 >= SHORTEST {
            longest /= 2;
            continue;
        }
        let mut size = size;
        let dropped = pieces.iter().take_while(|piece| {
            let too_large = size > most_bytes;
            size -= if too_large { piece.len() } else { 0 };
            too_large
        });
        let dropped = dropped.count();
        return format!("({dropped} older messages are not quoted)\n{}", pieces[dropped..].concat());
    }
}

fn piece(id: NodeId, message: &Message, longest: usize) -> String {
    let who = match (message.role, message.author) {
        (Role::System, _) => "instructions",
        (Role::Assistant, _) => "assistant",
        (Role::Tool, _) => "tool",
        (_, Author::Harness) => "harness",
        _ => "person",
    };
    let mut piece = format!("{id} {who}\n");
    for block in &message.content {
        match block {
            Content::Text { text } => lines(&mut piece, text, longest),
            Content::ToolCall(call) => {
                lines(&mut piece, &format!("calls {}", one_line(&call.name, 64)), longest);
                lines(&mut piece, &call.arguments, longest);
            }
            Content::ToolResult(result) => result_lines(&mut piece, result, longest),
            Content::Image(_) => lines(&mut piece, "(a picture)", longest),
            Content::Document(_) => lines(&mut piece, "(a document)", longest),
            // What a model thought is not what it said, and what a provider keeps for itself nobody can read.
            _ => {}
        }
    }
    piece
}

fn result_lines(piece: &mut String, result: &ToolResult, longest: usize) {
    if result.is_error {
        lines(piece, "(failed)", longest);
    }
    lines(piece, &result.text(), longest);
}

/// Writes each line of a text behind a bar; a long text loses its middle.
fn lines(piece: &mut String, text: &str, longest: usize) {
    let text = disarm(text);
    let count = text.chars().count();
    if count <= longest {
        text.lines().for_each(|line| push(piece, line));
        return;
    }
    let half = longest / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(count - half).collect();
    start.lines().for_each(|line| push(piece, line));
    let _ = writeln!(piece, "({} characters left out)", count - 2 * half);
    end.lines().for_each(|line| push(piece, line));
}

fn push(piece: &mut String, line: &str) {
    piece.push_str("| ");
    // Nothing that begins a line, changes its direction or moves the cursor: the bar must stay where a reader sees it.
    piece.extend(line.chars().map(|c| if moves(c) { ' ' } else { c }));
    piece.push('\n');
}

fn moves(c: char) -> bool {
    (c.is_control() && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}') || is_bidi_control(c)
}
