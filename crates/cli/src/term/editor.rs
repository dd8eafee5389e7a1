//! Lets a person change a text in their editor.
//!
//! The editor gets the terminal itself, also where what this program prints goes elsewhere. The text stays in its file until whoever
//! asked is done with it: what somebody has typed is not lost to a slip in its form.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use uuid::Uuid;

use crate::term::fault::Fault;
use crate::term::text;

/// How much is read of what an editor has left, in bytes.
const MOST: u64 = 1024 * 1024;

/// A text that was changed, in its file.
pub(crate) struct Changed {
    pub(crate) text: String,
    pub(crate) file: PathBuf,
}

impl Changed {
    /// Removes the file: the text is where it belongs.
    pub(crate) fn forget(&self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

/// Opens a text in the editor that `VISUAL` or `EDITOR` names, and returns what became of it.
pub(crate) fn change(text: &str) -> Result<Changed, Fault> {
    let named = |name| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    let Some(editor) = named("VISUAL").or_else(|| named("EDITOR")) else {
        return Err(Fault::usage("no editor is named: set VISUAL or EDITOR"));
    };
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(Fault::usage("there is no terminal for an editor here"));
    }
    let file = std::env::temp_dir().join(format!("trunkline-{}.txt", Uuid::new_v4()));
    let cannot = |error: std::io::Error| Fault::new(format!("cannot use {}: {error}", file.display()));
    // Somebody else on this machine has no business in it.
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file);
    made.and_then(|mut made| made.write_all(text.as_bytes())).map_err(cannot)?;
    let screen = || {
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty");
        terminal.map_or_else(|_| Stdio::inherit(), Stdio::from)
    };
    // As git does: the variable may hold options.
    let ended = Command::new("sh")
        .args(["-c", &format!("{editor} \"$@\""), "editor"])
        .arg(&file)
        .stdin(screen())
        .stdout(screen())
        .status()
        .map_err(cannot)?;
    if !ended.success() {
        let _ = std::fs::remove_file(&file);
        return Err(Fault::new(format!("the editor ended with {ended}")));
    }
    let text = read(&file)?;
    Ok(Changed { text, file })
}

/// Reads a text that a person has written into a file.
pub(crate) fn read(path: &Path) -> Result<String, Fault> {
    let cannot = |why: String| Fault::usage(format!("cannot read {}: {why}", path.display()));
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| cannot(error.to_string()))?;
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(|error| cannot(error.to_string()))?;
    if bytes.len() as u64 > MOST {
        return Err(cannot(format!("it has more than {MOST} bytes")));
    }
    text::decoded(bytes).map_err(cannot)
}
