//! `trunkline doctor`: whether everything is as it was written, and what can be done if it is not.
//!
//! Digests decide it, so what is said here of a session is proven, not guessed.

use serde_json::{Value, json};
use trunkline_session_store::doctor::{Examination, Finding, Mended, Remedy, Severity, examine, join, mend};
use trunkline_session_store::{Digest, Durability, Receipt, SessionInfo, SessionStore, StoreError, Verified};

use crate::args::Doctor;
use crate::desk::place::{Kind, Place};
use crate::desk::store;
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{DIM, GREEN, PLAIN, RED, YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::{count, safe};

/// Examines the store, or verifies one session.
pub(crate) async fn run(args: &Doctor, place: &Place) -> Result<Exit, Fault> {
    match (&args.session, place.kind()) {
        (Some(named), _) => one(args, named, place).await,
        (None, Kind::Server(_)) if args.fix => {
            Err(Fault::usage("--fix mends files; the database of a server is restored from a backup"))
        }
        (None, Kind::Server(_)) => all(args, place).await,
        (None, Kind::File(path)) if args.database.is_some() => {
            let database = args.database.as_deref().unwrap_or(path);
            for moved in join(path, database).await? {
                tell(&format!("brought to it: {}\n", safe(&moved.display().to_string())));
            }
            tell_mended(args, &mend(database).await?)
        }
        (None, Kind::File(path)) if !place.exists() => {
            Err(Fault::usage(format!("there is no session store at {}", path.display())))
        }
        (None, Kind::File(path)) if args.fix => {
            let mended = mend(path).await.map_err(|error| match error {
                StoreError::InUse { .. } => Fault::from(error)
                    .hint("end the runs that use it first; `trunkline sessions` tells which are running"),
                other => other.into(),
            })?;
            tell_mended(args, &mended)
        }
        (None, Kind::File(path)) => tell_examined(args, &examine(path).await?, place),
    }
}

fn tell_examined(args: &Doctor, examination: &Examination, place: &Place) -> Result<Exit, Fault> {
    let sound = examination.is_sound();
    if args.json {
        let mut told = as_json(examination);
        if let Some(fields) = told.as_object_mut() {
            fields.insert("version".to_owned(), json!(1));
        }
        out::print_json(&told)?;
    } else {
        out::print(&findings(&examination.findings))?;
        let (mark, verdict) = match (sound, examination.findings.is_empty()) {
            (true, true) => (paint(GREEN, "✓"), "everything is as it was written".to_owned()),
            (true, false) => (paint(GREEN, "✓"), "everything is as it was written, with notices".to_owned()),
            (false, _) => (paint(RED, "✗"), examination.remedy().to_string()),
        };
        out::print(&summary(&mark, examination.sessions, examination.records, &verdict))?;
    }
    if !sound && examination.remedy() != Remedy::Nothing {
        tell(&paint(DIM, &format!("  mend it  {}\n", place.command("doctor --fix"))));
    }
    Ok(if sound { Exit::Done } else { Exit::Broken })
}

fn tell_mended(args: &Doctor, mended: &Mended) -> Result<Exit, Fault> {
    let lost = !mended.is_whole();
    if args.json {
        let saved: Vec<Value> = mended
            .saved
            .iter()
            .map(|saved| {
                json!({
                    "session": saved.session,
                    "kept": saved.kept,
                    "expected": saved.expected,
                    "reason": saved.reason,
                })
            })
            .collect();
        let told = json!({
            "version": 1,
            "before": as_json(&mended.before),
            "after": as_json(&mended.after),
            "done": remedy_word(mended.remedy),
            "saved": saved,
            "set_aside": mended.set_aside,
        });
        out::print_json(&told)?;
        return Ok(if lost { Exit::Broken } else { Exit::Done });
    }
    let mut told = findings(&mended.before.findings);
    for saved in &mended.saved {
        told.push_str(&format!("{} {}\n", paint(YELLOW, "saved:"), safe(&saved.to_string())));
    }
    for file in &mended.set_aside {
        told.push_str(&format!("{} {}\n", paint(DIM, "set aside:"), safe(&file.display().to_string())));
    }
    let verdict = match (mended.remedy, mended.after.is_sound()) {
        (_, false) => "not everything could be mended",
        (Remedy::Nothing, true) => "nothing had to be mended",
        (Remedy::InPlace, true) if lost => {
            "made anew from the logs; what was changed beside them is taken as it is"
        }
        (Remedy::InPlace, true) => "made anew from the logs; nothing was lost",
        (_, true) if lost && mended.saved.is_empty() => {
            "a new database has what proved to be as it was written, and nothing tells if there was more; the old one is set aside"
        }
        (_, true) if lost => {
            "a new database has what proved to be as it was written; the old one is set aside"
        }
        (_, true) => "a new database has everything; the old one is set aside",
    };
    let mark = if lost { paint(RED, "✗") } else { paint(GREEN, "✓") };
    told.push_str(&summary(&mark, mended.after.sessions, mended.after.records, verdict));
    out::print(&told)?;
    Ok(if lost { Exit::Broken } else { Exit::Done })
}

/// Verifies every session through the store: what a database server has below that is its administrator's.
async fn all(args: &Doctor, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let (mut sessions, mut records, mut broken) = (0, 0, Vec::new());
    for info in store.sessions().await? {
        match verified(store.as_ref(), &info).await? {
            Ok(verified) => (sessions, records) = (sessions + 1, records + verified.records),
            Err(StoreError::UnknownSession { .. }) => {}
            Err(error) => {
                sessions += 1;
                broken.push((info, Fault::from(error).as_line()));
            }
        }
    }
    let waste = store.collect(true).await?;
    let sound = broken.is_empty();
    if args.json {
        let findings: Vec<Value> = broken
            .iter()
            .map(|(info, what)| json!({ "severity": "loss", "session": info.id, "what": what }))
            .collect();
        let told = json!({
            "version": 1,
            "store": place.to_string(),
            "sound": sound,
            "sessions": sessions,
            "records": records,
            "findings": findings,
        });
        out::print_json(&told)?;
        return Ok(if sound { Exit::Done } else { Exit::Broken });
    }
    let lines = broken.iter().map(|(_, what)| format!("{} {what}\n", paint(RED, "loss:")));
    let mut told: String = lines.collect();
    let (mark, verdict) = match sound {
        true => (paint(GREEN, "✓"), "everything is as it was written"),
        false => {
            (paint(RED, "✗"), "restore a backup beside it and move what is missing by `export` and `import`")
        }
    };
    told.push_str(&summary(&mark, sessions, records, verdict));
    out::print(&told)?;
    if waste.imports > 0 || waste.parts > 0 {
        let left = format!(
            "{} parts of deleted sessions and {} imports that were cut off",
            waste.parts, waste.imports
        );
        tell(&paint(DIM, &format!("{left} take up room; the next `delete` or `prune` gives it back\n")));
    }
    Ok(if sound { Exit::Done } else { Exit::Broken })
}

/// Verifies one session, and compares it with a receipt.
async fn one(args: &Doctor, named: &str, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), Some(named)).await?;
    let name = store::short_name(store.as_ref(), &info.id).await;
    let (verdict, found) = match verified(store.as_ref(), &info).await? {
        Ok(verified) => {
            let trouble = args.receipt.and_then(|(seq, digest)| differs(&verified, seq, digest));
            (trouble.map_or(Ok(()), Err), Some(verified))
        }
        Err(error) => (Err(Fault::from(error).as_line()), None),
    };
    if args.json {
        let told = json!({
            "version": 1,
            "session": info.id,
            "sound": verdict.is_ok(),
            "what": verdict.as_ref().err(),
            "records": found.as_ref().map(|found| found.records),
            "digest": found.as_ref().map(|found| found.digest),
        });
        out::print_json(&told)?;
    } else {
        let receipt = found.map(|found| format!("receipt {}:{}\n", found.records, found.digest));
        let line = match &verdict {
            Ok(()) if args.receipt.is_some() => {
                format!("{} session {name} is what it was, and whole\n", paint(GREEN, "✓"))
            }
            Ok(()) => format!("{} session {name} is as it was written\n", paint(GREEN, "✓")),
            Err(what) => format!("{} {}\n", paint(RED, "✗"), safe(what)),
        };
        out::print(&format!("{line}{}", receipt.filter(|_| verdict.is_ok()).unwrap_or_default()))?;
    }
    Ok(if verdict.is_ok() { Exit::Done } else { Exit::Broken })
}

/// Verifies a session. What its log says is the inner answer; the outer one is that it could not be asked.
async fn verified(
    store: &dyn SessionStore,
    info: &SessionInfo,
) -> Result<Result<Verified, StoreError>, Fault> {
    match store.verify(&info.id).await {
        Err(
            error @ (StoreError::BrokenChain { .. }
            | StoreError::BadRecord { .. }
            | StoreError::Misfit { .. }
            | StoreError::Body { .. }
            | StoreError::Corrupt { .. }
            | StoreError::UnknownSession { .. }),
        ) => Ok(Err(error)),
        verified => Ok(Ok(verified?)),
    }
}

/// Says in what a log is not the one that a receipt was given for.
fn differs(verified: &Verified, seq: u64, digest: Digest) -> Option<String> {
    // Which level it was kept at does not matter any more.
    if verified.holds(&Receipt::new(seq, digest, Durability::Flushed)) {
        return None;
    }
    let place = seq.checked_sub(1).and_then(|place| usize::try_from(place).ok());
    Some(match place.and_then(|place| verified.digests.get(place)) {
        Some(found) => {
            format!(
                "it is whole, but not what it was: record {seq} has the digest {found}, the receipt says {digest}"
            )
        }
        None => format!(
            "it is whole, but its end is missing: it has {} and the receipt is for record {seq}",
            count(usize::try_from(verified.records).unwrap_or(usize::MAX), "record")
        ),
    })
}

fn findings(findings: &[Finding]) -> String {
    let lines = findings.iter().map(|finding| {
        let style = match finding.severity {
            Severity::Loss => RED,
            Severity::Derived => YELLOW,
            _ => PLAIN,
        };
        format!("{}\n", paint(style, &safe(&finding.to_string())))
    });
    lines.collect()
}

fn summary(mark: &str, sessions: u64, records: u64, verdict: &str) -> String {
    let number = |number: u64, word| count(usize::try_from(number).unwrap_or(usize::MAX), word);
    format!("{mark} {} with {} verified: {verdict}\n", number(sessions, "session"), number(records, "record"))
}

fn as_json(examination: &Examination) -> Value {
    let findings: Vec<Value> = examination
        .findings
        .iter()
        .map(|finding| {
            json!({
                "severity": finding.severity.to_string(),
                "session": finding.session,
                "seq": finding.seq,
                "what": finding.what,
                "remedy": remedy_word(finding.remedy),
            })
        })
        .collect();
    json!({
        "store": examination.path,
        "sound": examination.is_sound(),
        "schema": examination.schema,
        "sessions": examination.sessions,
        "records": examination.records,
        "findings": findings,
    })
}

fn remedy_word(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::Nothing => "nothing",
        Remedy::InPlace => "in_place",
        _ => "salvage",
    }
}
