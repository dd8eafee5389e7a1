//! Reading: pages, shapes, messages, blobs.

use trunkline_message_tree::{MessageTree, NodeId, Timestamp, TreeError};

use super::super::chance::Chance;
use super::super::made::*;
use super::super::verdict::{Broken, Verdict};
use super::{Bench, Store, checks};
use crate::{Activity, Amend, Blob, Claim, Digest, InboxId, Kept, NoteQuery, Record, Spine, StoreError};

checks! {
    Pages pages_of_any_size_come_to_the_same
    Pages the_spine_is_that_of_the_records
    Pages records_by_their_numbers_are_those_that_pages_give
    Shape the_outline_is_that_of_the_tree
    Shape messages_come_in_the_order_that_was_asked_for
    Shape a_long_session_resumes_with_its_end
    Blobs a_blob_is_found_by_its_digest
    Named a_record_that_does_not_exist_is_named
    Named a_session_that_does_not_exist_is_named_by_every_method
}

/// A session with branches, filed nodes and notes.
async fn branched(store: &Store) -> Result<(), Broken> {
    store.create(new_session(1)).await?;
    let lease = store.lease(&session(1)).await?;
    let mut records = Vec::new();
    let mut head = 0;
    for id in 1..=40_u32 {
        match id % 5 {
            0 => {
                records.push(head_move(head, id / 2));
                head = id / 2;
                records.push(node(id, head, &format!("message {id}")));
                head = id;
            }
            3 => {
                records.push(filed(id, id / 3, &format!("filed {id}")));
                records.push(note(&format!("{{\"after\":{id}}}")));
            }
            _ => {
                records.push(node(id, head, &format!("message {id}")));
                head = id;
            }
        }
    }
    store.append(&lease, batch(1, 0, records)).await?;
    Ok(())
}

async fn pages_of_any_size_come_to_the_same(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    branched(&one).await?;
    let whole: Vec<Kept> = all(&*two, &session(1)).await?;
    same!("how many there are", whole.len(), 57);
    for limit in [1, 2, 3, 7, 56, 57, 58, 1_000, 1_000_000, usize::MAX] {
        let mut pages: Vec<Kept> = Vec::new();
        loop {
            let page = two.read(&session(1), pages.len() as u64, limit).await?;
            ensure!(page.len() <= limit, "asked for {limit} records, found {}", page.len());
            if page.is_empty() {
                break;
            }
            pages.extend(page);
        }
        ensure!(pages == whole, "pages of {limit} come to {} of {} records", pages.len(), whole.len());
    }
    for after in 0..=whole.len() {
        let page = two.read(&session(1), after as u64, 1).await?;
        let expected: Vec<Kept> = whole.iter().skip(after).take(1).cloned().collect();
        same!("one record", page, expected);
    }
    for after in [57, 58, 1_000, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
        for limit in [1, usize::MAX] {
            same!("a page after the end", two.read(&session(1), after, limit).await?, []);
        }
    }
    for after in [0, 3, 57, u64::MAX] {
        same!("a page of no records", two.read(&session(1), after, 0).await?, []);
    }
    Ok(())
}

async fn the_spine_is_that_of_the_records(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    with_large_bodies(&one).await?;
    let whole = all(&*two, &session(1)).await?;
    let whole: Vec<(u64, Spine)> = whole.into_iter().map(|kept| (kept.seq, kept.spine)).collect();
    for limit in [1, 3, 64, 196, 197, 1_000_000, usize::MAX] {
        let mut pages: Vec<(u64, Spine)> = Vec::new();
        loop {
            let page = two.spine(&session(1), pages.len() as u64, limit).await?;
            ensure!(page.len() <= limit, "asked for {limit} records, found {}", page.len());
            if page.is_empty() {
                break;
            }
            pages.extend(page);
        }
        for (found, expected) in pages.iter().zip(&whole) {
            same!("what the spine says", found, expected);
        }
        same!("how many there are", pages.len(), whole.len());
    }
    for after in [197, 198, u64::MAX / 2, u64::MAX] {
        same!("a page after the end", two.spine(&session(1), after, usize::MAX).await?, []);
    }
    same!("a page of no records", two.spine(&session(1), 3, 0).await?, []);
    Ok(())
}

async fn tree(store: &Store) -> Result<MessageTree, Broken> {
    let log = store.load(&session(1)).await?;
    MessageTree::replay(log.entries().cloned())
        .map_err(|error| Broken(format!("the log does not replay: {error}")))
}

/// Adds bodies with large strings, some of them twice in one, among small ones.
async fn with_large_bodies(store: &Store) -> Verdict {
    branched(store).await?;
    let lease = store.lease(&session(1)).await?;
    let large = "gro\u{df} \\\" \u{1F327} ".repeat(600);
    let records = (0..140_u32).map(|number| match number % 7 {
        2 => note(&format!("{{\"one\":\"{large}\",\"two\":[\"{large}\",{number}]}}")),
        4 => Record::Blob(Blob {
            layer: "files".to_owned(),
            kind: "before".to_owned(),
            at: Timestamp(4),
            bytes: vec![number as u8; 3_000 + 40 * number as usize],
        }),
        5 => Record::Note(rain("1").about(format!("key {number}"), "open")),
        _ => note(&number.to_string()),
    });
    let made = next(&**store, &session(1), records.collect()).await?;
    store.append(&lease, made).await?;
    Ok(())
}

async fn records_by_their_numbers_are_those_that_pages_give(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    with_large_bodies(&one).await?;
    let whole: Vec<Kept> = all(&*two, &session(1)).await?;
    same!("how many there are", whole.len(), 197);
    let mut chance = Chance::new(5, 0);
    for share in [1, 2, 3, 10, 40, 300] {
        for _ in 0..4 {
            let expected: Vec<&Kept> = whole.iter().filter(|_| chance.one_in(share)).collect();
            let mut numbers: Vec<u64> = expected.iter().map(|kept| kept.seq).collect();
            let found = two.records(&session(1), &numbers).await?;
            same!("the records", found.iter().collect::<Vec<_>>(), expected);
            // In whatever order, and however often they are named.
            for _ in 0..numbers.len() / 2 {
                let (from, to) = (chance.below(numbers.len() as u64), chance.below(numbers.len() as u64));
                numbers.swap(from as usize, to as usize);
                let number = numbers[to as usize];
                if chance.one_in(4) {
                    numbers.push(number);
                }
            }
            let found = one.records(&session(1), &numbers).await?;
            same!("the records in another order", found.iter().collect::<Vec<_>>(), expected);
        }
    }
    Ok(())
}

async fn a_record_that_does_not_exist_is_named(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    branched(&one).await?;
    for (numbers, missing) in [
        (&[58][..], 58),
        (&[0], 0),
        (&[1, 57, 58, 59], 58),
        (&[60, 3, 59], 59),
        (&[5, 0, 99], 0),
        (&[u64::MAX], u64::MAX),
        (&[1, 1 << 63], 1 << 63),
    ] {
        match two.records(&session(1), numbers).await {
            Err(StoreError::NoSuchRecord { session: named, seq }) => {
                same!("the refusal", (named, seq), (session(1), missing));
            }
            other => fail!("{numbers:?}: expected that there is no record {missing}, found {other:?}"),
        }
    }
    Ok(())
}

async fn the_outline_is_that_of_the_tree(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    branched(&one).await?;
    let tree = tree(&two).await?;
    let outline = two.outline(&session(1)).await?;
    same!("how many nodes there are", outline.nodes(), tree.len());
    same!("the head", outline.head(), tree.head());
    for (id, node) in tree.nodes() {
        ensure!(
            outline.parent(id) == node.parent(),
            "the parent of {id}: expected {:?}, found {:?}",
            node.parent(),
            outline.parent(id)
        );
    }
    let mut trunk: Vec<NodeId> = outline.trunk().collect();
    trunk.reverse();
    same!("the trunk", trunk, tree.trunk().ids().to_vec());
    one.create(new_session(2)).await?;
    same!("a single root", two.outline(&session(2)).await?.nodes(), 1);
    Ok(())
}

async fn messages_come_in_the_order_that_was_asked_for(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    branched(&one).await?;
    let tree = tree(&two).await?;
    for asked in [vec![], vec![0], vec![40, 3, 3, 0, 17, 40], (0..=40).rev().collect()] {
        let asked: Vec<NodeId> = asked.into_iter().map(NodeId::new).collect();
        let found = two.messages(&session(1), &asked).await?;
        same!("how many come", found.len(), asked.len());
        for (node, found) in asked.iter().zip(found) {
            let expected = tree.node(*node).map(|node| node.message().clone()).ok();
            same!("a message", Some(found), expected);
        }
    }
    for missing in [41, 1_000, u32::MAX] {
        let asked = [NodeId::new(1), NodeId::new(missing), NodeId::new(2)];
        match two.messages(&session(1), &asked).await {
            Err(StoreError::Misfit { source: TreeError::UnknownNode { node, newest }, .. }) => {
                same!("the refusal", (node, newest), (NodeId::new(missing), NodeId::new(40)));
            }
            other => fail!("expected n{missing} not to exist, found {other:?}"),
        }
    }
    Ok(())
}

async fn a_long_session_resumes_with_its_end(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    branched(&one).await?;
    let log = two.load(&session(1)).await?;
    for last in [0, 1, 10, 57, 58, usize::MAX] {
        let resumed = two.resume(&session(1), last).await?;
        same!("the info", resumed.info, log.info);
        same!("the outline", resumed.outline, two.outline(&session(1)).await?);
        let from = log.records.len().saturating_sub(last);
        same!("the last records", resumed.last, log.records[from..].to_vec());
    }
    Ok(())
}

async fn a_blob_is_found_by_its_digest(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    for number in [1, 2] {
        one.create(new_session(number)).await?;
    }
    let lease = one.lease(&session(1)).await?;
    let contents: [&[u8]; 5] = [&[], &[0], &[0xff; 3], "größer".as_bytes(), &[7; 100_000]];
    let blob = |bytes: &[u8], kind: &str| Blob {
        layer: "files".to_owned(),
        kind: kind.to_owned(),
        at: Timestamp(1),
        bytes: bytes.to_vec(),
    };
    let records = contents.iter().map(|bytes| Record::Blob(blob(bytes, "a")));
    let again = contents.iter().map(|bytes| Record::Blob(blob(bytes, "b")));
    one.append(&lease, batch(1, 0, records.chain(again).collect())).await?;
    for bytes in contents {
        let digest = blob(bytes, "").digest();
        same!("the bytes", two.blob(&session(1), &digest).await?.as_deref(), Some(bytes));
        same!("the bytes in another session", two.blob(&session(2), &digest).await?, None);
    }
    let missing = Digest::of(b"never kept");
    same!("bytes that were never kept", two.blob(&session(1), &missing).await?, None);
    Ok(())
}

async fn a_session_that_does_not_exist_is_named_by_every_method(bench: &mut Bench) -> Verdict {
    let (one, _) = bench.stores()?;
    one.create(new_session(1)).await?;
    let id = session(9);
    let mut unknown = one.info(&session(1)).await?;
    unknown.id = id.clone();
    let mut export = Vec::new();
    let answers = [
        ("claim", one.claim(&id, Claim::IfFree).await.map(drop)),
        ("claim", one.claim(&id, Claim::TakeOver).await.map(drop)),
        ("lease", one.lease(&id).await.map(drop)),
        ("holder", one.holder(&id).await.map(drop)),
        ("read", one.read(&id, 0, 1).await.map(drop)),
        ("read", one.read(&id, 0, 0).await.map(drop)),
        ("read", one.read(&id, u64::MAX, 1).await.map(drop)),
        ("spine", one.spine(&id, 0, 1).await.map(drop)),
        ("spine", one.spine(&id, u64::MAX, 0).await.map(drop)),
        ("records", one.records(&id, &[1]).await.map(drop)),
        ("records", one.records(&id, &[]).await.map(drop)),
        ("outline", one.outline(&id).await.map(drop)),
        ("messages", one.messages(&id, &[NodeId::ROOT]).await.map(drop)),
        ("messages", one.messages(&id, &[]).await.map(drop)),
        ("blob", one.blob(&id, &Digest::of(b"")).await.map(drop)),
        ("info", one.info(&id).await.map(drop)),
        ("amend", one.amend(&id, Amend::title("x")).await),
        ("amend", one.amend(&id, Amend::default()).await),
        ("delete", one.delete(&id).await),
        ("delete_idle", one.delete_idle(&unknown).await),
        ("post", one.post(&id, "prompt", "1", Timestamp(1)).await.map(drop)),
        ("inbox", one.inbox(&id).await.map(drop)),
        ("letter", one.letter(&id, InboxId(1)).await.map(drop)),
        ("notes", one.notes(&NoteQuery::default().in_session(id.clone())).await.map(drop)),
        ("changed", one.changed(&id, Activity::default()).await.map(drop)),
        ("load", one.load(&id).await.map(drop)),
        ("load_after", one.load_after(&id, 0).await.map(drop)),
        ("resume", one.resume(&id, 5).await.map(drop)),
        ("verify", one.verify(&id).await.map(drop)),
    ];
    for (method, answer) in answers {
        match answer {
            Err(StoreError::UnknownSession { session: named }) if named == id => {}
            other => fail!("{method}: expected that there is no session {id}, found {other:?}"),
        }
    }
    let exported = crate::export(&*one, &id, &mut export).await;
    ensure!(exported.is_err() && export.is_empty(), "what does not exist was exported");
    Ok(())
}
