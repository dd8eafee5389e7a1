//! Commits that no branch names yet.

use trunkline_decision_objects::{DecisionId, GitOid, RunId};

use crate::{BindError, GitFault, Repository};

/// The names of the lines that name a decision or a run in a commit's message.
pub(crate) const DECISION_TRAILER: &str = "Trunkline-Decision";
pub(crate) const RUN_TRAILER: &str = "Trunkline-Run";

/// Who wrote or committed something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name; not blank, no line end, `<` or `>`.
    pub name: String,
    /// The address; no line end, `<` or `>`. It may be empty, as git allows it.
    pub email: String,
}

/// What the last line of a message names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trailer {
    /// `Trunkline-Decision: <id>`.
    Decision(DecisionId),
    /// `Trunkline-Run: <id>`, for those who commit before they know the decision.
    Run(RunId),
}

/// A commit, before it is written. The same plan gives the same commit, under the same settings of git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitPlan {
    /// The files.
    pub tree: GitOid,
    /// The parents, first parent first.
    pub parents: Vec<GitOid>,
    /// The message; white space at its end is cut off.
    pub message: String,
    /// Who wrote the change. `None` is who commits it; where the plan does not say that either, who git is told writes
    /// (`author.name`, `author.email`, else `user.name`, `user.email`, or the variables that stand above them).
    pub author: Option<Identity>,
    /// Who commits it; `None` is who git is told to commit as (`user.name`, `user.email`), and where nobody told it,
    /// `Trunkline <trunkline@localhost>`.
    pub committer: Option<Identity>,
    /// Seconds since 1970-01-01T00:00:00Z, for both.
    pub at: i64,
    /// The offset of the clock on the wall, in minutes east of UTC; between -1439 and 1439.
    pub offset_minutes: i16,
    /// What the message shall name in a last line; `None` is no such line.
    pub trailer: Option<Trailer>,
}

impl Repository {
    /// Writes a commit that nothing refers to, and returns its name.
    ///
    /// Index, worktree, stash and branches stay as they are, no hook runs, nothing is signed. Until a branch is moved to
    /// it, git's clean-up may take it, by default after two weeks. Starts at most four processes.
    ///
    /// # Errors
    ///
    /// [`BindError::CommitText`] if the plan has something that a commit cannot hold, [`BindError::NoSuchObject`] if the
    /// tree or a parent is not there, [`BindError::Git`].
    pub fn write_commit(&self, plan: &CommitPlan) -> Result<GitOid, BindError> {
        let named: Vec<String> = std::iter::once(plan.tree)
            .chain(plan.parents.iter().copied())
            .map(|oid| oid.to_string())
            .collect();
        for (place, known) in self.known(&named)?.into_iter().enumerate() {
            let (oid, expected) = match place {
                0 => (plan.tree, "tree"),
                parent => (plan.parents[parent - 1], "commit"),
            };
            if known.is_none_or(|known| known.kind != expected) {
                return Err(BindError::NoSuchObject { oid, expected });
            }
        }
        let (author, committer) = match (&plan.author, &plan.committer) {
            (author, Some(committer)) => (author.as_ref().unwrap_or(committer).clone(), committer.clone()),
            (Some(author), None) => (author.clone(), self.configured_committer()?),
            (None, None) => {
                let committer = self.configured_committer()?;
                (self.configured(Role::Author)?.unwrap_or_else(|| committer.clone()), committer)
            }
        };
        let text = print(plan, &author, &committer)?;
        let printed =
            self.write_objects(&["hash-object", "-t", "commit", "-w", "--stdin"], text.as_bytes())?;
        String::from_utf8_lossy(&printed).trim().parse().map_err(|_| BindError::Answer {
            command: "hash-object",
            answer: crate::error::excerpt(&printed),
        })
    }

    /// Returns who commits where a plan does not say it: who git is told to commit as, else
    /// `Trunkline <trunkline@localhost>`. Starts a process.
    ///
    /// # Errors
    ///
    /// [`BindError::CommitText`] if git is told a name that no commit of ours can hold, [`BindError::Git`].
    pub fn configured_committer(&self) -> Result<Identity, BindError> {
        let nobody = || Identity { name: "Trunkline".to_owned(), email: "trunkline@localhost".to_owned() };
        Ok(self.configured(Role::Committer)?.unwrap_or_else(nobody))
    }

    /// Who git is told somebody is; it is not asked to make somebody up from the name of the machine.
    fn configured(&self, role: Role) -> Result<Option<Identity>, BindError> {
        let (variable, not_text) = match role {
            Role::Author => (
                "GIT_AUTHOR_IDENT",
                "the name or address that git is told for authors is not UTF-8; mend `author.name` and `author.email`, \
                 or `user.name` and `user.email`, or GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL",
            ),
            Role::Committer => (
                "GIT_COMMITTER_IDENT",
                "the name or address that git is told to commit as is not UTF-8; mend `committer.name` and \
                 `committer.email`, or `user.name` and `user.email`, or GIT_COMMITTER_NAME and GIT_COMMITTER_EMAIL",
            ),
        };
        let told = match self.git.run(&["-c", "user.useConfigOnly=true", "var", variable], b"") {
            Ok(told) => told,
            // Nobody has told it.
            Err(GitFault::Failed { .. }) => return Ok(None),
            Err(fault) => return Err(fault.into()),
        };
        let told = String::from_utf8(told).map_err(|_| BindError::CommitText { why: not_text })?;
        let parts = told.split_once(" <").and_then(|(name, rest)| Some((name, rest.split_once('>')?.0)));
        Ok(parts.map(|(name, email)| Identity { name: name.to_owned(), email: email.to_owned() }))
    }
}

/// What somebody has to do with a commit.
#[derive(Clone, Copy)]
enum Role {
    Author,
    Committer,
}

fn print(plan: &CommitPlan, author: &Identity, committer: &Identity) -> Result<String, BindError> {
    let refuse = |why| Err(BindError::CommitText { why });
    if plan.at < 0 {
        return refuse("its time is before 1970");
    }
    if plan.offset_minutes.unsigned_abs() >= 24 * 60 {
        return refuse("its offset from UTC is a day or more");
    }
    if plan.message.contains('\0') {
        return refuse("its message holds a NUL");
    }
    for Identity { name, email } in [author, committer] {
        let odd = |text: &str| text.contains(['\n', '\0', '<', '>']);
        if name.trim().is_empty() || odd(name) || odd(email) {
            return refuse("a name is blank, or a name or an address holds a line end, NUL, `<` or `>`");
        }
    }
    let mut text = format!("tree {}\n", plan.tree);
    for parent in &plan.parents {
        text.push_str(&format!("parent {parent}\n"));
    }
    let (hours, minutes) = (plan.offset_minutes.unsigned_abs() / 60, plan.offset_minutes.unsigned_abs() % 60);
    let sign = if plan.offset_minutes < 0 { '-' } else { '+' };
    for (role, Identity { name, email }) in [("author", author), ("committer", committer)] {
        text.push_str(&format!(
            "{role} {} <{}> {} {sign}{hours:02}{minutes:02}\n",
            name.trim(),
            email.trim(),
            plan.at
        ));
    }
    text.push('\n');
    text.push_str(&message(plan));
    Ok(text)
}

/// The message, with one line end at its end.
fn message(plan: &CommitPlan) -> String {
    let message = plan.message.trim_end();
    let trailer = match plan.trailer {
        None => return format!("{message}\n"),
        Some(Trailer::Decision(id)) => format!("{DECISION_TRAILER}: {id}\n"),
        Some(Trailer::Run(id)) => format!("{RUN_TRAILER}: {id}\n"),
    };
    if message.is_empty() {
        return trailer;
    }
    // Trailers are the last paragraph of a message that has more than one, if each of its lines is one.
    let trailers = message.rsplit_once("\n\n").is_some_and(|(_, last)| last.lines().all(is_trailer));
    let gap = if trailers { "\n" } else { "\n\n" };
    format!("{message}{gap}{trailer}")
}

fn is_trailer(line: &str) -> bool {
    let token = |token: &str| {
        !token.is_empty() && token.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '-')
    };
    line.split_once(": ").is_some_and(|(before, _)| token(before))
}
