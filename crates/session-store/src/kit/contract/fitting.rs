//! What could not be read again, or not by every store, is refused.

use trunkline_message_tree::{Entry, NodeId, Timestamp};

use super::super::made::*;
use super::super::verdict::{Verdict, outcome};
use super::{Bench, checks};
use crate::{
    Amend, Blob, Header, ImportError, MemoryStore, NewSession, Note, Record, Restoring, SessionStore,
    StoreError,
};

checks! {
    Fits a_record_that_no_tree_could_replay_changes_nothing
    Fits a_session_begins_with_a_root
    Fits a_body_must_be_json_on_one_line
    Fits a_name_has_no_nul
    Fits a_name_has_at_most_64_kib
    Fits a_message_names_no_other_node
    Fits a_session_is_not_called_by_a_name_with_a_nul
}

async fn a_record_that_no_tree_could_replay_changes_nothing(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let before = state(&*two, &session(1)).await?;
    for (last, refusal) in [
        (node(3, 1, "x"), "n3 cannot come now: the next node is n2"),
        (node(2, 0, "x"), "the head is n1, the entry was made at n0"),
        (filed(2, 7, "x"), "n7 does not exist; the newest node is n1"),
        (head_move(1, 2), "n2 does not exist; the newest node is n1"),
        (head_move(0, 1), "the head is n1, the entry was made at n0"),
    ] {
        match one.append(&lease, batch(1, 0, vec![node(1, 0, "fits"), last])).await {
            Err(StoreError::Misfit { session: named, seq: 3, source }) => {
                same!("the session", named, session(1));
                same!("the refusal", source.to_string(), refusal);
            }
            other => fail!("expected record 3 not to fit, because {refusal}; found {}", outcome(&other)),
        }
        same!("the session afterwards", state(&*two, &session(1)).await?, before);
    }
    Ok(())
}

async fn a_session_begins_with_a_root(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    for wrong in [node(1, 0, "x"), node(0, 0, "x"), head_move(0, 0)] {
        let Record::Entry(root) = wrong else { continue };
        let result = one.create(NewSession { root, ..new_session(1) }).await;
        refused!("a session without a root", result, StoreError::Misfit { seq: 1, .. });
    }
    same!("the sessions afterwards", two.sessions().await?, []);
    one.create(new_session(1)).await?;
    Ok(())
}

async fn a_body_must_be_json_on_one_line(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    for (body, expected) in [
        ("", "it is not JSON"),
        ("{\"open\":", "it is not JSON"),
        ("1 2", "it is not JSON"),
        ("\"\u{0}\"", "it is not JSON"),
        (" 1", "there is white space around the JSON"),
        ("1\n", "there is white space around the JSON"),
        ("[1,\n2]", "the JSON is not on one line"),
        ("[1,\r2]", "the JSON is not on one line"),
    ] {
        for result in [
            one.append(&lease, batch(1, 0, vec![note(body)])).await.map(drop),
            two.post(&session(1), "rain", body, Timestamp(1)).await.map(drop),
        ] {
            match result {
                Err(StoreError::Body { kind, reason, .. }) => {
                    same!("the refusal", (kind.as_str(), reason), ("rain", expected));
                }
                other => fail!("the body {body:?}: expected a refusal, found {}", outcome(&other)),
            }
        }
    }
    same!("how many records there are", one.info(&session(1)).await?.records, 1);
    same!("the inbox", one.inbox(&session(1)).await?, []);
    Ok(())
}

async fn a_name_has_no_nul(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let nul = "a\0b";
    let blob = |layer: &str, kind: &str| {
        let (layer, kind) = (layer.to_owned(), kind.to_owned());
        Record::Blob(Blob { layer, kind, at: Timestamp(1), bytes: vec![0] })
    };
    let of = |layer: &str, kind: &str| Record::Note(Note::new(layer, kind, Timestamp(1), "1"));
    for record in [
        of(nul, "k"),
        of("l", nul),
        Record::Note(rain("1").about(nul, "")),
        Record::Note(rain("1").about("", nul)),
        blob(nul, "k"),
        blob("l", nul),
    ] {
        let result = one.append(&lease, batch(1, 0, vec![record])).await;
        refused!("a name with a NUL", result, StoreError::Body { .. });
    }
    let posted = two.post(&session(1), nul, "1", Timestamp(1)).await;
    refused!("the kind of a letter with a NUL", posted, StoreError::Body { .. });
    same!("how many records there are", one.info(&session(1)).await?.records, 1);
    Ok(())
}

async fn a_name_has_at_most_64_kib(bench: &mut Bench) -> Verdict {
    const LIMIT: usize = 64 * 1024;
    let (one, two) = bench.stores()?;
    // Two bytes a letter: it is bytes that count.
    let (most, more) = ("\u{e9}".repeat(LIMIT / 2), "\u{e9}".repeat(LIMIT / 2) + "x");
    let called = |name: &str| NewSession {
        title: name.to_owned(),
        workspace: Some(name.to_owned()),
        ..new_session(1)
    };
    for new in [
        NewSession { title: more.clone(), ..new_session(1) },
        NewSession { workspace: Some(more.clone()), ..new_session(1) },
    ] {
        refused!("a new session", one.create(new).await, StoreError::Body { .. });
    }
    one.create(called(&most)).await?;
    same!("the folder", two.info(&session(1)).await?.workspace, Some(most.clone()));
    for amend in [Amend::title(more.clone()), Amend::tags([more.clone()]), Amend::add_tags([more.clone()])] {
        refused!("another name", two.amend(&session(1), amend).await, StoreError::Body { .. });
    }
    two.amend(&session(1), Amend::tags([most.clone()])).await?;
    let lease = one.lease(&session(1)).await?;
    let blob = |layer: &str, kind: &str| {
        let (layer, kind) = (layer.to_owned(), kind.to_owned());
        Record::Blob(Blob { layer, kind, at: Timestamp(1), bytes: vec![0] })
    };
    let of = |layer: &str, kind: &str, key: &str, state: &str| {
        Record::Note(Note::new(layer, kind, Timestamp(1), "1").about(key, state))
    };
    for record in [
        of(&more, "k", "", ""),
        of("l", &more, "", ""),
        of("l", "k", &more, ""),
        of("l", "k", "", &more),
        blob(&more, "k"),
        blob("l", &more),
    ] {
        let result = one.append(&lease, batch(1, 0, vec![record])).await;
        refused!("a name that is too long", result, StoreError::Body { .. });
    }
    let posted = two.post(&session(1), &more, "1", Timestamp(1)).await;
    refused!("the kind of a letter", posted, StoreError::Body { .. });
    two.post(&session(1), &most, "1", Timestamp(1)).await?;
    one.append(&lease, batch(1, 0, vec![of(&most, &most, &most, &most), blob(&most, &most)])).await?;
    let found = two.notes(&crate::NoteQuery::of(&most, &most).about(&most).in_state(&most)).await?;
    same!("how many keys there are", found.len(), 1);
    same!("what verifies", two.verify(&session(1)).await?.records, 3);
    Ok(())
}

async fn a_message_names_no_other_node(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let named = |node: Option<u32>| match self::node(1, 0, "x") {
        Record::Entry(Entry::Node { id, parent, at, link, mut message }) => {
            message.node = node.map(NodeId::new);
            Record::Entry(Entry::Node { id, parent, at, link, message })
        }
        other => other,
    };
    for other in [0, 2] {
        let result = one.append(&lease, batch(1, 0, vec![named(Some(other))])).await;
        refused!("a message of another node", result, StoreError::Body { .. });
    }
    same!("how many records there are", two.info(&session(1)).await?.records, 1);
    one.append(&lease, batch(1, 0, vec![named(None)])).await?;
    Ok(())
}

async fn a_session_is_not_called_by_a_name_with_a_nul(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    let nul = || "a\0b".to_owned();
    for new in [
        NewSession { title: nul(), ..new_session(1) },
        NewSession { workspace: Some(nul()), ..new_session(1) },
    ] {
        refused!("a new session", one.create(new).await, StoreError::Body { .. });
    }
    let other = MemoryStore::new();
    other.create(new_session(1)).await?;
    let mut header = Header::of(&other.info(&session(1)).await?);
    header.tags.insert(nul());
    let mut rows = all(&other, &session(1)).await?.into_iter().map(Ok);
    match one.restore(Restoring::new(header, &mut rows)).await {
        Err(ImportError::Store { source }) if matches!(*source, StoreError::Body { .. }) => {}
        other => fail!("an import: expected a refusal, found {}", outcome(&other)),
    }
    same!("the sessions afterwards", two.sessions().await?, []);
    Ok(())
}
