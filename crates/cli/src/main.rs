//! `trunkline`: durable agent runs from the command line.
//!
//! Data goes to stdout, everything else to stderr; every way to end passes through this file.

mod args;
mod commands;
mod desk;
mod files;
mod live;
mod reading;
mod shown;
mod term;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::args::settings::line_with;
use crate::args::typed::{terms_of_resume, usual_bounds};
use crate::args::{Color, Command, FileCommand, Line, SessionCommand};
use crate::desk::place::Place;
use crate::desk::settings;
use crate::term::fault::{Exit, Fault};
use crate::term::out;

/// What the kernel sends where a file would grow beyond `ulimit -f`; the same number on Linux and on the BSDs.
#[cfg(unix)]
const SIGXFSZ: i32 = 25;

fn main() -> ExitCode {
    let line = match line() {
        Ok(line) => line,
        Err(fault) => {
            fault.show();
            return ExitCode::from(fault.exit() as u8);
        }
    };
    match line.everywhere.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    let exit = start(line).unwrap_or_else(|fault| {
        fault.show();
        fault.exit()
    });
    ExitCode::from(exit as u8)
}

/// Returns what was typed, with what tells it from the user's settings.
fn line() -> Result<Line, Fault> {
    let matches = Line::command().get_matches();
    let mut line = with_settings(Line::from_arg_matches(&matches).unwrap_or_else(|fault| fault.exit()))?;
    if let Some(Command::Session(SessionCommand::Resume(resume))) = &mut line.command {
        resume.typed = terms_of_resume(&matches);
    }
    Ok(line)
}

/// Returns what was typed with the user's settings where nothing was; they are read only by commands that they are for.
fn with_settings(line: Line) -> Result<Line, Fault> {
    use SessionCommand::{Compact, Resume, Run};
    if !matches!(&line.command, Some(Command::Session(Run(_) | Resume(_) | Compact(_)))) {
        return Ok(line);
    }
    let Some(settings) = settings::find(|name| std::env::var_os(name))? else { return Ok(line) };
    let matches = line_with(&settings.values).get_matches();
    let mut line = Line::from_arg_matches(&matches).unwrap_or_else(|fault| fault.exit());
    let (path, usual) = (settings.path.clone(), settings.usual());
    let bounds = usual_bounds(&matches);
    match &mut line.command {
        Some(Command::Session(Run(run))) => {
            (run.model.usual, run.terms.settings, run.terms.usual) = (usual, Some(path), bounds);
        }
        Some(Command::Session(Resume(resume))) => {
            (resume.model.usual, resume.terms.settings, resume.terms.usual) = (usual, Some(path), bounds);
        }
        Some(Command::Session(Compact(compact))) => {
            (compact.model.usual, compact.settings) = (usual, Some(path));
        }
        _ => {}
    }
    Ok(line)
}

fn start(line: Line) -> Result<Exit, Fault> {
    let Some(command) = line.command else {
        out::print(&format!(
            "{}\nNew here? `trunkline demo` shows a whole run in seconds.\n",
            Line::command().render_help().ansi()
        ))?;
        return Ok(Exit::Usage);
    };
    let command = match command {
        Command::Session(command) => command,
        Command::File(command) => return on_files(&command),
    };
    let place = Place::find(&line.everywhere)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Fault::new(format!("cannot start: {error}")))?;
    let exit = runtime.block_on(async {
        // Where files may not grow as they have to (`ulimit -f`), that is an error to be told, and not the end of the process.
        #[cfg(unix)]
        let _told = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(SIGXFSZ));
        let exit = carry_out(&command, &place).await;
        place.close().await;
        exit
    });
    // Whatever still waits for a terminal or a socket has nothing to add.
    runtime.shutdown_background();
    exit
}

async fn carry_out(command: &SessionCommand, place: &Place) -> Result<Exit, Fault> {
    match command {
        SessionCommand::Demo(args) => commands::demo::run(args, place).await,
        SessionCommand::Run(args) => commands::run::run(args, place).await,
        SessionCommand::Resume(args) => commands::resume::run(args, place).await,
        SessionCommand::Sessions(args) => commands::sessions::run(args, place).await,
        SessionCommand::Show(args) => commands::show::run(args, place).await,
        SessionCommand::Follow(args) => commands::follow::run(args, place).await,
        SessionCommand::Tree(args) => commands::tree::run(args, place).await,
        SessionCommand::Decisions(args) => commands::decisions::run(args, place).await,
        SessionCommand::Resolve(args) => commands::resolve::run(args, place).await,
        SessionCommand::Rules(args) => commands::rules::run(args, place).await,
        SessionCommand::Tools(args) => commands::tools::run(args),
        SessionCommand::Revert(args) => commands::revert::run(args, place).await,
        SessionCommand::Go(args) => commands::go::run(args, place).await,
        SessionCommand::Merge(args) => commands::merge::run(args, place).await,
        SessionCommand::Name(args) => commands::name::run(args, place).await,
        SessionCommand::Reflog(args) => commands::reflog::run(args, place).await,
        SessionCommand::Undo(args) => commands::undo::run(args, place).await,
        SessionCommand::Redo(args) => commands::redo::run(args, place).await,
        SessionCommand::Compact(args) => commands::compact::run(args, place).await,
        SessionCommand::Cancel(args) => commands::cancel::run(args, place).await,
        SessionCommand::Decide(args) => commands::decide::run(args, place).await,
        SessionCommand::Title(args) => commands::title::run(args, place).await,
        SessionCommand::Tag(args) => commands::tag::run(args, place).await,
        SessionCommand::Archive(args) => commands::archive::run(args, true, place).await,
        SessionCommand::Unarchive(args) => commands::archive::run(args, false, place).await,
        SessionCommand::Delete(args) => commands::delete::run(args, place).await,
        SessionCommand::Prune(args) => commands::prune::run(args, place).await,
        SessionCommand::Export(args) => commands::export::run(args, place).await,
        SessionCommand::Import(args) => commands::import::run(args, place).await,
        SessionCommand::Doctor(args) => commands::doctor::run(args, place).await,
        SessionCommand::Store(args) => commands::store::run(args, place).await,
    }
}

/// Needs neither a store nor tokio, and Ctrl-C ends it at once.
fn on_files(command: &FileCommand) -> Result<Exit, Fault> {
    match command {
        FileCommand::Audit(args) => files::audit::run(args),
        FileCommand::Repair(args) => files::repair::run(args),
        FileCommand::Sanitize(args) => files::sanitize::run(args),
    }
}
