//! Looks at the files around calls that may change some: what else is different at the end of a run is not its change.

use crate::layers::decision::{self, Start};
use crate::{Base, Event, RuntimeError, Session, Span, WorkspaceFault};
use trunkline_session_store::Record;

impl Session {
    /// Returns how the files are now, for a run that begins.
    pub(crate) async fn base(&self) -> Result<Start, WorkspaceFault> {
        let Some(workspace) = &self.settings().workspace else { return Ok(Start::default()) };
        Ok(match workspace.look().await? {
            Some(base) => Start { base, looks: true },
            None => Start { base: workspace.base().await?, looks: false },
        })
    }

    /// Looks right before calls that may change files. `None` if the open run does without.
    ///
    /// Where that fails it is recorded: what became different since the look before it then counts as the run's.
    pub(crate) async fn look_before(&mut self) -> Option<Record> {
        self.looks_spans()?;
        let files = self.look_at_files().await;
        Some(decision::looked_before(files, self.settings().now()))
    }

    /// Looks when the last of them has ended. A fault leaves the span open until the next look, or the end of the run.
    pub(crate) async fn look_after(&mut self) -> Result<(), RuntimeError> {
        // The run may have ended meanwhile.
        if self.open_span().is_none() {
            return Ok(());
        }
        let Some(files) = self.look_at_files().await else { return Ok(()) };
        self.commit(vec![decision::looked_after(files, self.settings().now())], None).await
    }

    /// Looks where calls were cut off, or did not stop, and nobody has looked since: what a person writes from now on is not
    /// taken for theirs. What is, is told.
    pub(crate) async fn look_late(&mut self) -> Result<(), RuntimeError> {
        let Some(from) = self.open_span().map(|span| span.from.clone()) else { return Ok(()) };
        let Some(files) = self.look_at_files().await else { return Ok(()) };
        let changes = match &self.settings().workspace {
            Some(workspace) if files.tree != from.tree => workspace.changes(&from, &[]).await.ok(),
            _ => None,
        };
        self.commit(vec![decision::looked_late(files, self.settings().now())], None).await?;
        let files: Vec<String> =
            changes.into_iter().flat_map(|changes| changes.files).map(|file| file.path).collect();
        if !files.is_empty() {
            self.tell(&Event::TakenIn { files });
        }
        Ok(())
    }

    /// Looks. Where that fails the reason is told, once until it works again.
    async fn look_at_files(&mut self) -> Option<Base> {
        let workspace = self.settings().workspace.clone();
        let why = match workspace {
            None => "this session was opened without its folder".to_owned(),
            Some(workspace) => match workspace.look().await {
                Ok(Some(files)) => return Some(files),
                Ok(None) => "what changes between two looks cannot be told here any more".to_owned(),
                Err(fault) => fault.message,
            },
        };
        if self.state.decision.run.as_mut().is_some_and(|run| run.looks.tells_fault()) {
            self.tell(&Event::LookFailed { why });
        }
        None
    }

    pub(crate) fn open_span(&self) -> Option<&Span> {
        self.looks_spans()?.last().filter(|span| span.to.is_none())
    }

    fn looks_spans(&self) -> Option<&[Span]> {
        self.state.decision.run.as_ref()?.looks.spans()
    }
}
