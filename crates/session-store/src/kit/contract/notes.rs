//! Notes about something: once, and found again.

use trunkline_message_tree::Timestamp;

use super::super::made::*;
use super::super::verdict::{Broken, Verdict};
use super::{Bench, Store, checks};
use crate::{Note, NoteQuery, Record, StoreError};

checks! {
    Keys a_key_that_may_be_noted_once_is_noted_once
    Keys keys_belong_to_one_layer_kind_and_session
    Keys the_newest_note_of_each_key_is_found
    Keys keys_are_found_by_every_part_of_a_query
}

async fn a_key_that_may_be_noted_once_is_noted_once(bench: &mut Bench) -> Verdict {
    let (one, _) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let once = |key: &str| Record::Note(rain("1").once(key, "s"));
    let about = |key: &str| Record::Note(rain("2").about(key, "s"));
    one.append(&lease, batch(1, 0, vec![node(1, 0, "x"), once("a"), about("b")])).await?;
    let taken = |result, wanted: &str, first: u64| match result {
        Err(StoreError::KeyTaken { kind, key, seq, .. }) => {
            same!("the refusal", (kind.as_str(), key.as_str(), seq), ("rain", wanted, first));
            Ok(())
        }
        other => fail!("the key {wanted:?} was noted in record {first}; found {other:?}"),
    };
    let before = state(&*one, &session(1)).await?;
    taken(one.append(&lease, batch(4, 1, vec![note("1"), once("a")])).await, "a", 3)?;
    taken(one.append(&lease, batch(4, 1, vec![once("b")])).await, "b", 4)?;
    taken(one.append(&lease, batch(4, 1, vec![once("c"), once("c")])).await, "c", 5)?;
    taken(one.append(&lease, batch(4, 1, vec![about("d"), once("d")])).await, "d", 5)?;
    same!("the session afterwards", state(&*one, &session(1)).await?, before);
    // Once means the first, not the last.
    one.append(&lease, batch(4, 1, vec![once("c"), about("c"), about("a")])).await?;
    taken(one.append(&lease, batch(7, 1, vec![once("a")])).await, "a", 3)?;
    drop((one, lease));
    let (_, two) = bench.reopen().await?;
    let lease = bench.soon(&two, &session(1)).await?;
    taken(two.append(&lease, batch(7, 1, vec![once("c")])).await, "c", 5)?;
    two.append(&lease, batch(7, 1, vec![once("d")])).await?;
    Ok(())
}

async fn keys_belong_to_one_layer_kind_and_session(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    let key = |layer: &str, kind: &str, key: &str| {
        Record::Note(Note::new(layer, kind, Timestamp(1), "1").once(key, ""))
    };
    for number in [1, 2] {
        one.create(new_session(number)).await?;
        let lease = one.lease(&session(number)).await?;
        // Names that run into each other when they are put together without care.
        let records = vec![
            key("a", "b", "c"),
            key("b", "a", "c"),
            key("a", "bc", ""),
            key("ab", "", "c"),
            key("", "ab", "c"),
            key("a", "b", "C"),
            key("a", "b", "c "),
            key("a", "b", "\u{e7}"),
            key("a", "b", "c\u{327}"),
        ];
        one.append(&lease, batch(1, 0, records)).await?;
        let again = one.append(&lease, batch(10, 0, vec![key("a", "b", "c")])).await;
        refused!("the same key", again, StoreError::KeyTaken { seq: 2, .. });
    }
    same!("how many keys there are", two.notes(&NoteQuery::default()).await?.len(), 18);
    Ok(())
}

/// Session, number, kind, key and state of what a query finds.
async fn found(store: &Store, query: NoteQuery) -> Result<Vec<String>, Broken> {
    let line = |found: crate::FoundNote| {
        let session = found.session.as_str().chars().last().unwrap_or('?');
        let once = if found.key.once { " once" } else { "" };
        let (layer, kind, key, state) = (&found.layer, &found.kind, &found.key.key, &found.key.state);
        format!("{session}/{} {layer}/{kind} {key}={state}{once} {} {}", found.seq, found.body, found.at.0)
    };
    Ok(store.notes(&query).await?.into_iter().map(line).collect())
}

async fn the_newest_note_of_each_key_is_found(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let about = |key: &str, state: &str, body: &str| {
        Record::Note(Note { at: Timestamp(body.len() as u64), ..rain(body) }.about(key, state))
    };
    let records = vec![about("p", "open", "1"), about("q", "open", "\"q\""), note("\"no key\"")];
    one.append(&lease, batch(1, 0, records)).await?;
    one.append(&lease, batch(4, 0, vec![about("p", "closed", "[1.50]"), node(1, 0, "x")])).await?;
    let all = NoteQuery::of("weather", "rain");
    let expected = ["1/3 weather/rain q=open \"q\" 3", "1/5 weather/rain p=closed [1.50] 6"];
    same!("all", found(&two, all.clone()).await?, expected);
    same!("what is open", found(&two, all.clone().in_state("open")).await?, expected[..1].to_vec());
    let none: [&str; 0] = [];
    same!("what was open", found(&two, all.clone().about("p").in_state("open")).await?, none);
    one.append(&lease, batch(6, 1, vec![about("p", "open", "2"), about("p", "", "3")])).await?;
    let expected = ["1/3 weather/rain q=open \"q\" 3", "1/8 weather/rain p= 3 1"];
    same!("later", found(&one, all.clone()).await?, expected);
    drop((one, two, lease));
    let (one, _) = bench.reopen().await?;
    same!("after opening again", found(&one, all.clone()).await?, expected);
    one.delete(&session(1)).await?;
    same!("after deletion", found(&one, all).await?, none);
    Ok(())
}

async fn keys_are_found_by_every_part_of_a_query(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    for number in [2, 1] {
        one.create(new_session(number)).await?;
        let lease = one.lease(&session(number)).await?;
        let mut records = Vec::new();
        for layer in ["l", "m"] {
            for kind in ["k", "j"] {
                for (key, state) in [("x", "s"), ("y", "t"), ("%", "_")] {
                    records.push(Record::Note(Note::new(layer, kind, Timestamp(1), "1").about(key, state)));
                }
            }
        }
        one.append(&lease, batch(1, 0, records)).await?;
    }
    let everything = found(&two, NoteQuery::default()).await?;
    same!("how many there are", everything.len(), 24);
    let mut sorted = everything.clone();
    let place = |line: &String| {
        let (session, rest) = line.split_once('/')?;
        let number: u64 = rest.split_once(' ')?.0.parse().ok()?;
        Some((session.to_owned(), number))
    };
    sorted.sort_by_key(place);
    same!("their order", everything, sorted);
    for (query, expected) in [
        (NoteQuery::of("l", "k"), 6),
        (NoteQuery::of("l", "k").in_session(session(1)), 3),
        (NoteQuery::default().in_session(session(2)), 12),
        (NoteQuery::default().about("x"), 8),
        (NoteQuery::default().about("%"), 8),
        (NoteQuery::default().in_state("_"), 8),
        (NoteQuery::default().about("x").in_state("t"), 0),
        (NoteQuery::of("m", "j").about("y").in_state("t").in_session(session(1)), 1),
        (NoteQuery::of("L", "k"), 0),
        (NoteQuery::of("", ""), 0),
        (NoteQuery::default().about("\0"), 0),
    ] {
        let lines = found(&two, query.clone()).await?;
        ensure!(lines.len() == expected, "{query:?}: expected {expected}, found {lines:?}");
        let rest: Vec<&String> = everything.iter().filter(|line| lines.contains(line)).collect();
        ensure!(rest.iter().copied().eq(&lines), "{query:?}: found what is not there: {lines:?}");
    }
    let unknown = two.notes(&NoteQuery::default().in_session(session(9))).await;
    refused!("a session that does not exist", unknown, StoreError::UnknownSession { .. });
    Ok(())
}
