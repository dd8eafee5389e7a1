//! Laws of ledgers: whatever was called and answered, each call is counted once, and no name becomes a line.

use proptest::prelude::*;
use trunkline_message_tree::{Author, Content, Message, NodeId, Role, Timestamp, ToolCall};
use trunkline_revert::{Effects, Ledger, TOOL_NAME, mechanical};

use crate::ledger::effects;

/// A call with the number of what it touches and what came back: failed or not, or nothing.
type Act = (usize, u8, Option<bool>);

const TOOLS: [&str; 10] = [
    "read_file",
    "edit_file",
    "write_file",
    "delete_file",
    "run_command",
    "open_ticket",
    "add_todo",
    "search",
    "frobnicate",
    TOOL_NAME,
];

/// Turns of calls; every turn has words or none.
fn turns() -> impl Strategy<Value = Vec<(bool, Vec<Act>)>> {
    let act = (0..TOOLS.len(), 0..6u8, prop::option::of(any::<bool>()));
    prop::collection::vec((any::<bool>(), prop::collection::vec(act, 0..5)), 0..8)
}

/// Makes messages of turns; the results of a turn come in one message each. `id` names a call by turn and place.
fn messages(turns: &[(bool, Vec<Act>)], id: impl Fn(usize, usize) -> String) -> Vec<Message> {
    let mut messages = Vec::new();
    for (turn, (speaks, acts)) in turns.iter().enumerate() {
        let mut content: Vec<Content> = Vec::new();
        content.extend(speaks.then(|| Content::text(format!("words of turn {turn}"))));
        content.extend(acts.iter().enumerate().map(|(place, (tool, what, _))| {
            let name = TOOLS[*tool].to_owned();
            let arguments = serde_json::json!({ "path": format!("{what}.rs") }).to_string();
            Content::ToolCall(ToolCall { id: id(turn, place), name, arguments, signature: None })
        }));
        messages.push(Message::new(Role::Assistant, Author::Model, content));
        for (place, (.., result)) in acts.iter().enumerate() {
            messages.extend(
                result.map(|failed| Message::tool_result(id(turn, place), format!("{place} says"), failed)),
            );
        }
        messages.push(Message::harness("go on"));
    }
    messages
}

fn of(messages: &[Message], mut effects: impl FnMut(&ToolCall) -> Effects) -> Ledger {
    let named = messages.iter().enumerate().map(|(index, message)| (NodeId::new(index as u32 + 1), message));
    Ledger::of_messages(named, |_, call| Some(effects(call)))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ids_that_repeat_from_turn_to_turn_change_nothing(turns in turns()) {
        let unique = of(&messages(&turns, |turn, place| format!("c{turn}-{place}")), effects);
        let repeated = of(&messages(&turns, |_, place| format!("c{place}")), effects);
        prop_assert_eq!(unique, repeated);
    }

    #[test]
    fn ids_that_repeat_within_a_turn_change_nothing_if_all_calls_are_answered(turns in turns()) {
        let answered: Vec<(bool, Vec<Act>)> = turns
            .into_iter()
            .map(|(speaks, acts)| {
                (speaks, acts.into_iter().map(|(tool, what, result)| (tool, what, result.or(Some(true)))).collect())
            })
            .collect();
        let unique = of(&messages(&answered, |turn, place| format!("c{turn}-{place}")), effects);
        prop_assert_eq!(unique, of(&messages(&answered, |_, _| "c".to_owned()), effects));
    }

    #[test]
    fn every_call_is_counted_once_with_what_came_of_it(turns in turns()) {
        let mut asked = 0;
        let ledger = of(&messages(&turns, |_, place| format!("c{place}")), |call| {
            assert_ne!(call.name, TOOL_NAME);
            asked += 1;
            effects(call)
        });
        let acts = || turns.iter().flat_map(|(_, acts)| acts).filter(|(tool, ..)| TOOLS[*tool] != TOOL_NAME);
        prop_assert_eq!(asked, acts().count());
        for (index, tool) in TOOLS.iter().enumerate() {
            let of_tool: Vec<&Act> = acts().filter(|(tool, ..)| *tool == index).collect();
            let entry = ledger.tools.newest.iter().find(|entry| entry.what == *tool);
            let counted = entry.map_or((0, 0, 0), |entry| (entry.calls, entry.failed, entry.unanswered));
            let count = |result| of_tool.iter().filter(|(_, _, found)| *found == result).count() as u32;
            prop_assert_eq!(counted, (of_tool.len() as u32, count(Some(true)), count(None)));
        }
        // Each call stands somewhere where a model reads it.
        let touched = |tools: &[usize]| {
            let mut what: Vec<u8> = acts().filter(|(tool, ..)| tools.contains(tool)).map(|(_, what, _)| *what).collect();
            what.sort_unstable();
            what.dedup();
            what.len()
        };
        prop_assert_eq!(ledger.read.total(), touched(&[0, 1]));
        prop_assert_eq!(ledger.written.total(), touched(&[1, 2]));
        prop_assert_eq!(ledger.ran.total(), touched(&[4]));
        let spoken = turns.iter().filter(|(speaks, _)| *speaks).count();
        prop_assert_eq!(ledger.told.total(), spoken);
    }

    #[test]
    fn a_tree_and_a_list_of_messages_say_the_same(turns in turns()) {
        let messages = messages(&turns, |_, place| format!("c{place}"));
        let mut tree = trunkline_message_tree::MessageTree::new(Message::system("be brief"), Timestamp(0));
        for message in &messages {
            let mut draft = tree.draft();
            draft.append(message.clone(), Timestamp(0)).unwrap();
            for entry in draft.into_entries() {
                tree.record(entry).unwrap();
            }
        }
        prop_assert_eq!(Ledger::of(&tree, &tree.trunk().ids()[1..], effects), of(&messages, effects));
    }

    #[test]
    fn a_text_is_never_over_its_limit_and_accounts_for_everything(turns in turns(), limit in 0..600usize) {
        let ledger = of(&messages(&turns, |_, place| format!("c{place}")), effects);
        let text = ledger.text(limit);
        prop_assert!(text.chars().count() <= limit);
        prop_assert!(mechanical(&ledger, limit).chars().count() <= limit);
        prop_assert!(!mechanical(&ledger, limit).contains('\n'));
        prop_assert_eq!(ledger.text(usize::MAX).is_empty(), ledger.is_empty());
        prop_assert_eq!(mechanical(&ledger, usize::MAX).is_empty(), ledger.is_empty());
        prop_assert!(limit == 0 || text.is_empty() == ledger.is_empty());
        let whole = ledger.text(usize::MAX);
        prop_assert!(whole.lines().all(|line| !line.contains(" more") || line.starts_with("Told the user: ")));
        if text.ends_with('…') {
            // Eight lines of counts are never longer.
            prop_assert!(limit < 200);
            return Ok(());
        }
        if limit == 0 {
            return Ok(());
        }
        prop_assert_eq!(text.lines().count(), whole.lines().count());
        for (short, long) in text.lines().zip(whole.lines()) {
            prop_assert_eq!(entries(short), entries(long), "{} / {}", short, long);
        }
    }

    #[test]
    fn a_ledger_survives_its_store(turns in turns()) {
        let ledger = of(&messages(&turns, |_, place| format!("c{place}")), effects);
        let stored = serde_json::to_string(&ledger).unwrap();
        prop_assert_eq!(serde_json::from_str::<Ledger>(&stored).unwrap(), ledger);
    }

    #[test]
    fn no_name_becomes_a_line_an_entry_or_a_mark(
        words in prop::collection::vec("(\\[n1\\]|\\[revert-lesson\\]|; and 9 more|Read: |“|”|\"|\n|\u{2028}|\u{1b}|a|é| ){0,12}", 4),
        limit in 0..400usize,
    ) {
        let content = vec![
            Content::text(words[0].clone()),
            Content::ToolCall(ToolCall {
                id: "c".to_owned(), name: words[1].clone(), arguments: "{}".to_owned(), signature: None
            }),
        ];
        let messages =
            [Message::new(Role::Assistant, Author::Model, content), Message::tool_result("c", &words[3], true)];
        let mut ledger = of(&messages, |_| Effects::default().reading(&words[2]).writing(&words[3]).running(&words[0]));
        check_harmless(&ledger, limit)?;
        // What a store says is not believed either.
        for told in &mut ledger.told.newest {
            told.text.clone_from(&words[1]);
        }
        for entry in ledger.read.newest.iter_mut().chain(&mut ledger.tools.newest) {
            entry.what.clone_from(&words[0]);
            entry.failed = u32::MAX;
            entry.unanswered = u32::MAX;
        }
        check_harmless(&ledger, limit)?;
    }
}

fn check_harmless(ledger: &Ledger, limit: usize) -> Result<(), TestCaseError> {
    for text in [
        ledger.text(limit),
        ledger.text(usize::MAX),
        mechanical(ledger, limit),
        mechanical(ledger, usize::MAX),
    ] {
        prop_assert!(!text.to_lowercase().contains("[revert-"), "{}", text);
        // Between letters it is an index, as in a source file.
        let stands_apart =
            |before: &str| !before.ends_with(|c: char| c.is_alphanumeric() || c.is_ascii_punctuation());
        prop_assert!(!text.match_indices("[n1]").any(|(at, _)| stands_apart(&text[..at])), "{}", text);
        prop_assert!(!text.replace('\n', "").contains(char::is_control), "{}", text);
    }
    prop_assert!(ledger.text(usize::MAX).lines().count() <= 8);
    for line in ledger.text(usize::MAX).lines() {
        let outside: String = line.split('“').map(|part| part.rsplit('”').next().unwrap_or("")).collect();
        prop_assert!(!outside.contains("; ") && !outside.contains("more"), "{}", line);
        prop_assert_eq!(outside.matches(": ").count(), 1, "{}", line);
    }
    Ok(())
}

/// How many entries a line tells of, shown or counted.
fn entries(line: &str) -> usize {
    let (_, list) = line.split_once(": ").unwrap();
    let counted = |text: &str| text.split(' ').find_map(|word| word.parse::<usize>().ok()).unwrap();
    if ["act", "message", "file", "command", "tool"]
        .iter()
        .any(|noun| list.trim_end_matches('s').ends_with(&format!(" {noun}")))
    {
        return counted(list);
    }
    list.split("; ").map(|entry| if entry.starts_with("and ") { counted(entry) } else { 1 }).sum()
}
