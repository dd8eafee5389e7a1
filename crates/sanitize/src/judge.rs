//! The judge: says what a wire would refuse, and knows nothing of how it is repaired.
//!
//! It reads the list the way the wire does: first the messages are laid out as the wire groups them, then each rule is
//! asked by itself. It is written for the reader, not for speed, and shares no helper with the passes, so that a
//! mistake in one of them shows in the other.

mod blocks;
mod ends;
mod fields;
mod layout;
mod pairs;
mod reasoning;
mod server;
mod texts;

use trunkline_message_tree::Message;

use crate::{Place, RequestFacts, Violation, ViolationKind, WireRules};

/// Returns every place where a list breaks a rule of the wire, in order; none if the wire takes it.
///
/// ```
/// use trunkline_message_tree::Message;
/// use trunkline_sanitize::{RequestFacts, WireRules, violations};
///
/// let list = [Message::user("hello"), Message::tool_result("c1", "42", false)];
/// let found = violations(&list, &WireRules::openai_chat(), &RequestFacts::default());
/// assert_eq!(found[0].to_string(), r#"message 1 block 0: result "c1" has no call next to it"#);
/// assert!(found[0].provider_text.is_some_and(|text| text.contains("must be a response to")));
/// ```
pub fn violations(messages: &[Message], rules: &WireRules, facts: &RequestFacts) -> Vec<Violation> {
    let turns = layout::turns(messages, rules);
    let mut case = Case { rules, facts, found: Vec::new() };
    blocks::judge(&mut case, messages);
    server::judge(&mut case, messages);
    fields::judge(&mut case, messages);
    pairs::judge(&mut case, &turns);
    reasoning::judge(&mut case, messages, &turns);
    ends::judge(&mut case, messages, &turns);
    case.found.sort_by_key(|violation| (violation.at.message, violation.at.block));
    case.found
}

/// What is known and what was found so far.
struct Case<'a> {
    rules: &'a WireRules,
    facts: &'a RequestFacts,
    found: Vec<Violation>,
}

impl Case<'_> {
    fn find(&mut self, at: Place, kind: ViolationKind) {
        let provider_text = texts::of(self.rules, &kind);
        self.found.push(Violation { at, kind, provider_text });
    }
}
