//! Teams in one database: who they are, what each may take, and how they come and go.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;
use trunkline_session_store::{SessionInfo, SessionStore, Team, TeamLimits};

use super::agreement::is_agreed;
use crate::args::store::{GrantArgs, RevokeArgs, TeamPruneArgs};
use crate::desk::place::Place;
use crate::desk::removal::{Expiry, Gone, delete_shown, expired};
use crate::files::new_file;
use crate::term::fault::{Exit, Fault};
use crate::term::limits::{age, size};
use crate::term::out;
use crate::term::shell::{program, quoted};
use crate::term::style::{BOLD, DIM, YELLOW, paint};
use crate::term::tell::{tell, tell_command, tell_page};
use crate::term::text::{count, grouped, one_line};

/// `trunkline store grant`.
pub(super) async fn grant(args: &GrantArgs, place: &Place) -> Result<Exit, Fault> {
    let admin = place.admin_of(&args.team).await?;
    let before = admin.team().await?;
    if before.as_ref().is_some_and(|team| team.locked) {
        return Err(Fault::new(format!("the limits of {} cannot be read: {LOCKED}", args.team)));
    }
    let mut limits = before.map_or_else(TeamLimits::new, |team| team.limits);
    if let Some(quota) = args.quota {
        limits.bytes = quota.0;
    }
    if let Some(sessions) = args.sessions {
        limits.sessions = sessions.0;
    }
    if let Some(connections) = args.connections {
        limits.connections = connections;
    }
    if let Some(older_than) = args.older_than {
        limits.retention.older_than = older_than.0;
    }
    if !args.keep_tag.is_empty() {
        limits.retention.keep_tags = args.keep_tag.iter().cloned().collect::<BTreeSet<_>>();
    }
    // Before anything is made, so that a file that cannot be written leaves no team without a password.
    let password = args.password_file.as_deref().map(password).transpose()?;
    let granted = admin.grant(&limits).await?;
    if let Some(password) = &password {
        admin.set_password(password).await?;
    }
    admin.close().await;
    let done = if granted.is_new { "is made" } else { "has these limits now" };
    out::print(&format!("the team {} {done}\n{}", paint(BOLD, &args.team), shown(&limits)))?;
    for warning in &granted.warnings {
        tell(&format!("{} {}\n", paint(YELLOW, "warning:"), one_line(warning, 400)));
    }
    if granted.is_new && password.is_none() {
        let next = format!("store grant {} --password-file {}.password", args.team, args.team);
        tell_command("its role has no password yet; to make one: ", &place.command(&next));
    }
    if let Some(url) = place.url_of(&args.team) {
        let file = args.password_file.as_ref().map_or_else(String::new, |file| {
            format!("TRUNKLINE_STORE_PASSWORD_FILE={} ", quoted(&file.display().to_string()))
        });
        tell_command("as one of the team: ", &format!("{file}{} --store {} store", program(), quoted(&url)));
    }
    Ok(Exit::Done)
}

/// Reads the password in a file, or makes the file with a new one. It is shown nowhere.
fn password(file: &Path) -> Result<String, Fault> {
    match std::fs::read_to_string(file) {
        Ok(text) => {
            let password = text.trim_end_matches(['\n', '\r']).to_owned();
            match password.is_empty() {
                true => Err(Fault::usage(format!("{} has no password", file.display()))
                    .hint("remove it, and it is made with a new one")),
                false => Ok(password),
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let password = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
            new_file::write(file, format!("{password}\n").as_bytes())?;
            tell(&format!("a new password is in {}\n", one_line(&file.display().to_string(), 4_096)));
            Ok(password)
        }
        Err(error) => Err(Fault::new(format!("cannot read {}: {error}", file.display()))),
    }
}

/// Returns limits in lines.
fn shown(limits: &TeamLimits) -> String {
    let row = |what: &str, words: String| format!("  {} {words}\n", paint(DIM, &format!("{what:<12}")));
    let or_none = |limit: Option<String>| limit.unwrap_or_else(|| "no limit".to_owned());
    let retention = limits.retention.older_than.map(|time| {
        let tags = limits.retention.keep_tags.iter().map(|tag| one_line(tag, 60)).collect::<Vec<_>>();
        let but =
            if tags.is_empty() { String::new() } else { format!(", not those tagged {}", tags.join(", ")) };
        format!("sessions in which nothing happened for {}{but}", age(time))
    });
    [
        row("quota", or_none(limits.bytes.map(size))),
        row("sessions", or_none(limits.sessions.map(grouped))),
        row("connections", limits.connections.to_string()),
        row("pruned", retention.unwrap_or_else(|| "nothing".to_owned())),
    ]
    .concat()
}

/// `trunkline store teams`.
pub(super) async fn list(as_json: bool, place: &Place) -> Result<Exit, Fault> {
    let Some(admin) = place.admin().await? else {
        return place.admin_of("").await.map(|_| Exit::Done);
    };
    let teams = admin.teams().await;
    admin.close().await;
    let teams = teams?;
    if as_json {
        let teams: Vec<_> = teams
            .iter()
            .map(|team| {
                json!({
                    "name": team.name, "sessions": team.sessions, "bytes": team.bytes, "connected": team.connected,
                    "unfinished": team.unfinished, "locked": team.locked, "quota": team.limits.bytes, "max_sessions": team.limits.sessions,
                    "connections": team.limits.connections, "older_than_ms": team.limits.retention.older_than,
                    "keep_tags": team.limits.retention.keep_tags,
                })
            })
            .collect();
        out::print_json(&json!({ "version": 1, "teams": teams }))?;
        return Ok(Exit::Done);
    }
    if teams.is_empty() {
        tell("this database has no teams\n");
        tell_command("to make one: ", &place.command("store grant TEAM --password-file FILE"));
        return Ok(Exit::Done);
    }
    let widest = teams.iter().map(|team| team.name.len()).max().unwrap_or_default();
    let lines = teams.iter().map(|team| format!("{:<widest$}  {}\n", team.name, used(team)));
    out::print_page(&lines.collect::<String>())?;
    Ok(Exit::Done)
}

/// Says what a team uses.
fn used(team: &Team) -> String {
    if team.unfinished {
        return "making or removing it was cut off: grant or revoke it again".to_owned();
    }
    if team.locked {
        return LOCKED.to_owned();
    }
    let of = |limit: Option<String>| limit.map(|limit| format!(" of {limit}")).unwrap_or_default();
    let sessions = usize::try_from(team.sessions).unwrap_or(usize::MAX);
    format!(
        "{}{} in {}{}, {} of {} connections",
        size(team.bytes),
        of(team.limits.bytes.map(size)),
        count(sessions, "session"),
        of(team.limits.sessions.map(grouped)),
        team.connected,
        team.limits.connections
    )
}

/// `trunkline store prune`. A team that cannot be looked at does not keep the rest from being pruned.
pub(super) async fn prune(args: &TeamPruneArgs, place: &Place) -> Result<Exit, Fault> {
    let mut is_whole = true;
    let mut failed = |team: &str, fault: &Fault| {
        is_whole = false;
        tell(&format!("{} {team}: {}\n", paint(YELLOW, "kept:"), fault.as_line()));
    };
    let mut going = Vec::new();
    let (mut sum, mut deleted) = (0, 0);
    for team in with_rules(args.team.as_deref(), place).await? {
        let done = match shown_going(&team, place).await {
            Ok(sessions) if args.yes => {
                sum += sessions.len();
                delete_of(&team.name, sessions, &mut deleted, place).await
            }
            Ok(sessions) => {
                sum += sessions.len();
                going.push((team.name.clone(), sessions));
                Ok(())
            }
            Err(fault) => Err(fault),
        };
        if let Err(fault) = done {
            failed(&team.name, &fault);
        }
    }
    let which = args.team.as_ref().map_or_else(String::new, |team| format!("{team} "));
    if sum == 0 {
        tell("nothing has had its time\n");
    } else if args.dry_run {
        tell(&format!("{} would be deleted\n", count(sum, "session")));
    } else if is_agreed(
        args.yes,
        &format!("delete {}?", count(sum, "session")),
        "nothing is deleted",
        &format!("store prune {which}--yes"),
        place,
    )? {
        for (team, sessions) in going {
            if let Err(fault) = delete_of(&team, sessions, &mut deleted, place).await {
                failed(&team, &fault);
            }
        }
        out::print(&format!("{} deleted\n", count(deleted, "session")))?;
    } else {
        is_whole = false;
    }
    Ok(if is_whole { Exit::Done } else { Exit::Failure })
}

/// Returns the team that is named, or all that have a rule.
async fn with_rules(team: Option<&str>, place: &Place) -> Result<Vec<Team>, Fault> {
    if let Some(team) = team {
        let admin = place.admin_of(team).await?;
        let found = admin.team().await;
        admin.close().await;
        return found?.map(|team| vec![team]).ok_or_else(|| unknown(team, place));
    }
    let Some(admin) = place.admin().await? else {
        return place.admin_of("").await.map(|_| Vec::new());
    };
    let teams = admin.teams().await;
    admin.close().await;
    Ok(teams?.into_iter().filter(|team| !team.unfinished && (team.locked || has_rule(team))).collect())
}

fn has_rule(team: &Team) -> bool {
    team.limits.retention.older_than.is_some() || team.limits.retention.bytes.is_some()
}

/// Shows which sessions of a team have had their time.
async fn shown_going(team: &Team, place: &Place) -> Result<Vec<(SessionInfo, Vec<String>)>, Fault> {
    if team.locked {
        return Err(Fault::new(LOCKED));
    }
    if !has_rule(team) {
        return Ok(Vec::new());
    }
    let store = place.store_of(&team.name).await?;
    // Its folders are on the machines of the team.
    let found = expired(&store, team.limits.retention.clone(), false).await;
    store.close().await;
    let Expiry { going, list, .. } = found?;
    if !going.is_empty() {
        tell_page(&format!("{}: {}\n{list}", team.name, count(going.len(), "session")));
    }
    Ok(going)
}

async fn delete_of(
    team: &str,
    going: Vec<(SessionInfo, Vec<String>)>,
    deleted: &mut usize,
    place: &Place,
) -> Result<(), Fault> {
    if going.is_empty() {
        return Ok(());
    }
    let store = place.store_of(team).await?;
    let mut gone = Gone::default();
    let done = match delete_shown(&store, going, &mut gone).await {
        Ok(()) => store.collect(false).await.map(drop),
        Err(error) => Err(error),
    };
    *deleted += gone.sessions.len();
    store.close().await;
    Ok(done?)
}

const LOCKED: &str = "others hold its tables, as `VACUUM FULL` does: try again later";

fn unknown(team: &str, place: &Place) -> Fault {
    Fault::usage(format!("there is no team {:?}", one_line(team, 80)))
        .hint(format!("the teams there are: {}", place.command("store teams")))
}

/// `trunkline store revoke`.
pub(super) async fn revoke(args: &RevokeArgs, place: &Place) -> Result<Exit, Fault> {
    let admin = place.admin_of(&args.team).await?;
    let Some(team) = admin.team().await? else { return Err(unknown(&args.team, place)) };
    tell(&format!("{}: {}\n", team.name, used(&team)));
    let next = format!("store revoke {} --yes", team.name);
    if !is_agreed(args.yes, "remove the team with all its sessions?", "no team is removed", &next, place)? {
        return Ok(Exit::Failure);
    }
    admin.revoke().await?;
    admin.close().await;
    out::print(&format!("the team {} is removed; what backups have of it stays there\n", team.name))?;
    Ok(Exit::Done)
}
