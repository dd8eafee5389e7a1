//! From text to messages.

use crate::{
    Author, Content, HeadMove, Media, MediaSource, Message, MessageTree, MoveKind, NodeId, Origin, Part,
    Role, StopReason, Timestamp, ToolCall, ToolResult, TreeError,
};

/// Why a text is not a conversation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotationError {
    /// A line is not of the form.
    #[error("line {line}: {fault}")]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        fault: String,
    },
    /// The lines are well formed, but no tree can grow like that.
    #[error("line {line}: {source}")]
    Tree {
        /// The line, counted from 1.
        line: usize,
        /// What the tree says.
        source: TreeError,
    },
}

/// Reads a list of messages.
///
/// # Errors
///
/// [`NotationError::Line`] with the first line that is not of the form.
pub fn parse(text: &str) -> Result<Vec<Message>, NotationError> {
    let mut messages = Vec::new();
    for (line, text) in lines(text) {
        parse_line(&mut messages, text).map_err(|fault| NotationError::Line { line, fault })?;
    }
    Ok(messages)
}

/// Reads a tree; all times are 0.
///
/// # Errors
///
/// [`NotationError::Line`] with the first line that is not of the form, [`NotationError::Tree`] with the first that
/// does not fit the tree as it is by then.
pub fn parse_tree(text: &str) -> Result<MessageTree, NotationError> {
    // A message can only be recorded when its last block is known, so the steps are collected first.
    let mut steps: Vec<(usize, Step)> = Vec::new();
    let mut messages: Vec<Message> = Vec::new();
    for (line, text) in lines(text) {
        let fault = |fault: String| NotationError::Line { line, fault };
        if text.starts_with('+') {
            parse_line(&mut messages, text).map_err(fault)?;
            continue;
        }
        let (step, rest) = parse_step(text).map_err(fault)?;
        if matches!(step, Step::Node { .. }) {
            parse_line(&mut messages, rest).map_err(fault)?;
        }
        steps.push((line, step));
    }
    let mut messages = messages.into_iter();
    let mut tree: Option<MessageTree> = None;
    for (line, step) in steps {
        let tree_fault = |source| NotationError::Tree { line, source };
        match (&mut tree, step) {
            (None, Step::Node { id: NodeId::ROOT, place: Place::Head }) => {
                let root = messages.next().expect("each node step has a message");
                tree = Some(MessageTree::new(root, Timestamp(0)));
            }
            (None, _) => return Err(tree_fault(TreeError::NoRoot)),
            (Some(tree), step) => grow(tree, step, &mut messages).map_err(tree_fault)?,
        }
    }
    tree.ok_or(NotationError::Tree { line: 1, source: TreeError::NoRoot })
}

fn grow(
    tree: &mut MessageTree,
    step: Step,
    messages: &mut impl Iterator<Item = Message>,
) -> Result<(), TreeError> {
    let at = Timestamp(0);
    let jump = |tree: &MessageTree, to, kind| HeadMove { from: tree.head(), to, kind, at };
    let mut draft = tree.draft();
    match step {
        Step::Head { to, kind } => {
            draft.move_head(jump(tree, to, kind))?;
        }
        Step::Undo => {
            let undo = tree.plan_undo(at).ok_or(TreeError::NothingToTakeBack)?;
            draft.move_head(undo)?;
        }
        Step::Redo => {
            let redo = tree.plan_redo(at).ok_or(TreeError::NothingToTakeBack)?;
            draft.move_head(redo)?;
        }
        Step::Node { id, place } => {
            let message = messages.next().expect("each node step has a message");
            let given = match place {
                Place::Head => draft.append(message, at)?,
                Place::Filed(parent) => draft.file(parent, message, at)?,
                Place::Merge(with) => draft.merge(with, message, at)?,
                Place::Cover(from, to) => draft.cover(from, to, message, at)?,
                Place::After(parent) => {
                    draft.move_head(jump(tree, parent, MoveKind::PersonRevert))?;
                    draft.append(message, at)?
                }
            };
            if given != id {
                return Err(TreeError::OutOfOrder { found: id, expected: given });
            }
        }
    }
    let entries = draft.into_entries();
    entries.into_iter().try_for_each(|entry| tree.record(entry))
}

enum Step {
    Node { id: NodeId, place: Place },
    Head { to: NodeId, kind: MoveKind },
    Undo,
    Redo,
}

enum Place {
    Head,
    After(NodeId),
    Filed(NodeId),
    Merge(Vec<NodeId>),
    Cover(NodeId, NodeId),
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim_start()));
    numbered.filter(|(_, line)| !line.is_empty())
}

fn parse_step(line: &str) -> Result<(Step, &str), String> {
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    match first {
        "undo" => return Ok((Step::Undo, "")),
        "redo" => return Ok((Step::Redo, "")),
        "head" => {
            let (to, by) = rest.split_once(' ').unwrap_or((rest, ""));
            let kind = match by.trim() {
                "" => MoveKind::PersonRevert,
                "by model" => MoveKind::ModelRevert,
                "as fork" => MoveKind::Fork,
                "as import" => MoveKind::Import,
                "as merge" => MoveKind::Merge,
                other => {
                    let known = "nothing, `by model`, `as fork`, `as import` or `as merge`";
                    return Err(format!("after `head n2` comes {known}, not {other:?}"));
                }
            };
            return Ok((Step::Head { to: node(to)?, kind }, ""));
        }
        _ => {}
    }
    let id = node(first)?;
    let rest = rest.trim_start();
    if let Some((word, rest)) = sign(rest, '<') {
        return Ok((Step::Node { id, place: Place::After(node(word)?) }, rest));
    }
    if let Some((word, rest)) = sign(rest, '*') {
        return Ok((Step::Node { id, place: Place::Filed(node(word)?) }, rest));
    }
    if let Some((word, rest)) = sign(rest, '&') {
        let with = word.split(',').map(node).collect::<Result<_, _>>()?;
        return Ok((Step::Node { id, place: Place::Merge(with) }, rest));
    }
    if let Some((word, rest)) = sign(rest, '#') {
        let (from, to) =
            word.split_once("..").ok_or_else(|| format!("a span looks like n3..n8, not {word:?}"))?;
        return Ok((Step::Node { id, place: Place::Cover(node(from)?, node(to)?) }, rest));
    }
    Ok((Step::Node { id, place: Place::Head }, rest))
}

/// Returns the word after a sign that stands first, and what follows it.
fn sign(text: &str, sign: char) -> Option<(&str, &str)> {
    let after = text.strip_prefix(sign)?.trim_start();
    let (word, rest) = after.split_once(' ').unwrap_or((after, ""));
    Some((word, rest.trim_start()))
}

fn node(word: &str) -> Result<NodeId, String> {
    let id: NodeId =
        word.parse().map_err(|_| format!("a line of a tree starts with a node like n3, not {word:?}"))?;
    Ok(id)
}

fn parse_line(messages: &mut Vec<Message>, line: &str) -> Result<(), String> {
    if let Some(rest) = line.strip_prefix("++") {
        let message = messages.last_mut().ok_or("there is no message above")?;
        return parse_part(message, rest.trim_start());
    }
    if let Some(rest) = line.strip_prefix('+') {
        let message = messages.last_mut().ok_or("there is no message above")?;
        return parse_block(message, rest.trim_start());
    }
    if line.starts_with("result ") {
        let result = parse_result(line)?;
        messages.push(Message::new(Role::Tool, Author::Tool, vec![Content::ToolResult(result)]));
        return Ok(());
    }
    let (head, text) = line.split_once(':').ok_or_else(|| format!("no colon in {line:?}"))?;
    let (role, author) = match head {
        "system" => (Role::System, Author::Harness),
        "user" => (Role::User, Author::Person),
        "harness" => (Role::User, Author::Harness),
        "assistant" => (Role::Assistant, Author::Model),
        "tool" => (Role::Tool, Author::Tool),
        other => return Err(format!("no role is called {other:?}")),
    };
    let text = unescape(text)?;
    let content = if text.is_empty() { Vec::new() } else { vec![Content::text(text)] };
    messages.push(Message::new(role, author, content));
    Ok(())
}

fn parse_block(message: &mut Message, line: &str) -> Result<(), String> {
    let word_end = line.find([' ', ':']).unwrap_or(line.len());
    let (kind, rest) = line.split_at(word_end);
    let block = match kind {
        "text" => Content::Text { text: colon(rest)? },
        "redacted" => Content::RedactedThinking { data: colon(rest)? },
        "thinking" if rest.starts_with(':') => Content::Thinking { text: colon(rest)?, signature: None },
        "thinking" => {
            let (signature, rest) = word(rest)?;
            Content::Thinking { text: colon(rest)?, signature: Some(signature) }
        }
        "image" => Content::Image(media(rest)?),
        "document" => Content::Document(media(rest)?),
        "result" => Content::ToolResult(parse_result(line)?),
        "call" => {
            let (id, rest) = word(rest)?;
            let (name, rest) = word(rest)?;
            Content::ToolCall(ToolCall { id, name, arguments: unescape(rest)?, signature: None })
        }
        "server-call" => {
            let (id, rest) = word(rest)?;
            Content::ServerCall { id, json: unescape(rest)? }
        }
        "server-result" => {
            let (call_id, rest) = word(rest)?;
            Content::ServerResult { call_id, json: unescape(rest)? }
        }
        "opaque" => {
            let (wire, rest) = word(rest)?;
            Content::Opaque { wire, json: unescape(rest)? }
        }
        "origin" => {
            let (provider, rest) = word(rest)?;
            let (model, rest) = word(rest)?;
            let origin = Origin::new(provider, model);
            message.origin = Some(match rest.trim().is_empty() {
                true => origin,
                false => origin.at(last_word(rest)?),
            });
            return Ok(());
        }
        "stop" => {
            message.stop = Some(stop(rest)?);
            return Ok(());
        }
        "author" => {
            message.author = match rest.trim() {
                "person" => Author::Person,
                "model" => Author::Model,
                "tool" => Author::Tool,
                "harness" => Author::Harness,
                other => return Err(format!("no author is called {other:?}")),
            };
            return Ok(());
        }
        other => return Err(format!("no block is called {other:?}")),
    };
    message.content.push(block);
    Ok(())
}

fn parse_part(message: &mut Message, line: &str) -> Result<(), String> {
    let word_end = line.find([' ', ':']).unwrap_or(line.len());
    let (kind, rest) = line.split_at(word_end);
    match (message.content.last_mut(), kind) {
        (Some(Content::ToolResult(result)), "text") => result.content.push(Part::Text { text: colon(rest)? }),
        (Some(Content::ToolResult(result)), "image") => result.content.push(Part::Image(media(rest)?)),
        (Some(Content::ToolResult(result)), "document") => result.content.push(Part::Document(media(rest)?)),
        (Some(Content::ToolResult(result)), "opaque") => {
            let (wire, rest) = word(rest)?;
            result.content.push(Part::Opaque { wire, json: unescape(rest)? });
        }
        (Some(Content::ToolCall(call)), "signature") => call.signature = Some(last_word(rest)?),
        _ => return Err(format!("`++ {kind}` does not belong to the block above")),
    }
    Ok(())
}

/// Reads `result ID: text` or `result ID!: text`.
fn parse_result(line: &str) -> Result<ToolResult, String> {
    let rest = line.strip_prefix("result").unwrap_or(line);
    let (call_id, rest) = word(rest)?;
    let (is_error, rest) = match rest.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let text = colon(rest)?;
    let content = if text.is_empty() { Vec::new() } else { vec![Part::Text { text }] };
    Ok(ToolResult { call_id, content, is_error })
}

fn media(rest: &str) -> Result<Media, String> {
    let (media_type, rest) = word(rest)?;
    let (kind, rest) = word(rest)?;
    let data = last_word(rest)?;
    let source = match kind.as_str() {
        "base64" => MediaSource::Base64(data),
        "url" => MediaSource::Url(data),
        other => return Err(format!("the source is `base64` or `url`, not {other:?}")),
    };
    Ok(Media { media_type, source })
}

fn stop(rest: &str) -> Result<StopReason, String> {
    let (name, rest) = word(rest)?;
    Ok(match name.as_str() {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "refusal" => StopReason::Refusal,
        "context_window" => StopReason::ContextWindow,
        "pause" => StopReason::Pause,
        "cancelled" => StopReason::Cancelled,
        "cut" => StopReason::Cut,
        "other" => StopReason::Other(last_word(rest)?),
        other => return Err(format!("no stop reason is called {other:?}")),
    })
}

/// Takes one word, bare or as a JSON string, and returns what follows it.
fn word(text: &str) -> Result<(String, &str), String> {
    let text = text.trim_start_matches(' ');
    if text.starts_with('"') {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let value =
            values.next().and_then(Result::ok).ok_or_else(|| format!("not a JSON string: {text:?}"))?;
        let used = values.byte_offset();
        return Ok((value, &text[used..]));
    }
    let end = text.find([' ', ':', '!']).unwrap_or(text.len());
    if end == 0 {
        return Err(format!("a word is missing before {text:?}"));
    }
    Ok((text[..end].to_owned(), &text[end..]))
}

/// Takes the last word of a line: bare, it reaches to the end and may hold colons, as addresses do.
fn last_word(text: &str) -> Result<String, String> {
    let text = text.trim_matches(' ');
    let (value, rest) =
        if text.starts_with('"') || text.is_empty() { word(text)? } else { (text.to_owned(), "") };
    if !rest.is_empty() || (!text.starts_with('"') && text.contains(' ')) {
        return Err(format!("one word ends the line, not {text:?}"));
    }
    Ok(value)
}

fn colon(rest: &str) -> Result<String, String> {
    unescape(rest.strip_prefix(':').ok_or_else(|| format!("a colon is missing before {rest:?}"))?)
}

/// Undoes the escapes; plain spaces at the head are the gap after the colon or the word before.
fn unescape(text: &str) -> Result<String, String> {
    let text = text.trim_matches(' ');
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        match rest.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('s') => out.push(' '),
            Some('\\') => out.push('\\'),
            Some('u') => {
                let (digits, after) = rest
                    .as_str()
                    .strip_prefix('{')
                    .and_then(|hex| hex.split_once('}'))
                    .ok_or("`\\u` is followed by a number in braces")?;
                let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                out.push(code.ok_or_else(|| format!("no character has the number {digits:?}"))?);
                rest = after.chars();
            }
            other => return Err(format!("no escape is called {other:?}")),
        }
    }
    Ok(out)
}
