//! The whole kit behind profiles. They are profiles, and not engines that were tried.

use std::pin::Pin;
use std::time::{Duration, Instant};

use trunkline_session_store::kit::engine::{HardEngine, Profile};
use trunkline_session_store::kit::{self, OldPlace, Options, Place, Subject};

use super::super::{Postgres, few, options, schema, server};

/// A letter that may have been posted is not posted again, and the one who posts is told so: the kit does not look for it.
const POSTED: &str = "SET letters = letters + 1";

/// The store behind an engine. Old schemas are migrated by an administrator who goes directly to the server: a migration
/// that is cut off is to be asked for again after a minute.
struct Behind(Postgres);

impl Subject for Behind {
    fn name(&self) -> String {
        self.0.name()
    }

    fn place(&self) -> Result<Box<dyn Place>, String> {
        self.0.place()
    }

    fn block_on(&self, what: Pin<Box<dyn Future<Output = ()> + '_>>) {
        self.0.block_on(what);
    }

    fn keeps_snapshots(&self) -> bool {
        self.0.keeps_snapshots()
    }

    fn lease_outlives(&self) -> Duration {
        self.0.lease_outlives()
    }

    fn old_places(&self) -> Result<Vec<OldPlace>, String> {
        let Postgres { runtime, url, way, .. } = &self.0;
        let mut schemas = schema::old_schemas(runtime, url, url);
        for (_, schema) in &mut schemas {
            schema.way.clone_from(way);
        }
        Ok(schemas.into_iter().map(|(version, schema)| schema::old_place(version, schema)).collect())
    }
}

#[expect(clippy::print_stdout, reason = "the report is for those who run it by hand")]
fn keeps_every_promise_behind(mut profile: Profile) {
    let Some(url) = server() else { return };
    profile.spares = Some(POSTED);
    let (name, chances, swaps) = (profile.name, profile.chances.clone(), profile.swaps);
    let engine = HardEngine::start(&url, profile, options().seed).expect("it starts");
    let subject = Behind(Postgres::by(name, url, engine.url()));
    let begun = Instant::now();
    let report = kit::run(&subject, &patient());
    let done = engine.report();
    println!("{report}\n{done}\n{:.1} s", begun.elapsed().as_secs_f32());
    assert!(report.is_ok(), "{report}\n{done}");
    // It was as hard as it says.
    assert_eq!(done.swaps > 500, swaps, "{done}");
    assert_eq!(done.commit_conflicts > 10, chances.commit_conflicts > 0, "{done}");
    assert_eq!(done.conflicts > 10, chances.conflicts > 0, "{done}");
    assert_eq!(done.cuts_after_commit > 5, chances.cuts_after_commit > 0, "{done}");
    assert_eq!(done.cuts_before_commit > 5, chances.cuts_before_commit > 0, "{done}");
}

/// Five times as many statements, and a busy machine.
fn patient() -> Options {
    let mut patient = few();
    patient.patience *= 4;
    patient
}

/// `TRUNKLINE_KIT_PROFILES=all` runs all of them, else it is the hardest, which does what all do, and one that the seed says.
fn profiles() -> Vec<Profile> {
    let mut profiles = Profile::all();
    if std::env::var_os("TRUNKLINE_KIT_PROFILES").is_none_or(|which| which != "all") {
        let others = profiles.split_off(1);
        let number = usize::try_from(options().seed).unwrap_or_default() % others.len();
        profiles.extend(others.into_iter().nth(number));
    }
    profiles
}

#[test]
fn the_store_keeps_every_promise_behind_profiles() {
    // All at once, since most of it is waiting for leases to end.
    std::thread::scope(|scope| {
        for profile in profiles() {
            scope.spawn(|| keeps_every_promise_behind(profile));
        }
    });
}
