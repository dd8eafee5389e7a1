//! What of all that is different in the folder the open run has changed itself (record 0022).

use std::collections::HashSet;

use crate::layers::decision::OpenRun;
use crate::layers::resolve;
use crate::{
    Base, Deciding, FileStates, OwnChanges, Session, Span, Touched, Workspace, WorkspaceFault, turn,
};

impl Session {
    /// Returns what a run has changed, without what somebody else has. Of a run of which it is not known when it could write,
    /// everything counts that is different.
    pub(crate) async fn own_changes(
        &self,
        run: &OpenRun,
        workspace: &dyn Workspace,
    ) -> Result<OwnChanges, WorkspaceFault> {
        let touched = self.touched(run);
        match self.known_spans(run) {
            Some(spans) => workspace.own_changes(&run.base, &touched, spans).await,
            None => {
                let changes = workspace.changes(&run.base, &touched).await?;
                Ok(OwnChanges { changes, ..OwnChanges::default() })
            }
        }
    }

    /// Returns whether a run has certainly changed files, whatever became of them.
    pub(crate) fn has_written(&self, run: &OpenRun) -> bool {
        let spans = run.looks.spans().unwrap_or_default();
        let changed = |span: &Span| span.to.as_ref().is_some_and(|to| to.tree != span.from.tree);
        run.restoring.is_none() && (!self.touched(run).is_empty() || spans.iter().any(changed))
    }

    /// Returns whether a run may have changed files that no proposal names.
    pub(crate) fn may_have_changed(&self, run: &OpenRun) -> bool {
        let setup = &self.settings().setup;
        run.restoring.is_none()
            && (run.started.iter().any(|tool| turn::may_change(setup, tool))
                || !resolve::names_what_it_wrote(&self.state.resolve, run.opened))
    }

    /// Returns when a run could change files that no proposal names; `None` if that is not known.
    pub(crate) fn known_spans<'a>(&self, run: &'a OpenRun) -> Option<&'a [Span]> {
        let spans = match run.restoring {
            // It writes what it takes back, and nothing else.
            Some(_) => Some([].as_slice()),
            None => run.looks.spans(),
        };
        spans.filter(|_| resolve::names_what_it_wrote(&self.state.resolve, run.opened))
    }

    /// Returns the files that a run has written by itself, or perhaps has, each as it was before.
    pub(crate) fn touched(&self, run: &OpenRun) -> Vec<Touched> {
        let undone =
            run.restoring.as_ref().and_then(|restoring| Some((restoring, self.left_by(restoring.of)?)));
        match undone {
            // What is taken back was written by no proposal.
            Some((restoring, left)) => {
                let written: HashSet<&str> = restoring.files.iter().map(String::as_str).collect();
                // What was as before already is not taken back. Older notes do not say what was.
                let writes = |file: &&FileStates| written.is_empty() || written.contains(file.path.as_str());
                let was = |file: &FileStates| Touched { path: file.path.clone(), before: file.after.clone() };
                left.files.iter().filter(writes).map(was).collect()
            }
            None => resolve::touched(&self.state.resolve, run.opened),
        }
    }
}

/// Returns what changes are counted from, if that is not how the files were when the run began.
pub(crate) fn base_of(own: &OwnChanges, run: &OpenRun) -> Option<Base> {
    own.before.clone().map(|tree| Base { tree: Some(tree), ..run.base.clone() })
}

/// Returns whether what was announced is what the run has changed.
pub(crate) fn is_of(own: &OwnChanges, run: &OpenRun, deciding: &Deciding) -> bool {
    let before = own.before.as_ref().or(run.base.tree.as_ref());
    own.changes.tree.as_ref() == Some(&deciding.tree) && deciding.base.tree.as_ref() == before
}
