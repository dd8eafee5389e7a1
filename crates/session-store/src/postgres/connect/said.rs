//! What was said about a connection, and where: the URL, a service's file, the environment, in this order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A parameter, the variable that says it where nothing else does, and what becomes of it.
const PARAMETERS: &[(&str, &str, Use)] = &[
    ("host", "PGHOST", Use::Taken),
    ("hostaddr", "PGHOSTADDR", Use::Taken),
    ("port", "PGPORT", Use::Taken),
    ("dbname", "PGDATABASE", Use::Taken),
    ("user", "PGUSER", Use::Taken),
    ("password", "PGPASSWORD", Use::Taken),
    ("passfile", "PGPASSFILE", Use::Taken),
    ("service", "PGSERVICE", Use::Taken),
    ("servicefile", "PGSERVICEFILE", Use::Taken),
    ("options", "PGOPTIONS", Use::Taken),
    ("application_name", "PGAPPNAME", Use::Taken),
    ("fallback_application_name", "", Use::Taken),
    ("connect_timeout", "PGCONNECT_TIMEOUT", Use::Taken),
    ("keepalives", "", Use::Taken),
    ("keepalives_idle", "", Use::Taken),
    ("keepalives_interval", "", Use::Taken),
    ("keepalives_count", "", Use::Taken),
    ("tcp_user_timeout", "", Use::Taken),
    ("target_session_attrs", "PGTARGETSESSIONATTRS", Use::Taken),
    ("load_balance_hosts", "PGLOADBALANCEHOSTS", Use::Taken),
    ("channel_binding", "PGCHANNELBINDING", Use::Taken),
    ("sslmode", "PGSSLMODE", Use::Taken),
    ("sslnegotiation", "PGSSLNEGOTIATION", Use::Taken),
    ("sslrootcert", "PGSSLROOTCERT", Use::Taken),
    ("sslcrl", "PGSSLCRL", Use::Taken),
    ("sslcert", "PGSSLCERT", Use::Taken),
    ("sslkey", "PGSSLKEY", Use::Taken),
    ("sslsni", "PGSSLSNI", Use::Taken),
    ("ssl_min_protocol_version", "PGSSLMINPROTOCOLVERSION", Use::Taken),
    ("ssl_max_protocol_version", "PGSSLMAXPROTOCOLVERSION", Use::Taken),
    // Ours: whether notifications come through.
    ("notify", "", Use::Taken),
    ("client_encoding", "PGCLIENTENCODING", Use::Only(&["auto", "utf8", "utf-8", "unicode"])),
    ("gssencmode", "PGGSSENCMODE", Use::Only(&["disable", "prefer"])),
    ("sslcertmode", "PGSSLCERTMODE", Use::Only(&["allow"])),
    ("replication", "", Use::Only(&["false", "off", "no", "0"])),
    ("require_auth", "PGREQUIREAUTH", Use::Only(&[])),
    ("requirepeer", "PGREQUIREPEER", Use::Only(&[])),
    ("sslcrldir", "PGSSLCRLDIR", Use::Only(&[])),
    ("sslpassword", "", Use::Only(&[])),
    ("requiressl", "", Use::Only(&["0"])),
    // They change nothing where there is neither Kerberos nor compression.
    ("gssdelegation", "PGGSSDELEGATION", Use::Only(&["0"])),
    ("gsslib", "PGGSSLIB", Use::Ignored),
    ("krbsrvname", "PGKRBSRVNAME", Use::Ignored),
    ("sslcompression", "PGSSLCOMPRESSION", Use::Ignored),
    // What sqlx, which connected earlier, also took.
    ("statement-cache-capacity", "", Use::Ignored),
];

/// Other words for the same, which sqlx took.
const ALIASES: &[(&str, &str)] = &[
    ("ssl-mode", "sslmode"),
    ("ssl-root-cert", "sslrootcert"),
    ("ssl-ca", "sslrootcert"),
    ("ssl-cert", "sslcert"),
    ("ssl-key", "sslkey"),
];

/// What is said where a name could be a piece of a password.
const NO_NAME: &str = "one of its parameters is not known; in a password write & as %26";

enum Use {
    Taken,
    /// Taken where it asks for what happens anyway.
    Only(&'static [&'static str]),
    Ignored,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum From {
    Url,
    Service,
    Environment,
}

/// Everything that was said, by parameter. What is empty counts as not said, and hides what stands behind it.
pub(super) struct Said(BTreeMap<&'static str, (From, String)>);

impl Said {
    /// Gathers what a URL says, and what it leaves to others.
    pub(super) fn gather(url: Vec<(String, String)>) -> Result<Self, String> {
        let mut said = Said(BTreeMap::new());
        let mut options = Vec::new();
        for (name, value) in url {
            // What follows a password can be the rest of one that has a `&`.
            let is_after_secret = said.0.contains_key("password");
            let name =
                ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name.as_str(), |(_, name)| *name);
            match name.strip_prefix("options[").and_then(|inner| inner.strip_suffix(']')) {
                Some(setting) => {
                    if !setting.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte)) {
                        return Err("the parameter `options[…]` names no setting of the server".to_owned());
                    }
                    options.push(format!("-c {setting}={}", escaped(&value)));
                }
                // JDBC's word, which libpq takes too.
                None if name == "ssl" && value == "true" => {
                    said.set(From::Url, "sslmode", "require".to_owned())?
                }
                None => said.set(From::Url, name, value).map_err(|reason| {
                    match is_after_secret && !is_known(name) {
                        true => NO_NAME.to_owned(),
                        false => reason,
                    }
                })?,
            }
        }
        if !options.is_empty() {
            let before = said.0.remove("options").map(|(_, before)| before);
            let whole = before.into_iter().chain(options).collect::<Vec<_>>().join(" ");
            said.set(From::Url, "options", whole)?;
        }
        let variable = |name: &str| match name {
            "" => None,
            name => std::env::var(name).ok().filter(|value| !value.is_empty()),
        };
        let service = said.text("service").map(str::to_owned).or_else(|| variable("PGSERVICE"));
        if let Some(service) = service {
            let file = said.text("servicefile").map(str::to_owned).or_else(|| variable("PGSERVICEFILE"));
            for (name, value) in of_service(&service, file.map(PathBuf::from))? {
                if !said.0.contains_key(name.as_str()) {
                    said.set(From::Service, &name, value)?;
                }
            }
        }
        if let Some((_, value)) = said.0.get("sslmode")
            && value.is_empty()
        {
            return Err("the parameter `sslmode` is empty: say which, or leave it out".to_owned());
        }
        for (name, from, _) in PARAMETERS {
            if let Some(value) = variable(from).filter(|_| !said.0.contains_key(name)) {
                said.set(From::Environment, name, value)?;
            }
        }
        if !said.0.contains_key("sslmode")
            && std::env::var_os("PGSSLMODE").is_some_and(|value| value.is_empty())
        {
            return Err("the variable PGSSLMODE is empty: say which, or unset it".to_owned());
        }
        // An old word for `PGSSLMODE=require`.
        if !said.0.contains_key("sslmode")
            && variable("PGREQUIRESSL").is_some_and(|value| value.starts_with('1'))
        {
            said.set(From::Environment, "sslmode", "require".to_owned())?;
        }
        said.0.retain(|_, (_, value)| !value.is_empty());
        Ok(said)
    }

    /// Returns what was said of a parameter.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    pub(super) fn from(&self, name: &str) -> Option<From> {
        self.0.get(name).map(|(from, _)| *from)
    }

    /// Returns how people find what was said: the name of the variable, or of the parameter. Never its value.
    pub(super) fn label(&self, name: &str) -> String {
        let variable =
            PARAMETERS.iter().find(|(known, _, _)| *known == name).map_or("", |(_, variable, _)| *variable);
        match self.from(name) {
            Some(From::Environment) => format!("the variable {variable}"),
            Some(From::Service) => format!("the parameter `{name}` of the service"),
            _ => format!("the parameter `{name}`"),
        }
    }

    /// Returns one of some words, or says which there are.
    pub(super) fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<T>, String> {
        let Some(value) = self.text(name) else { return Ok(None) };
        match words.iter().find(|(word, _)| *word == value) {
            Some((_, meant)) => Ok(Some(*meant)),
            None => {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                Err(format!("{} takes one of {}", self.label(name), words.join(", ")))
            }
        }
    }

    /// Returns a number; libpq also takes negative ones, which mean what 0 means.
    pub(super) fn number(&self, name: &str) -> Result<Option<u32>, String> {
        let Some(value) = self.text(name) else { return Ok(None) };
        let number = value.trim().parse::<i64>().ok().map(|number| u32::try_from(number.max(0)));
        match number {
            // A day and more: longer than anything that is waited for.
            Some(Ok(number)) if number < 1_000_000_000 => Ok(Some(number)),
            _ => Err(format!("{} takes a whole number", self.label(name))),
        }
    }

    fn set(&mut self, from: From, name: &str, value: String) -> Result<(), String> {
        let Some((name, _, taken)) = PARAMETERS.iter().find(|(known, _, _)| *known == name) else {
            // What is not a name can be a piece of a password.
            let is_name = name.len() <= 40
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
            return Err(match is_name {
                true if name == "schema" => {
                    "the parameter `schema` is for the command; a library says PostgresOptions::schema"
                        .to_owned()
                }
                true => format!("the parameter `{name}` is not known"),
                false => NO_NAME.to_owned(),
            });
        };
        let value = match taken {
            Use::Ignored => return Ok(()),
            Use::Taken => value,
            Use::Only(fine)
                if value.is_empty() || fine.iter().any(|fine| value.eq_ignore_ascii_case(fine)) =>
            {
                return Ok(());
            }
            Use::Only(_) => {
                self.0.insert(name, (from, value));
                return Err(format!(
                    "{} asks for what is not supported here; leave it out",
                    self.label(name)
                ));
            }
        };
        self.0.insert(name, (from, value));
        Ok(())
    }
}

fn is_known(name: &str) -> bool {
    PARAMETERS.iter().any(|(known, _, _)| *known == name)
}

/// Returns a file that PostgreSQL's own programs look for in the home of who runs them.
pub(super) fn personal(name: &str) -> Option<PathBuf> {
    if cfg!(windows) {
        return std::env::var_os("APPDATA").map(|folder| Path::new(&folder).join("postgresql").join(name));
    }
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty()).map(|home| home.join(name))
}

/// Reads a service from its file: `[name]`, and lines `parameter=value` below it.
fn of_service(service: &str, file: Option<PathBuf>) -> Result<Vec<(String, String)>, String> {
    let own = personal(".pg_service.conf");
    let system = std::env::var_os("PGSYSCONFDIR").unwrap_or_else(|| "/etc/postgresql-common".into());
    let files = match file {
        Some(file) => vec![file],
        None => own.into_iter().chain([Path::new(&system).join("pg_service.conf")]).collect(),
    };
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let mut found = None;
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                if found.is_some() {
                    break;
                }
                found = (name == service).then(Vec::new);
            } else if let Some(found) = &mut found {
                let (name, value) = line.split_once('=').ok_or("the service's file has a line without =")?;
                // A service cannot lead to another one.
                if name.trim() == "service" {
                    return Err("the service's file names another service".to_owned());
                }
                found.push((name.trim().to_owned(), value.trim().to_owned()));
            }
        }
        if let Some(found) = found {
            return Ok(found);
        }
    }
    Err("the service that is named (`service`, PGSERVICE) stands in no file (PGSERVICEFILE, ~/.pg_service.conf)".to_owned())
}

/// Returns a value as it stands in `options`, where spaces part what the server is told.
fn escaped(value: &str) -> String {
    let mut whole = String::new();
    for letter in value.chars() {
        if letter == '\\' || letter.is_whitespace() {
            whole.push('\\');
        }
        whole.push(letter);
    }
    whole
}
