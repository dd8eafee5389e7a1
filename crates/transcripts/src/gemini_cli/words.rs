//! What the client itself says in the name of another, and text as it stands in lines.
//!
//! The beginnings are those in the client's source of 2026-08, read 2026-11.

use std::borrow::Cow;

use trunkline_message_tree::{Author, Content, Message, Role};

/// How words begin that the client writes in the name of the user.
const OF_THE_CLIENT: [&str; 8] = [
    CONTEXT,
    "<hook_context>",
    "<state_snapshot>",
    "<scratchpad>",
    "This is the Gemini CLI. We are setting up the context for our chat.",
    "Here is the user's editor context as a JSON object.",
    "Here is a summary of changes in the user's editor context",
    "System: Potential loop detected.",
];

/// How the folder and the date are told to the model.
const CONTEXT: &str = "<session_context>";

/// What the client says in the name of the model behind a summary, and behind its first words in older versions.
const ACKNOWLEDGEMENTS: [&str; 2] =
    ["Got it. Thanks for the additional context!", "Got it. Thanks for the context!"];

/// What the client writes as a signature where the service wants one and there is none.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Returns who wrote a message, by its words.
pub(super) fn author(role: Role, content: &[Content]) -> Author {
    let text = content.iter().find_map(|block| match block {
        Content::Text { text } => Some(text.trim_start()),
        _ => None,
    });
    match role {
        Role::System => Author::Harness,
        Role::Tool => Author::Tool,
        Role::User => {
            let is_told = |text: &str| OF_THE_CLIENT.iter().any(|known| text.starts_with(known));
            if text.is_some_and(is_told) { Author::Harness } else { Author::Person }
        }
        Role::Assistant => {
            let alone =
                matches!(content, [Content::Text { text }] if ACKNOWLEDGEMENTS.contains(&text.trim()));
            // It stands between a result and the file that the result brings.
            let filler = matches!(
                content,
                [Content::Thinking { signature: Some(signature), .. }] if signature == NO_SIGNATURE
            );
            if alone || filler { Author::Harness } else { Author::Model }
        }
    }
}

/// Tells whether a message says where the client runs: it is written again, with another date, whenever a session goes
/// on.
pub(super) fn is_context(message: &Message) -> bool {
    message.role == Role::User && message.author == Author::Harness && message.text().starts_with(CONTEXT)
}

/// Tells whether a message holds the summary of a compaction.
pub(super) fn is_summary(message: &Message) -> bool {
    message.role == Role::User && message.text().contains("<state_snapshot>")
}

/// Tells whether the client leaves a message of the user out when it goes on with a session.
pub(super) fn is_passed_over(message: &Message) -> bool {
    if message.role != Role::User {
        return false;
    }
    let text = message.content.iter().find_map(|block| match block {
        Content::Text { text } if !text.trim().is_empty() => Some(text.trim_start()),
        // It is said in brackets.
        Content::Text { .. } => None,
        _ => Some("["),
    });
    text.is_none_or(|text| {
        text.starts_with(['/', '?']) || text.starts_with(CONTEXT) || text.starts_with("<hook_context>")
    })
}

/// Returns the folder that the first words of a session tell of.
pub(super) fn folder(message: &Message) -> Option<String> {
    const LEADS: [&str; 3] = [
        "- **Workspace Directories:**\n  - ",
        "I'm currently working in the directory: ",
        "I'm currently working in the following directories:\n  - ",
    ];
    if message.author != Author::Harness {
        return None;
    }
    let text = message.text();
    let after = LEADS.iter().find_map(|lead| text.split_once(lead)).map(|(_, after)| after)?;
    after.lines().next().map(|folder| folder.trim().to_owned()).filter(|folder| !folder.is_empty())
}

/// Returns JSON without line breaks between its values, and without the spaces around them; all else stays.
///
/// Documents of older versions have breaks, and lines cannot. The client itself forgets them.
pub(super) fn one_line(json: &str) -> Cow<'_, str> {
    if !json.contains(['\n', '\r']) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    let (mut inside, mut escaped, mut breaks) = (false, false, false);
    for sign in json.chars() {
        if !inside && matches!(sign, '\n' | '\r') {
            out.truncate(out.trim_end_matches([' ', '\t']).len());
            breaks = true;
            continue;
        }
        if breaks && matches!(sign, ' ' | '\t') {
            continue;
        }
        breaks = false;
        match sign {
            _ if escaped => escaped = false,
            '\\' => escaped = inside,
            '"' => inside = !inside,
            _ => {}
        }
        out.push(sign);
    }
    Cow::Owned(out)
}
