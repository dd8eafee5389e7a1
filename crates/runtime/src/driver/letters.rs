//! The inbox of the session that this process writes: takes letters in, or puts them aside.

use trunkline_session_machine::notes::journal::{self, LetterRefused};
use trunkline_session_machine::notes::record;
use trunkline_session_machine::{Event, RuntimeError};
use trunkline_session_store::{InboxId, Letter};

use super::orders::carry_out;
use crate::driver::bind::catch_up;
use crate::driver::look::look_late;
use crate::driver::recover::take_distrust;
use crate::driver::roll_back::try_rest_of_rollback;
use crate::orders::{CANCEL, CLOSE_RUN, DISTRUST, Order, PROMPT, abandons, read};
use crate::writer::Writer;
use crate::writer::inbox::newest;
use crate::writer::waiting::read_inbox;
use trunkline_agent_traits::Cancel;

/// Remembers what has been left until now, and returns it: a cancel among it is not for a turn that begins later.
pub(crate) async fn look_at_inbox(writer: &mut Writer) -> Result<Vec<Letter>, RuntimeError> {
    let inbox = read_inbox(writer).await?;
    // Those that were consumed meanwhile do not count, and what was old stays old.
    writer.old = writer.old.max(newest(&inbox));
    Ok(inbox)
}

/// Consumes what asked to end a turn that is over, of what was read of the inbox.
pub(crate) async fn take_old_cancels(writer: &mut Writer, inbox: Vec<Letter>) -> Result<(), RuntimeError> {
    for letter in inbox {
        if letter.kind == CANCEL && Some(letter.id) <= writer.old {
            take_cancel(writer, &letter).await?;
        }
    }
    Ok(())
}

/// Voids what an import brought along, before anything else can act on it.
pub(crate) async fn distrust_import(writer: &mut Writer) -> Result<(), RuntimeError> {
    for letter in writer.store.inbox(writer.lease.session()).await? {
        if letter.kind == DISTRUST {
            take_distrust(writer, Some(letter.id)).await?;
        }
    }
    Ok(())
}

/// Takes in every letter that can take effect now. Returns the name of the newest that was looked at.
///
/// What is posted meanwhile has not been looked at, and must not be taken for something that has to wait.
pub(crate) async fn take_letters(
    writer: &mut Writer,
    cancel: &Cancel,
) -> Result<Option<InboxId>, RuntimeError> {
    let inbox = read_inbox(writer).await?;
    let newest = newest(&inbox);
    for letter in inbox {
        take_or_refuse(writer, &letter, cancel).await?;
    }
    Ok(newest)
}

/// Takes in one letter, or puts it aside with the reason why it can have no effect.
pub(crate) async fn take_or_refuse(
    writer: &mut Writer,
    letter: &Letter,
    cancel: &Cancel,
) -> Result<(), RuntimeError> {
    match take(writer, letter, cancel).await {
        Err(RuntimeError::Refused { reason }) => refuse(writer, letter, reason).await,
        Err(fault @ (RuntimeError::Proposal(_) | RuntimeError::Rule(_))) => {
            refuse(writer, letter, fault.to_string()).await
        }
        Err(fault @ (RuntimeError::NoOpenRun | RuntimeError::Unsettled { .. })) => {
            refuse(writer, letter, fault.to_string()).await
        }
        other => other,
    }
}

async fn take(writer: &mut Writer, letter: &Letter, cancel: &Cancel) -> Result<(), RuntimeError> {
    match read(letter)? {
        Order::Cancel => {
            cancel.cancel();
            take_cancel(writer, letter).await
        }
        order => carry_out(writer, order, Some(letter.id)).await.map(drop),
    }
}

async fn take_cancel(writer: &mut Writer, letter: &Letter) -> Result<(), RuntimeError> {
    let taken = journal::letter_taken(letter.id, CANCEL, writer.settings().now());
    writer.commit(vec![taken], Some(letter.id)).await
}

async fn refuse(writer: &mut Writer, letter: &Letter, reason: String) -> Result<(), RuntimeError> {
    let refused = LetterRefused { letter: letter.id.0, kind: letter.kind.clone(), reason: reason.clone() };
    let at = writer.settings().now();
    let record = record::note(journal::LAYER, journal::LETTER_REFUSED, at, &refused);
    writer.commit(vec![record], Some(letter.id)).await?;
    writer.tell(&Event::LetterRefused { kind: letter.kind.clone(), reason });
    Ok(())
}

/// Takes in what asks to close the run, and what was posted before it: that may be what the run has to wait for. Words
/// and cancels have their own time.
pub(crate) async fn take_close_letters(writer: &mut Writer) -> Result<(), RuntimeError> {
    let inbox = read_inbox(writer).await?;
    let last = inbox.iter().rposition(|letter| letter.kind == CLOSE_RUN);
    for letter in inbox.iter().take(last.map_or(0, |last| last + 1)) {
        if !matches!(letter.kind.as_str(), PROMPT | CANCEL) {
            take_or_refuse(writer, letter, &Cancel::new()).await?;
        }
    }
    Ok(())
}

/// Takes in what asks to abandon the run, and nothing else.
async fn take_abandon_letters(writer: &mut Writer) -> Result<(), RuntimeError> {
    for letter in writer.store.inbox(writer.lease.session()).await? {
        if abandons(&letter) {
            take_or_refuse(writer, &letter, &Cancel::new()).await?;
        }
    }
    Ok(())
}

/// Catches up, or takes in a letter that abandons the run: while git gives no answer no other is read.
pub(crate) async fn catch_up_or_abandon(writer: &mut Writer) -> Result<(), RuntimeError> {
    match catch_up(writer).await {
        Err(fault @ RuntimeError::Workspace(_)) if writer.facts.unsure => {
            take_abandon_letters(writer).await?;
            match writer.state.decision.is_open() {
                true => Err(fault),
                false => catch_up(writer).await,
            }
        }
        sure => sure,
    }
}

/// Takes in the letters that others have left, as far as they can take effect now.
pub(crate) async fn read_letters(writer: &mut Writer) -> Result<(), RuntimeError> {
    catch_up_or_abandon(writer).await?;
    look_late(writer).await?;
    try_rest_of_rollback(writer).await;
    take_letters(writer, &Cancel::new()).await.map(drop)
}
