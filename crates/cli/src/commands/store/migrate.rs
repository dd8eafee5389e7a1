//! Brings a store to the newest version: shown first, and done when that is agreed to.

use std::time::Duration;

use trunkline_session_store::{Migrate, Migration, MigrationProgress, StoreOwner};

use super::agreement::is_agreed;
use super::status::writer;
use crate::args::store::MigrateArgs;
use crate::desk::place::Place;
use crate::term::fault::{Exit, Fault};
use crate::term::limits::duration;
use crate::term::out;
use crate::term::style::{DIM, paint};
use crate::term::tell::tell;
use crate::term::text::count;

/// `trunkline store migrate`.
pub(super) async fn run(args: &MigrateArgs, place: &Place) -> Result<Exit, Fault> {
    let Some(admin) = place.admin().await? else { return of_file(place).await };
    let wait = Duration::from_millis(args.wait.unwrap_or_default());
    let plan = admin.migrate(&Migrate::new().wait(wait).dry_run(true), |_| ()).await?;
    if plan.done {
        if !args.dry_run {
            // A team that was cut off after its tables were changed gets its rights on them.
            admin.migrate(&Migrate::new(), |_| ()).await?;
        }
        admin.close().await;
        out::print(&format!("the store is current: its schema has version {}\n", plan.to))?;
        return Ok(Exit::Done);
    }
    let shown = shown(&plan);
    if args.dry_run {
        out::print(&shown)?;
        return Ok(if hinder(&plan.waits_for, place) { Exit::Failure } else { Exit::Done });
    }
    if !args.yes {
        tell(&shown);
    }
    if !is_agreed(
        args.yes,
        "bring the store to the newest version?",
        "nothing is migrated",
        "store migrate --yes",
        place,
    )? {
        return Ok(Exit::Failure);
    }
    let mut told = Told::default();
    let migration = admin.migrate(&Migrate::new().wait(wait), |progress| told.tell(&progress)).await;
    admin.close().await;
    let migration = migration?;
    if !migration.done {
        hinder(&migration.waits_for, place);
        return Err(Fault::new(format!(
            "nothing was changed: {} that cannot work with version {} still have the store open to write",
            count(migration.waits_for.len(), "program"),
            migration.to
        ))
        .hint(format!("end them, or wait for them: {}", place.command("store migrate --wait 10m"))));
    }
    let from = match migration.from {
        Some(version) => format!("brought from version {version} to {}", migration.to),
        None => format!("made, with version {}", migration.to),
    };
    out::print(&format!("the store was {from}\n"))?;
    Ok(Exit::Done)
}

/// A file is brought up to date by opening it, if nobody else has it open.
async fn of_file(place: &Place) -> Result<Exit, Fault> {
    let store = place.open_file().await?;
    let done = match store.migrated_from() {
        Some(version) => format!("the store was brought from version {version} to the newest\n"),
        None => "the store is current; a file is brought up to date whenever it is opened alone\n".to_owned(),
    };
    out::print(&done)?;
    Ok(Exit::Done)
}

/// Returns what would be done, in lines.
fn shown(plan: &Migration) -> String {
    let mut lines = match plan.from {
        Some(version) => format!("from version {version} of the schema to {}:\n", plan.to),
        None => "there is no store yet:\n".to_owned(),
    };
    for step in &plan.steps {
        lines.push_str(&format!("  {step}\n"));
    }
    lines
}

/// Names those who hinder a migration; returns whether there are any.
fn hinder(owners: &[StoreOwner], place: &Place) -> bool {
    for owner in owners {
        tell(&format!("older: {}\n", writer(owner)));
    }
    if !owners.is_empty() {
        let next = place.command("store migrate --wait 10m");
        tell(&paint(DIM, &format!("  they must end first; to wait for them: {next}\n")));
    }
    !owners.is_empty()
}

/// What was told already, so that it is not told twice a second.
#[derive(Default)]
struct Told {
    last: String,
}

impl Told {
    fn tell(&mut self, progress: &MigrationProgress<'_>) {
        let (what, words) = match progress {
            MigrationProgress::Waiting { owners, left } => {
                let named: Vec<String> = owners.iter().map(|owner| owner.name.clone()).collect();
                let lines: String = owners.iter().map(|owner| format!("  {}\n", writer(owner))).collect();
                let whom = count(owners.len(), "older program");
                (named.join("\n"), format!("waits for {whom}, {} at most:\n{lines}", duration(*left)))
            }
            MigrationProgress::Blocked => {
                let words = "waits for a table that others use, such as a backup\n".to_owned();
                (words.clone(), words)
            }
            MigrationProgress::Step { number, of, what } => {
                let words = format!("{number} of {of}: {what}\n");
                (words.clone(), words)
            }
            _ => return,
        };
        if self.last != what {
            tell(&words);
            self.last = what;
        }
    }
}
