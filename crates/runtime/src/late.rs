//! Results that come after their call was answered.
//!
//! A result enters the trunk only if its call is on it. Otherwise it is filed under its call: whoever looks at the branch
//! that was left sees it, and no prompt ever holds it.

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{
    Author, CallOutcome, Content, Message, MessageTree, NodeId, Part, Role, ToolCall, ToolResult,
};
use trunkline_session_store::{InboxId, Letter};

use crate::calls::finished;
use crate::journal;
use crate::journal::entries;
use crate::layers::resolve;
use crate::letters;
use crate::{CallPlace, Event, RuntimeError, Session};

/// What became of a result that somebody brought.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Late {
    /// It is the call's result: the call was still open.
    Recorded,
    /// The call had its result, so it is quoted in a message of the harness where it arrived.
    Quoted {
        /// The message.
        node: NodeId,
    },
    /// The call is not on the trunk, so it was filed under it.
    Filed {
        /// The filed message.
        node: NodeId,
    },
    /// Other calls are open, and between them and their results is no place: it waits in the session's inbox.
    Waiting,
}

/// What a letter brings.
#[derive(Serialize, Deserialize)]
pub(crate) struct LateBody {
    pub(crate) call: CallPlace,
    pub(crate) result: ToolResult,
}

impl Session {
    /// Takes in what a call gave that ended outside of the loop, as of a tool that goes on in the background.
    ///
    /// `call.node` and `call.index` name the call; the ids in `call` and `result` are not looked at, because they repeat.
    /// The model is not asked: drive the session on with [`resume`](Session::resume).
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if there is no such call; [`RuntimeError::Store`].
    pub async fn late_result(&mut self, call: &CallPlace, result: ToolResult) -> Result<Late, RuntimeError> {
        self.catch_up().await?;
        self.load_words_of(call.node).await?;
        call_at(&self.state.tree, call)?;
        if !self.takes_late(call) {
            let body = journal::json(&LateBody { call: call.clone(), result });
            let at = self.settings().now();
            self.store.post(self.lease.session(), letters::LATE, &body, at).await?;
            return Ok(Late::Waiting);
        }
        self.take_late(call, result, None).await
    }

    pub(crate) async fn take_late_letter(&mut self, letter: &Letter) -> Result<(), RuntimeError> {
        let LateBody { call, result } = letters::body(letter)?;
        match self.takes_late(&call) {
            true => self.take_late(&call, result, Some(letter.id)).await.map(drop),
            // As a prompt does, it stays until the open calls have their results.
            false => Ok(()),
        }
    }

    /// Returns whether there is a place for this result now.
    pub(crate) fn takes_late(&self, call: &CallPlace) -> bool {
        self.state.open_turn().is_none()
            || self.is_awaited(call)
            || !self.state.tree.takes_results_of(call.node)
    }

    /// Returns whether the call is one of the open turn, whole, and without its result.
    fn is_awaited(&self, call: &CallPlace) -> bool {
        self.state.open_turn().is_some_and(|turn| {
            let ready =
                || matches!(turn.message.outcome_of(call.index as usize), Some(CallOutcome::Ready(_)));
            turn.node == call.node && !turn.was_cut() && !self.state.is_finished(call) && ready()
        })
    }

    pub(crate) async fn take_late(
        &mut self,
        call: &CallPlace,
        result: ToolResult,
        letter: Option<InboxId>,
    ) -> Result<Late, RuntimeError> {
        self.load_words_of(call.node).await?;
        let at = self.settings().now();
        let tree = &self.state.tree;
        let asked = call_at(tree, call)?;
        let call = CallPlace { id: asked.id.clone(), ..call.clone() };
        let result = ToolResult { call_id: asked.id.clone(), ..result };
        if self.is_awaited(&call) {
            let mut records = vec![finished(&call, &result, true, at)];
            records.extend(resolve::drop_gate(&self.state.resolve, &call, at));
            self.commit(records, letter).await?;
            self.tell(&Event::CallFinished { call, result, elapsed: None });
            return Ok(Late::Recorded);
        }
        let mut draft = tree.draft();
        let late = if tree.takes_results_of(call.node) {
            Late::Quoted { node: draft.append(quotation(&call, asked, result), at)? }
        } else {
            let message = Message::new(Role::Tool, Author::Tool, vec![Content::ToolResult(result)]);
            Late::Filed { node: draft.file(call.node, message, at)? }
        };
        let records = entries(draft);
        self.commit(records, letter).await?;
        Ok(late)
    }
}

fn call_at<'a>(tree: &'a MessageTree, call: &CallPlace) -> Result<&'a ToolCall, RuntimeError> {
    let message = tree.node(call.node).ok().map(|node| node.message());
    let asked = message.and_then(|message| message.calls().nth(call.index as usize));
    asked.ok_or_else(|| RuntimeError::Refused {
        reason: format!("{} holds no call with the number {}", call.node, call.index),
    })
}

/// Returns a late result as words of the harness. Its place beside its call is taken, and no wire would accept a second one.
fn quotation(call: &CallPlace, asked: &ToolCall, result: ToolResult) -> Message {
    // A model chose the name.
    let name: String = asked.name.chars().take(64).collect();
    let failed = if result.is_error { ", a failure" } else { "" };
    let number = call.index + 1;
    let mut content = vec![Content::text(format!(
        "A result came late, of your call {name:?} (call {number} of {}){failed}. The tool said:",
        call.node
    ))];
    content.extend(result.content.into_iter().map(|part| match part {
        Part::Text { text } => {
            // So that none of it reads as words of the harness.
            Content::text(quote_lines(&text))
        }
        Part::Image(media) => Content::Image(media),
        Part::Document(media) => Content::Document(media),
        Part::Opaque { .. } => Content::text("> (a part that cannot be quoted)"),
    }));
    Message::new(Role::User, Author::Harness, content)
}

/// Puts `> ` before every line of a text. Whatever a reader may take for the end of a line is one, and what else moves a
/// cursor is a space.
fn quote_lines(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let mut quoted = String::from("> ");
    for c in text.chars() {
        match c {
            '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}' => quoted.push_str("\n> "),
            c if c.is_control() && c != '\t' => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted
}
