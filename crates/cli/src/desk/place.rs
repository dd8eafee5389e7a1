//! Where sessions are kept: a file, or a database server for a team.
//!
//! Commands that only read never make a database: a mistyped path is an error and not an empty store. A server's password
//! never leaves this module.

mod url;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use etcetera::{BaseStrategy, choose_base_strategy};
use trunkline_session_store::{PostgresAdmin, PostgresOptions, PostgresStore, SessionStore, SqliteStore};

use self::url::{Unusable, Url};
use crate::args::Everywhere;
use crate::term::fault::Fault;
use crate::term::shell::{program, quoted};
use crate::term::style::{YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::{one_line, safe};

/// What a place can be.
const PLACES: &str = "name a file, or postgres://USER@HOST/DATABASE";
/// Where the password of a server may come from.
const PASSWORD_FILE: &str = "TRUNKLINE_STORE_PASSWORD_FILE";
const PASSWORD_COMMAND: &str = "TRUNKLINE_STORE_PASSWORD_COMMAND";
/// Stands for a name that the system does not tell.
const NO_NAME: &str = "a machine without a name";

/// A store of whatever kind.
pub(crate) type Store = Arc<dyn SessionStore>;

/// Where the store is, and whether every command has to be told so.
#[derive(Debug)]
pub(crate) struct Place {
    kind: Kind,
    named: bool,
    opened: Mutex<Option<Opened>>,
    /// Another folder than the session's own that was named for this command, and has to be for the next.
    folder: OnceLock<PathBuf>,
}

/// What kind of place it is.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A SQLite database.
    File(PathBuf),
    /// A PostgreSQL database.
    Server(Url),
}

#[derive(Debug)]
enum Opened {
    Sqlite(Box<SqliteStore>),
    Postgres(PostgresStore),
}

impl Place {
    /// Finds the place from what was typed, the environment, or the platform's data folder.
    pub(crate) fn find(typed: &Everywhere) -> Result<Self, Fault> {
        if let Some(named) = &typed.store {
            let place = Place::new(Kind::of(named)?, true);
            if place.is_secret() {
                let warning =
                    "others can see the command line, and so the password in it; TRUNKLINE_STORE is not seen";
                tell(&format!("{} {warning}\n", paint(YELLOW, "note:")));
            }
            return Ok(place);
        }
        if let Some(named) = std::env::var_os("TRUNKLINE_STORE").filter(|named| !named.is_empty()) {
            return Ok(Place::new(Kind::of(&named)?, false));
        }
        let strategy = choose_base_strategy().map_err(|error| {
            Fault::usage(format!("cannot tell where your data folder is: {error}"))
                .hint("name a database with --store or TRUNKLINE_STORE")
        })?;
        let path = strategy.data_dir().join("trunkline").join("sessions.db");
        Ok(Place::new(Kind::File(path), false))
    }

    fn new(kind: Kind, named: bool) -> Self {
        Place { kind, named, opened: Mutex::new(None), folder: OnceLock::new() }
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Opens the store and makes it if it is not there.
    pub(crate) async fn open(&self) -> Result<Store, Fault> {
        let (opened, store): (Opened, Store) = match &self.kind {
            Kind::File(path) => {
                let store = SqliteStore::open(path).await?;
                // Whatever was done to it without being asked.
                for line in store.opened().to_string().lines() {
                    tell(&format!("{} {}\n", paint(YELLOW, "store:"), safe(line)));
                }
                (Opened::Sqlite(Box::new(store.clone())), Arc::new(store))
            }
            Kind::Server(url) => {
                let store = PostgresStore::open(options(url)?).await?;
                (Opened::Postgres(store.clone()), Arc::new(store))
            }
        };
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened);
        Ok(store)
    }

    /// Connects to a server as an administrator, which changes nothing; nothing for a file.
    pub(crate) async fn admin(&self) -> Result<Option<PostgresAdmin>, Fault> {
        match &self.kind {
            Kind::File(_) => Ok(None),
            Kind::Server(url) => Ok(Some(PostgresAdmin::connect(options(url)?).await?)),
        }
    }

    /// Connects to a server as an administrator of a team, which changes nothing.
    pub(crate) async fn admin_of(&self, team: &str) -> Result<PostgresAdmin, Fault> {
        match &self.kind {
            Kind::File(_) => Err(no_teams()),
            Kind::Server(url) => Ok(PostgresAdmin::connect(options(url)?.schema(team)).await?),
        }
    }

    /// Opens the store of a team as its administrator.
    pub(crate) async fn store_of(&self, team: &str) -> Result<PostgresStore, Fault> {
        match &self.kind {
            Kind::File(_) => Err(no_teams()),
            Kind::Server(url) => Ok(PostgresStore::open(options(url)?.schema(team)).await?),
        }
    }

    /// Returns the URL with which a team comes to the same database, if it can be shown.
    pub(crate) fn url_of(&self, team: &str) -> Option<String> {
        match &self.kind {
            Kind::File(_) => None,
            Kind::Server(url) => of_team(&url.shown, team),
        }
    }

    /// Opens the file of a store on this machine, which must be there.
    pub(crate) async fn open_file(&self) -> Result<SqliteStore, Fault> {
        self.open_existing().await?;
        match self.opened.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            Some(Opened::Sqlite(store)) => Ok(SqliteStore::clone(store)),
            _ => Err(Fault::usage("the store is not a file")),
        }
    }

    /// Closes the store, so that the database is whole without the files beside it. Not doing so loses nothing.
    pub(crate) async fn close(self) {
        match self.opened.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(Opened::Sqlite(store)) => store.close().await,
            Some(Opened::Postgres(store)) => store.close().await,
            None => {}
        }
    }

    /// Opens the store if it is there.
    pub(crate) async fn open_existing(&self) -> Result<Store, Fault> {
        if !self.exists() {
            return Err(Fault::usage(format!("there is no session store at {self}"))
                .hint("`trunkline demo` or `trunkline run` makes one; --store names another"));
        }
        self.open().await
    }

    pub(crate) fn exists(&self) -> bool {
        match &self.kind {
            // A dangling link or a folder without permission is not "nothing": opening it says what is wrong.
            Kind::File(path) => {
                let is_there = |path: &Path| !matches!(path.symlink_metadata(), Err(error) if error.kind() == std::io::ErrorKind::NotFound);
                let mut log = path.clone().into_os_string();
                log.push("-wal");
                // A log without its database may have all that was acknowledged: opening it says so.
                is_there(path) || is_there(Path::new(&log))
            }
            // Whoever names a database has made it; its tables come with the first opening.
            Kind::Server(_) => true,
        }
    }

    /// Lets every command that works on files name this folder too: what is shown in one must not be done in another.
    pub(crate) fn in_folder(&self, folder: Option<&Path>) {
        if let Some(folder) = folder.and_then(|folder| folder.canonicalize().ok()) {
            let _ = self.folder.set(folder);
        }
    }

    /// Returns a command that people can type next.
    pub(crate) fn command(&self, rest: &str) -> String {
        let program = program();
        let on_files = ["resume ", "resolve ", "decide "].iter().any(|command| rest.starts_with(command));
        let rest = match self.folder.get().and_then(|folder| folder.to_str()) {
            Some(folder) if on_files && !rest.contains(" -C ") => format!("{rest} -C {}", quoted(folder)),
            _ => rest.to_owned(),
        };
        match self.named && !self.is_secret() {
            true => format!("{program} --store {} {rest}", quoted(&self.to_string())),
            // With a password in it, the command expects TRUNKLINE_STORE, as was said at the start.
            false => format!("{program} {rest}"),
        }
    }

    fn is_secret(&self) -> bool {
        matches!(&self.kind, Kind::Server(url) if url.is_secret)
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            Kind::File(path) => path.display().fmt(f),
            Kind::Server(url) => f.write_str(&url.shown),
        }
    }
}

fn no_teams() -> Fault {
    Fault::usage("only a database server has teams").hint("name postgres://USER@HOST/DATABASE")
}

impl Kind {
    /// Tells files from servers. What is refused is not repeated: there may be a password in it.
    fn of(named: &OsStr) -> Result<Self, Fault> {
        let text = named.to_string_lossy();
        if text.is_empty() {
            return Err(Fault::usage("the place of the store is empty").hint(PLACES));
        }
        if url::is_url(&text) {
            let whole = named.to_str().ok_or(Unusable::NotEncoded);
            return whole.and_then(Url::parse).map(Kind::Server).map_err(unusable);
        }
        // What may hold a password is not repeated, unless it is the name of a file. Another scheme is told below.
        let has_login =
            !text.contains("://") && text.split_once('@').is_some_and(|(login, _)| login.contains(':'));
        if url::is_nearly_url(&text) || has_login && !Path::new(named).exists() {
            let fault = Fault::usage("the place of the store is given like that of a server, and is no URL");
            return Err(fault.hint(format!("{PLACES}; the file postgres:x is ./postgres:x")));
        }
        let Some((scheme, _)) = text.split_once("://") else { return Ok(Kind::File(named.into())) };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        let scheme = if scheme.bytes().all(plain) { one_line(scheme, 40) } else { "…".to_owned() };
        Err(Fault::usage(format!("no store can be opened by {scheme}://…")).hint(PLACES))
    }
}

/// Returns the URL with which a team comes to the database of a shown one: nothing in it is the administrator's own.
fn of_team(shown: &str, team: &str) -> Option<String> {
    const OWN: [&str; 6] = ["schema", "user", "sslcert", "sslkey", "application_name", "options"];
    let (scheme, rest) = shown.split_once("://").filter(|(_, rest)| *rest != "…")?;
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
    let is_own = |parameter: &&str| OWN.contains(&parameter.split('=').next().unwrap_or_default());
    let others = query.split('&').filter(|parameter| !parameter.is_empty() && !is_own(parameter));
    let own = format!("schema={team}");
    let parameters: Vec<&str> = others.chain([own.as_str()]).collect();
    Some(format!("{scheme}://{team}@{host}?{}", parameters.join("&")))
}

/// Returns how the database of a URL is reached.
fn options(url: &Url) -> Result<PostgresOptions, Fault> {
    let options = PostgresOptions::new(url.server.as_str()).name(own_name());
    with_password(match &url.schema {
        Some(schema) => options.schema(schema),
        None => options,
    })
}

/// Takes the password from a file or a command where the environment names one. A URL never does: it may come from others.
fn with_password(options: PostgresOptions) -> Result<PostgresOptions, Fault> {
    let said = |name| std::env::var_os(name).filter(|value: &std::ffi::OsString| !value.is_empty());
    match (said(PASSWORD_FILE), said(PASSWORD_COMMAND)) {
        (None, None) => Ok(options),
        (Some(file), None) => Ok(options.password_file(file)),
        (None, Some(command)) if cfg!(windows) => Ok(options.password_command("cmd", ["/C".into(), command])),
        (None, Some(command)) => Ok(options.password_command("sh", ["-c".into(), command])),
        (Some(_), Some(_)) => {
            Err(Fault::usage(format!("{PASSWORD_FILE} and {PASSWORD_COMMAND} are both set"))
                .hint("unset one of them"))
        }
    }
}

/// Says what to do about a URL without repeating a word of it.
fn unusable(why: Unusable) -> Fault {
    match why {
        Unusable::NotEncoded => Fault::usage("the URL of the store can be read in more than one way").hint(
            "in a user name, a password and the value of a parameter write @ as %40, / as %2F, ? as %3F, # as %23, \
             & as %26 and whatever is no UTF-8 likewise; names of parameters stand as they are",
        ),
        Unusable::ManySchemas => Fault::usage("the URL of the store names more than one schema")
            .hint("a store is in one schema: leave one `schema=NAME`"),
    }
}

/// Returns what others are told of who writes: on a server they are on many machines.
fn own_name() -> String {
    let file = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| std::fs::read_to_string("/etc/hostname"));
    let machine = file.ok().map(|name| one_line(&name, 60)).filter(|name| !name.is_empty());
    format!("process {} on {}", std::process::id(), machine.as_deref().unwrap_or(NO_NAME))
}
