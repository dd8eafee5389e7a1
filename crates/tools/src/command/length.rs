//! How long a command may be, and how one is handed over that is longer than a word may be.
//!
//! Linux takes 128 KiB in one word of a command line, and a few megabytes in all of them and the environment together.
//! A model that writes a file by a here-document is past the first in no time.

use std::ffi::OsString;

/// As long as a piece is. 131,071 bytes are the most that Linux takes in one word (`MAX_ARG_STRLEN`: 32 pages of 4096 bytes).
const PIECE: usize = 100_000;
/// Puts the pieces together again and runs them; `$0` and the words of the command are as without this.
const JOIN: &str = r#"__c=; for __p do __c="$__c$__p"; done; shift "$#"; unset __p; eval " $__c""#;
/// For what the system lays beside words and variables: pointers, the name of the program, what it tells it.
const BESIDE: usize = 16_384;

/// Returns how many bytes a command may have here, beside the environment of this process.
pub(crate) fn room() -> usize {
    let environment: usize =
        std::env::vars_os().map(|(name, value)| name.len() + value.len() + 2 + POINTER).sum();
    most().saturating_sub(environment + BESIDE)
}

/// What a pointer to a word takes.
const POINTER: usize = size_of::<usize>();

/// A quarter of the stack, and 6 MiB at most (execve(2), man-pages 6.15).
#[cfg(target_os = "linux")]
fn most() -> usize {
    let stack = rustix::process::getrlimit(rustix::process::Resource::Stack).current;
    let stack = stack.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(usize::MAX);
    (stack / 4).clamp(131_072, 6 << 20)
}

/// `ARG_MAX` of macOS.
#[cfg(not(target_os = "linux"))]
fn most() -> usize {
    1 << 20
}

/// Says why no shell could be given a command, and what to do.
pub(crate) fn refusal(command: &str, room: usize) -> Option<String> {
    if command.trim().is_empty() {
        return Some("the command is empty".to_owned());
    }
    if command.contains('\0') {
        return Some(
            "the command holds a NUL byte, which no shell takes; write it as an escape, such as printf '\\000'"
                .to_owned(),
        );
    }
    let words = command.len() + command.len() / PIECE * (POINTER + 1);
    (words > room).then(|| too_long(command.len(), room))
}

/// Says of a command that it is too long.
pub(crate) fn too_long(bytes: usize, room: usize) -> String {
    format!(
        "the command has {bytes} bytes, and this system takes about {room} beside the environment; write long text with write_file, \
         and run a command that reads it from there"
    )
}

/// Returns the words that `sh` is started with.
pub(super) fn words(command: &str) -> Vec<OsString> {
    if command.len() <= PIECE {
        return vec!["-c".into(), command.into()];
    }
    let mut words: Vec<OsString> = vec!["-c".into(), JOIN.into(), "sh".into()];
    let mut rest = command;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
        words.push(piece.into());
        rest = after;
    }
    words
}
