//! Batches: what is kept, what is refused, and what a receipt says.

use trunkline_message_tree::{
    Author, Content, Link, Message, MessageTree, MoveId, MoveKind, NodeId, Role, StopReason, Timestamp, Usage,
};

use super::super::made::*;
use super::super::verdict::{Verdict, outcome};
use super::{Bench, checks};
use crate::{Batch, Blob, Digest, Durability, Kept, Note, Position, Record, Spine, StoreError};

checks! {
    Kept what_was_appended_is_read_through_any_handle
    Kept every_kind_of_record_comes_back_as_it_was
    Kept a_body_is_kept_byte_for_byte
    Kept large_parts_that_bodies_share_come_back
    Kept more_records_than_one_statement_takes_arrive_in_order
    Kept a_log_replays_to_the_tree_it_came_from
    Whole a_refused_batch_changes_nothing
    Expected a_batch_with_old_expectations_changes_nothing
    Expected repeated_and_reordered_batches_are_refused
    Expected an_empty_batch_only_checks
    Chain a_receipt_names_the_record_that_was_last
    Chain every_digest_follows_from_the_records_before_it
    Level a_receipt_says_a_level_that_is_enough
    Level what_is_buffered_is_read_at_once
}

async fn what_was_appended_is_read_through_any_handle(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let first = vec![node(1, 0, "hello"), note("{\"wet\":true}")];
    let more = vec![node(2, 1, "a dead end"), head_move(2, 1), filed(3, 2, "too late"), node(4, 1, "a way")];
    let receipt = one.append(&lease, batch(1, 0, first.clone())).await?;
    same!("the last number", receipt.seq, 3);
    one.append(&lease, batch(3, 1, more.clone())).await?;
    let merge = Link::Merge { with: vec![NodeId::new(2), NodeId::new(3)] };
    let linked = vec![
        linked(5, 4, merge, "both ways"),
        linked(6, 4, Link::Cover { from: NodeId::new(1) }, "what was said"),
    ];
    one.append(&lease, batch(7, 4, linked.clone())).await?;
    let root = Record::Entry(new_session(1).root);
    let all = [root].into_iter().chain(first).chain(more).chain(linked);
    let expected: Vec<(u64, Record)> = (1..).zip(all).collect();
    for store in [&one, &two] {
        let log = store.load(&session(1)).await?;
        same!("the records", log.records, expected);
        same!("where it is", (log.info.records, log.info.nodes, log.info.head), (9, 7, NodeId::new(5)));
        same!("what came after", store.load_after(&session(1), 5).await?, expected[5..].to_vec());
        same!("what came after the end", store.load_after(&session(1), 9).await?, []);
        same!("what came after any end", store.load_after(&session(1), u64::MAX).await?, []);
    }
    Ok(())
}

/// Every field of every kind, at the ends of their ranges.
fn every_kind() -> Vec<Record> {
    let mut said_1 = Message::assistant("ein Wort \u{0} \u{1F327} \"und\" \\ \u{2028} noch eins");
    said_1.content.push(Content::ToolCall(trunkline_message_tree::ToolCall {
        id: "c1".to_owned(),
        name: "read".to_owned(),
        arguments: "{ not json".to_owned(),
        signature: Some("sig".to_owned()),
    }));
    said_1.stop = Some(StopReason::Other("later".to_owned()));
    said_1.usage = Some(Usage { input_tokens: u64::MAX, output_tokens: 1, ..Usage::default() });
    let empty = Message::new(Role::Tool, Author::Harness, Vec::new());
    let blob = |bytes: &[u8], at| {
        let (layer, kind) = ("files".to_owned(), "before".to_owned());
        Record::Blob(Blob { layer, kind, at: Timestamp(at), bytes: bytes.to_vec() })
    };
    let every_byte: Vec<u8> = (0..=255).collect();
    vec![
        said(1, 0, false, u64::MAX, said_1),
        said(2, 1, false, 0, empty),
        moved(2, 0, 1, MoveKind::ModelRevert),
        moved(0, 2, 2, MoveKind::Undo { of: MoveId(0) }),
        moved(2, 0, u64::MAX, MoveKind::Redo { of: MoveId(u32::MAX) }),
        filed(3, 1, ""),
        linked(4, 2, Link::Cover { from: NodeId::new(1) }, "of others"),
        linked(5, 0, Link::Merge { with: vec![NodeId::new(2), NodeId::new(4)] }, "of others"),
        Record::Note(Note::new("", "", Timestamp(u64::MAX), "null")),
        Record::Note(rain("0").about("schl\u{fc}ssel", "offen")),
        Record::Note(rain("0").about("", "")),
        Record::Note(rain("0").once("einmal", "")),
        blob(&[], 1),
        blob(&every_byte, u64::MAX),
        blob(&every_byte.repeat(64), 3),
    ]
}

async fn every_kind_of_record_comes_back_as_it_was(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    one.append(&lease, batch(1, 0, every_kind())).await?;
    // And each alone: a store may have a shorter way for what is small.
    one.create(new_session(2)).await?;
    let lease = one.lease(&session(2)).await?;
    for record in every_kind() {
        let info = one.info(&session(2)).await?;
        let at = Position { seq: info.records, head: info.head };
        one.append(&lease, Batch::new(at, vec![record])).await?;
    }
    let expected: Vec<(u64, Record)> = (2..).zip(every_kind()).collect();
    for number in [1, 2] {
        let found = two.load_after(&session(number), 1).await?;
        for (found, expected) in found.iter().zip(&expected) {
            same!("a record", found, expected);
        }
        same!("how many there are", found.len(), expected.len());
    }
    Ok(())
}

async fn a_body_is_kept_byte_for_byte(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let long = format!("[\"{}\\u00e9\\/{}\"]", "\\\\\\\"é".repeat(2_000), "x".repeat(5_000));
    let bodies = [
        "1.50",
        "1e400",
        "-0",
        "{\"b\" : 1,\t\"a\": [ 2 , 3 ],\"b\":{}}",
        "\"\\u0000 \\ud83c\\udf27 \\/ \u{7f} \u{2028}\"",
        "\"\"",
        &long,
        &format!("{{\"{}\":0}}", "k".repeat(9_000)),
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
    ];
    let records = bodies.iter().map(|body| note(body)).collect();
    one.append(&lease, batch(1, 0, records)).await?;
    let kept = two.read(&session(1), 1, 100).await?;
    for (kept, body) in kept.iter().zip(bodies) {
        same!("a body", kept.body, body);
    }
    same!("how many there are", kept.len(), bodies.len());
    Ok(())
}

async fn large_parts_that_bodies_share_come_back(bench: &mut Bench) -> Verdict {
    let (one, _) = bench.stores()?;
    let part = |letter: &str| format!("{letter}\"\\\n\u{1F327}").repeat(3_000);
    let messages = [
        Message::user(part("a")),
        Message::tool_result("c1", part("a"), false),
        Message::new(
            Role::Assistant,
            Author::Model,
            vec![Content::text(part("b")), Content::text(part("a")), Content::text(part("b"))],
        ),
        Message::user(format!("{}x", part("a"))),
    ];
    for number in [1, 2] {
        one.create(new_session(number)).await?;
        let lease = one.lease(&session(number)).await?;
        let records = (1..).zip(&messages).map(|(id, message)| said(id, id - 1, false, 10, message.clone()));
        one.append(&lease, batch(1, 0, records.collect())).await?;
    }
    let (one, two) = {
        drop(one);
        bench.reopen().await?
    };
    for store in [one, two] {
        for number in [1, 2] {
            let log = store.load(&session(number)).await?;
            let found: Vec<&Message> = log.entries().skip(1).filter_map(message).collect();
            for (found, sent) in found.iter().zip(&messages) {
                same!("a message", found.content, sent.content);
            }
            same!("how many there are", found.len(), messages.len());
            same!("what verifies", store.verify(&session(number)).await?.records, 5);
        }
    }
    Ok(())
}

fn message(entry: &trunkline_message_tree::Entry) -> Option<&Message> {
    match entry {
        trunkline_message_tree::Entry::Node { message, .. } => Some(message),
        trunkline_message_tree::Entry::Move(_) => None,
    }
}

async fn more_records_than_one_statement_takes_arrive_in_order(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    for number in [1, 2] {
        one.create(new_session(number)).await?;
        let lease = one.lease(&session(number)).await?;
        let records = (1..=3_000).map(|id| node(id, id - 1, &format!("{number}/{id}"))).collect();
        one.append(&lease, batch(1, 0, records)).await?;
    }
    for number in [1, 2] {
        let log = two.load(&session(number)).await?;
        let found: Vec<String> = log.entries().filter_map(message).map(Message::text).collect();
        let sent = (1..=3_000).map(|id| format!("{number}/{id}"));
        let expected: Vec<String> = std::iter::once("be brief".to_owned()).chain(sent).collect();
        same!("the messages", found, expected);
    }
    Ok(())
}

async fn a_log_replays_to_the_tree_it_came_from(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let records = vec![node(1, 0, "a"), note("1"), head_move(1, 0), node(2, 0, "b")];
    one.append(&lease, batch(1, 0, records)).await?;
    let log = two.load(&session(1)).await?;
    match MessageTree::replay(log.entries().cloned()) {
        Ok(tree) => same!("the tree", (tree.head(), tree.len()), (log.info.head, 3)),
        Err(error) => fail!("the log does not replay: {error}"),
    }
    Ok(())
}

async fn a_refused_batch_changes_nothing(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let letter = one.post(&session(1), "prompt", "1", Timestamp(5)).await?;
    one.append(&lease, batch(1, 0, vec![Record::Note(rain("0").once("k", ""))])).await?;
    let before = state(&*two, &session(1)).await?;
    let good = || vec![node(1, 0, "good"), note("1")];
    let with = |record| batch(2, 0, good().into_iter().chain([record]).collect());
    let refused: Vec<Batch> = vec![
        batch(1, 0, good()),
        batch(2, 1, good()),
        with(node(1, 1, "the number is taken")),
        with(note("not JSON")),
        with(Record::Note(rain("0").once("k", "again"))),
        batch(2, 0, good()).consuming(letters([7])),
        batch(2, 0, good()).consuming([letter, letter]),
    ];
    for batch in refused {
        let result = one.append(&lease, batch.clone()).await;
        ensure!(result.is_err(), "{batch:?} was kept: {}", outcome(&result));
        same!("the session afterwards", state(&*two, &session(1)).await?, before);
        same!("the letter afterwards", two.inbox(&session(1)).await?.len(), 1);
    }
    one.append(&lease, batch(2, 0, good()).consuming([letter])).await?;
    Ok(())
}

async fn a_batch_with_old_expectations_changes_nothing(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    one.append(&lease, batch(1, 0, vec![node(1, 0, "hello")])).await?;
    let before = state(&*two, &session(1)).await?;
    for (seq, head, record) in [
        (1, 1, node(2, 1, "an old number")),
        (2, 0, node(2, 0, "an old head")),
        (3, 1, node(2, 1, "a number to come")),
        (2, 2, node(2, 1, "a head to come")),
        (0, 0, note("1")),
        (u64::MAX, 1, note("1")),
    ] {
        match one.append(&lease, batch(seq, head, vec![record])).await {
            Err(StoreError::Conflict { session: named, expected, actual }) => {
                same!("the session", named, session(1));
                same!("what was expected", (expected.seq, expected.head), (seq, NodeId::new(head)));
                same!("what is", (actual.seq, actual.head), (2, NodeId::new(1)));
            }
            other => fail!("a batch for {seq} and n{head}: expected a conflict, found {}", outcome(&other)),
        }
        same!("the session afterwards", state(&*two, &session(1)).await?, before);
    }
    one.append(&lease, batch(2, 1, vec![node(2, 1, "the store still works")])).await?;
    Ok(())
}

async fn repeated_and_reordered_batches_are_refused(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let batches: Vec<Batch> = (1..=6_u64)
        .map(|number| batch(number, number as u32 - 1, vec![node(number as u32, number as u32 - 1, "x")]))
        .collect();
    // Each comes with the one after it before, and all before it after.
    for (place, now) in batches.iter().enumerate() {
        let early = batches.get(place + 1).into_iter();
        for other in early {
            refused!("an early batch", one.append(&lease, other.clone()).await, StoreError::Conflict { .. });
        }
        one.append(&lease, now.clone()).await?;
        for late in batches.iter().take(place + 1) {
            refused!("a repeated batch", one.append(&lease, late.clone()).await, StoreError::Conflict { .. });
        }
    }
    same!("how many records there are", two.verify(&session(1)).await?.records, 7);
    Ok(())
}

async fn an_empty_batch_only_checks(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let before = state(&*two, &session(1)).await?;
    let receipt = one.append(&lease, batch(1, 0, Vec::new())).await?;
    same!("the receipt", (receipt.seq, receipt.digest), (1, one.info(&session(1)).await?.digest));
    let stale = one.append(&lease, batch(2, 0, Vec::new())).await;
    refused!("a stale one", stale, StoreError::Conflict { .. });
    same!("the session afterwards", state(&*two, &session(1)).await?, before);
    Ok(())
}

async fn a_receipt_names_the_record_that_was_last(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let mut receipts = Vec::new();
    for number in 1..=5_u32 {
        let records = vec![node(number, number - 1, "x"), note(&number.to_string())];
        let made = next(&*one, &session(1), records).await?;
        receipts.push(one.append(&lease, made).await?);
    }
    let verified = two.verify(&session(1)).await?;
    for (number, receipt) in (1..).zip(&receipts) {
        same!("the number", receipt.seq, 1 + 2 * number);
        ensure!(verified.holds(receipt), "{receipt:?} is not in the chain {:?}", verified.digests);
    }
    let last = receipts.last().map(|receipt| receipt.digest);
    same!("the last digest", Some(two.info(&session(1)).await?.digest), last);
    Ok(())
}

async fn every_digest_follows_from_the_records_before_it(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    one.append(&lease, batch(1, 0, every_kind())).await?;
    let mut before = Digest::genesis(&session(1));
    for (seq, kept) in (1..).zip(all(&*two, &session(1)).await?) {
        let expected = Kept::chained(seq, kept.spine.clone(), kept.body.clone(), before);
        same!("a record with its digest", kept, expected);
        before = kept.digest;
    }
    let verified = two.verify(&session(1)).await?;
    same!("what verify says", (verified.records, verified.digest), (1 + every_kind().len() as u64, before));
    Ok(())
}

async fn a_receipt_says_a_level_that_is_enough(bench: &mut Bench) -> Verdict {
    let (one, _) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    for asked in [Durability::Flushed, Durability::Committed, Durability::Buffered, Durability::Flushed] {
        let made = next(&*one, &session(1), vec![note("1")]).await?.with(asked);
        let reached = one.append(&lease, made).await?.durability;
        let least = asked.min(bench.reaches);
        ensure!(reached >= least, "asked for {asked}: expected at least {least}, found {reached}");
        ensure!(reached <= bench.reaches, "it says {reached} and can reach only {}", bench.reaches);
    }
    Ok(())
}

async fn what_is_buffered_is_read_at_once(bench: &mut Bench) -> Verdict {
    let (one, _) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let levels = [Durability::Buffered, Durability::Buffered, Durability::Committed, Durability::Buffered];
    for (number, level) in (1_u32..).zip(levels.into_iter().cycle().take(40)) {
        let made = batch(u64::from(number), number - 1, vec![node(number, number - 1, "x")]).with(level);
        let receipt = one.append(&lease, made).await?;
        same!("the number", receipt.seq, u64::from(number) + 1);
        if number % 7 == 0 {
            let info = one.info(&session(1)).await?;
            same!("what is read", (info.records, info.digest), (receipt.seq, receipt.digest));
            let last = one.read(&session(1), u64::from(number), 5).await?;
            let is = matches!(last.as_slice(), [Kept { spine: Spine::Node { id, .. }, .. }] if id.index() == number as usize);
            ensure!(is, "expected n{number} to be read, found {last:?}");
        }
    }
    let (_, two) = {
        drop((one, lease));
        bench.reopen().await?
    };
    same!("what is there after closing", two.verify(&session(1)).await?.records, 41);
    Ok(())
}
