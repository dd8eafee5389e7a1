//! The git repository of a folder, and why there is none to work with.

use std::path::Path;

use trunkline_git_binding::{BindError, Repository};

use crate::term::fault::Fault;
use crate::term::shell::quoted;
use crate::term::text::one_line;

/// Refuses what cannot be bound in a folder, before a model is asked.
pub(crate) fn check(folder: &Path) -> Result<(), Fault> {
    let shown = quoted(&one_line(&folder.display().to_string(), 200));
    let without = "or leave --bind out: decisions are kept in the session store either way";
    match Repository::open(folder) {
        Ok(Some(repository)) if repository.facts().bare => {
            Err(Fault::usage(format!("{shown} is a bare repository: it has no files to work on"))
                .hint(format!("work in a worktree of it (`git worktree add`), {without}")))
        }
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(Fault::usage(format!("--bind needs a git repository, and {shown} is in none"))
            .hint(format!("`git init` makes one, {without}"))),
        Err(error) => Err(unbound(error).hint(without)),
    }
}

/// Opens the repository of a folder, or says that there is none.
pub(crate) fn open(folder: &Path) -> Result<Repository, Fault> {
    let shown = quoted(&one_line(&folder.display().to_string(), 200));
    let found = Repository::open(folder).map_err(unbound)?;
    found.ok_or_else(|| {
        Fault::usage(format!("{shown} is in no git repository")).hint("name the folder of one with -C")
    })
}

/// Says why git could not be asked.
pub(crate) fn unbound(error: BindError) -> Fault {
    let usage = matches!(error, BindError::NoSuchRevision { .. });
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    let text = one_line(&text, 500);
    match usage {
        true => Fault::usage(text).hint("`git log --oneline` names commits; -C names another repository"),
        false => Fault::new(text),
    }
}

/// Names a folder for a command of git's, unless that is typed in it.
pub(crate) fn elsewhere(folder: Option<&str>) -> Option<&str> {
    let here = std::env::current_dir().ok();
    folder.filter(|folder| !here.is_some_and(|here| here.starts_with(folder)))
}

/// Whether another folder is in the same repository, also by another worktree.
pub(crate) fn same_repository(repository: &Repository, folder: &Path) -> bool {
    folder.is_dir() && Repository::open(folder).ok().flatten().is_some_and(|other| other.is_same(repository))
}
