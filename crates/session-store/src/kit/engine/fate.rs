//! What becomes of a statement: by the profile, by what its transaction did before, and by chance.

use super::Shared;
use super::profile::{Answer, Feature, Profile};
use super::statement::{Role, Statement};
use crate::kit::chance::Chance;

/// What becomes of a statement.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Done,
    /// It is answered with an error: its SQLSTATE and its words.
    Refused(&'static str, &'static str),
    /// It succeeds with these words and does nothing.
    Ignored(&'static str),
    /// It is rolled back and answered with 40001.
    CommitConflict,
    CutBefore,
    CutAfter,
}

/// What is known of a client's transaction.
#[derive(Debug)]
pub(super) struct Transaction {
    /// As `ReadyForQuery` tells it: `I` outside of a block, `T` inside, `E` in one that has failed.
    state: u8,
    begun: bool,
    definitions: u32,
    writes: bool,
    /// It is not cut off.
    spared: bool,
}

impl Default for Transaction {
    fn default() -> Self {
        Transaction { state: b'I', begun: false, definitions: 0, writes: false, spared: false }
    }
}

impl Transaction {
    /// Is told in which state the server is.
    pub(super) fn is(&mut self, state: u8) {
        self.state = state;
        self.begun = true;
    }

    /// Returns what becomes of a statement for what it asks for.
    pub(super) fn lacks(&self, statement: &Statement, shared: &Shared) -> Fate {
        let mut fate = Fate::Done;
        for feature in &statement.features {
            match lacks(*feature, shared) {
                // It cannot be taken out of the statement around it.
                Fate::Ignored(_) if !statement.is_notice => {}
                refused @ Fate::Refused(..) => return refused,
                Fate::Done => {}
                other => fate = other,
            }
        }
        fate
    }

    /// Returns what becomes of a prepared statement that has a name, if that is not there.
    pub(super) fn lacks_names(&self, shared: &Shared) -> Option<Fate> {
        Some(lacks(Feature::NamedStatement, shared)).filter(|fate| matches!(fate, Fate::Refused(..)))
    }

    /// Returns what becomes of a statement that is to be run now, and takes it into account.
    pub(super) fn fate(&mut self, statement: &Statement, shared: &Shared, chance: &mut Chance) -> Fate {
        // The server refuses by itself.
        if self.state == b'E' {
            return Fate::Done;
        }
        let chances = &shared.profile.chances;
        let before = match statement.role {
            Role::Definition if self.definitions > 0 => lacks(Feature::SecondDefinition, shared),
            Role::Definition if self.writes => lacks(Feature::MixedDefinition, shared),
            Role::Write if self.definitions > 0 => lacks(Feature::MixedDefinition, shared),
            _ => Fate::Done,
        };
        if before != Fate::Done {
            return before;
        }
        let inside = self.begun;
        match statement.role {
            Role::Begin => self.begun = true,
            Role::Definition => self.definitions += 1,
            Role::Write => self.writes = true,
            Role::Rollback => *self = Transaction::default(),
            Role::Commit | Role::Setting | Role::Other => {}
        }
        let commits = match statement.role {
            Role::Commit => inside,
            Role::Definition | Role::Write => !inside,
            _ => false,
        };
        self.spared |= statement.is_spared;
        let cuts = commits && !self.spared;
        if commits && statement.role == Role::Commit {
            *self = Transaction::default();
            if chance.one_of(chances.commit_conflicts) {
                shared.count(|report| report.commit_conflicts += 1);
                return Fate::CommitConflict;
            }
        }
        if cuts && chance.one_of(chances.cuts_before_commit) {
            shared.count(|report| report.cuts_before_commit += 1);
            return Fate::CutBefore;
        }
        if cuts && chance.one_of(chances.cuts_after_commit) {
            shared.count(|report| report.cuts_after_commit += 1);
            return Fate::CutAfter;
        }
        let works = matches!(statement.role, Role::Definition | Role::Write | Role::Other);
        if works && chance.one_of(chances.conflicts) {
            shared.count(|report| report.conflicts += 1);
            return Fate::Refused("40001", shared.profile.conflict);
        }
        Fate::Done
    }
}

fn lacks(feature: Feature, shared: &Shared) -> Fate {
    let fate = match Profile::answer(&shared.profile, feature) {
        None => return Fate::Done,
        Some(Answer::Refused(code, words)) => Fate::Refused(code, words),
        Some(Answer::Ignored(words)) => Fate::Ignored(words),
    };
    shared.count(|report| *report.lacking.entry(feature).or_default() += 1);
    fate
}

/// Returns a statement that says something and does nothing else.
pub(super) fn raise(level: &str, code: &str, words: &str) -> Vec<u8> {
    let words = words.replace('\'', "''");
    format!(
        "DO $trunkline$ BEGIN RAISE {level} USING ERRCODE = '{code}', MESSAGE = '{words}'; END $trunkline$"
    )
    .into_bytes()
}
