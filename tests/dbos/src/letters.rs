//! The outside service of the example: it takes letters, each under a key, and sends what comes twice under one key once.
//!
//! It stands for whatever is beyond our database, so it is asked, and can be asked twice: a process may be killed between its
//! answer and the note that it has answered. Services that cannot be asked twice need a person there.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio_postgres::{Client, NoTls};

use crate::{Failed, StepKey};

/// What is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Letter {
    /// To whom.
    pub to: String,
    /// What it says.
    pub text: String,
}

/// What the service has under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The printed [`StepKey`].
    pub key: String,
    /// To whom.
    pub to: String,
    /// How often it was asked for it.
    pub asked: i32,
}

/// The service.
#[derive(Clone)]
pub struct Letters(Arc<Client>);

impl Letters {
    /// Connects to the service.
    ///
    /// # Errors
    ///
    /// [`Failed`] if it cannot be reached.
    pub async fn open(url: &str) -> Result<Self, Failed> {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.map_err(Failed::because)?;
        tokio::spawn(connection);
        let make = "DO $$ BEGIN
            CREATE TABLE IF NOT EXISTS letters_sent (key text PRIMARY KEY, recipient text NOT NULL, text text NOT NULL, asked int NOT NULL);
            EXCEPTION WHEN unique_violation THEN NULL; END $$";
        client.batch_execute(make).await.map_err(Failed::because)?;
        Ok(Letters(Arc::new(client)))
    }

    /// Sends a letter, unless it was sent under this key before.
    ///
    /// # Errors
    ///
    /// [`Failed`] if the service cannot be reached; then it is open whether it was sent.
    pub async fn send(&self, key: &StepKey, letter: &Letter) -> Result<(), Failed> {
        let insert = "INSERT INTO letters_sent VALUES ($1, $2, $3, 1) ON CONFLICT (key) DO UPDATE SET asked = letters_sent.asked + 1";
        let sent = self.0.execute(insert, &[&key.to_string(), &letter.to, &letter.text]).await;
        sent.map(drop).map_err(Failed::because)
    }

    /// Returns what was sent for a session, by key.
    ///
    /// # Errors
    ///
    /// [`Failed`] if the service cannot be reached.
    pub async fn sent_for(&self, session: &str) -> Result<Vec<Sent>, Failed> {
        let query = "SELECT key, recipient, asked FROM letters_sent WHERE starts_with(key, $1) ORDER BY key";
        let rows = self.0.query(query, &[&session]).await.map_err(Failed::because)?;
        let sent = |row: &tokio_postgres::Row| Sent { key: row.get(0), to: row.get(1), asked: row.get(2) };
        Ok(rows.iter().map(sent).collect())
    }
}
