//! `trunkline export` and `trunkline import`: a session as lines of JSON.
//!
//! The bytes go out exactly as the store's format has them, also to a terminal's pipe; the import of an export is the
//! identity.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, IntoInnerError, Write};

use trunkline_runtime::View;
use trunkline_runtime::letters::{Request, post};
use trunkline_session_store::{ExportError, Import, ImportError, Restoring, StoreError, Tally, export};

use crate::args;
use crate::fault::{Exit, Fault};
use crate::paint::{self, tell};
use crate::store::{self, Place};
use crate::text::one_line;

/// `trunkline export`.
pub(crate) async fn write(args: &args::Export, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), args.session.as_deref()).await?;
    let Some(path) = &args.output else {
        let mut out = BufWriter::new(std::io::stdout());
        export(store.as_ref(), &info.id, &mut out).await.map_err(unwritten)?;
        out.flush().map_err(Fault::stdout)?;
        return Ok(Exit::Done);
    };
    let cannot = |error: std::io::Error| Fault::new(format!("cannot write {}: {error}", path.display()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // A conversation may hold secrets: nobody else reads it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Fault::usage(format!("{} exists already", path.display()))
            .hint("name another file, or remove that one first"),
        _ => cannot(error),
    })?;
    let mut out = BufWriter::new(file);
    let exported = export(store.as_ref(), &info.id, &mut out).await;
    let written = exported.and_then(|info| {
        out.into_inner().map_err(IntoInnerError::into_error)?.sync_all().map(|()| info).map_err(Into::into)
    });
    let info = written.map_err(|error| {
        // Ours alone, made a moment ago, and cut off: nobody should take it for a session.
        let _ = std::fs::remove_file(path);
        match error {
            ExportError::Io(error) => cannot(error),
            other => unwritten(other),
        }
    })?;
    tell(&format!("{} records of session {} written to {}\n", info.records, info.id, path.display()));
    Ok(Exit::Done)
}

/// `trunkline import`.
pub(crate) async fn read(args: &args::Import, place: &Place) -> Result<Exit, Fault> {
    let input: Box<dyn BufRead + Send> = if args.file.as_os_str() == "-" {
        Box::new(BufReader::new(std::io::stdin()))
    } else {
        let file = File::open(&args.file)
            .map_err(|error| Fault::usage(format!("cannot read {}: {error}", args.file.display())))?;
        Box::new(BufReader::new(file))
    };
    let mut import = Import::new(input);
    let Some(header) = import.next_session()? else { return Ok(Exit::Done) };
    let log = Restoring::new(header.clone(), &mut import.rows()).into_log()?;
    // A session that could not be taken up must not get in.
    let view = View::of(&log)?;
    let waiting: Vec<String> = view.proposals().unsettled().map(|entry| entry.id.to_string()).collect();
    let store = place.open().await?;
    let (id, records) = (log.info.id.clone(), log.info.records);
    let title = one_line(&log.info.title, 60);
    let mut tally = Tally::new(&id, header.created_at);
    let mut kept = log.records.into_iter().map(|(_, record)| Ok(tally.add(&header.id, record)?));
    store.restore(Restoring::new(header.clone(), &mut kept)).await.map_err(|error| match error {
        ImportError::Store { source } if matches!(*source, StoreError::SessionExists { .. }) => {
            Fault::new(source.to_string()).hint("it is not replaced; another --store can take it")
        }
        other => other.into(),
    })?;
    if !waiting.is_empty() {
        // Neither the previews nor the approvals in a file were made here.
        post(store.as_ref(), &id, &Request::Distrust, store::now()).await?;
    }
    paint::print(&format!("{id}\n"))?;
    tell(&format!("{records} records read, {title:?}\n"));
    if !waiting.is_empty() {
        tell(&format!(
            "what waited in it is void here, approved or not: {}; it has to be proposed again\n",
            waiting.join(", ")
        ));
    }
    Ok(Exit::Done)
}

fn unwritten(error: ExportError) -> Fault {
    match error {
        ExportError::Io(error) => Fault::stdout(error),
        ExportError::Store(error) => error.into(),
        other => Fault::new(other.to_string()),
    }
}
