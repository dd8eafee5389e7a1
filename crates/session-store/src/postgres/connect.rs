//! How the server is reached.

use std::str::FromStr;
use std::task::{Context, Poll};

use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, NoTls};

use super::fault::Fault;
use crate::StoreError;

/// Everything that is needed to connect. Has no `Debug`: it knows the password.
pub(super) struct Target {
    config: Config,
    place: String,
    notify: Option<bool>,
}

/// A connection that was just made.
pub(super) struct Connected {
    pub(super) client: Client,
    pub(super) connection: Wire,
    pub(super) near: Near,
}

/// Our end of a connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Near {
    /// The port of our socket.
    Tcp(u16),
    /// A socket in the file system, whose name has this port.
    Unix(u16),
}

/// The bytes between us and the server.
pub(super) struct Wire(Connection<tokio::net::TcpStream, NoTlsStream>);

impl Wire {
    pub(super) fn poll_message(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<AsyncMessage, Error>>> {
        self.0.poll_message(context)
    }
}

impl Target {
    pub(super) fn new(url: &str) -> Result<Self, StoreError> {
        let (url, query) = url.split_once('?').unwrap_or((url, ""));
        let mut config = Config::from_str(url).map_err(|_| StoreError::Database {
            place: "the PostgreSQL URL".to_owned(),
            reason: "it cannot be read; write it like postgres://user@host:5432/database".to_owned(),
        })?;
        config.application_name("trunkline");
        let mut notify = None;
        for (name, value) in query.split('&').filter_map(|one| one.split_once('=')) {
            if let Some(setting) = name.strip_prefix("options[").and_then(|rest| rest.strip_suffix(']')) {
                config.options(format!("-c {setting}={value}"));
            }
            if name == "notify" {
                notify = Some(value == "on");
            }
        }
        let host = match config.get_hosts().first() {
            Some(tokio_postgres::config::Host::Tcp(host)) => host.clone(),
            _ => "localhost".to_owned(),
        };
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let place = format!("postgres://{host}:{port}/{}", config.get_dbname().unwrap_or_default());
        Ok(Target { config, place, notify })
    }

    pub(super) fn place(&self) -> String {
        self.place.clone()
    }

    /// What the URL says of notifications: whether they are wanted, or nothing.
    pub(super) fn notify(&self) -> Option<bool> {
        self.notify
    }

    pub(super) async fn connect(&self) -> Result<Connected, Fault> {
        let rest = self.place.strip_prefix("postgres://").unwrap_or_default();
        let address = rest.split('/').next().unwrap_or_default().to_owned();
        let lost = |error: std::io::Error| Fault::lost(&self.place, error.to_string());
        let stream = tokio::net::TcpStream::connect(address).await.map_err(lost)?;
        let _ = stream.set_nodelay(true);
        let near = Near::Tcp(stream.local_addr().map_err(lost)?.port());
        let (client, connection) =
            self.config.connect_raw(stream, NoTls).await.map_err(|error| Fault::of(&self.place, &error))?;
        Ok(Connected { client, connection: Wire(connection), near })
    }
}
