//! The PostgreSQL that tests get: one that a person names, or a throw-away cluster, or none, and then everybody hears it.
//!
//! A cluster is owned by a shell script and not by this program: the script ends it when our end of a pipe closes, and
//! the system closes that however we end.

mod binaries;

use std::env::VarError;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::time::Instant;

use crate::cargo::{cannot_start, line_of, text_of};
use crate::workspace::{PREFIX, Workspace};

/// The URL of a server on which each test makes what it needs. A person may set it; `none` means: do without.
const URL: &str = "TRUNKLINE_TEST_POSTGRES";
/// The URL of a way through a pooler in transaction mode to the database of [`URL`], and of one in session mode. A person
/// may set both; `none` in the first means: do without.
const POOLED: &str = "TRUNKLINE_TEST_POSTGRES_POOLED";
const POOLED_SESSION: &str = "TRUNKLINE_TEST_POSTGRES_POOLED_SESSION";
/// The folder of a server's binaries. A person may set it.
const BINARIES: &str = "TRUNKLINE_TEST_POSTGRES_BIN";
/// The script that makes a cluster and owns it; a test that stops servers starts one of its own with it.
const CLUSTER: &str = "TRUNKLINE_TEST_POSTGRES_CLUSTER";

/// Packages whose tests look at these variables. The others are not kept waiting.
const WANTED_BY: &[&str] = &["session-store", "runtime", "cli", "tests", "xtask"];

/// What there is, found out when the first test wants it.
pub(crate) struct Postgres {
    script: PathBuf,
    found: Option<Result<Found, String>>,
}

/// What goes to the tests.
#[derive(Default)]
struct Found {
    url: Option<String>,
    binaries: Option<PathBuf>,
    /// The two ways through a pooler.
    pooled: Option<[String; 2]>,
    /// What tests will leave out, and why.
    skipped: Option<String>,
    /// Dropped with us, and the server with it.
    _cluster: Option<Cluster>,
}

/// The folder of a server's binaries, if there is one.
pub(crate) fn binaries() -> Result<Option<PathBuf>, String> {
    let path = std::env::var_os("PATH");
    binaries::find(std::env::var_os(BINARIES).as_deref(), path.as_deref())
        .map_err(|problem| format!("{BINARIES}: {problem}"))
}

impl Postgres {
    /// Nothing is looked for yet.
    pub(crate) fn of(workspace: &Workspace) -> Postgres {
        Postgres { script: workspace.root.join("xtask/src/postgres/cluster.sh"), found: None }
    }

    /// Lets a command that runs tests of a package find the server, if that package wants one; `None` is all packages.
    pub(crate) fn offer(&mut self, package: Option<&str>, command: &mut Command) -> Result<(), String> {
        match package.map(|package| package.trim_start_matches(PREFIX)) {
            Some(name) if !WANTED_BY.contains(&name) => Ok(()),
            _ => self.insert_into(command),
        }
    }

    /// What tests had to leave out, once something was offered.
    pub(crate) fn skipped(&self) -> Option<&str> {
        self.found.as_ref()?.as_ref().ok()?.skipped.as_deref()
    }

    /// Runs any command with the variables that tests get, and ends as it does.
    pub(crate) fn run(&mut self, program: &str, arguments: &[&str]) -> Result<ExitCode, String> {
        let mut command = Command::new(program);
        command.args(arguments);
        self.insert_into(&mut command)?;
        if let Some(Ok(Found { url: None, .. })) = &self.found {
            return Err(format!("without a server `{program}` is not run"));
        }
        let status = command.status().map_err(|error| cannot_start(&command, &error))?;
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Ok(ExitCode::from(code.unwrap_or(u8::MAX)))
    }

    fn insert_into(&mut self, command: &mut Command) -> Result<(), String> {
        let script = &self.script;
        let found = self.found.get_or_insert_with(|| {
            let found = Found::look(script)?;
            if let Some(skipped) = &found.skipped {
                eprintln!("SKIPPING {skipped}");
            }
            Ok(found)
        });
        let found = found.as_ref().map_err(String::clone)?;
        for name in [URL, POOLED, POOLED_SESSION, BINARIES, CLUSTER] {
            command.env_remove(name);
        }
        if let Some([pooled, session]) = &found.pooled {
            command.env(POOLED, pooled).env(POOLED_SESSION, session);
        }
        if let Some(url) = &found.url {
            command.env(URL, url);
        }
        if let Some(binaries) = &found.binaries {
            command.env(BINARIES, binaries).env(CLUSTER, script);
        }
        Ok(())
    }
}

impl Found {
    fn look(script: &Path) -> Result<Found, String> {
        let nothing = |why: &str| {
            let skipped = Some(format!("all that needs PostgreSQL: {why}"));
            Found { skipped, ..Found::default() }
        };
        let wish = Wish::read(URL, std::env::var(URL))?;
        if wish == Wish::Nothing {
            return Ok(nothing("TRUNKLINE_TEST_POSTGRES is `none`"));
        }
        let pooled = Wish::read(POOLED, std::env::var(POOLED))?;
        let session = Wish::read(POOLED_SESSION, std::env::var(POOLED_SESSION))?;
        match (wish, binaries()?) {
            (Wish::Server(url), binaries) => {
                eprintln!("PostgreSQL: the server that {URL} names");
                let stops = binaries.is_none().then(|| format!("what stops a PostgreSQL server: {MISSING}"));
                let pooled = match (pooled, session) {
                    (Wish::Server(pooled), Wish::Server(session)) => Ok([pooled, session]),
                    (Wish::Nothing, _) => Err(format!("{POOLED} is `none`")),
                    _ => Err(format!("no {POOLED} and {POOLED_SESSION} beside {URL}")),
                };
                Ok(Found { url: Some(url), binaries, ..Found::pooled(pooled, stops) })
            }
            (_, None) => Ok(nothing(MISSING)),
            (_, Some(binaries)) => {
                let (mut cluster, url) = Cluster::start(script, &binaries)
                    .map_err(|problem| format!("{problem}\n{URL}=none goes without PostgreSQL"))?;
                let pooled = match pooled {
                    Wish::Server(_) => return Err(format!("{POOLED} needs {URL}, the server behind it")),
                    Wish::Nothing => Err(format!("{POOLED} is `none`")),
                    Wish::Cluster => cluster.pool()?,
                };
                let _cluster = Some(cluster);
                Ok(Found {
                    url: Some(url),
                    binaries: Some(binaries),
                    _cluster,
                    ..Found::pooled(pooled, None)
                })
            }
        }
    }

    /// What there is of a pooler, and what tests leave out for this reason and another.
    fn pooled(pooled: Result<[String; 2], String>, other: Option<String>) -> Found {
        let why = pooled.as_ref().err().map(|why| format!("all that goes through PgBouncer: {why}"));
        let skipped: Vec<String> = other.into_iter().chain(why).collect();
        let skipped = (!skipped.is_empty()).then(|| skipped.join("; and "));
        Found { pooled: pooled.ok(), skipped, ..Found::default() }
    }
}

/// What a reader of the line can do about it.
const MISSING: &str = "no initdb, pg_ctl and postgres on PATH or in /usr/lib/postgresql/*/bin; install the server (Debian: \
     apt-get install postgresql), name the folder in TRUNKLINE_TEST_POSTGRES_BIN, or set TRUNKLINE_TEST_POSTGRES to the \
     URL of a server";

/// The same for the pooler.
const NO_POOLER: &str =
    "no pgbouncer on PATH or in /usr/sbin; install it (Debian: apt-get install pgbouncer)";

/// What a person says by [`URL`], and by the variables of a pooler.
#[derive(Debug, PartialEq)]
enum Wish {
    /// Nothing: a cluster, if there can be one.
    Cluster,
    /// This server.
    Server(String),
    /// No server at all.
    Nothing,
}

impl Wish {
    fn read(name: &str, value: Result<String, VarError>) -> Result<Wish, String> {
        match value.as_deref() {
            Ok("none") => Ok(Wish::Nothing),
            Err(VarError::NotPresent) | Ok("") => Ok(Wish::Cluster),
            Ok(url) if ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) => {
                Ok(Wish::Server(url.to_owned()))
            }
            // The value may hold a password, so it is not repeated.
            _ => Err(format!(
                "{name} is neither `none` nor a URL as postgres://USER:PASSWORD@HOST:PORT/DATABASE"
            )),
        }
    }
}

/// A cluster that runs. Dropping it stops the server and removes its folder.
struct Cluster {
    script: Child,
    answers: Option<BufReader<ChildStdout>>,
}

impl Cluster {
    fn start(script: &Path, binaries: &Path) -> Result<(Cluster, String), String> {
        let start = Instant::now();
        let mut command = Command::new("sh");
        command.arg(script).env(BINARIES, binaries).stdin(Stdio::piped()).stdout(Stdio::piped());
        // What kills our group, as `timeout -s KILL` does, must not kill the one who cleans up.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut script = command.spawn().map_err(|error| cannot_start(&command, &error))?;
        let answers = script.stdout.take().map(BufReader::new);
        let mut cluster = Cluster { script, answers };
        let url = cluster.line().map_err(|error| format!("lost `{}`: {error}", line_of(&command)))?;
        if url.is_empty() {
            return Err("the PostgreSQL of this machine does not start, see above".to_owned());
        }
        let version = text_of(Command::new(binaries.join("postgres")).arg("--version"))?;
        eprintln!("PostgreSQL: {}, ready after {:.1} s", version.trim_end(), start.elapsed().as_secs_f64());
        Ok((cluster, url))
    }

    /// Starts PgBouncer before it; returns the ways through it, or why there is none.
    fn pool(&mut self) -> Result<Result<[String; 2], String>, String> {
        let lost = |error| format!("lost the script that owns PostgreSQL: {error}");
        if let Some(commands) = &mut self.script.stdin {
            writeln!(commands, "pool").map_err(lost)?;
        }
        match self.line().map_err(lost)?.as_str() {
            "missing" => Ok(Err(NO_POOLER.to_owned())),
            "failed" | "" => Err(format!(
                "the PgBouncer of this machine does not start, see above\n{POOLED}=none goes without it"
            )),
            url => Ok(Ok([format!("{url}/transaction"), format!("{url}/session")])),
        }
    }

    /// What the script says next; nothing if it has ended.
    fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        if let Some(answers) = &mut self.answers {
            answers.read_line(&mut line)?;
        }
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // `wait` closes the script's input before it waits; that is what ends it.
        let _status = self.script.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_a_server_or_says_none() {
        let read = |value: &str| Wish::read(URL, Ok(value.to_owned()));
        assert_eq!(Wish::read(URL, Err(VarError::NotPresent)), Ok(Wish::Cluster));
        assert_eq!(read(""), Ok(Wish::Cluster));
        assert_eq!(read("none"), Ok(Wish::Nothing));
        assert_eq!(read("postgresql://h/d"), Ok(Wish::Server("postgresql://h/d".to_owned())));
        let problem = read("mysql://me:secret@h/d").expect_err("another database");
        assert!(!problem.contains("secret"), "{problem}");
    }

    #[test]
    fn only_some_packages_want_a_server() {
        let mut postgres = Postgres { script: PathBuf::from("no-such-script"), found: None };
        let mut command = Command::new("true");
        for package in ["trunkline-sanitize", "trunkline-tools"] {
            assert_eq!(postgres.offer(Some(package), &mut command), Ok(()));
        }
        assert!(postgres.found.is_none());
    }

    #[cfg(unix)]
    #[test]
    fn a_cluster_obeys_and_leaves_nothing_behind() {
        use std::fs;
        use std::io::Write as _;
        use std::net::TcpStream;
        use std::os::unix::fs::PermissionsExt as _;

        let Some(script) = std::env::var_os(CLUSTER) else {
            eprintln!("{CLUSTER} is not set: nothing was tried");
            return;
        };
        let folder = std::env::temp_dir().join(format!("xtask-{}-cluster", std::process::id()));
        fs::create_dir(&folder).unwrap();
        // The server of root is somebody else.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let mut command = Command::new("sh");
        command.arg(script).env("TMPDIR", &folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();

        let url = lines.next().expect("a line, or the reason on stderr").unwrap();
        let address = url.split(['@', '/']).nth(3).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        writeln!(input, "pool").unwrap();
        let pool = lines.next().unwrap().unwrap();
        let pooled = pool.rsplit_once('@').map(|(_, pooled)| pooled);
        assert!(pooled.is_some() || pool == "missing", "{pool}");
        let said =
            [("stop", "ok", false), ("start", "ok", true), ("crash", "ok", false), ("start", "ok", true)];
        for (word, answer, answers) in
            said.into_iter().chain([("start", "failed", true), ("go", "failed", true)])
        {
            writeln!(input, "{word}").unwrap();
            assert_eq!(lines.next().unwrap().unwrap(), answer, "{word}");
            assert_eq!(TcpStream::connect(address).is_ok(), answers, "{word}");
            assert!(pooled.is_none_or(|pooled| TcpStream::connect(pooled).is_ok()), "{word}");
        }
        writeln!(input, "pool").unwrap();
        assert_eq!(lines.next().unwrap().unwrap() == "missing", pooled.is_none(), "only one");
        drop(input);
        assert!(child.wait().unwrap().success());
        for address in pooled.into_iter().chain([address]) {
            assert!(TcpStream::connect(address).is_err(), "{address}");
        }
        fs::remove_dir(&folder).expect("the folder is empty");
    }
}
