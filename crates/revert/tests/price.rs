//! What a revert costs, and what is said when the cache did not hold.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trunkline_message_tree::{Content, Message, MessageTree, NodeId, Origin, Timestamp, ToolCall, Usage};
use trunkline_revert::{
    CacheGrain, Category, CompactPolicy, Mover, Price, Rates, Request, estimate_tokens, plan,
    plan_compaction, targets,
};

const AT: Timestamp = Timestamp(0);
/// Tokens of tools, which stand in front of everything and are no node.
const TOOLS: u64 = 500;

/// A tenth for reads, a quarter more for writes: figures for the tests, nobody's prices.
fn rates(minimum_tokens: u64, grain: CacheGrain) -> Rates {
    Rates::new(100, 1_250, minimum_tokens, grain, "made up for tests")
}

fn append(tree: &mut MessageTree, message: Message) -> NodeId {
    let mut draft = tree.draft();
    let id = draft.append(message, AT).unwrap();
    for entry in draft.into_entries() {
        tree.record(entry).unwrap();
    }
    id
}

fn cover(tree: &mut MessageTree, from: NodeId, to: NodeId, text: &str) -> NodeId {
    let mut draft = tree.draft();
    let id = draft.cover(from, to, Message::harness(text), AT).unwrap();
    for entry in draft.into_entries() {
        tree.record(entry).unwrap();
    }
    id
}

fn usage(input_tokens: u64, cache_read_tokens: u64) -> Usage {
    Usage { input_tokens, cache_read_tokens, ..Usage::default() }
}

/// A model's message with one call; its bytes are those of `text` and 4 for the tool's name.
fn asks(text: &str, usage: Option<Usage>) -> Message {
    let call =
        ToolCall { id: "c".to_owned(), name: "look".to_owned(), arguments: String::new(), signature: None };
    Message { usage, content: vec![Content::text(text), Content::ToolCall(call)], ..Message::assistant("") }
}

fn letters(count: usize) -> String {
    "x".repeat(count)
}

/// Instructions and a prompt, then `turns` of a model's message and a result of `size` bytes each. A token has 3 bytes.
fn reported(turns: usize, size: usize) -> MessageTree {
    let mut tree = MessageTree::new(Message::system(letters(300)), AT);
    append(&mut tree, Message::user(letters(600)));
    let (mut before, mut earlier) = (TOOLS + 300, 0);
    for _ in 0..turns {
        append(&mut tree, asks(&letters(size - 4), Some(usage(before, earlier))));
        append(&mut tree, Message::tool_result("c", letters(size), false));
        earlier = before;
        before += 2 * size as u64 / 3;
    }
    tree
}

fn price(tree: &MessageTree, target: u32, note_tokens: u64, rates: &Rates) -> Price {
    let request = Request::new(Category::Failure, NodeId::new(target), None);
    Price::of(tree, &plan(tree, &request, Mover::PERSON).unwrap(), note_tokens, rates)
}

fn check(tree: &MessageTree, target: u32, rates: &Rates, expected: Expect) {
    check_with_note(tree, target, 100, rates, expected);
}

fn check_with_note(tree: &MessageTree, target: u32, note_tokens: u64, rates: &Rates, expected: Expect) {
    expected.assert_eq(&price(tree, target, note_tokens, rates).text());
}

#[derive(Clone, Debug)]
enum Step {
    Prompt(usize),
    Asks {
        size: usize,
        tokens: Option<u64>,
        read: u64,
        other_model: bool,
    },
    Result(usize),
    /// From and to, as parts of the trunk.
    Cover(usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Sensible and hostile counts.
    let tokens =
        prop_oneof![4 => (1..50_000u64).boxed(), 1 => any::<u64>().boxed(), 1 => Just(u64::MAX).boxed()];
    let asks =
        (0..3_000usize, prop::option::weighted(0.7, tokens.clone()), tokens, prop::bool::weighted(0.1));
    let step = prop_oneof![
        2 => (0..2_000usize).prop_map(Step::Prompt),
        5 => asks.prop_map(|(size, tokens, read, other_model)| Step::Asks { size, tokens, read, other_model }),
        4 => (0..6_000usize).prop_map(Step::Result),
        1 => (1..100usize, 1..100usize).prop_map(|(from, to)| Step::Cover(from, to)),
    ];
    prop::collection::vec(step, 1..40)
}

fn built(steps: &[Step]) -> MessageTree {
    let mut tree = MessageTree::new(Message::system("be brief"), AT);
    append(&mut tree, Message::user("go"));
    for step in steps {
        match step {
            Step::Prompt(size) => drop(append(&mut tree, Message::user(letters(*size)))),
            Step::Result(size) => drop(append(&mut tree, Message::tool_result("c", letters(*size), false))),
            Step::Asks { size, tokens, read, other_model } => {
                let mut message = asks(&letters(*size), tokens.map(|tokens| usage(tokens, *read)));
                let model = if *other_model { "small" } else { "large" };
                message.origin = Some(Origin::new("p", model));
                append(&mut tree, message);
            }
            Step::Cover(from, to) => {
                let ids = tree.trunk().ids().to_vec();
                let at = |part: usize| (part * ids.len() / 100).max(1);
                let (from, to) = (at(*from.min(to)), at(*from.max(to)));
                if to < ids.len() {
                    cover(&mut tree, ids[from], ids[to], "what came before");
                }
            }
        }
    }
    tree
}

fn any_rates() -> impl Strategy<Value = Rates> {
    let grain = prop_oneof![
        Just(CacheGrain::RequestEnds).boxed(),
        (0..300u64).prop_map(CacheGrain::Steps).boxed(),
        any::<u64>().prop_map(CacheGrain::Steps).boxed(),
    ];
    let figure = || prop_oneof![0..3_000u32, any::<u32>()];
    let minimum = prop_oneof![0..5_000u64, any::<u64>()];
    (figure(), figure(), minimum, grain)
        .prop_map(|(read, write, minimum, grain)| Rates::new(read, write, minimum, grain, "any"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_leaves_and_what_is_kept_are_the_whole_and_older_targets_leave_more(
        steps in steps(),
        rates in any_rates(),
        note in prop_oneof![0..1_000u64, any::<u64>()],
    ) {
        let tree = built(&steps);
        let mut last: Option<Price> = None;
        for target in targets(&tree, Mover::PERSON, None) {
            let price = price(&tree, target.node.index() as u32, note, &rates);
            let whole = price.kept.checked_add(price.leaving);
            prop_assert!(whole.is_some());
            prop_assert!(price.cached <= price.kept);
            prop_assert!(price.recached >= note);
            prop_assert!(price.counted <= whole.unwrap());
            prop_assert!(price.pays_after_turns != Some(0));
            prop_assert!(price.estimated || !price.kept_estimated);
            prop_assert!(!price.text().contains('\n'));
            if let Some(older) = &last {
                prop_assert_eq!(older.kept.checked_add(older.leaving), whole);
                prop_assert!(older.leaving >= price.leaving);
            }
            last = Some(price);
        }
    }

    #[test]
    fn the_same_tree_and_plan_have_the_same_price(steps in steps(), rates in any_rates()) {
        let tree = built(&steps);
        let again = MessageTree::replay(tree.entries()).unwrap();
        for target in targets(&tree, Mover::PERSON, None) {
            let target = target.node.index() as u32;
            prop_assert_eq!(price(&tree, target, 10, &rates), price(&again, target, 10, &rates));
        }
    }

    #[test]
    fn where_a_request_ended_the_prefix_is_exact(turns in 2..30usize, size in 1..500usize, target in 0..28usize) {
        let size = size * 3 + 3;
        let tree = reported(turns, size);
        let target = target % (turns - 1);
        // The result of that turn; the next message is one that reported.
        let price = price(&tree, 3 + 2 * target as u32, 0, &rates(0, CacheGrain::RequestEnds));
        let truth = TOOLS + 300 + (target as u64 + 1) * 2 * size as u64 / 3;
        prop_assert_eq!((price.kept, price.kept_estimated, price.cached), (truth, false, truth));
        // The ratio that was measured here is the true one, so the estimate of the rest is true as well.
        prop_assert_eq!(price.leaving, (turns - target - 1) as u64 * 2 * size as u64 / 3);
    }

    #[test]
    fn with_more_to_leave_it_pays_no_later(
        turns in 2..12usize,
        more in prop::collection::vec(0..20_000usize, 1..6),
        note in 0..5_000u64,
        read in 0..1_000u32,
        write in 0..3_000u32,
        minimum in 0..1_000u64,
    ) {
        let mut tree = reported(turns, 900);
        let rates = Rates::new(read, write, minimum, CacheGrain::RequestEnds, "any");
        let mut last = price(&tree, 3, note, &rates);
        prop_assert!(last.kept + last.leaving >= minimum);
        for size in more {
            append(&mut tree, Message::user(letters(size)));
            let price = price(&tree, 3, note, &rates);
            prop_assert_eq!(price.kept, last.kept);
            prop_assert!(price.leaving >= last.leaving);
            let turn = |price: &Price| price.pays_after_turns.unwrap_or(u32::MAX);
            prop_assert!(turn(&price) <= turn(&last));
            last = price;
        }
    }

    #[test]
    fn the_turn_at_which_it_pays_is_the_first_at_which_it_has_cost_no_more(
        turns in 3..10usize, note in 0..4_000u64, read in 1..1_000u32, write in 1_000..3_000u32,
    ) {
        let tree = reported(turns, 900);
        let price = price(&tree, 3, note, &Rates::new(read, write, 0, CacheGrain::RequestEnds, "any"));
        let (read, write) = (u64::from(read), u64::from(write));
        // The last answer and its result were not in a request yet.
        let whole = price.kept + price.leaving;
        let stay = |turn: u64| turn * read * whole + (write - read) * 600;
        let leave = |turn: u64| {
            price.cached * read + price.recached * write + (turn - 1) * read * (price.cached + price.recached)
        };
        let first = (1..=100_000u64).find(|turn| leave(*turn) <= stay(*turn));
        let first = first.filter(|_| price.cached + price.recached <= whole);
        prop_assert_eq!(price.pays_after_turns.filter(|turn| *turn <= 100_000).map(u64::from), first);
    }

    #[test]
    fn a_miss_is_never_reported_when_enough_was_read(
        steps in steps(), rates in any_rates(), input: u64, read: u64, write: u64,
    ) {
        let tree = built(&steps);
        for target in targets(&tree, Mover::PERSON, None) {
            let expected = price(&tree, target.node.index() as u32, 50, &rates).expected();
            let reported = Usage { cache_write_tokens: write, ..usage(input, read) };
            match expected.check(&reported) {
                None => {}
                Some(miss) => {
                    prop_assert!(read < expected.read);
                    prop_assert_eq!((miss.expected, miss.read, miss.lost), (expected.read, read, expected.read - read));
                }
            }
            let enough = expected.read.saturating_add(read);
            prop_assert_eq!(expected.check(&usage(input, enough)), None);
            let kept: trunkline_revert::Expected =
                serde_json::from_str(&serde_json::to_string(&expected).unwrap()).unwrap();
            prop_assert_eq!(kept, expected);
        }
    }
}

#[test]
fn the_price_is_one_line_and_says_what_is_estimated() {
    let ends = rates(0, CacheGrain::RequestEnds);
    // To the first result: the next request ended there.
    check(
        &reported(6, 3_000),
        3,
        &ends,
        expect![
            "~10,000 prompt tokens leave, 2,800 stay (2,800 of them cached), ~100 are read anew; pays from the first turn"
        ],
    );
    // To the instructions: nobody counted up to there, and no request ended there.
    check(
        &reported(6, 3_000),
        0,
        &ends,
        expect![
            "~12,200 prompt tokens leave, ~600 stay (none of them cached), ~700 are read anew; pays from the first turn"
        ],
    );
}

#[test]
fn a_prefix_below_the_minimum_is_not_cached_and_may_cost_more_than_a_long_cached_one() {
    check(
        &reported(6, 3_000),
        3,
        &rates(1_024, CacheGrain::RequestEnds),
        expect![
            "~10,000 prompt tokens leave, 2,800 stay (2,800 of them cached), ~100 are read anew; pays from the first turn"
        ],
    );
    check(
        &reported(6, 3_000),
        3,
        &rates(4_096, CacheGrain::RequestEnds),
        expect![
            "~10,000 prompt tokens leave, 2,800 stay (none of them cached), ~2,900 are read anew; does not pay by its tokens alone"
        ],
    );
}

#[test]
fn a_cache_in_steps_ends_at_a_whole_step_of_what_was_sent() {
    check(
        &reported(6, 3_000),
        3,
        &rates(1_024, CacheGrain::Steps(128)),
        expect![
            "~10,000 prompt tokens leave, 2,800 stay (2,688 of them cached), ~212 are read anew; pays from the first turn"
        ],
    );
    // The last result is newer than the last request.
    let mut tree = reported(2, 3_000);
    append(&mut tree, Message::user("go on"));
    check(
        &tree,
        5,
        &rates(1_024, CacheGrain::Steps(128)),
        expect![
            "~2 prompt tokens leave, ~4,800 stay (~2,688 of them cached), ~2,212 are read anew; does not pay by its tokens alone"
        ],
    );
}

#[test]
fn a_long_note_pays_late_or_never() {
    let ends = rates(0, CacheGrain::RequestEnds);
    let tree = reported(6, 300);
    check_with_note(
        &tree,
        3,
        300,
        &ends,
        expect![
            "~1,000 prompt tokens leave, 1,000 stay (1,000 of them cached), ~300 are read anew; pays from turn 2"
        ],
    );
    check_with_note(
        &tree,
        3,
        400,
        &ends,
        expect![
            "~1,000 prompt tokens leave, 1,000 stay (1,000 of them cached), ~400 are read anew; pays from turn 4"
        ],
    );
    check_with_note(
        &tree,
        3,
        1_000,
        &ends,
        expect![
            "~1,000 prompt tokens leave, 1,000 stay (1,000 of them cached), ~1,000 are read anew; does not pay by its tokens alone"
        ],
    );
    // Where nothing is cached, whatever is shorter pays at once.
    check_with_note(
        &tree,
        3,
        400,
        &Rates::uncached(),
        expect![
            "~1,000 prompt tokens leave, 1,000 stay (none of them cached), ~1,400 are read anew; pays from the first turn"
        ],
    );
}

#[test]
fn without_reports_four_bytes_are_a_token() {
    let mut tree = MessageTree::new(Message::system(letters(400)), AT);
    append(&mut tree, Message::user(letters(4_000)));
    append(&mut tree, asks(&letters(796), None));
    append(&mut tree, Message::tool_result("c", letters(8_000), false));
    check(
        &tree,
        1,
        &rates(0, CacheGrain::RequestEnds),
        expect![
            "~2,200 prompt tokens leave, ~1,100 stay (~1,100 of them cached), ~100 are read anew; pays from the first turn"
        ],
    );
    assert_eq!(estimate_tokens(&tree, ""), 0);
    assert_eq!(estimate_tokens(&tree, "12345"), 2);
    // Measured: 3 bytes.
    assert_eq!(estimate_tokens(&reported(3, 300), "123456"), 2);
}

#[test]
fn tokens_of_another_model_are_not_counted() {
    let mut tree = reported(3, 3_000);
    let mut message = asks("so", Some(usage(9_000, 0)));
    message.origin = Some(Origin::new("p", "other"));
    append(&mut tree, message);
    let price = price(&tree, 3, 100, &rates(0, CacheGrain::RequestEnds));
    assert_eq!((price.kept + price.leaving, price.counted), (9_002, 9_000));
    // The cache of the other model is another cache.
    assert!(price.kept_estimated);
    assert_eq!((price.cached, price.expected().read_before), (0, false));
}

#[test]
fn a_count_from_before_a_compaction_is_not_used_behind_it() {
    let mut tree = reported(6, 3_000);
    cover(&mut tree, NodeId::new(2), NodeId::new(9), "a summary");
    // The first prompt is still as it was counted; n10 and n12 were counted with what is covered now.
    let behind = price(&tree, 11, 100, &rates(0, CacheGrain::RequestEnds));
    assert_eq!((behind.counted, behind.kept_estimated, behind.cached), (0, true, 0));

    // The next request tells the new size.
    append(&mut tree, asks("so", Some(usage(5_000, 0))));
    let behind = price(&tree, 13, 100, &rates(0, CacheGrain::RequestEnds));
    assert_eq!((behind.counted, behind.kept, behind.kept_estimated), (5_000, 5_000, false));
}

#[test]
fn going_back_into_a_compaction_reads_again_what_it_covered() {
    let mut tree = reported(6, 3_000);
    cover(&mut tree, NodeId::new(2), NodeId::new(9), "a summary");
    append(&mut tree, asks("so", Some(usage(5_000, 0))));
    let inside = price(&tree, 3, 100, &Rates::uncached());
    // n2 and n3 at 4 bytes a token, for no two counts of now stand on this trunk; and the prompt before them.
    assert_eq!((inside.kept + inside.leaving, inside.recached), (5_002, inside.kept + 1_500 + 100));
    // A trunk that ends where the covered span ends shows the nodes too.
    let end = price(&tree, 9, 100, &Rates::uncached());
    assert_eq!((end.kept, end.leaving, end.recached), (inside.kept, inside.leaving, end.kept + 6_000 + 100));
}

#[test]
fn between_two_counts_the_sum_is_shared_out_by_bytes() {
    let mut tree = MessageTree::new(Message::system("be brief"), AT);
    append(&mut tree, asks(&letters(996), Some(usage(1_000, 0))));
    append(&mut tree, Message::tool_result("c", letters(1_000), false));
    append(&mut tree, asks(&letters(1_996), None));
    append(&mut tree, Message::tool_result("c", letters(4_000), false));
    append(&mut tree, asks("", Some(usage(5_000, 0))));
    let ends = rates(0, CacheGrain::RequestEnds);
    let price = price(&tree, 2, 100, &ends);
    assert_eq!((price.kept, price.kept_estimated, price.kept + price.leaving), (2_000, true, 5_002));
}

#[test]
fn a_count_that_a_later_one_contradicts_is_not_believed() {
    let mut tree = reported(3, 3_000);
    append(&mut tree, asks("so", Some(usage(u64::MAX, u64::MAX))));
    append(&mut tree, Message::tool_result("c", "42", false));
    append(&mut tree, asks("and", Some(usage(7_000, 0))));
    let price = price(&tree, 7, 0, &rates(0, CacheGrain::RequestEnds));
    assert_eq!((price.counted, price.kept + price.leaving), (7_000, 7_003));
}

#[test]
fn an_old_target_of_a_long_trunk_is_priced_as_exactly() {
    let tree = reported(400, 300);
    for turn in [0, 10, 200, 270, 271, 272, 273, 398] {
        let price = price(&tree, 3 + 2 * turn, 0, &rates(0, CacheGrain::RequestEnds));
        let kept = TOOLS + 300 + 200 * (u64::from(turn) + 1);
        assert_eq!((price.kept, price.kept_estimated, price.cached), (kept, false, kept));
        assert_eq!(price.kept + price.leaving, TOOLS + 300 + 200 * 400);
        assert!(price.expected().read_before);
    }
}

#[test]
fn a_miss_says_what_was_lost() {
    let expected = price(&reported(6, 3_000), 9, 100, &rates(1_024, CacheGrain::RequestEnds)).expected();
    let miss = expected.check(&usage(9_000, 1_000)).unwrap();
    expect!["cache miss: 8,800 prompt tokens expected from the cache, 1,000 read, 7,800 lost"]
        .assert_eq(&miss.to_string());
    // A fiftieth is no miss.
    assert_eq!(expected.check(&usage(9_000, expected.read - expected.read / 50)), None);
    assert!(expected.check(&usage(9_000, expected.read - expected.read / 50 - 1)).is_some());
    // Nothing was reported at all.
    assert_eq!(expected.check(&Usage::default()), None);
    assert_eq!(expected.check(&usage(9_000, 0)).map(|miss| miss.lost), Some(expected.read));
}

#[test]
fn a_provider_that_never_told_of_reads_has_no_misses() {
    let mut tree = MessageTree::new(Message::system(letters(3_000)), AT);
    append(&mut tree, Message::user("go"));
    for tokens in [2_000, 4_000, 6_000] {
        append(&mut tree, asks(&letters(3_000), Some(usage(tokens, 0))));
        append(&mut tree, Message::tool_result("c", letters(3_000), false));
    }
    let expected = price(&tree, 3, 0, &rates(1_024, CacheGrain::RequestEnds)).expected();
    assert_eq!((expected.read, expected.read_before), (4_000, false));
    assert_eq!(expected.check(&usage(4_100, 0)), None);
    // Half a read is a read.
    assert_eq!(expected.check(&usage(4_100, 2_000)).map(|miss| miss.lost), Some(2_000));
}

/// P45: what is off the trunk weighs nothing.
#[test]
fn p45_a_branch_that_was_left_is_not_priced() {
    let mut tree = reported(3, 300);
    let before = price(&tree, 3, 10, &rates(0, CacheGrain::RequestEnds));
    let head = tree.head();
    for _ in 0..20 {
        append(&mut tree, Message::user(letters(9_000)));
    }
    let back = Request::new(Category::Tangent, head, None);
    let outcome = plan(&tree, &back, Mover::PERSON).unwrap().outcome(&[], AT, 1);
    let mut draft = tree.draft();
    draft.move_head(outcome.head_move).unwrap();
    for entry in draft.into_entries() {
        tree.record(entry).unwrap();
    }
    assert_eq!(price(&tree, 3, 10, &rates(0, CacheGrain::RequestEnds)), before);
}

#[test]
fn counts_below_what_bytes_make_are_not_believed() {
    for turns in [10, 400] {
        let mut tree = MessageTree::new(Message::system(letters(300)), AT);
        append(&mut tree, Message::user(letters(600)));
        for _ in 0..turns {
            // Only what was not in the cache.
            append(&mut tree, asks(&letters(996), Some(usage(250, 0))));
            append(&mut tree, Message::tool_result("c", letters(3_000), false));
        }
        let told = trunkline_revert::prompt_tokens(&tree).tokens;
        assert!(told >= turns * 4_000 / 16, "{told} after {turns}");
        let start = CompactPolicy::new(turns * 4_000 / 32);
        assert!(plan_compaction(&tree, &[], &start).is_some());
    }
}
