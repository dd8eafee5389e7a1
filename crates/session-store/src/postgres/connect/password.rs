//! The password: from a file or a command that the options name, else from what was said, else from `~/.pgpass`.
//!
//! It is printed nowhere, and so is nothing that a command writes.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::settings::{Host, Settings, Way};

/// So long may a command take; tokens of clouds are made over a network.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest password: tokens of clouds have 2 KB.
const LONGEST: usize = 64 * 1024;

/// From where the options say that the password comes.
#[derive(Clone, Default)]
pub(in super::super) enum Password {
    /// They say nothing.
    #[default]
    None,
    /// All of a file but the end of its line, read for each connection.
    File(PathBuf),
    /// What a command prints, kept for as long as it works.
    Command { program: OsString, arguments: Vec<OsString> },
}

/// The passwords of a target.
pub(super) struct Passwords {
    source: Password,
    /// What the command printed last. Only one of many connections runs it.
    kept: tokio::sync::Mutex<Option<Vec<u8>>>,
}

/// What is tried for a connection.
pub(super) struct Tried {
    pub(super) password: Option<Vec<u8>>,
    /// Whether another try may have another one.
    pub(super) is_kept: bool,
    /// Why a file was not used that would have been looked into.
    pub(super) passed_over: Option<&'static str>,
}

impl Passwords {
    pub(super) fn new(source: Password) -> Self {
        Passwords { source, kept: tokio::sync::Mutex::new(None) }
    }

    pub(super) fn is_named(&self) -> bool {
        !matches!(self.source, Password::None)
    }

    /// Returns the password for a host. `refused` is one that it did not take.
    pub(super) async fn of(
        &self,
        settings: &Settings,
        host: &Host,
        refused: Option<&[u8]>,
    ) -> Result<Tried, String> {
        let found = |password| Tried { password: Some(password), is_kept: false, passed_over: None };
        match &self.source {
            Password::None => match &settings.password {
                Some(password) => Ok(found(password.clone().into_bytes())),
                None => Ok(of_passfile(settings, host)),
            },
            Password::File(path) => of_file(path).map(found),
            Password::Command { program, arguments } => {
                let mut kept = self.kept.lock().await;
                // Somebody else may have asked for a new one since.
                if let Some(password) = kept.as_ref().filter(|password| Some(password.as_slice()) != refused)
                {
                    return Ok(Tried { is_kept: true, ..found(password.clone()) });
                }
                *kept = None;
                let (program, arguments) = (program.clone(), arguments.clone());
                let password = tokio::task::spawn_blocking(move || of_command(&program, &arguments))
                    .await
                    .map_err(|_| "the password command was not run to its end".to_owned())??;
                *kept = Some(password.clone());
                Ok(found(password))
            }
        }
    }
}

fn of_file(path: &Path) -> Result<Vec<u8>, String> {
    let fault = |reason: String| format!("the password file cannot be used: {reason}");
    let file = std::fs::File::open(path).map_err(|error| fault(error.to_string()))?;
    let mut password = Vec::new();
    file.take(LONGEST as u64 + 1).read_to_end(&mut password).map_err(|error| fault(error.to_string()))?;
    line(password).map_err(|reason| fault(reason.to_owned()))
}

fn of_command(program: &OsString, arguments: &[OsString]) -> Result<Vec<u8>, String> {
    let mut command = Command::new(program);
    // What it says for people could hold what is secret, and nobody here could read it.
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // With a group of its own, it is ended with all that it has started.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child =
        command.spawn().map_err(|error| format!("the password command cannot be started: {error}"))?;
    let Some(output) = child.stdout.take() else {
        return Err("the password command prints nothing".to_owned());
    };
    let (tell, told) = std::sync::mpsc::channel();
    // A thread, since what the command has left behind may hold its output open.
    std::thread::spawn(move || {
        let mut password = Vec::new();
        let read = output.take(LONGEST as u64 + 1).read_to_end(&mut password);
        // Nobody waits after the time is over.
        let _ = tell.send(read.map(|_| password));
    });
    let deadline = Instant::now() + PATIENCE;
    let late = || format!("the password command took longer than {} seconds", PATIENCE.as_secs());
    let Ok(password) = told.recv_timeout(PATIENCE) else {
        end(&mut child);
        return Err(late());
    };
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
            _ => {
                end(&mut child);
                return Err(late());
            }
        }
    };
    if !status.success() {
        return Err(format!("the password command failed ({status}); run it by hand to see why"));
    }
    let password = password.map_err(|error| format!("the password command cannot be read: {error}"))?;
    line(password).map_err(|reason| format!("the password command: {reason}"))
}

fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    // It may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
}

/// Returns what was read without the end of its line.
fn line(mut text: Vec<u8>) -> Result<Vec<u8>, &'static str> {
    if text.len() > LONGEST {
        return Err("it has more than 64 KiB");
    }
    if text.last() == Some(&b'\n') {
        text.pop();
        if text.last() == Some(&b'\r') {
            text.pop();
        }
    }
    match text.as_slice() {
        [] => Err("it is empty"),
        text if text.iter().any(|byte| [b'\n', b'\r', 0].contains(byte)) => Err("it has more than one line"),
        _ => Ok(text),
    }
}

/// Looks into `~/.pgpass`, or the file that was said, as PostgreSQL's own programs do.
fn of_passfile(settings: &Settings, host: &Host) -> Tried {
    let nothing = |passed_over| Tried { password: None, is_kept: false, passed_over };
    let Some(path) = &settings.passfile else { return nothing(None) };
    let Ok(about) = std::fs::metadata(path) else { return nothing(None) };
    if !about.is_file() {
        return nothing(Some("the password file (`passfile`, ~/.pgpass) is no plain file"));
    }
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o077 != 0 {
        return nothing(Some(
            "others may read the password file (`passfile`, ~/.pgpass), so it is not used: chmod 0600",
        ));
    }
    let Ok(text) = std::fs::read(path) else {
        return nothing(Some("the password file (`passfile`, ~/.pgpass) cannot be read"));
    };
    let name = match (&host.name, &host.way) {
        // Sockets where they usually are go by this name.
        (_, Way::Socket(folder)) if is_usual(folder) => "localhost".to_owned(),
        (_, Way::Socket(folder)) => folder.to_string_lossy().into_owned(),
        (Some(name), _) => name.clone(),
        (None, Way::Address(address)) => address.to_string(),
        (None, Way::Name(name)) => name.clone(),
    };
    let port = host.port.to_string();
    let wanted = [&name, &port, settings.database.as_ref().unwrap_or(&settings.user), &settings.user];
    let password = text.split(|byte| *byte == b'\n').find_map(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.starts_with(b"#") {
            return None;
        }
        let (fields, password) = fields(line)?;
        let fits = |(field, wanted): (&Vec<u8>, &&String)| field == b"*" || field == wanted.as_bytes();
        fields.iter().zip(&wanted).all(fits).then_some(password)
    });
    Tried { password: password.filter(|password| !password.is_empty()), is_kept: false, passed_over: None }
}

fn is_usual(folder: &Path) -> bool {
    ["/var/run/postgresql", "/run/postgresql", "/tmp"].iter().any(|usual| folder == Path::new(usual))
}

/// Splits a line at its colons; a backslash takes the next byte as it is. The password ends with the line or a colon.
fn fields(line: &[u8]) -> Option<([Vec<u8>; 4], Vec<u8>)> {
    let mut parts = vec![Vec::new()];
    let mut bytes = line.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => parts.last_mut()?.push(bytes.next().copied().unwrap_or(b'\\')),
            b':' => parts.push(Vec::new()),
            byte => parts.last_mut()?.push(*byte),
        }
    }
    let mut parts = parts.into_iter();
    let fields = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
    Some((fields, parts.next()?))
}
