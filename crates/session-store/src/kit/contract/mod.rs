//! The contract: every method and every error that it names, through two handles on one place.

mod abandoned;
mod fitting;
mod inbox;
mod leases;
mod listing;
mod moving;
mod notes;
mod reading;
mod snapshots;
mod writing;

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::report::NOT_TRIED;
use super::verdict::{Broken, Verdict, guard, words};
use super::{Handle, Options, Place, Promise, Report, Subject, waiting};
use crate::{Durability, Lease, SessionId, SessionStore, StoreError};

type Store = Arc<dyn SessionStore>;

/// One check; its name is a sentence.
struct Check {
    promise: Promise,
    name: &'static str,
    run: for<'a> fn(&'a mut Bench) -> Pin<Box<dyn Future<Output = Verdict> + 'a>>,
}

macro_rules! checks {
    ($($promise:ident $name:ident)*) => {
        pub(super) const CHECKS: &[super::Check] = &[$(super::Check {
            promise: $crate::kit::Promise::$promise,
            name: stringify!($name),
            run: |bench| Box::pin($name(bench)),
        }),*];
    };
}
use checks;

/// A place of its own for one check, open twice.
struct Bench {
    place: Box<dyn Place>,
    open: Vec<Handle>,
    reaches: Durability,
    patience: Duration,
}

impl Bench {
    fn stores(&self) -> Result<(Store, Store), Broken> {
        match self.open.as_slice() {
            [one, two] => Ok((one.store(), two.store())),
            _ => fail!("the place is not open"),
        }
    }

    /// Closes both handles, opens two new ones, and returns them.
    async fn reopen(&mut self) -> Result<(Store, Store), Broken> {
        for handle in self.open.drain(..) {
            handle.close().await;
        }
        for _ in 0..2 {
            self.open.push(self.place.open().await?);
        }
        self.stores()
    }

    /// Takes a lease that somebody is just giving up.
    async fn soon(&self, store: &Store, session: &SessionId) -> Result<Lease, Broken> {
        soon(&**store, session, self.patience).await
    }
}

/// Takes a lease that somebody is just giving up.
pub(super) async fn soon(
    store: &dyn SessionStore,
    session: &SessionId,
    patience: Duration,
) -> Result<Lease, Broken> {
    let until = Instant::now() + patience;
    loop {
        match store.lease(session).await {
            Ok(lease) => return Ok(lease),
            Err(StoreError::Locked { .. }) if Instant::now() < until => {
                waiting::pause(Duration::from_millis(2)).await;
            }
            Err(error) => fail!("a lease that was given up cannot be had: {}", words(&error)),
        }
    }
}

pub(super) fn check(subject: &dyn Subject, options: &Options, report: &mut Report) {
    let groups = [
        writing::CHECKS,
        fitting::CHECKS,
        leases::CHECKS,
        inbox::CHECKS,
        notes::CHECKS,
        reading::CHECKS,
        snapshots::CHECKS,
        listing::CHECKS,
        moving::CHECKS,
        abandoned::CHECKS,
    ];
    let is_asked = |check: &&Check| check.promise != Promise::Snapshots || subject.keeps_snapshots();
    for check in groups.into_iter().flatten().filter(is_asked) {
        let sentence = check.name.replace('_', " ");
        let broken = match report.may_try(check.promise) {
            true => run(subject, options, check).err(),
            false => Some(Broken(NOT_TRIED.to_owned())),
        };
        report.check(check.promise, broken.map(|broken| format!("{sentence}: {broken}")));
    }
}

fn run(subject: &dyn Subject, options: &Options, check: &Check) -> Verdict {
    let place = guard(|| subject.place())?.map_err(Broken)?;
    let mut bench = Bench { place, open: Vec::new(), reaches: subject.reaches(), patience: options.patience };
    let bench = &mut bench;
    super::run_within(subject, options.patience, async move {
        bench.reopen().await?;
        let verdict = (check.run)(bench).await;
        for handle in bench.open.drain(..) {
            handle.close().await;
        }
        verdict
    })?
}
