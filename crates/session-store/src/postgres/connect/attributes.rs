//! `target_session_attrs`: asks a server what it is.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tokio_postgres::{Client, SimpleQueryMessage};

use super::settings::Wanted;
use super::trouble::{Cause, Trouble};
use super::wire::Connection;

/// Compares a server with `target_session_attrs`.
pub(super) async fn is_what_is_wanted(
    client: &Client,
    connection: &mut Connection,
    wanted: Wanted,
) -> Result<(), Trouble> {
    // Since version 14 the server says both by itself; a pool in front of it may not.
    let (statement, fits, otherwise) = match wanted {
        Wanted::Any | Wanted::PreferStandby => return Ok(()),
        Wanted::ReadWrite => ("SHOW transaction_read_only", false, "it is not writable"),
        Wanted::ReadOnly => ("SHOW transaction_read_only", true, "it is writable"),
        Wanted::Primary => ("SELECT pg_catalog.pg_is_in_recovery()", false, "it is a standby"),
        Wanted::Standby => ("SELECT pg_catalog.pg_is_in_recovery()", true, "it is no standby"),
    };
    let is_standby = is_told(connection, "in_hot_standby");
    let is_read_only = is_told(connection, "default_transaction_read_only");
    let is_so = match wanted {
        Wanted::Primary | Wanted::Standby => is_standby,
        _ => is_standby.zip(is_read_only).map(|(standby, read_only)| standby || read_only),
    };
    let is_so = match is_so {
        Some(is_so) => is_so,
        None => ask(client, connection, statement).await.map_err(|error| Trouble::of(&error, false, true))?,
    };
    match is_so == fits {
        true => Ok(()),
        false => Err(Trouble::new(Cause::Behind, otherwise.to_owned())),
    }
}

fn is_told(connection: &Connection, name: &str) -> Option<bool> {
    connection.parameter(name).map(|value| value == "on")
}

/// Asks what is true or not.
pub(super) async fn ask(
    client: &Client,
    connection: &mut Connection,
    statement: &str,
) -> Result<bool, tokio_postgres::Error> {
    let mut asked = pin!(client.simple_query(statement));
    let rows = poll_fn(|context| {
        if let Poll::Ready(rows) = asked.as_mut().poll(context) {
            return Poll::Ready(rows);
        }
        loop {
            match connection.poll_message(context) {
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                // The answer came with the end.
                Poll::Ready(None) | Poll::Pending => return asked.as_mut().poll(context),
            }
        }
    });
    let yes = |row: &SimpleQueryMessage| match row {
        SimpleQueryMessage::Row(row) => row.get(0).is_some_and(|value| value == "on" || value == "t"),
        _ => false,
    };
    Ok(rows.await?.iter().any(yes))
}
