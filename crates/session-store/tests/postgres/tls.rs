//! TLS and passwords, on a server of one's own whose certificates change; beside each answer stands what `psql` says.
//!
//! Wants `openssl`, which Debian's server brings. Without `psql` only our own answers are compared.

use std::path::PathBuf;
use std::process::Command;

use expect_test::{Expect, expect};
use tokio_postgres::{Client, NoTls};
use trunkline_session_store::PostgresOptions;

use super::cluster::Cluster;
use super::skipped;

/// A server, and files of certificates.
struct Server {
    _cluster: Cluster,
    admin: Client,
    folder: tempfile::TempDir,
    port: u16,
    password: String,
    psql: Option<PathBuf>,
}

/// Certificates as people have them; each line makes files of the names that it begins with.
const CERTIFICATES: &str = include_str!("certificates.sh");

impl Server {
    async fn start() -> Option<Self> {
        let cluster = Cluster::start()?;
        let has = |program: &str| {
            Command::new(program).arg("--version").output().is_ok_and(|it| it.status.success())
        };
        if !Command::new("openssl").arg("version").output().is_ok_and(|it| it.status.success()) {
            skipped("PATH without openssl, or it");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("sh").args(["-euc", CERTIFICATES]).current_dir(&folder).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let (password, rest) =
            cluster.url.split_once(':').unwrap().1.split_once(':').unwrap().1.split_once('@').unwrap();
        let port = rest.split([':', '/']).nth(1).unwrap().parse().unwrap();
        let binaries = std::env::var("TRUNKLINE_TEST_POSTGRES_BIN").unwrap_or_default();
        let psql = [PathBuf::from(binaries).join("psql"), PathBuf::from("psql")];
        let psql = psql.into_iter().find(|psql| has(&psql.to_string_lossy()));
        let (admin, connection) = tokio_postgres::connect(&cluster.url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let mut server =
            Server { admin, port, password: password.to_owned(), folder, psql, _cluster: cluster };
        // Over the socket it stays reachable whatever is tried.
        let data = server.text("SHOW data_directory").await;
        let socket =
            format!("host={data} port={port} user=trunkline password={} dbname=postgres", server.password);
        let (admin, connection) = tokio_postgres::connect(&socket, NoTls).await.unwrap();
        tokio::spawn(connection);
        server.admin = admin;
        Some(server)
    }

    async fn text(&self, sql: &str) -> String {
        let rows = self.admin.query(sql, &[]).await.unwrap();
        rows[0].get(0)
    }

    /// Writes a file of the server, which only it may read.
    async fn write(&self, name: &str, text: &str) {
        let text = text.replace('\'', "''");
        let sql = format!(
            "COPY (SELECT E'{}') TO PROGRAM 'umask 077; printf %b \"$(cat)\" > {name}'",
            text.replace('\n', "\\n")
        );
        self.admin.batch_execute(&sql).await.unwrap();
    }

    /// Lets the server read its files again, and waits until it has.
    async fn reload(&self) {
        let before = self.text("SELECT clock_timestamp()::text").await;
        self.admin.batch_execute("SELECT pg_reload_conf()").await.unwrap();
        for _ in 0..1000 {
            let data = self.text("SHOW data_directory").await;
            let socket = format!(
                "host={data} port={} user=trunkline password={} dbname=postgres",
                self.port, self.password
            );
            if let Ok((fresh, connection)) = tokio_postgres::connect(&socket, NoTls).await {
                tokio::spawn(connection);
                let sql = format!("SELECT pg_conf_load_time() > '{before}'");
                if fresh.query_one(&sql, &[]).await.is_ok_and(|row| row.get(0)) {
                    return;
                }
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("the server does not read its files");
    }

    /// Sets the server's certificate.
    async fn has_certificate(&self, name: &str) {
        for (file, kind) in [("server.crt", "crt"), ("server.key", "key")] {
            self.write(file, &std::fs::read_to_string(self.path(&format!("{name}.{kind}"))).unwrap()).await;
        }
        self.write("root.crt", &std::fs::read_to_string(self.path("root.crt")).unwrap()).await;
        self.admin.batch_execute("ALTER SYSTEM SET ssl_ca_file = 'root.crt'").await.unwrap();
        self.admin.batch_execute("ALTER SYSTEM SET ssl = on").await.unwrap();
        self.reload().await;
    }

    /// Sets who may come over TCP.
    async fn lets_in(&self, lines: &str) {
        self.write("pg_hba.conf", &format!("local all all password\n{lines}\n")).await;
        self.reload().await;
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn url(&self, user: &str, parameters: &str) -> String {
        let parameters = parameters.replace('@', &format!("{}/", self.folder.path().display()));
        format!(
            "postgres://{user}:{}@localhost:{}/postgres?hostaddr=127.0.0.1&{parameters}",
            self.password, self.port
        )
    }

    /// Returns how we connect, or why not.
    async fn ours(&self, user: &str, parameters: &str) -> String {
        said(PostgresOptions::new(self.url(user, parameters))).await
    }

    /// Returns whether `psql` connects, and if so whether with TLS.
    fn theirs(&self, user: &str, parameters: &str) -> Option<&'static str> {
        let psql = self.psql.as_ref()?;
        let asked = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        let output = Command::new(psql)
            .args(["-XAtc", asked, &self.url(user, parameters)])
            .env("HOME", self.folder.path())
            .output()
            .unwrap();
        match String::from_utf8_lossy(&output.stdout).trim() {
            "t" => Some("TLS"),
            "f" => Some("plain"),
            _ => Some("no"),
        }
    }

    /// Compares both, a line for each set of parameters.
    async fn compare(&self, user: &str, all: &str, table: &mut String) {
        for parameters in all.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let ours = self.ours(user, parameters).await;
            // The one known difference, where there is no `psql` to ask.
            let known = if parameters.starts_with("sslmode=prefer&sslrootcert") { "plain" } else { "?" };
            let theirs = self.theirs(user, parameters).unwrap_or(known);
            let short = match ours.as_str() {
                ours if ours.contains("over TLS") => "TLS",
                ours if ours.contains("without encryption") => "plain",
                _ => "no",
            };
            let differs =
                if theirs == short || theirs == "?" { String::new() } else { format!(" (psql: {theirs})") };
            table.push_str(&format!("  {parameters}{differs}\n    {ours}\n"));
        }
    }
}

async fn said(options: PostgresOptions) -> String {
    match options.probe().await {
        // Ports and versions are not the same everywhere.
        Ok(how) => how.split_once(" over ").map(|(_, over)| format!("over {over}")).unwrap_or(how),
        Err(error) => {
            let error = error.to_string();
            let (_, reason) = error.split_once("postgres: ").unwrap_or(("", &error));
            reason.to_owned()
        }
    }
}

fn is(table: &str, expected: Expect) {
    expected.assert_eq(table);
}

#[tokio::test]
async fn each_sslmode_judges_each_certificate_as_libpq_does() {
    let Some(server) = Server::start().await else { return };
    let mut table = String::from("a server without TLS\n");
    let modes = "sslmode=disable\nsslmode=allow\nsslmode=prefer\nsslmode=require\nsslmode=verify-full";
    server.compare("trunkline", modes, &mut table).await;
    for name in ["good", "elsewhere", "expired", "named", "manual", "selfmade", "version1", "chained"] {
        server.has_certificate(name).await;
        table.push_str(&format!("{name}\n"));
        let own = if ["selfmade", "version1"].contains(&name) { name } else { "root" };
        let modes = format!(
            "sslmode=allow\nsslmode=prefer\nsslmode=require\nsslmode=require&sslrootcert=@stranger.crt
             sslmode=prefer&sslrootcert=@stranger.crt\nsslmode=verify-ca&sslrootcert=@stranger.crt\nsslmode=verify-ca&sslrootcert=@{own}.crt
             sslmode=verify-full&sslrootcert=@{own}.crt"
        );
        server.compare("trunkline", &modes, &mut table).await;
    }
    is(
        &table,
        expect![[r#"
            a server without TLS
              sslmode=disable
                over TCP without encryption
              sslmode=allow
                over TCP without encryption
              sslmode=prefer
                over TCP without encryption
              sslmode=require
                the server does not offer TLS; sslmode=prefer goes on without
              sslmode=verify-full
                sslmode=verify-full needs certificates to trust: name a file by sslrootcert, say sslrootcert=system for those that the system trusts, or put them into ~/.postgresql/root.crt
            good
              sslmode=allow
                over TCP without encryption
              sslmode=prefer
                over TLS 1.3, the certificate is not judged
              sslmode=require
                over TLS 1.3, the certificate is not judged
              sslmode=require&sslrootcert=@stranger.crt
                the server's certificate is issued by none of those that sslrootcert names; without sslrootcert and ~/.postgresql/root.crt it is not judged
              sslmode=prefer&sslrootcert=@stranger.crt (psql: plain)
                over TLS 1.3, the certificate is not judged
              sslmode=verify-ca&sslrootcert=@stranger.crt
                the server's certificate is issued by none of those that sslrootcert names; under sslmode=require it is not judged
              sslmode=verify-ca&sslrootcert=@root.crt
                over TLS 1.3, the certificate is judged, its name is not
              sslmode=verify-full&sslrootcert=@root.crt
                over TLS 1.3, the certificate and its name are judged
            elsewhere
              sslmode=allow
                over TCP without encryption
              sslmode=prefer
                over TLS 1.3, the certificate is not judged
              sslmode=require
                over TLS 1.3, the certificate is not judged
              sslmode=require&sslrootcert=@stranger.crt
                the server's certificate is issued by none of those that sslrootcert names; without sslrootcert and ~/.postgresql/root.crt it is not judged
              sslmode=prefer&sslrootcert=@stranger.crt (psql: plain)
                over TLS 1.3, the certificate is not judged
              sslmode=verify-ca&sslrootcert=@stranger.crt
                the server's certificate is issued by none of those that sslrootcert names; under sslmode=require it is not judged
              sslmode=verify-ca&sslrootcert=@root.crt
                over TLS 1.3, the certificate is judged, its name is not
              sslmode=verify-full&sslrootcert=@root.crt
                the server's certificate is for another name; sslmode=verify-ca does not compare the name
            expired
              sslmode=allow
                over TCP without encryption
              sslmode=prefer
                over TLS 1.3, the certificate is not judged
              sslmode=require
                over TLS 1.3, the certificate is not judged
              sslmode=require&sslrootcert=@stranger.crt
                the server's certificate has expired; without sslrootcert and ~/.postgresql/root.crt it is not judged
              sslmode=prefer&sslrootcert=@stranger.crt (psql: plain)
                over TLS 1.3, the certificate is not judged
              sslmode=verify-ca&sslrootcert=@stranger.crt
                the server's certificate has expired; under sslmode=require it is not judged
              sslmode=verify-ca&sslrootcert=@root.crt
                the server's certificate has expired; under sslmode=require it is not judged
              sslmode=verify-full&sslrootcert=@root.crt
                the server's certificate has expired; under sslmode=require it is not judged
            named
              sslmode=allow
                over TCP without encryption
              sslmode=prefer
                over TLS 1.3, the certificate is not judged
              sslmode=require
                over TLS 1.3, the certificate is not judged
              sslmode=require&sslrootcert=@stranger.crt
                the server's certificate is issued by none of those that sslrootcert names; without sslrootcert and ~/.postgresql/root.crt it is not judged
              sslmode=prefer&sslrootcert=@stranger.crt (psql: plain)
                over TLS 1.3, the certificate is not judged
              sslmode=verify-ca&sslrootcert=@stranger.crt
                the server's certificate is issued by none of those that sslrootcert names; under sslmode=require it is not judged
              sslmode=verify-ca&sslrootcert=@root.crt
                over TLS 1.3, the certificate is judged, its name is not
              sslmode=verify-full&sslrootcert=@root.crt
                over TLS 1.3, the certificate and its name are judged
            manual
              sslmode=allow
                over TCP without encryption
              sslmode=prefer
                over TLS 1.3, the certificate is not judged
              sslmode=require
                over TLS 1.3, the certificate is not judged
              sslmode=require&sslrootcert=@stranger.crt
                the server's certificate is of version 1, and no certificate of sslrootcert has issued it directly; one of version 3 can have others between; without sslrootcert and ~/.postgresql/root.crt it is not judged
              sslmode=prefer&sslrootcert=@stranger.crt (psql: plain)
                over TLS 1.3, the certificate is not judged
              sslmode=verify-ca&sslrootcert=@stranger.crt
                the server's certificate is of version 1, and no certificate of sslrootcert has issued it directly; one of version 3 can have others between; under sslmode=require it is not judged
              sslmode=verify-ca&sslrootcert=@root.crt
                over TLS 1.3, the certificate is judged, its name is not
              sslmode=verify-full&sslrootcert=@root.crt
                over TLS 1.3, the certificate and its name are judged
            selfmade
              sslmode=allow
                over TCP without encryption
              sslmode=prefer
                over TLS 1.3, the certificate is not judged
              sslmode=require
                over TLS 1.3, the certificate is not judged
              sslmode=require&sslrootcert=@stranger.crt
                the server's certificate is that of an authority, and does not stand in sslrootcert itself; without sslrootcert and ~/.postgresql/root.crt it is not judged
              sslmode=prefer&sslrootcert=@stranger.crt (psql: plain)
                over TLS 1.3, the certificate is not judged
              sslmode=verify-ca&sslrootcert=@stranger.crt
                the server's certificate is that of an authority, and does not stand in sslrootcert itself; under sslmode=require it is not judged
              sslmode=verify-ca&sslrootcert=@selfmade.crt
                over TLS 1.3, the certificate is judged, its name is not
              sslmode=verify-full&sslrootcert=@selfmade.crt
                over TLS 1.3, the certificate and its name are judged
            version1
              sslmode=allow
                over TCP without encryption
              sslmode=prefer
                over TLS 1.3, the certificate is not judged
              sslmode=require
                over TLS 1.3, the certificate is not judged
              sslmode=require&sslrootcert=@stranger.crt
                the server's certificate is of version 1, and no certificate of sslrootcert has issued it directly; one of version 3 can have others between; without sslrootcert and ~/.postgresql/root.crt it is not judged
              sslmode=prefer&sslrootcert=@stranger.crt (psql: plain)
                over TLS 1.3, the certificate is not judged
              sslmode=verify-ca&sslrootcert=@stranger.crt
                the server's certificate is of version 1, and no certificate of sslrootcert has issued it directly; one of version 3 can have others between; under sslmode=require it is not judged
              sslmode=verify-ca&sslrootcert=@version1.crt
                over TLS 1.3, the certificate is judged, its name is not
              sslmode=verify-full&sslrootcert=@version1.crt
                over TLS 1.3, the certificate and its name are judged
            chained
              sslmode=allow
                over TCP without encryption
              sslmode=prefer
                over TLS 1.3, the certificate is not judged
              sslmode=require
                over TLS 1.3, the certificate is not judged
              sslmode=require&sslrootcert=@stranger.crt
                the server's certificate is issued by none of those that sslrootcert names; without sslrootcert and ~/.postgresql/root.crt it is not judged
              sslmode=prefer&sslrootcert=@stranger.crt (psql: plain)
                over TLS 1.3, the certificate is not judged
              sslmode=verify-ca&sslrootcert=@stranger.crt
                the server's certificate is issued by none of those that sslrootcert names; under sslmode=require it is not judged
              sslmode=verify-ca&sslrootcert=@root.crt
                over TLS 1.3, the certificate is judged, its name is not
              sslmode=verify-full&sslrootcert=@root.crt
                over TLS 1.3, the certificate and its name are judged
        "#]],
    );
}

#[tokio::test]
async fn what_pg_hba_asks_for_is_found() {
    let Some(server) = Server::start().await else { return };
    server.has_certificate("good").await;
    let mut table = String::new();
    for (what, line) in [
        ("only with TLS", "hostssl all all 127.0.0.1/32 password"),
        ("only without", "hostnossl all all 127.0.0.1/32 password"),
        ("with a certificate", "hostssl all all 127.0.0.1/32 cert"),
    ] {
        server.lets_in(line).await;
        table.push_str(&format!("{what}\n"));
        server
            .compare(
                "trunkline",
                "sslmode=disable\nsslmode=allow\nsslmode=prefer\nsslmode=require",
                &mut table,
            )
            .await;
        if what == "with a certificate" {
            let modes = "sslmode=require&sslcert=@client.crt&sslkey=@client.key
                sslmode=require&sslcert=@intruder.crt&sslkey=@intruder.key
                sslmode=require&sslcert=@client.crt&sslkey=@intruder.key
                sslmode=require&sslcert=@client.crt&sslkey=@open.key
                sslmode=require&sslcert=@client.crt&sslkey=@locked.key
                sslmode=require&sslcert=@client.crt&sslkey=@none.key
                sslmode=require&sslcert=@client.key&sslkey=@client.key";
            server.compare("trunkline", modes, &mut table).await;
        }
    }
    is(
        &table,
        expect![[r#"
            only with TLS
              sslmode=disable
                the server does not let us in without TLS: sslmode=require asks for it
              sslmode=allow
                over TLS 1.3, the certificate is not judged
              sslmode=prefer
                over TLS 1.3, the certificate is not judged
              sslmode=require
                over TLS 1.3, the certificate is not judged
            only without
              sslmode=disable
                over TCP without encryption
              sslmode=allow
                over TCP without encryption
              sslmode=prefer
                over TCP without encryption
              sslmode=require
                the server does not let us in with TLS, or not at all: look at what pg_hba.conf allows; sslmode=prefer goes on without
            with a certificate
              sslmode=disable
                the server does not let us in without TLS: sslmode=require asks for it
              sslmode=allow
                the server does not let us in without a certificate that it knows: sslcert and sslkey name one
              sslmode=prefer
                the server does not let us in without a certificate that it knows: sslcert and sslkey name one
              sslmode=require
                the server does not let us in without a certificate that it knows: sslcert and sslkey name one
              sslmode=require&sslcert=@client.crt&sslkey=@client.key
                over TLS 1.3, the certificate is not judged
              sslmode=require&sslcert=@intruder.crt&sslkey=@intruder.key
                the server does not take our certificate (sslcert)
              sslmode=require&sslcert=@client.crt&sslkey=@intruder.key
                sslcert and sslkey do not go together: keys may not be consistent: KeyMismatch
              sslmode=require&sslcert=@client.crt&sslkey=@open.key
                sslkey: others may use the file; it has to be u=rw (0600) or less, or u=rw,g=r (0640) if root owns it
              sslmode=require&sslcert=@client.crt&sslkey=@locked.key
                sslkey: the key is encrypted, which is not supported; `openssl pkey -in FILE -out NEW` decrypts it
              sslmode=require&sslcert=@client.crt&sslkey=@none.key
                sslkey: the file cannot be read: No such file or directory (os error 2)
              sslmode=require&sslcert=@client.key&sslkey=@client.key
                sslcert: the file holds no certificate in PEM
        "#]],
    );
}

#[tokio::test]
async fn scram_is_bound_to_the_connection_where_it_can_be() {
    let Some(server) = Server::start().await else { return };
    for (kind, user) in [("scram-sha-256", "scrammed"), ("md5", "digested")] {
        let sql = format!(
            "SET password_encryption = '{kind}'; CREATE ROLE {user} LOGIN PASSWORD '{}'",
            server.password
        );
        server.admin.batch_execute(&sql).await.unwrap();
    }
    server.lets_in("host all scrammed 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 md5").await;
    let mut table = String::new();
    for certificate in ["good", "version1"] {
        server.has_certificate(certificate).await;
        for user in ["scrammed", "digested"] {
            table.push_str(&format!("{user}, {certificate}\n"));
            let ways = "sslmode=require&channel_binding=disable\nsslmode=require\nsslmode=require&channel_binding=require
                sslmode=disable\nsslmode=disable&channel_binding=require";
            server.compare(user, ways, &mut table).await;
        }
    }
    is(
        &table,
        expect![[r#"
            scrammed, good
              sslmode=require&channel_binding=disable
                over TLS 1.3, the certificate is not judged
              sslmode=require
                over TLS 1.3, the certificate is not judged
              sslmode=require&channel_binding=require
                over TLS 1.3, the certificate is not judged
              sslmode=disable
                over TCP without encryption
              sslmode=disable&channel_binding=require
                channel_binding=require needs TLS, and the connection has none; add sslmode=require
            digested, good
              sslmode=require&channel_binding=disable
                over TLS 1.3, the certificate is not judged
              sslmode=require
                over TLS 1.3, the certificate is not judged
              sslmode=require&channel_binding=require
                the server does not bind SCRAM to the connection, as channel_binding=require asks; it may keep the password as MD5, or something between us speaks TLS for it
              sslmode=disable
                over TCP without encryption
              sslmode=disable&channel_binding=require
                channel_binding=require needs TLS, and the connection has none; add sslmode=require
            scrammed, version1
              sslmode=require&channel_binding=disable
                over TLS 1.3, the certificate is not judged
              sslmode=require
                over TLS 1.3, the certificate is not judged
              sslmode=require&channel_binding=require
                over TLS 1.3, the certificate is not judged
              sslmode=disable
                over TCP without encryption
              sslmode=disable&channel_binding=require
                channel_binding=require needs TLS, and the connection has none; add sslmode=require
            digested, version1
              sslmode=require&channel_binding=disable
                over TLS 1.3, the certificate is not judged
              sslmode=require
                over TLS 1.3, the certificate is not judged
              sslmode=require&channel_binding=require
                the server does not bind SCRAM to the connection, as channel_binding=require asks; it may keep the password as MD5, or something between us speaks TLS for it
              sslmode=disable
                over TCP without encryption
              sslmode=disable&channel_binding=require
                channel_binding=require needs TLS, and the connection has none; add sslmode=require
        "#]],
    );
}

#[tokio::test]
async fn a_password_comes_from_a_file_or_a_command_and_is_made_again() {
    let Some(server) = Server::start().await else { return };
    let plain =
        format!("postgres://trunkline@localhost:{}/postgres?hostaddr=127.0.0.1&sslmode=disable", server.port);
    let options = || PostgresOptions::new(&plain);
    let (word, count) = (server.path("word"), server.path("count"));
    let keep = |text: &str| std::fs::write(&word, text).unwrap();
    let command = |script: &str| options().password_command("sh", ["-c", script]);
    let token = format!("echo >> '{}'; cat '{}'", count.display(), word.display());
    let mut table = Vec::new();
    table.push(said(options()).await);
    keep(&format!("{}\r\n", server.password));
    table.push(said(options().password_file(&word)).await);
    table.push(said(command(&token)).await);
    keep("wrong");
    table.push(said(options().password_file(&word)).await);
    table.push(said(command(&token)).await);
    keep("two\nlines");
    table.push(said(options().password_file(&word)).await);
    for script in ["exit 3", ":", "echo s3cret; echo s3cret", "yes", "echo s3cret >&2; exit 1"] {
        table.push(said(command(script)).await);
    }
    table.push(said(options().password_command("/none/s3cret", ["s3cret"])).await);
    table.push(said(options().password_file(server.path("none"))).await);
    assert!(!table.concat().contains("s3cret"));
    is(
        &table.join("\n"),
        expect![[r#"
        the server asks for a password: put it into ~/.pgpass, or name a file or a command that has it
        over TCP without encryption
        over TCP without encryption
        the server does not let us in: look at user and password
        the server does not let us in: look at user and password
        the password file cannot be used: it has more than one line
        the password command failed (exit status: 3); run it by hand to see why
        the password command: it is empty
        the password command: it has more than one line
        the password command failed (exit status: 141); run it by hand to see why
        the password command failed (exit status: 1); run it by hand to see why
        the password command cannot be started: No such file or directory (os error 2)
        the password file cannot be used: No such file or directory (os error 2)"#]],
    );
    let runs = || std::fs::read(&count).unwrap().len();
    assert_eq!(runs(), 2);
}

#[tokio::test]
async fn the_file_of_passwords_is_read_by_the_rules_of_libpq() {
    let Some(server) = Server::start().await else { return };
    let file = server.path("pgpass");
    let passfile = format!("passfile={}", file.display());
    let url =
        format!("postgres://trunkline@localhost:{}/postgres?hostaddr=127.0.0.1&{passfile}", server.port);
    let (word, port) = (&server.password, server.port);
    let mut table = String::new();
    for (text, mode) in [
        (format!("localhost:{port}:postgres:trunkline:{word}"), 0o600),
        (format!("# ours\nother:*:*:*:wrong\n*:*:*:*:{word}\n"), 0o600),
        (format!("*:*:*:*:wrong\n*:*:*:*:{word}\n"), 0o600),
        (format!("local\\host:*:post\\gres:*:{word}:what stands here is not read"), 0o600),
        (format!("*:*:*:*:{word}"), 0o644),
        ("no fields".to_owned(), 0o600),
    ] {
        std::fs::write(&file, &text).unwrap();
        #[cfg(unix)]
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        let theirs = server.psql.as_ref().map(|psql| {
            let mut command = Command::new(psql);
            command.args(["-XAtwc", "SELECT 1", &url]).output().unwrap().status.success()
        });
        let ours = said(PostgresOptions::new(&url)).await;
        let differs = theirs.is_some_and(|theirs| theirs != ours.starts_with("over"));
        table.push_str(&format!("{}{ours}\n", if differs { "(not so psql) " } else { "" }));
    }
    is(
        &table,
        expect![[r#"
            over TCP without encryption
            over TCP without encryption
            the server does not let us in: look at user and password
            over TCP without encryption
            the server asks for a password: put it into ~/.pgpass, or name a file or a command that has it; others may read the password file (`passfile`, ~/.pgpass), so it is not used: chmod 0600
            the server asks for a password: put it into ~/.pgpass, or name a file or a command that has it
        "#]],
    );
}
