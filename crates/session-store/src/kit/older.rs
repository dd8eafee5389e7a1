//! What past versions wrote is read as they meant it, and can be gone on with.

use super::contract::soon;
use super::made::*;
use super::verdict::{Verdict, differ, guard};
use super::{OldPlace, Options, Promise, Report, Subject};

pub(super) fn check(subject: &dyn Subject, options: &Options, report: &mut Report) {
    let places = match guard(|| subject.old_places()) {
        Ok(Ok(places)) => places,
        Ok(Err(words)) => return report.check(Promise::Older, Some(words)),
        Err(broken) => return report.check(Promise::Older, Some(broken.to_string())),
    };
    for old in places {
        let result = super::run_within(subject, options.patience, open(&old, options));
        let broken = result.and_then(|verdict| verdict).err();
        report.check(Promise::Older, broken.map(|broken| format!("{}: {broken}", old.version)));
    }
}

async fn open(old: &OldPlace, options: &Options) -> Verdict {
    // The first opening brings it up to date, the second finds it so.
    for _ in 0..2 {
        let handle = old.place.open().await?;
        let found = all_exported(&*handle.store()).await?;
        let found = String::from_utf8_lossy(&found);
        ensure!(found == old.exported, "the export: {}", differ(&found, &old.exported));
        for info in handle.store().sessions().await? {
            handle.store().verify(&info.id).await?;
        }
        handle.close().await;
    }
    let handle = old.place.open().await?;
    let store = handle.store();
    for info in store.sessions().await? {
        let lease = soon(&*store, &info.id, options.patience / 2).await?;
        let (id, head) = (info.nodes as u32, info.head.index() as u32);
        let made = next(&*store, &info.id, vec![node(id, head, "and on")]).await?;
        let receipt = store.append(&lease, made).await?;
        same!("the number of a new record", receipt.seq, info.records + 1);
        ensure!(store.verify(&info.id).await?.holds(&receipt), "a new record is not in the chain");
    }
    drop(store);
    handle.close().await;
    Ok(())
}
