//! Commands as a shell reads them.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What the binary is called once it is installed.
const NAME: &str = "trunkline";

/// Returns how this program is called in the shell that started it: by its name if that is found, else as it was started.
pub(crate) fn program() -> String {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| is_executable(&folder.join(NAME))));
    let started: Option<OsString> =
        std::env::args_os().next().filter(|started| !found && !started.is_empty());
    started.map_or_else(|| NAME.to_owned(), |started| quoted(&started.to_string_lossy()))
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Returns a word as a shell reads it.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@%".contains(&byte);
    match !text.is_empty() && text.bytes().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
