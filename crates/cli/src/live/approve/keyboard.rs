//! Who reads the keyboard: the thread that reads answers, or an editor.
//!
//! A read that waits cannot be taken back, so the thread has to stay away before the editor begins: it does so by itself behind
//! the line that opens one, as long as somebody is asked who may say that.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

/// The lines that were typed.
pub(super) type Lines = mpsc::UnboundedReceiver<String>;

/// Keeps the thread that reads answers away from the keyboard.
#[derive(Default)]
pub(super) struct Keyboard {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Whether a line may open an editor.
    asking: bool,
    /// Whether one has.
    held: bool,
}

/// Somebody is asked who may open an editor, as long as this lives.
pub(super) struct Asking<'a>(&'a Keyboard);

impl Keyboard {
    /// Lets a line open an editor from now on. What was typed before opens none.
    pub(super) fn ask(&self) -> Asking<'_> {
        self.state().asking = true;
        Asking(self)
    }

    /// Notes a line, before anybody gets it.
    pub(super) fn note(&self, line: &str) {
        let mut state = self.state();
        state.held = state.asking && opens_editor(line);
    }

    /// Waits until no editor has the keyboard.
    pub(super) fn wait(&self) {
        let mut state = self.state();
        while state.held {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Two flags are whole after any panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn release(&self) {
        self.state().held = false;
        self.changed.notify_all();
    }
}

impl Asking<'_> {
    /// The editor is done.
    pub(super) fn release(&self) {
        self.0.release();
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.state().asking = false;
        self.0.release();
    }
}

/// Returns whether a line opens an editor.
pub(super) fn opens_editor(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "e" | "edit")
}
