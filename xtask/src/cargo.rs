//! Starts cargo and other programs.
//!
//! Standard input is closed, so nothing ever waits for a person who is not there.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use crate::workspace::Workspace;

/// A cargo call at the root of the workspace, by the cargo that started us.
pub(crate) fn cargo<I, S>(workspace: &Workspace, arguments: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&workspace.root).stdin(Stdio::null());
    command
}

/// Runs a command in the open and tells whether it succeeded.
pub(crate) fn passes(command: &mut Command) -> Result<bool, String> {
    println!("$ {}", line_of(command));
    let status = command.status().map_err(|error| cannot_start(command, &error))?;
    Ok(status.success())
}

/// Runs a command silently; what it printed is shown only if it failed.
pub(crate) fn passes_silently(command: &mut Command) -> Result<bool, String> {
    println!("$ {}", line_of(command));
    let output = command.output().map_err(|error| cannot_start(command, &error))?;
    if !output.status.success() {
        println!("{}", String::from_utf8_lossy(&output.stdout));
        println!("{}", String::from_utf8_lossy(&output.stderr));
        println!("ended with {}", output.status);
    }
    Ok(output.status.success())
}

/// Runs a command and returns what it printed; a failure carries what it said.
pub(crate) fn text_of(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| cannot_start(command, &error))?;
    if output.status.success() {
        return String::from_utf8(output.stdout)
            .map_err(|_| format!("`{}` printed no text", line_of(command)));
    }
    Err(format!(
        "`{}` ended with {}\n{}",
        line_of(command),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim_end()
    ))
}

/// The command as a person would type it.
pub(crate) fn line_of(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let mut line = program.file_name().unwrap_or(command.get_program()).to_string_lossy().into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

/// What to say of a program that did not even start.
pub(crate) fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start `{}`: {error}", line_of(command))
}
