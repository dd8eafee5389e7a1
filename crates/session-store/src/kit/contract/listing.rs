//! Lists, names, and the end of sessions.

use std::collections::BTreeSet;

use trunkline_message_tree::Timestamp;

use super::super::made::*;
use super::super::verdict::Verdict;
use super::super::waiting::{at_once, both};
use super::{Bench, checks};
use crate::{Amend, Collected, NoteQuery, Record, StoreError};

checks! {
    Listed the_session_updated_last_is_listed_first
    Listed a_session_is_called_what_it_was_amended_to
    Listed info_counts_what_the_log_has
    Listed tags_that_many_add_at_once_are_all_there
    Named a_session_is_made_once
    Deleted a_deleted_session_is_gone_with_all_that_it_had
    Deleted a_session_that_is_being_written_is_not_deleted
    Deleted a_session_that_somebody_came_back_to_is_not_deleted_as_idle
    Deleted a_letter_and_an_end_are_never_both_told_to_be_so
    Deleted what_is_collected_is_needed_by_nobody
    Reopened all_is_there_after_opening_again
}

async fn the_session_updated_last_is_listed_first(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    same!("a new place", two.sessions().await?, []);
    for number in [2, 3, 1, 4] {
        let mut new = new_session(number);
        // The fourth is as old as the third.
        new.at = Timestamp(number.min(3));
        new.root = root("x", new.at);
        one.create(new).await?;
    }
    let lease = one.lease(&session(1)).await?;
    one.append(&lease, batch(1, 0, vec![node(1, 0, "at ten")])).await?;
    let titles: Vec<String> = two.sessions().await?.into_iter().map(|info| info.title).collect();
    same!("the order", titles, ["session 1", "session 4", "session 3", "session 2"]);
    let lease = one.lease(&session(2)).await?;
    let old = said(1, 0, false, 1, trunkline_message_tree::Message::user("from before"));
    one.append(&lease, batch(1, 0, vec![old])).await?;
    same!("a record from before", two.info(&session(2)).await?.updated_at, Timestamp(2));
    let late = said(2, 1, false, u64::MAX, trunkline_message_tree::Message::user("late"));
    one.append(&lease, batch(2, 1, vec![late])).await?;
    let titles: Vec<String> = two.sessions().await?.into_iter().map(|info| info.title).collect();
    same!("the order", titles, ["session 2", "session 1", "session 4", "session 3"]);
    for info in two.sessions().await? {
        same!("a line of the list", info, one.info(&info.id).await?);
    }
    Ok(())
}

async fn a_session_is_called_what_it_was_amended_to(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let mut expected = one.info(&session(1)).await?;
    let first = (expected.title.as_str(), expected.workspace.as_deref(), expected.archived);
    same!("at first", first, ("session 1", Some("/project"), false));
    // Also while somebody writes.
    let _lease = one.lease(&session(1)).await?;
    two.amend(&session(1), Amend::title("zwei W\u{f6}rter, 'quoted' % _ \\ \n \u{1F327}")).await?;
    expected.title = "zwei W\u{f6}rter, 'quoted' % _ \\ \n \u{1F327}".to_owned();
    same!("a title", one.info(&session(1)).await?, expected);
    two.amend(&session(1), Amend::tags(["b", "a", "b", "", "{},\"x\""])).await?;
    expected.tags = BTreeSet::from(["", "a", "b", "{},\"x\""].map(str::to_owned));
    same!("tags", one.info(&session(1)).await?, expected);
    two.amend(&session(1), Amend::archived(true)).await?;
    expected.archived = true;
    same!("in the archive", two.info(&session(1)).await?, expected);
    same!("the list", one.sessions().await?, [expected.clone()]);
    two.amend(&session(1), Amend::default()).await?;
    same!("no change", one.info(&session(1)).await?, expected);
    two.amend(&session(1), Amend::add_tags(["c", "a"])).await?;
    two.amend(&session(1), Amend::remove_tags(["b", "never there"])).await?;
    expected.tags.insert("c".to_owned());
    expected.tags.remove("b");
    same!("one more tag and one less", one.info(&session(1)).await?, expected);
    let mut all = Amend::tags(["x", "y"]);
    (all.remove_tags, all.add_tags) = (["x", "z"].map(str::to_owned).into(), ["z".to_owned()].into());
    two.amend(&session(1), all).await?;
    expected.tags = BTreeSet::from(["y", "z"].map(str::to_owned));
    same!("all tags, without one and with another", one.info(&session(1)).await?, expected);
    let words = [
        Amend::title("a\0b"),
        Amend::tags(["good", "\0"]),
        Amend::add_tags(["\0"]),
        Amend::remove_tags(["\0"]),
    ];
    for amend in words {
        refused!("a NUL", two.amend(&session(1), amend).await, StoreError::Body { .. });
    }
    same!("after refusals", one.info(&session(1)).await?, expected);
    two.amend(&session(1), Amend::tags([""; 0])).await?;
    two.amend(&session(1), Amend::archived(false)).await?;
    two.amend(&session(1), Amend::title("")).await?;
    (expected.title, expected.tags, expected.archived) = (String::new(), BTreeSet::new(), false);
    same!("nothing left", one.info(&session(1)).await?, expected);
    Ok(())
}

async fn tags_that_many_add_at_once_are_all_there(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    one.amend(&session(1), Amend::tags(["old", "gone"])).await?;
    let names: Vec<String> = (0..16).map(|number| format!("tag {number}")).collect();
    let id = session(1);
    let mut changes: Vec<_> = names
        .iter()
        .zip([&one, &two].into_iter().cycle())
        .map(|(name, store)| store.amend(&id, Amend::add_tags([name])))
        .collect();
    changes.push(two.amend(&id, Amend::remove_tags(["gone"])));
    for done in at_once(changes).await {
        done?;
    }
    let mut expected: BTreeSet<String> = names.into_iter().collect();
    expected.insert("old".to_owned());
    same!("the tags", one.info(&session(1)).await?.tags, expected);
    Ok(())
}

async fn info_counts_what_the_log_has(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let large = note(&format!("\"{}\"", "x".repeat(20_000)));
    let records = vec![node(1, 0, "a"), large.clone(), large, head_move(1, 0), filed(2, 1, "b")];
    one.append(&lease, batch(1, 0, records)).await?;
    let info = two.info(&session(1)).await?;
    let kept = all(&*two, &session(1)).await?;
    same!("records and nodes", (info.records, info.nodes), (6, 3));
    same!("bytes", info.bytes, kept.iter().map(|kept| kept.body.len() as u64).sum::<u64>());
    same!("the last update", info.updated_at, Timestamp(12));
    same!("the digest", Some(info.digest), kept.last().map(|kept| kept.digest));
    Ok(())
}

async fn a_session_is_made_once(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    one.amend(&session(1), Amend::title("mine")).await?;
    let before = state(&*one, &session(1)).await?;
    for store in [&one, &two] {
        let again = store.create(new_session(1)).await;
        refused!("the id", again, StoreError::SessionExists { session: named } if named == session(1));
    }
    same!("the session afterwards", state(&*one, &session(1)).await?, before);
    Ok(())
}

async fn a_deleted_session_is_gone_with_all_that_it_had(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    let secret = "\"a large part that both have\"".replace("both", &"both ".repeat(2_000));
    for number in [1, 2] {
        one.create(new_session(number)).await?;
        let lease = one.lease(&session(number)).await?;
        let records = vec![note(&secret), Record::Note(rain("1").once("k", "s"))];
        one.append(&lease, batch(1, 0, records)).await?;
        one.post(&session(number), "prompt", "1", Timestamp(1)).await?;
        drop(lease);
        drop(bench.soon(&one, &session(number)).await?);
    }
    let other = state(&*one, &session(2)).await?;
    drop(bench.soon(&two, &session(1)).await?);
    while let Err(StoreError::Locked { .. }) = two.delete(&session(1)).await {
        drop(bench.soon(&two, &session(1)).await?);
    }
    for store in [&one, &two] {
        let list: Vec<String> = store.sessions().await?.into_iter().map(|info| info.title).collect();
        same!("the list", list, ["session 2"]);
        refused!("its info", store.info(&session(1)).await, StoreError::UnknownSession { .. });
        refused!("its records", store.read(&session(1), 0, 9).await, StoreError::UnknownSession { .. });
        refused!("its letters", store.inbox(&session(1)).await, StoreError::UnknownSession { .. });
        same!("the keys", store.notes(&NoteQuery::default()).await?.len(), 1);
        same!("the other session", state(&**store, &session(2)).await?, other);
    }
    refused!("a second time", two.delete(&session(1)).await, StoreError::UnknownSession { .. });
    one.collect(false).await?;
    same!("the other session", state(&*two, &session(2)).await?, other);
    // The name is free, and nothing of the first is left.
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    same!("the inbox", one.inbox(&session(1)).await?, []);
    same!("how many records there are", one.verify(&session(1)).await?.records, 1);
    one.append(&lease, batch(1, 0, vec![Record::Note(rain("1").once("k", "s"))])).await?;
    let letter = one.post(&session(1), "prompt", "1", Timestamp(1)).await?;
    same!("the name of the first letter", letter.0, 1);
    Ok(())
}

async fn a_session_that_is_being_written_is_not_deleted(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let before = state(&*one, &session(1)).await?;
    for store in [&one, &two] {
        refused!("the session", store.delete(&session(1)).await, StoreError::Locked { .. });
    }
    same!("the session afterwards", state(&*two, &session(1)).await?, before);
    one.append(&lease, batch(1, 0, vec![note("1")])).await?;
    Ok(())
}

async fn a_session_that_somebody_came_back_to_is_not_deleted_as_idle(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let seen = one.info(&session(1)).await?;
    let refused = |result| match result {
        Err(StoreError::Changed { session: named, .. }) if named == session(1) => Ok(()),
        other => fail!("expected that the session has changed, found {other:?}"),
    };
    let lease = one.lease(&session(1)).await?;
    let answer = two.delete_idle(&seen).await;
    refused!("a session that is written", answer, StoreError::Locked { .. });
    one.append(&lease, batch(1, 0, vec![note("1")])).await?;
    drop(lease);
    drop(bench.soon(&one, &session(1)).await?);
    let idle = |store: super::Store, seen: crate::SessionInfo, patience| async move {
        loop {
            match store.delete_idle(&seen).await {
                // A lease that was given up a moment ago.
                Err(StoreError::Locked { .. }) => drop(super::soon(&*store, &seen.id, patience).await?),
                answer => return Ok::<_, super::Broken>(answer),
            }
        }
    };
    let patience = bench.patience;
    refused(idle(two.clone(), seen, patience).await?)?;
    let seen = one.info(&session(1)).await?;
    two.amend(&session(1), Amend::tags(["keep"])).await?;
    refused(idle(one.clone(), seen, patience).await?)?;
    let seen = one.info(&session(1)).await?;
    let letter = one.post(&session(1), "prompt", "1", Timestamp(1)).await?;
    refused(idle(two.clone(), seen.clone(), patience).await?)?;
    same!("the inbox", one.inbox(&session(1)).await?.len(), 1);
    same!("the session", two.info(&session(1)).await?, seen);
    let lease = bench.soon(&two, &session(1)).await?;
    two.append(&lease, batch(2, 0, Vec::new()).consuming([letter])).await?;
    drop(lease);
    idle(two.clone(), seen.clone(), patience).await??;
    same!("the list", one.sessions().await?, []);
    refused!("a second time", one.delete_idle(&seen).await, StoreError::UnknownSession { .. });
    Ok(())
}

async fn a_letter_and_an_end_are_never_both_told_to_be_so(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    for number in 1..=12 {
        one.create(new_session(number)).await?;
        let seen = one.info(&session(number)).await?;
        let (ends, posts) = if number % 2 == 0 { (&one, &two) } else { (&one, &one) };
        let id = session(number);
        let post = posts.post(&id, "prompt", "1", Timestamp(1));
        match both(ends.delete_idle(&seen), post).await {
            (Ok(()), Err(StoreError::UnknownSession { .. })) => {
                refused!("its info", two.info(&id).await, StoreError::UnknownSession { .. });
            }
            (Err(StoreError::Changed { .. }), Ok(_)) => {
                same!("the inbox", two.inbox(&id).await?.len(), 1);
            }
            other => fail!("expected either a letter or an end, found {other:?}"),
        }
    }
    Ok(())
}

async fn what_is_collected_is_needed_by_nobody(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    let part = |text: &str| note(&format!("[\"{}\"]", text.repeat(3_000)));
    for (number, texts) in [(1, ["both ", "first"]), (2, ["both ", "other"])] {
        one.create(new_session(number)).await?;
        let lease = one.lease(&session(number)).await?;
        // Also on branches that were left.
        let mut records = vec![node(1, 0, &texts[1].repeat(3_000)), head_move(1, 0)];
        records.extend(texts.map(part));
        one.append(&lease, batch(1, 0, records)).await?;
        drop(lease);
        drop(bench.soon(&one, &session(number)).await?);
    }
    let states = [state(&*one, &session(1)).await?, state(&*one, &session(2)).await?];
    let dry = one.collect(true).await?;
    same!("what a store without waste has", (dry.parts, dry.imports), (0, 0));
    two.collect(false).await?;
    for (number, before) in (1..).zip(&states) {
        same!("a session afterwards", state(&*two, &session(number)).await?, *before);
    }
    while let Err(StoreError::Locked { .. }) = two.delete(&session(1)).await {
        drop(bench.soon(&two, &session(1)).await?);
    }
    let dry = one.collect(true).await?;
    same!("a dry run again", one.collect(true).await?, dry);
    let wet = one.collect(false).await?;
    same!("what is collected", wet, dry);
    same!("what is left", two.collect(false).await?, Collected::default());
    same!("the session that stays", state(&*two, &session(2)).await?, states[1]);
    drop((one, two));
    let (one, _) = bench.reopen().await?;
    same!("after opening again", state(&*one, &session(2)).await?, states[1]);
    Ok(())
}

async fn all_is_there_after_opening_again(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    for number in 1..=3 {
        one.create(new_session(number)).await?;
        let lease = one.lease(&session(number)).await?;
        let records = vec![node(1, 0, "x"), note(&format!("\"{}\"", "y".repeat(9_000)))];
        one.append(&lease, batch(1, 0, records)).await?;
        two.post(&session(number), "prompt", "1", Timestamp(1)).await?;
        two.amend(&session(number), Amend::tags(["t"])).await?;
    }
    let list = one.sessions().await?;
    let mut states = Vec::new();
    for info in &list {
        states.push(state(&*one, &info.id).await?);
    }
    drop((one, two));
    let (one, two) = bench.reopen().await?;
    for store in [&one, &two] {
        same!("the list", store.sessions().await?, list);
        for (info, before) in list.iter().zip(&states) {
            same!("a session", state(&**store, &info.id).await?, *before);
        }
    }
    Ok(())
}
