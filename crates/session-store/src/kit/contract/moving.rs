//! Sessions that come from elsewhere and go there.

use trunkline_message_tree::{NodeId, Timestamp};

use super::super::made::{letters as letters_of, *};
use super::super::verdict::Verdict;
use super::{Bench, Store, checks};
use crate::{
    Activity, Amend, Claim, Digest, Header, Import, ImportError, InboxId, Kept, Letter, MemoryStore, Record,
    Restoring, SessionStore, Spine, StoreError,
};

checks! {
    Restored a_restored_session_is_as_it_was_and_can_be_gone_on_with
    Restored what_cannot_be_restored_leaves_nothing
    Restored a_session_is_restored_once
    Restored the_letters_that_a_session_comes_with_are_there_when_it_is
    Moved a_session_moves_to_and_fro_byte_for_byte
    Moved what_an_older_form_says_is_taken_in
}

/// A session in memory, as text.
async fn origin() -> Result<(MemoryStore, Vec<u8>), super::Broken> {
    let origin = MemoryStore::new();
    origin.create(new_session(1)).await?;
    let lease = origin.lease(&session(1)).await?;
    let large = format!("\"{}\"", "gro\u{df} \\\" ".repeat(2_000));
    let records = vec![
        node(1, 0, "a"),
        note("{ \"mm\" : 1.50 }"),
        head_move(1, 0),
        filed(2, 1, "b"),
        note(&large),
        Record::Note(rain(&large).once("k", "pending")),
        Record::Note(rain("0").about("k", "done")),
        Record::Blob(crate::Blob {
            layer: "files".to_owned(),
            kind: "before".to_owned(),
            at: Timestamp(4),
            bytes: large.into_bytes(),
        }),
    ];
    origin.append(&lease, batch(1, 0, records)).await?;
    origin.amend(&session(1), Amend::title("r\u{e4}in\n\"x\"")).await?;
    origin.amend(&session(1), Amend::tags(["b", "a"])).await?;
    origin.amend(&session(1), Amend::archived(true)).await?;
    let text = exported(&origin, &session(1)).await?;
    Ok((origin, text))
}

async fn a_restored_session_is_as_it_was_and_can_be_gone_on_with(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    let (origin, text) = origin().await?;
    let taken = crate::import(&*one, text.as_slice()).await?;
    same!("what import says", taken, [origin.info(&session(1)).await?]);
    same!("the session", state(&*two, &session(1)).await?, state(&origin, &session(1)).await?);
    same!("its holder", two.holder(&session(1)).await?, None);
    let lease = two.claim(&session(1), Claim::IfFree).await?;
    let head = taken.first().map_or(NodeId::ROOT, |info| info.head).index() as u32;
    let once = Record::Note(rain("1").once("k", ""));
    let again = two.append(&lease, batch(9, head, vec![once])).await;
    refused!("a key that it has", again, StoreError::KeyTaken { seq: 7, .. });
    two.append(&lease, batch(9, head, vec![node(3, head, "and on")])).await?;
    same!("what verifies", one.verify(&session(1)).await?.records, 10);
    Ok(())
}

fn rows(kept: &[Kept]) -> impl Iterator<Item = Result<Kept, ImportError>> + Send {
    kept.iter().cloned().map(Ok)
}

async fn what_cannot_be_restored_leaves_nothing(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    let (origin, _) = origin().await?;
    let header = Header::of(&origin.info(&session(1)).await?);
    let kept = all(&origin, &session(1)).await?;
    let changed = |change: &dyn Fn(&mut Header, &mut Vec<Kept>)| {
        let (mut header, mut kept) = (header.clone(), kept.clone());
        change(&mut header, &mut kept);
        (header, kept)
    };
    let at = |kept: &mut Vec<Kept>, seq: usize, change: &dyn Fn(&mut Kept)| {
        kept.iter_mut().skip(seq - 1).take(1).for_each(change);
    };
    let wrong = [
        ("nothing", changed(&|_, kept| kept.clear())),
        ("cut off", changed(&|_, kept| drop(kept.pop()))),
        ("one missing", changed(&|_, kept| drop(kept.remove(3)))),
        ("two exchanged", changed(&|_, kept| kept.swap(4, 5))),
        ("one twice", changed(&|_, kept| kept.insert(3, kept[2].clone()))),
        ("more than promised", changed(&|_, kept| kept.push(kept[8].clone()))),
        ("another body", changed(&|_, kept| at(kept, 3, &|kept| kept.body = "{}".to_owned()))),
        ("another digest", changed(&|_, kept| at(kept, 5, &|kept| kept.digest = Digest::of(b"x")))),
        ("another last digest", changed(&|_, kept| at(kept, 9, &|kept| kept.digest = Digest::of(b"x")))),
        ("a body that is none", changed(&|_, kept| at(kept, 2, &|kept| kept.body = "{".to_owned()))),
        ("another end", changed(&|header, _| header.digest = Some(Digest::of(b"x")))),
        ("another head", changed(&|header, _| header.head = NodeId::new(2))),
        ("more nodes", changed(&|header, _| header.nodes += 1)),
        ("fewer records", changed(&|header, _| header.records -= 1)),
        ("no records", changed(&|header, _| header.records = 0)),
        ("another name", changed(&|header, _| header.id = session(2))),
        ("a key noted twice", key_twice(&header, &kept)),
    ];
    for (how, (header, kept)) in wrong {
        let id = header.id.clone();
        let result = two.restore(Restoring::new(header, &mut rows(&kept))).await;
        ensure!(result.is_err(), "{how}: it was taken in");
        refused!("its info", one.info(&id).await, StoreError::UnknownSession { .. });
        same!("the list", one.sessions().await?, []);
        same!("the keys", one.notes(&crate::NoteQuery::default()).await?, []);
    }
    let line_end = |body: &str| body.replacen(',', ",\n", 1);
    let misfits: [Misfit<'_>; 8] = [
        ("a message on two lines", 2, &|kept| kept.body = line_end(&kept.body)),
        ("a message with white space behind it", 2, &|kept| kept.body.push(' ')),
        ("a message of another node", 2, &|kept| kept.body = kept.body.replace("\"n1\"", "\"n2\"")),
        ("a note on two lines", 3, &|kept| kept.body = kept.body.replace(' ', "\n")),
        ("a note with a name that is too long", 3, &|kept| rename(&mut kept.spine)),
        ("a move with white space before it", 4, &|kept| kept.body.insert(0, '\r')),
        ("a blob with a line end", 9, &|kept| kept.body.push('\n')),
        ("a blob with a name that is too long", 9, &|kept| rename(&mut kept.spine)),
    ];
    // All digests are right.
    for (how, wrong, change) in misfits {
        let mut kept = kept.clone();
        at(&mut kept, wrong as usize, change);
        let mut digest = Digest::genesis(&header.id);
        for one in &mut kept {
            *one = Kept::chained(one.seq, one.spine.clone(), one.body.clone(), digest);
            digest = one.digest;
        }
        let header = Header { digest: Some(digest), ..header.clone() };
        match two.restore(Restoring::new(header, &mut rows(&kept))).await {
            Err(ImportError::Store { source }) if matches!(*source, StoreError::BadRecord { seq, .. } if seq == wrong) =>
                {}
            other => fail!("{how}: expected that record {wrong} is refused, found {other:?}"),
        }
        same!("the list", one.sessions().await?, []);
    }
    // A reader that breaks off in the middle, long after the first megabytes.
    let mut rows = many().chain([Err(ImportError::NotOurs { line: 7 })]);
    let long = Header { records: 1_100, nodes: 1, digest: None, head: NodeId::ROOT, ..header.clone() };
    let result = two.restore(Restoring::new(long, &mut rows)).await;
    refused!("a reader that breaks off", result, ImportError::NotOurs { line: 7 });
    same!("the list", one.sessions().await?, []);
    one.collect(false).await?;
    one.restore(Restoring::new(header, &mut self::rows(&kept))).await?;
    same!("the session", state(&*two, &session(1)).await?, state(&origin, &session(1)).await?);
    Ok(())
}

/// What is wrong, with which record, and how it comes to be so.
type Misfit<'a> = (&'static str, u64, &'a dyn Fn(&mut Kept));

fn rename(spine: &mut Spine) {
    if let Spine::Note { kind, .. } | Spine::Blob { kind, .. } = spine {
        *kind = "x".repeat(64 * 1024 + 1);
    }
}

/// The same with a note at the end that has to be the first of its key and is not.
fn key_twice(header: &Header, kept: &[Kept]) -> (Header, Vec<Kept>) {
    let (mut header, mut kept) = (header.clone(), kept.to_vec());
    if let Some(first) = kept.get(6).cloned() {
        let again = Kept::chained(10, first.spine, first.body, header.digest.unwrap_or(first.digest));
        (header.records, header.digest) = (10, Some(again.digest));
        kept.push(again);
    }
    (header, kept)
}

/// More than one chunk.
fn many() -> impl Iterator<Item = Result<Kept, ImportError>> + Send {
    let new = new_session(1);
    let mut tally = crate::Tally::new(&new.id, new.at);
    let root = Record::Entry(new.root);
    let notes = (1..1_099).map(|number| note(&format!("\"{}{number}\"", "x".repeat(4_000))));
    let records = std::iter::once(root).chain(notes);
    records.map(move |record| tally.add(&session(1), record).map_err(ImportError::from))
}

async fn a_session_is_restored_once(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    let (_, text) = origin().await?;
    crate::import(&*one, text.as_slice()).await?;
    let lease = one.lease(&session(1)).await?;
    one.append(&lease, next(&*one, &session(1), vec![note("1")]).await?).await?;
    let before = state(&*one, &session(1)).await?;
    // While somebody writes it, and while nobody does.
    let mut lease = Some(lease);
    for _ in 0..2 {
        match crate::import(&*two, text.as_slice()).await {
            Err(ImportError::Store { source }) if matches!(*source, StoreError::SessionExists { .. }) => {}
            other => fail!("expected that the session exists already, found {other:?}"),
        }
        same!("the session afterwards", state(&*two, &session(1)).await?, before);
        drop(lease.take());
        drop(bench.soon(&one, &session(1)).await?);
    }
    Ok(())
}

async fn the_letters_that_a_session_comes_with_are_there_when_it_is(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    let (origin, _) = origin().await?;
    let header = Header::of(&origin.info(&session(1)).await?);
    let kept = all(&origin, &session(1)).await?;
    let letter = |number: u64, body: &str| Letter {
        id: InboxId(number),
        at: Timestamp(u64::MAX - number),
        kind: format!("kind \u{e9} {number}"),
        body: body.to_owned(),
    };
    let refused = one
        .restore(Restoring::new(header.clone(), &mut rows(&kept)).with_letters(&mut || vec![letter(1, "{")]))
        .await;
    match refused {
        Err(ImportError::Store { source }) if matches!(*source, StoreError::Body { .. }) => {}
        other => fail!("expected that the letter is refused, found {other:?}"),
    }
    same!("the list", two.sessions().await?, []);
    // In one step, and after many chunks. Whatever they are called, they are counted from 1.
    let long = Header { records: 1_099, nodes: 1, digest: None, head: NodeId::ROOT, ..header.clone() };
    for long in [None, Some(long)] {
        let mut letters =
            || vec![letter(1, "\"go on\""), Letter { id: InboxId(9), ..letter(2, "{\"b\" : 1.50}") }];
        let info = match long {
            Some(long) => one.restore(Restoring::new(long, &mut many()).with_letters(&mut letters)).await?,
            None => {
                one.restore(Restoring::new(header.clone(), &mut rows(&kept)).with_letters(&mut letters))
                    .await?
            }
        };
        for store in [&one, &two] {
            let waiting = [letter(1, "\"go on\""), letter(2, "{\"b\" : 1.50}")];
            same!("the inbox", store.inbox(&session(1)).await?, waiting);
        }
        let now = two.changed(&session(1), Activity::default()).await?;
        same!("what happened in it", now, Activity::new(info.records, 2, 0).under(now.token));
        same!("the next letter", two.post(&session(1), "prompt", "1", Timestamp(1)).await?, InboxId(3));
        let lease = two.lease(&session(1)).await?;
        let head = info.head.index() as u32;
        two.append(&lease, batch(info.records, head, vec![note("1")]).consuming(letters_of([2, 3]))).await?;
        same!("the inbox", one.inbox(&session(1)).await?, [letter(1, "\"go on\"")]);
        drop(lease);
        delete(bench, &one, &session(1)).await?;
    }
    Ok(())
}

async fn a_session_moves_to_and_fro_byte_for_byte(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    let (_, text) = origin().await?;
    one.create(new_session(3)).await?;
    crate::import(&*one, text.as_slice()).await?;
    for store in [&one, &two] {
        let again = exported(&**store, &session(1)).await?;
        ensure!(again == text, "the export is not what was imported: {}", parting(&again, &text));
    }
    // To another store and back under the same name, and all sessions at once.
    let everything = all_exported(&*two).await?;
    let other = MemoryStore::new();
    let moved = crate::import(&other, everything.as_slice()).await?;
    same!("what moved", moved.len(), 2);
    let there = all_exported(&other).await?;
    ensure!(there == everything, "on the way out: {}", parting(&there, &everything));
    let ids = [session(1), session(3)];
    for id in &ids {
        delete(bench, &one, id).await?;
    }
    crate::import(&*two, there.as_slice()).await?;
    let back = all_exported(&*one).await?;
    ensure!(back == everything, "on the way back: {}", parting(&back, &everything));
    Ok(())
}

async fn delete(bench: &Bench, store: &Store, id: &crate::SessionId) -> Verdict {
    while let Err(StoreError::Locked { .. }) = store.delete(id).await {
        drop(bench.soon(store, id).await?);
    }
    Ok(())
}

fn parting(found: &[u8], expected: &[u8]) -> String {
    super::super::verdict::differ(&String::from_utf8_lossy(found), &String::from_utf8_lossy(expected))
}

async fn what_an_older_form_says_is_taken_in(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    // Without digests, as version 1 had it.
    let text = concat!(
        r#"{"trunkline":"session","version":1,"session":{"id":"00000000-0000-7000-8000-000000000001","title":"rain","workspace":null,"created_at":1,"updated_at":12,"head":"n0","records":4,"nodes":2}}"#,
        "\n",
        r#"{"seq":1,"entry":"node","id":"n0","parent":null,"at":1,"message":{"node":"n0","role":"system","author":"harness","content":[{"type":"text","text":"be brief"}]}}"#,
        "\n",
        r#"{"seq":2,"entry":"node","id":"n1","parent":"n0","at":10,"message":{"node":"n1","role":"user","author":"person","content":[{"type":"text","text":"zwei\nZeilen"}]}}"#,
        "\n",
        r#"{"seq":3,"entry":"note","layer":"weather","kind":"rain","at":12,"body":{"mm": 1.50}}"#,
        "\n",
        r#"{"seq":4,"entry":"move","from":"n1","to":"n0","kind":"person_revert","at":11}"#,
        "\n",
    );
    let taken = crate::import(&*one, text.as_bytes()).await?;
    let memory = MemoryStore::new();
    same!("the session", taken, crate::import(&memory, text.as_bytes()).await?);
    let exported = exported(&*two, &session(1)).await?;
    ensure!(exported == all_exported(&memory).await?, "the export is not that of memory");
    let mut import = Import::new(exported.as_slice());
    ensure!(import.next_session()?.is_some_and(|header| header.digest.is_some()), "digests are missing");
    same!("what verifies", two.verify(&session(1)).await?.records, 4);
    Ok(())
}
