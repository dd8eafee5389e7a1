//! Many items worked on at once, and told of in their order.
//!
//! The first results come while the last items are still waiting, and what is done early waits in memory: results have
//! to be small.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use crate::term::fault::Fault;

/// More threads than this only wait for the disk.
const THREADS: usize = 8;

/// Does the work of each item on several threads, and takes the results in the order of the items.
pub(crate) fn in_order<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(&T, R) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(THREADS).min(items.len());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        // Bounded, so that what is read does not pile up in front of a slow reader of ours.
        let (sender, receiver) = mpsc::sync_channel(threads);
        for _ in 0..threads {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { return };
                    if sender.send((at, work(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut due = items.iter().enumerate();
        let mut awaited = due.next();
        for (at, result) in receiver {
            early.insert(at, result);
            while let Some((place, item)) = awaited {
                let Some(result) = early.remove(&place) else { break };
                take(item, result)?;
                awaited = due.next();
            }
        }
        Ok(())
    })
}
