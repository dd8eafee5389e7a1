//! `trunkline`: durable agent runs from the command line.
//!
//! Data goes to stdout, everything else to stderr; every way to end passes through this file.

mod args;
mod audit;
mod beside;
mod bound;
mod commands;
mod compact;
mod counter;
mod decide;
mod decisions;
mod demo;
mod desk;
mod doctor;
mod findings;
mod follow;
mod history;
mod in_order;
mod labels;
mod listing;
mod live;
mod names;
mod new_file;
mod reading;
mod reflog;
mod removal;
mod repair;
mod resolve;
mod rules;
mod sanitize;
mod search;
mod second_look;
mod show;
mod shown;
mod term;
mod transfer;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::args::{Color, Command, FileCommand, Line, SessionCommand};
use crate::desk::place::Place;
use crate::term::fault::{Exit, Fault};
use crate::term::out;

fn main() -> ExitCode {
    let line = Line::parse();
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
        SessionCommand::Demo(args) => demo::run(args, place).await,
        SessionCommand::Run(args) => commands::run::run(args, place).await,
        SessionCommand::Resume(args) => commands::resume::run(args, place).await,
        SessionCommand::Sessions(args) => listing::run(args, place).await,
        SessionCommand::Show(args) => show::run(args, place).await,
        SessionCommand::Follow(args) => follow::run(args, place).await,
        SessionCommand::Tree(args) => commands::tree::run(args, place).await,
        SessionCommand::Decisions(args) => decisions::run(args, place).await,
        SessionCommand::Resolve(args) => resolve::run(args, place).await,
        SessionCommand::Rules(args) => rules::run(args, place).await,
        SessionCommand::Revert(args) => commands::revert::run(args, place).await,
        SessionCommand::Go(args) => commands::go::run(args, place).await,
        SessionCommand::Merge(args) => commands::merge::run(args, place).await,
        SessionCommand::Name(args) => names::run(args, place).await,
        SessionCommand::Reflog(args) => reflog::run(args, place).await,
        SessionCommand::Undo(args) => commands::undo::run(args, place).await,
        SessionCommand::Redo(args) => commands::redo::run(args, place).await,
        SessionCommand::Compact(args) => compact::run(args, place).await,
        SessionCommand::Cancel(args) => commands::cancel::run(args, place).await,
        SessionCommand::Decide(args) => decide::run(args, place).await,
        SessionCommand::Title(args) => labels::title(args, place).await,
        SessionCommand::Tag(args) => labels::tag(args, place).await,
        SessionCommand::Archive(args) => labels::archive(args, true, place).await,
        SessionCommand::Unarchive(args) => labels::archive(args, false, place).await,
        SessionCommand::Delete(args) => removal::delete(args, place).await,
        SessionCommand::Prune(args) => removal::prune(args, place).await,
        SessionCommand::Export(args) => transfer::write(args, place).await,
        SessionCommand::Import(args) => transfer::read(args, place).await,
        SessionCommand::Doctor(args) => doctor::run(args, place).await,
    }
}

/// Needs neither a store nor tokio, and Ctrl-C ends it at once.
fn on_files(command: &FileCommand) -> Result<Exit, Fault> {
    match command {
        FileCommand::Audit(args) => audit::run(args),
        FileCommand::Repair(args) => repair::run(args),
        FileCommand::Sanitize(args) => sanitize::run(args),
    }
}
