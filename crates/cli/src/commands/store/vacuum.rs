//! Makes the room of what was deleted usable again.

use trunkline_session_store::{Collected, SessionStore};

use crate::desk::place::Place;
use crate::term::fault::{Exit, Fault};
use crate::term::limits::size;
use crate::term::out;
use crate::term::style::{DIM, paint};
use crate::term::tell::tell;
use crate::term::text::{count, one_line};

/// `trunkline store vacuum`.
pub(super) async fn run(place: &Place) -> Result<Exit, Fault> {
    let Some(admin) = place.admin().await? else {
        let store = place.open_file().await?;
        let collected = store.collect(false).await?;
        let file = store.path().metadata().map_or(0, |metadata| metadata.len());
        let left = format!("the file keeps its {}, and uses free room again", size(file));
        out::print(&format!("{}; {left}\n", removed(&collected)))?;
        return Ok(Exit::Done);
    };
    // Where there is no store, none is made, and the next step says so.
    let collected = match admin.status().await?.version {
        Some(_) => place.open().await?.collect(false).await?,
        None => Collected::default(),
    };
    let vacuumed = admin.vacuum(|table| tell(&paint(DIM, &format!("  {}\n", one_line(table, 80))))).await;
    admin.close().await;
    let vacuumed = vacuumed?;
    out::print(&format!(
        "{}; {} took {}, and {} now\n",
        removed(&collected),
        count(vacuumed.tables as usize, "table"),
        size(vacuumed.before),
        size(vacuumed.after)
    ))?;
    Ok(Exit::Done)
}

fn removed(collected: &Collected) -> String {
    match (collected.imports, collected.parts) {
        (0, 0) => "nothing was left over".to_owned(),
        (imports, parts) => format!(
            "removed {} that were not finished and {} that nothing names, {}",
            count(usize::try_from(imports).unwrap_or(usize::MAX), "import"),
            count(usize::try_from(parts).unwrap_or(usize::MAX), "part"),
            size(collected.bytes)
        ),
    }
}
