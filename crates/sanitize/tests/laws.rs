//! The laws, over lists in every state of damage.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use trunkline_message_tree::{Content, Message, Part, Role};
use trunkline_sanitize::{
    MediaAddresses, MediaTypes, Reasoning, Repair, RepairKind, Sanitized, TakenMedia, Thinking, WireRules,
    sanitize, violations,
};

use crate::generate::{answer, asked, facts, legal, list, rules};

/// So many cases that the ten laws have more than a hundred thousand; more where the runner is asked for more.
fn enough() -> ProptestConfig {
    let asked = ProptestConfig::default();
    ProptestConfig { cases: asked.cases.max(12_000), ..asked }
}

proptest! {
    #![proptest_config(enough())]

    #[test]
    fn sanitized_output_has_no_violations(list in list(), rules in rules(), facts in facts()) {
        let sanitized = sanitize(&list, &rules, &facts);
        let facts = sanitized.facts(&facts);
        prop_assert_eq!(violations(&sanitized.messages, &rules, &facts), []);
    }

    #[test]
    fn sanitizing_again_changes_nothing(list in list(), rules in rules(), facts in facts()) {
        let sanitized = sanitize(&list, &rules, &facts);
        let facts = sanitized.facts(&facts);
        let again = sanitize(&*sanitized.messages, &rules, &facts);
        prop_assert_eq!(&again.repairs, &[]);
        prop_assert!(!again.thinking_off);
        prop_assert_eq!(&again.messages, &sanitized.messages);
    }

    #[test]
    fn the_same_input_gives_the_same_output(list in list(), rules in rules(), facts in facts()) {
        let borrowed = sanitize(&list, &rules, &facts);
        prop_assert_eq!(&borrowed, &sanitize(&list, &rules, &facts));
        prop_assert_eq!(&borrowed, &sanitize(list.clone(), &rules, &facts));
    }

    #[test]
    fn a_legal_list_comes_back_untouched(list in list(), rules in rules(), facts in facts()) {
        let sanitized = sanitize(&list, &rules, &facts);
        let untouched = matches!(sanitized.messages, Cow::Borrowed(_));
        if violations(&list, &rules, &facts).is_empty() {
            prop_assert_eq!(&sanitized.repairs, &[]);
        }
        let edits = sanitized.repairs.len() - usize::from(sanitized.thinking_off);
        prop_assert_eq!(untouched, edits == 0);
        prop_assert_eq!(sanitized.messages == list, edits == 0);
    }

    #[test]
    fn a_list_that_was_made_legal_is_legal(list in legal(), facts in facts()) {
        for name in WireRules::NAMES {
            // These want something of every call: nine characters, a signature.
            if name.starts_with("mistral") || *name == "gemini-3" {
                continue;
            }
            let rules = WireRules::named(name).expect("a known name");
            let mut facts = facts.clone();
            facts.thinking = Thinking::Off;
            facts.tools_offered = Some(true);
            facts.context_window = None;
            prop_assert_eq!(violations(&list, &rules, &facts), []);
            prop_assert_eq!(sanitize(&list, &rules, &facts).repairs, []);
        }
    }

    #[test]
    fn the_cache_holds(
        before in list(),
        asked in asked(),
        answer in answer(),
        after in list(),
        rules in rules(),
        facts in facts(),
    ) {
        let mut sent = before;
        sent.push(asked);
        let mut later = sent.clone();
        later.push(answer);
        later.extend(after);
        if rules.cache_exception().is_some() {
            let waits = |block: &Content| matches!(block, Content::ServerCall { .. });
            for message in sent.iter_mut().chain(&mut later) {
                message.content.retain(|block| !waits(block));
            }
        }
        if facts.origin.as_ref().is_some_and(|origin| origin.address.is_some()) {
            // What goes back while its tool loop runs is left out once the user has spoken: reasoning without a signature, and
            // all reasoning on a wire that returns it whether it is signed or not.
            let leaves = |block: &Content| match rules.reasoning {
                Reasoning::Returned => matches!(block, Content::Thinking { .. }),
                _ => is_unsigned(block),
            };
            for message in sent.iter_mut().chain(&mut later) {
                message.content.retain(|block| !leaves(block));
            }
        }
        let earlier = blocks(&sanitize(&sent, &rules, &facts));
        let later = blocks(&sanitize(&later, &rules, &facts));
        prop_assert_eq!(&earlier[..], &later[..earlier.len().min(later.len())]);
    }

    #[test]
    fn every_difference_is_accounted_for(list in list(), rules in rules(), facts in facts()) {
        let sanitized = sanitize(&list, &rules, &facts);
        let budget = Budget::of(&sanitized);
        let (gone, come) = difference(&list, &sanitized.messages);
        budget.explain(&gone, &come)?;
    }

    #[test]
    fn a_replaced_name_is_its_own(list in list(), rules in rules(), facts in facts()) {
        let sanitized = sanitize(&list, &rules, &facts);
        let mut by_name: HashMap<String, String> = HashMap::new();
        for repair in &sanitized.repairs {
            let RepairKind::NameReplaced { from, to, .. } = &repair.kind else { continue };
            prop_assert!(!facts.tools.contains(to), "{} is an offered tool", to);
            prop_assert!(to.len() <= 64);
            prop_assert_eq!(by_name.entry(from.clone()).or_insert_with(|| to.clone()), to);
        }
        let others: HashSet<&String> = by_name.values().collect();
        prop_assert_eq!(others.len(), by_name.len(), "two names became one: {:?}", by_name);
    }

    #[test]
    fn no_word_is_lost(list in list(), rules in rules(), facts in facts()) {
        let sanitized = sanitize(&list, &rules, &facts);
        let cut = sanitized.repairs.iter().any(|repair| matches!(repair.kind, RepairKind::ResultCut { .. }));
        if cut {
            return Ok(());
        }
        let kept = said(&sanitized.messages).join("\n");
        let takes_less_than_all = rules.media != TakenMedia::All
            || rules.media_addresses != MediaAddresses::Any
            || rules.media_types != MediaTypes::Any;
        let renamed = |repair: &Repair| match &repair.kind {
            RepairKind::NameReplaced { from, .. } => Some(from.clone()),
            _ => None,
        };
        let renamed: Vec<String> = sanitized.repairs.iter().filter_map(renamed).collect();
        for words in said(&list) {
            // A name that is not taken is written in other letters.
            if renamed.contains(&words) {
                continue;
            }
            // A wire that takes no pictures takes their names.
            if words.starts_with("Media {") && takes_less_than_all {
                continue;
            }
            prop_assert!(kept.contains(words.trim_end()), "{:?} is lost", words);
        }
    }

    #[test]
    fn an_account_can_be_stored(list in list(), rules in rules(), facts in facts()) {
        let repairs = sanitize(&list, &rules, &facts).repairs;
        let json = serde_json::to_string(&repairs).expect("repairs are plain data");
        let read: Vec<Repair> = serde_json::from_str(&json).expect("own JSON is readable");
        prop_assert_eq!(read, repairs);
    }
}

fn is_unsigned(block: &Content) -> bool {
    matches!(block, Content::Thinking { signature, .. } if signature.as_ref().is_none_or(String::is_empty))
}

/// A sanitized list block by block, with the side that says it.
fn blocks(sanitized: &Sanitized<'_>) -> Vec<(&'static str, Content)> {
    let side = |role| match role {
        Role::System => "system",
        Role::Assistant => "assistant",
        Role::User | Role::Tool => "user",
    };
    let messages = sanitized.messages.iter();
    messages
        .flat_map(|message| message.content.iter().map(move |block| (side(message.role), block.clone())))
        .collect()
}

/// Whatever was said in words: texts, results, pictures; not reasoning, and not what only a provider understands.
fn said(messages: &[Message]) -> Vec<String> {
    let mut said = Vec::new();
    for block in messages.iter().flat_map(|message| &message.content) {
        match block {
            Content::Text { text } => said.push(text.clone()),
            Content::Image(media) | Content::Document(media) => said.push(format!("{media:?}")),
            Content::ToolCall(call) => said.push(call.name.clone()),
            Content::ToolResult(result) => said.extend(result.content.iter().map(|part| match part {
                Part::Text { text } => text.clone(),
                Part::Image(media) | Part::Document(media) => format!("{media:?}"),
                Part::Opaque { .. } => String::new(),
            })),
            _ => {}
        }
    }
    said.retain(|words| !words.trim().is_empty());
    said
}

/// What left and what came, as kinds with the id where there is one.
type Blocks = Vec<(&'static str, String)>;

fn difference(before: &[Message], after: &[Message]) -> (Blocks, Blocks) {
    let mut count: HashMap<String, (&Content, i32)> = HashMap::new();
    for (messages, step) in [(before, 1), (after, -1)] {
        for block in messages.iter().flat_map(|message| &message.content) {
            count.entry(format!("{block:?}")).or_insert((block, 0)).1 += step;
        }
    }
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    for (block, times) in count.into_values() {
        let side = if times > 0 { &mut gone } else { &mut come };
        side.extend((0..times.abs()).map(|_| name(block)));
    }
    (gone, come)
}

fn name(block: &Content) -> (&'static str, String) {
    match block {
        Content::Text { .. } => ("text", String::new()),
        Content::Thinking { .. } | Content::RedactedThinking { .. } => ("thinking", String::new()),
        Content::Image(_) | Content::Document(_) => ("media", String::new()),
        Content::ToolCall(call) => ("call", call.id.clone()),
        Content::ToolResult(result) => ("result", result.call_id.clone()),
        Content::ServerCall { .. } | Content::ServerResult { .. } | Content::Opaque { .. } => {
            ("foreign", String::new())
        }
    }
}

/// What the repairs of a list explain.
#[derive(Debug, Default)]
struct Budget {
    texts_gone: usize,
    texts_come: usize,
    thinking_gone: usize,
    foreign_gone: usize,
    thinking_come: usize,
    media_come: bool,
    media_gone: usize,
    calls: Vec<String>,
    results: Vec<String>,
}

impl Budget {
    fn of(sanitized: &Sanitized<'_>) -> Self {
        let mut budget = Budget::default();
        for repair in &sanitized.repairs {
            match repair.kind.clone() {
                RepairKind::BlankDropped => budget.texts_gone += 1,
                RepairKind::Trimmed => {
                    budget.texts_gone += 1;
                    budget.texts_come += 1;
                }
                RepairKind::EmptyStubbed
                | RepairKind::HeadAdded
                | RepairKind::TailAdded
                | RepairKind::Bridged => budget.texts_come += 1,
                RepairKind::ThinkingQuoted { blocks } => {
                    budget.thinking_gone += blocks;
                    budget.texts_come += blocks;
                }
                RepairKind::ThinkingAdded => budget.thinking_come += 1,
                RepairKind::SignatureDropped { call_id } | RepairKind::SignatureAdded { call_id } => {
                    budget.calls.push(call_id);
                }
                RepairKind::ResultFilled { call_id } | RepairKind::ResultCut { call_id, .. } => {
                    budget.results.push(call_id);
                }
                RepairKind::Flattened { call_id } => {
                    budget.calls.push(call_id.clone());
                    budget.results.push(call_id);
                    budget.texts_come += 2;
                    budget.media_come = true;
                }
                RepairKind::MediaReplaced { parts } => {
                    budget.media_gone += parts;
                    budget.texts_come += 1;
                }
                RepairKind::ThinkingDropped { blocks, .. } => budget.thinking_gone += blocks,
                RepairKind::ForeignDropped { .. } | RepairKind::BrokenDropped { .. } => {
                    budget.foreign_gone += 1
                }
                RepairKind::ReplayDropped { call_id } => budget.calls.push(call_id),
                RepairKind::Renamed { from, to, .. } => {
                    budget.calls.extend([from.clone(), to.clone()]);
                    budget.results.extend([from, to]);
                }
                RepairKind::NameReplaced { call_id, .. } => budget.calls.push(call_id),
                RepairKind::ArgumentsReplaced { call_id, .. } => {
                    budget.calls.push(call_id.clone());
                    budget.results.push(call_id);
                }
                RepairKind::Answered { call_id, .. }
                | RepairKind::BlankPartsDropped { call_id }
                | RepairKind::Merged { call_id }
                | RepairKind::DuplicateDropped { call_id }
                | RepairKind::ResultDropped { call_id, .. } => budget.results.push(call_id),
                RepairKind::MediaMoved { call_id, .. } | RepairKind::Quoted { call_id, .. } => {
                    budget.results.push(call_id);
                    budget.texts_come += 1;
                    budget.media_come = true;
                }
                _ => {}
            }
        }
        budget
    }

    fn explain(&self, gone: &Blocks, come: &Blocks) -> Result<(), TestCaseError> {
        let count = |blocks: &Blocks, kind| blocks.iter().filter(|block| block.0 == kind).count();
        prop_assert!(count(gone, "text") <= self.texts_gone, "{:?} {:?}", self, gone);
        prop_assert!(count(come, "text") <= self.texts_come, "{:?} {:?}", self, come);
        // An item of reasoning looks like any other block of its wire.
        let gone_for_good = count(gone, "thinking") + count(gone, "foreign");
        prop_assert_eq!(gone_for_good, self.thinking_gone + self.foreign_gone);
        prop_assert_eq!(count(come, "thinking"), self.thinking_come);
        prop_assert_eq!(count(come, "foreign"), 0);
        prop_assert!(count(gone, "media") <= self.media_gone);
        prop_assert!(count(come, "media") == 0 || self.media_come);
        for (kind, id) in gone.iter().chain(come) {
            let explained = match *kind {
                "call" => self.calls.contains(id),
                "result" => self.results.contains(id) || self.media_gone > 0,
                _ => true,
            };
            prop_assert!(explained, "{} {} is not explained by {:?}", kind, id, self);
        }
        Ok(())
    }
}
