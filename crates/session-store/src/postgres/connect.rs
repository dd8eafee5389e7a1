//! Connects: finds the server that is wanted among those that a URL names, and speaks TLS as `sslmode` says.
//!
//! The rules are libpq's, so that a URL means here what it means to `psql`. Where they leave a connection weaker than its
//! URL reads, it is refused. No error repeats a piece of a URL beyond host, port and database.

mod attributes;
mod certificate;
mod judge;
mod password;
mod said;
mod settings;
mod tls;
mod trouble;
mod url;
mod wire;

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_postgres::Client;
use tokio_postgres::config::{SslMode, SslNegotiation};

use self::attributes::{ask, is_what_is_wanted};
pub(super) use self::password::Password;
use self::password::Passwords;
use self::settings::{Host, Mode, Settings, Wanted, Way};
use self::tls::Judged;
use self::trouble::{Cause, Trouble};
pub(super) use self::wire::Connection;
use self::wire::{Made, Secured, Wire};
use super::fault::Fault;
use crate::StoreError;

/// For so long are files of certificates taken as they were read.
const READ_AGAIN: Duration = Duration::from_secs(60);

/// Everything that is needed to connect.
pub(super) struct Target {
    settings: Settings,
    place: String,
    passwords: Passwords,
    /// Which of the hosts was the right one last.
    last: AtomicUsize,
    prepared: Mutex<Option<Prepared>>,
}

#[derive(Clone)]
struct Prepared {
    since: Instant,
    configuration: Arc<ClientConfig>,
    judged: Judged,
}

/// A connection that can be used once it is polled.
pub(super) struct Connected {
    pub(super) client: Client,
    pub(super) connection: Connection,
    /// How it was made, for people.
    pub(super) how: String,
}

/// What is tried with a host.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Try {
    Plain,
    Secured,
    /// Secured if the server offers it.
    Offered,
}

impl Target {
    /// Reads a URL, and what it leaves to the environment.
    pub(super) fn new(url: &str, password: Password) -> Result<Self, StoreError> {
        let unusable = |reason| StoreError::Database { place: "the PostgreSQL URL".to_owned(), reason };
        let settings = Settings::of(url).map_err(unusable)?;
        let passwords = Passwords::new(password);
        // One of the environment is for those who have no better one.
        if passwords.is_named() && settings.is_password_of_url {
            let reason = "it has a password, and the options name another: leave one of them out".to_owned();
            return Err(unusable(reason));
        }
        Ok(Target {
            place: settings.place(),
            settings,
            passwords,
            last: AtomicUsize::new(0),
            prepared: Mutex::new(None),
        })
    }

    /// Returns where it is: `postgres://host:port,host2:port2/database`, nothing secret.
    pub(super) fn place(&self) -> String {
        self.place.clone()
    }

    /// Connects once and says how, for people.
    pub(super) async fn probe(&self) -> Result<String, Fault> {
        let Connected { client, mut connection, how, .. } = self.connect().await?;
        let version = connection.parameter("server_version").unwrap_or("of an unknown version").to_owned();
        let asked = ask(&client, &mut connection, "SELECT pg_catalog.pg_is_in_recovery()");
        let role = match asked.await {
            Ok(true) => ", a standby",
            Ok(false) => "",
            // It is no server of the usual kind, and connects all the same.
            Err(_) => ", which does not say whether it is a standby",
        };
        Ok(format!("PostgreSQL {version}{role}: {how}"))
    }

    /// Returns whether notifications come through, if the URL says so.
    pub(super) fn notify(&self) -> Option<bool> {
        self.settings.notify
    }

    /// Finds out within two minutes that a server is gone, for one who waits longer for an answer; what the URL says of
    /// that stays.
    pub(super) fn notice_silence(mut self) -> Self {
        if let Some(keepalives) = &mut self.settings.keepalives {
            keepalives.idle.get_or_insert(Duration::from_secs(60));
            keepalives.interval.get_or_insert(Duration::from_secs(10));
            keepalives.count.get_or_insert(6);
        }
        self
    }

    /// Begins with another host next time: the last one was not what it seemed to be.
    pub(super) fn pass_over(&self) {
        let next = (self.last.load(Ordering::Relaxed) + 1) % self.settings.hosts.len().max(1);
        self.last.store(next, Ordering::Relaxed);
    }

    /// Connects to the first host that answers and is what is wanted.
    pub(super) async fn connect(&self) -> Result<Connected, Fault> {
        let mut troubles: Vec<(&Host, Trouble)> = Vec::new();
        let passes = match self.settings.wanted {
            Wanted::PreferStandby => vec![Wanted::Standby, Wanted::Any],
            wanted => vec![wanted],
        };
        let is_preference = passes.len() > 1;
        for wanted in passes {
            if is_preference {
                troubles.clear();
            }
            for number in self.order() {
                let Some(host) = self.settings.hosts.get(number) else { continue };
                match self.host(host, wanted).await {
                    Ok(connected) => {
                        self.last.store(number, Ordering::Relaxed);
                        return Ok(connected);
                    }
                    Err(trouble) => {
                        // Whom one server does not let in, or who asks for what cannot be, gets no further at the next.
                        let is_final = trouble.cause.is_final();
                        troubles.push((host, trouble));
                        if is_final {
                            return Err(trouble::fault(&self.place, &troubles));
                        }
                    }
                }
            }
        }
        Err(trouble::fault(&self.place, &troubles))
    }

    /// Returns in which order the hosts are tried.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.settings.hosts.len()).collect();
        if self.settings.shuffles {
            shuffle(&mut order);
        } else if matches!(self.settings.wanted, Wanted::ReadWrite | Wanted::Primary) {
            // There is one such server, so which is asked first changes only how long it takes to find it.
            order.sort_by_key(|number| *number != self.last.load(Ordering::Relaxed));
        }
        order
    }

    async fn host(&self, host: &Host, wanted: Wanted) -> Result<Connected, Trouble> {
        let addresses = match &host.way {
            Way::Socket(_) => return self.address(host, None, wanted).await,
            Way::Address(address) => vec![SocketAddr::new(*address, host.port)],
            Way::Name(name) => {
                let found = self.timed(async {
                    tokio::net::lookup_host((name.as_str(), host.port)).await.map_err(|error| {
                        Trouble::new(
                            Cause::Away,
                            format!("its name leads nowhere: {}", trouble::first_line(&error)),
                        )
                    })
                });
                let mut found: Vec<SocketAddr> = found.await?.collect();
                if self.settings.shuffles {
                    shuffle(&mut found);
                }
                found
            }
        };
        let mut last = Trouble::new(Cause::Away, "its name leads nowhere".to_owned());
        for address in addresses {
            match self.address(host, Some(address), wanted).await {
                Err(trouble) if !trouble.cause.is_final() => last = trouble,
                ended => return ended,
            }
        }
        Err(last)
    }

    /// Tries an address in each way that `sslmode` allows.
    async fn address(
        &self,
        host: &Host,
        address: Option<SocketAddr>,
        wanted: Wanted,
    ) -> Result<Connected, Trouble> {
        let tries: &[Try] = match (address, self.settings.tls.mode) {
            (None, _) | (_, Mode::Disable) => &[Try::Plain],
            (_, Mode::Allow) => &[Try::Plain, Try::Secured],
            (_, Mode::Prefer) => &[Try::Offered, Try::Plain],
            _ => &[Try::Secured],
        };
        let mut first = None;
        for how in tries {
            match self.authenticated(host, address, wanted, *how).await {
                Err(trouble) if trouble.cause.asks_for_other_encryption() => {
                    // Kept: it says more than that the other way is closed as well.
                    first.get_or_insert(trouble);
                }
                Err(trouble) => return Err(trouble),
                Ok(connected) => return Ok(connected),
            }
        }
        Err(first.unwrap_or_else(|| Trouble::new(Cause::Away, "no way to connect is allowed".to_owned())))
    }

    /// Connects with the password that there is, and once more if there can be a newer one.
    async fn authenticated(
        &self,
        host: &Host,
        address: Option<SocketAddr>,
        wanted: Wanted,
        how: Try,
    ) -> Result<Connected, Trouble> {
        let setting = |reason| Trouble::new(Cause::Setting, reason);
        let tried = self.passwords.of(&self.settings, host, None).await.map_err(setting)?;
        let password = tried.password.as_deref();
        let trouble = match self.timed(self.once(host, address, wanted, how, password)).await {
            Ok(connected) => return Ok(connected),
            Err(trouble) => trouble,
        };
        if tried.is_kept && trouble.cause == Cause::Login {
            let newer = self.passwords.of(&self.settings, host, password).await.map_err(setting)?;
            return self.timed(self.once(host, address, wanted, how, newer.password.as_deref())).await;
        }
        Err(match tried.passed_over {
            Some(why) if trouble.cause == Cause::Login => trouble.with(why),
            _ => trouble,
        })
    }

    async fn timed<T>(&self, work: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
        match self.settings.connect_timeout {
            None => work.await,
            Some(timeout) => match tokio::time::timeout(timeout, work).await {
                Ok(ended) => ended,
                Err(_) => {
                    let reason = format!("no answer within {} s (connect_timeout)", timeout.as_secs());
                    Err(Trouble::new(Cause::Away, reason))
                }
            },
        }
    }

    async fn once(
        &self,
        host: &Host,
        address: Option<SocketAddr>,
        wanted: Wanted,
        how: Try,
        password: Option<&[u8]>,
    ) -> Result<Connected, Trouble> {
        let (wire, over) = match address {
            Some(address) => {
                let stream = self.dial(address).await?;
                self.encrypted(host, stream, how).await?
            }
            None => (socket(host).await?, "a socket of this machine".to_owned()),
        };
        let secured = matches!(wire, Wire::Tls(_));
        let settings = &self.settings;
        let mut config = tokio_postgres::Config::new();
        // The wire is made, so nothing else happens on it.
        config.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct);
        config.channel_binding(settings.binding).user(&settings.user).application_name(&settings.application);
        if let Some(database) = &settings.database {
            config.dbname(database);
        }
        if let Some(options) = &settings.options {
            config.options(options);
        }
        if let Some(password) = password {
            config.password(password);
        }
        let said = |error| Trouble::of(&error, secured, password.is_some());
        let (client, mut connection) = config.connect_raw(wire, Made).await.map_err(said)?;
        is_what_is_wanted(&client, &mut connection, wanted).await?;
        Ok(Connected { client, connection, how: format!("{} over {over}", host.shown()) })
    }

    async fn dial(&self, address: SocketAddr) -> Result<TcpStream, Trouble> {
        let stream = TcpStream::connect(address).await.map_err(away)?;
        stream.set_nodelay(true).map_err(away)?;
        let socket = SockRef::from(&stream);
        if let Some(keepalives) = &self.settings.keepalives {
            let mut wanted = TcpKeepalive::new();
            if let Some(idle) = keepalives.idle {
                wanted = wanted.with_time(idle);
            }
            if let Some(interval) = keepalives.interval {
                wanted = wanted.with_interval(interval);
            }
            #[cfg(not(windows))]
            if let Some(count) = keepalives.count {
                wanted = wanted.with_retries(count);
            }
            socket.set_tcp_keepalive(&wanted).map_err(away)?;
        }
        #[cfg(target_os = "linux")]
        if let Some(timeout) = self.settings.user_timeout {
            socket.set_tcp_user_timeout(Some(timeout)).map_err(away)?;
        }
        Ok(stream)
    }

    /// Asks for TLS and shakes hands, as far as it is wanted; returns how it went, for people.
    async fn encrypted(
        &self,
        host: &Host,
        mut stream: TcpStream,
        how: Try,
    ) -> Result<(Wire, String), Trouble> {
        let plain = || "TCP without encryption".to_owned();
        if how == Try::Plain {
            return Ok((Wire::Tcp(stream), plain()));
        }
        let prepared = self.prepared().map_err(|reason| Trouble::new(Cause::Setting, reason))?;
        let tls = &self.settings.tls;
        if !tls.is_direct {
            match offer(&mut stream).await? {
                true => {}
                false if how == Try::Offered => return Ok((Wire::Tcp(stream), plain())),
                false => {
                    let reason = "the server does not offer TLS; sslmode=prefer goes on without".to_owned();
                    return Err(Trouble::new(Cause::Unsecured, reason));
                }
            }
        }
        let name = host.name.clone().unwrap_or_default();
        let name = match ServerName::try_from(name) {
            Ok(name) => name,
            Err(_) if prepared.judged == Judged::Name => {
                let reason = "the name of the host is none that a certificate can have; sslmode=verify-ca does not compare it";
                return Err(Trouble::new(Cause::Setting, reason.to_owned()));
            }
            // It is not compared, and is not told to the server as addresses are not.
            Err(_) => ServerName::from(std::net::Ipv4Addr::UNSPECIFIED),
        };
        let connector = tokio_rustls::TlsConnector::from(Arc::clone(&prepared.configuration));
        let stream = connector
            .connect(name, stream)
            .await
            .map_err(|error| Trouble::of_handshake(&error, tls, prepared.judged))?;
        let (_, session) = stream.get_ref();
        if tls.is_direct && session.alpn_protocol() != Some(b"postgresql") {
            let reason =
                "the server does not know sslnegotiation=direct; PostgreSQL 17 and newer do".to_owned();
            return Err(Trouble::new(Cause::Unsecured, reason));
        }
        let version = match session.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_2) => "TLS 1.2",
            _ => "TLS 1.3",
        };
        let judged = match prepared.judged {
            Judged::No => "the certificate is not judged",
            Judged::Chain => "the certificate is judged, its name is not",
            Judged::Name => "the certificate and its name are judged",
        };
        let end_point = session.peer_certificates().and_then(|certificates| certificates.first());
        let end_point = end_point.and_then(|certificate| certificate::end_point(certificate));
        Ok((Wire::Tls(Box::new(Secured { stream, end_point })), format!("{version}, {judged}")))
    }

    fn prepared(&self) -> Result<Prepared, String> {
        // Nothing here panics while holding it.
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        match prepared.as_ref().filter(|prepared| prepared.since.elapsed() < READ_AGAIN) {
            Some(prepared) => Ok(prepared.clone()),
            None => {
                let (configuration, judged) = tls::configuration(&self.settings.tls)?;
                let fresh =
                    Prepared { since: Instant::now(), configuration: Arc::new(configuration), judged };
                Ok(prepared.insert(fresh).clone())
            }
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.settings.meant())
    }
}

fn away(error: std::io::Error) -> Trouble {
    Trouble::new(Cause::Away, trouble::first_line(&error))
}

/// Asks the server whether it speaks TLS.
async fn offer(stream: &mut TcpStream) -> Result<bool, Trouble> {
    // SSLRequest: its length, and a number that is no version. postgresql.org/docs/15/protocol-message-formats.html
    let request = [8_u32.to_be_bytes(), 80_877_103_u32.to_be_bytes()].concat();
    stream.write_all(&request).await.map_err(away)?;
    // One byte and no more: what stands behind it was not encrypted, and the handshake refuses it.
    match stream.read_u8().await.map_err(away)? {
        b'S' => Ok(true),
        b'N' => Ok(false),
        // What follows can come from anybody.
        b'E' => Err(Trouble::new(
            Cause::Later,
            "the server answers the question for TLS with an error".to_owned(),
        )),
        _ => Err(Trouble::new(Cause::Setting, "what answers there is no PostgreSQL server".to_owned())),
    }
}

#[cfg(unix)]
async fn socket(host: &Host) -> Result<Wire, Trouble> {
    let Way::Socket(folder) = &host.way else { return Err(no_sockets()) };
    let path = folder.join(format!(".s.PGSQL.{}", host.port));
    let stream = tokio::net::UnixStream::connect(path).await;
    stream.map(Wire::Unix).map_err(away)
}

#[cfg(not(unix))]
async fn socket(_: &Host) -> Result<Wire, Trouble> {
    Err(no_sockets())
}

fn no_sockets() -> Trouble {
    Trouble::new(Cause::Setting, "this system has no sockets of its own".to_owned())
}

/// Puts things into an order of chance, so that many programs do not all choose the same server.
fn shuffle<T>(things: &mut [T]) {
    use std::hash::{BuildHasher, RandomState};
    for end in (1..things.len()).rev() {
        // Each has keys of its own.
        let chance = RandomState::new().hash_one(end);
        let place = usize::try_from(chance % (end as u64 + 1)).unwrap_or_default();
        things.swap(end, place);
    }
}
