//! What a connection is to be, worked out of what was said.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_postgres::config::ChannelBinding;

use super::said::{From, Said, personal};
use super::url;

/// Where a server is looked for where nobody says it.
const SOCKETS: [&str; 3] = ["/var/run/postgresql", "/run/postgresql", "/tmp"];

/// So long is one of several hosts waited for where nothing is said: the next one may be there. libpq's least.
const EACH: Duration = Duration::from_secs(2);

/// Everything about a connection but the options' own password.
pub(super) struct Settings {
    pub(super) hosts: Vec<Host>,
    pub(super) user: String,
    pub(super) database: Option<String>,
    pub(super) password: Option<String>,
    /// Whether it stands in the URL itself.
    pub(super) is_password_of_url: bool,
    pub(super) passfile: Option<PathBuf>,
    pub(super) application: String,
    pub(super) options: Option<String>,
    /// For each host, until it can be used.
    pub(super) connect_timeout: Option<Duration>,
    pub(super) keepalives: Option<Keepalives>,
    pub(super) user_timeout: Option<Duration>,
    pub(super) wanted: Wanted,
    pub(super) shuffles: bool,
    pub(super) binding: ChannelBinding,
    pub(super) tls: Tls,
    pub(super) notify: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    /// As it is named; nothing if there is only an address.
    pub(super) name: Option<String>,
    pub(super) way: Way,
    pub(super) port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Name(String),
    Address(IpAddr),
    Socket(PathBuf),
}

pub(super) struct Keepalives {
    pub(super) idle: Option<Duration>,
    pub(super) interval: Option<Duration>,
    pub(super) count: Option<u32>,
}

/// `target_session_attrs`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
}

/// `sslmode`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mode {
    Disable,
    Allow,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

pub(super) struct Tls {
    pub(super) mode: Mode,
    /// Whether it begins with the handshake.
    pub(super) is_direct: bool,
    pub(super) root: Root,
    pub(super) lists: Option<File>,
    pub(super) certificate: Option<File>,
    pub(super) key: Option<File>,
    pub(super) names_host: bool,
    pub(super) oldest_is_1_3: bool,
    pub(super) newest_is_1_2: bool,
}

pub(super) enum Root {
    System,
    File(Option<File>),
}

/// A file, and whether it must exist.
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) is_named: bool,
}

const MODES: [(&str, Mode); 6] = [
    ("disable", Mode::Disable),
    ("allow", Mode::Allow),
    ("prefer", Mode::Prefer),
    ("require", Mode::Require),
    ("verify-ca", Mode::VerifyCa),
    ("verify-full", Mode::VerifyFull),
];
const WANTED: [(&str, Wanted); 6] = [
    ("any", Wanted::Any),
    ("read-write", Wanted::ReadWrite),
    ("read-only", Wanted::ReadOnly),
    ("primary", Wanted::Primary),
    ("standby", Wanted::Standby),
    ("prefer-standby", Wanted::PreferStandby),
];
const BINDINGS: [(&str, ChannelBinding); 3] = [
    ("disable", ChannelBinding::Disable),
    ("prefer", ChannelBinding::Prefer),
    ("require", ChannelBinding::Require),
];
/// TLS 1.0 and 1.1 are spoken by nobody here.
const OLDEST: [(&str, bool); 4] =
    [("TLSv1", false), ("TLSv1.1", false), ("TLSv1.2", false), ("TLSv1.3", true)];
const NEWEST: [(&str, bool); 2] = [("TLSv1.2", true), ("TLSv1.3", false)];

impl Mode {
    pub(super) fn word(self) -> &'static str {
        MODES.iter().find(|(_, mode)| *mode == self).map_or("", |(word, _)| word)
    }
}

impl Wanted {
    pub(super) fn word(self) -> &'static str {
        WANTED.iter().find(|(_, wanted)| *wanted == self).map_or("", |(word, _)| word)
    }
}

impl Settings {
    pub(super) fn of(url: &str) -> Result<Self, String> {
        let said = Said::gather(url::parse(url)?)?;
        let hosts = hosts(&said)?;
        let on_or_off = [("0", false), ("1", true)];
        let user = match said.text("user") {
            Some(user) => user.to_owned(),
            None => {
                whoami::username().map_err(|_| "no user is named, and the system does not tell its own")?
            }
        };
        let connect_timeout = match said.number("connect_timeout")? {
            Some(0) => None,
            // As libpq has it.
            Some(seconds) => Some(Duration::from_secs(u64::from(seconds).max(2))),
            None => (hosts.len() > 1).then_some(EACH),
        };
        let seconds = |name| -> Result<Option<Duration>, String> {
            let number = said.number(name)?.filter(|number| *number > 0);
            Ok(number.map(|number| Duration::from_secs(u64::from(number))))
        };
        let keepalives = Keepalives {
            idle: seconds("keepalives_idle")?,
            interval: seconds("keepalives_interval")?,
            count: said.number("keepalives_count")?.filter(|number| *number > 0),
        };
        let user_timeout = said.number("tcp_user_timeout")?.filter(|number| *number > 0);
        let wanted = said.word("target_session_attrs", &WANTED)?;
        let application = said.text("application_name").or_else(|| said.text("fallback_application_name"));
        Ok(Settings {
            // A store writes.
            wanted: wanted.unwrap_or(if hosts.len() > 1 { Wanted::ReadWrite } else { Wanted::Any }),
            user,
            database: said.text("dbname").map(str::to_owned),
            password: said.text("password").map(str::to_owned),
            is_password_of_url: said.from("password") == Some(From::Url),
            passfile: said
                .text("passfile")
                .map(PathBuf::from)
                .or_else(|| personal(if cfg!(windows) { "pgpass.conf" } else { ".pgpass" })),
            application: application.unwrap_or("trunkline").to_owned(),
            options: said.text("options").map(str::to_owned),
            connect_timeout,
            keepalives: said.number("keepalives")?.is_none_or(|number| number != 0).then_some(keepalives),
            user_timeout: user_timeout.map(|number| Duration::from_millis(u64::from(number))),
            shuffles: said
                .word("load_balance_hosts", &[("disable", false), ("random", true)])?
                .unwrap_or(false),
            binding: said.word("channel_binding", &BINDINGS)?.unwrap_or(ChannelBinding::Prefer),
            tls: Tls::of(&said, &hosts, &on_or_off)?,
            notify: said.word("notify", &[("on", true), ("off", false)])?,
            hosts,
        })
    }

    /// Returns where it is, without anything secret.
    pub(super) fn place(&self) -> String {
        let hosts: Vec<String> = self.hosts.iter().map(Host::shown).collect();
        // Without a name the server takes that of the user, which is not ours to print.
        let database = self.database.as_deref().map(url::encoded).unwrap_or_default();
        format!("postgres://{}/{database}", hosts.join(","))
    }

    /// Returns what is meant, without anything secret: only whether there is a password, and no path.
    pub(super) fn meant(&self) -> String {
        let mut whole = format!("{} target_session_attrs={}", self.place(), self.wanted.word());
        let mut add = |text: &str| {
            whole.push(' ');
            whole.push_str(text);
        };
        add(&format!("sslmode={}", self.tls.mode.word()));
        if self.tls.is_direct {
            add("sslnegotiation=direct");
        }
        match &self.tls.root {
            Root::System => add("sslrootcert=system"),
            Root::File(Some(file)) if file.is_named => add("sslrootcert"),
            Root::File(_) => {}
        }
        let files =
            [("sslcert", &self.tls.certificate), ("sslkey", &self.tls.key), ("sslcrl", &self.tls.lists)];
        for (name, file) in files {
            if file.as_ref().is_some_and(|file| file.is_named) {
                add(name);
            }
        }
        match self.binding {
            ChannelBinding::Disable => add("channel_binding=disable"),
            ChannelBinding::Require => add("channel_binding=require"),
            _ => {}
        }
        if let Some(timeout) = self.connect_timeout {
            add(&format!("connect_timeout={}", timeout.as_secs()));
        }
        for (name, is_said) in [
            ("password", self.password.is_some()),
            ("options", self.options.is_some()),
            ("load_balance_hosts", self.shuffles),
            ("notify=on", self.notify == Some(true)),
            ("notify=off", self.notify == Some(false)),
        ] {
            if is_said {
                add(name);
            }
        }
        whole
    }
}

impl Host {
    /// Returns it as it stands in a URL.
    pub(super) fn shown(&self) -> String {
        let host = match (&self.name, &self.way) {
            (_, Way::Socket(folder)) => url::encoded(&folder.to_string_lossy()),
            (Some(name), _) if name.contains(':') => format!("[{name}]"),
            (Some(name), _) => name.clone(),
            (None, Way::Address(IpAddr::V6(address))) => format!("[{address}]"),
            (None, Way::Address(address)) => address.to_string(),
            (None, Way::Name(name)) => name.clone(),
        };
        format!("{host}:{}", self.port)
    }
}

impl Tls {
    fn of(said: &Said, hosts: &[Host], on_or_off: &[(&str, bool)]) -> Result<Self, String> {
        let file = |name: &str, usual: &str| {
            let named = said.text(name).map(|path| File { path: PathBuf::from(path), is_named: true });
            let usual = || {
                let usual = if cfg!(windows) { usual.to_owned() } else { format!(".postgresql/{usual}") };
                personal(&usual).map(|path| File { path, is_named: false })
            };
            named.or_else(usual)
        };
        let is_system = said.text("sslrootcert") == Some("system");
        let mode = match said.word("sslmode", &MODES)? {
            Some(mode) if is_system && mode < Mode::VerifyFull => {
                let label = said.label("sslrootcert");
                return Err(format!(
                    "{label} is `system`, under which anybody can have a certificate; it takes sslmode=verify-full"
                ));
            }
            Some(mode) => mode,
            None if is_system => Mode::VerifyFull,
            None => Mode::Prefer,
        };
        let is_direct =
            said.word("sslnegotiation", &[("postgres", false), ("direct", true)])?.unwrap_or(false);
        let uses_network = hosts.iter().any(|host| !matches!(host.way, Way::Socket(_)));
        if is_direct && mode < Mode::Require && uses_network {
            return Err(format!(
                "{} is `direct`, which takes sslmode=require or stricter",
                said.label("sslnegotiation")
            ));
        }
        let nameless = hosts.iter().any(|host| host.name.is_none());
        if mode == Mode::VerifyFull && nameless && uses_network {
            return Err(
                "sslmode=verify-full compares the name of the host, and only `hostaddr` is said; add `host`"
                    .to_owned(),
            );
        }
        Ok(Tls {
            mode,
            is_direct,
            root: if is_system { Root::System } else { Root::File(file("sslrootcert", "root.crt")) },
            lists: file("sslcrl", "root.crl"),
            certificate: file("sslcert", "postgresql.crt"),
            key: file("sslkey", "postgresql.key"),
            names_host: said.word("sslsni", on_or_off)?.unwrap_or(true),
            oldest_is_1_3: said.word("ssl_min_protocol_version", &OLDEST)?.unwrap_or(false),
            newest_is_1_2: said.word("ssl_max_protocol_version", &NEWEST)?.unwrap_or(false),
        })
    }
}

fn hosts(said: &Said) -> Result<Vec<Host>, String> {
    let list = |name: &str| -> Vec<String> {
        said.text(name)
            .map(|text| text.split(',').map(|one| one.trim().to_owned()).collect())
            .unwrap_or_default()
    };
    let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"));
    let count = names.len().max(addresses.len()).max(1);
    if !names.is_empty() && !addresses.is_empty() && names.len() != addresses.len() {
        return Err(format!(
            "{} and {} name a different number of hosts",
            said.label("host"),
            said.label("hostaddr")
        ));
    }
    if ports.len() > 1 && ports.len() != count {
        return Err(format!("{} has to name one port, or as many as there are hosts", said.label("port")));
    }
    // One process knows a good number of servers, not any number.
    if count > 64 {
        return Err("it names more than 64 hosts".to_owned());
    }
    let mut hosts = Vec::with_capacity(count);
    for number in 0..count {
        let port = ports.get(number).or_else(|| ports.first().filter(|_| ports.len() == 1));
        let port = match port.map(String::as_str) {
            None | Some("") => 5432,
            Some(port) => match port.parse() {
                Ok(port) if port > 0 => port,
                _ => return Err(format!("{} takes numbers between 1 and 65535", said.label("port"))),
            },
        };
        let name = names.get(number).filter(|name| !name.is_empty());
        let address = addresses.get(number).filter(|address| !address.is_empty());
        let address = match address {
            Some(address) => Some(
                address
                    .parse()
                    .map_err(|_| format!("{} takes addresses in numbers", said.label("hostaddr")))?,
            ),
            None => None,
        };
        let way = match (name, address) {
            (_, Some(address)) => Way::Address(address),
            (Some(name), None) if name.starts_with('/') && cfg!(unix) => Way::Socket(PathBuf::from(name)),
            (Some(name), None) => {
                let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:%".contains(&byte);
                if !name.bytes().all(fits) || name.len() > 255 {
                    return Err(format!(
                        "{} has a letter that no name of a host has; in a user name or a password \
                                        write : as %3A, / as %2F, @ as %40 and , as %2C",
                        said.label("host")
                    ));
                }
                name.parse().map_or_else(|_| Way::Name(name.clone()), Way::Address)
            }
            (None, None) => usual(port),
        };
        let name = match (&way, name) {
            (Way::Name(way), None) => Some(way.clone()),
            (_, name) => name.cloned(),
        };
        hosts.push(Host { name, way, port });
    }
    Ok(hosts)
}

/// Returns where a server of this machine is: in the folder that its packages make, if they have made one. Everybody can put
/// a socket into `/tmp`, and would be sent the password.
fn usual(port: u16) -> Way {
    let folder = SOCKETS.iter().map(Path::new).find(|folder| cfg!(unix) && folder.is_dir());
    match folder.filter(|folder| folder.join(format!(".s.PGSQL.{port}")).exists()) {
        Some(folder) => Way::Socket(folder.to_owned()),
        None => Way::Name("localhost".to_owned()),
    }
}
