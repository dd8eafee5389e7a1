//! URLs: what is meant by them, and that nothing secret comes out of them. No server is needed.

use std::process::Command;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trunkline_session_store::PostgresOptions;

/// A process of its own gets the environment that a table wants.
const WANTED: &str = "TRUNKLINE_TEST_URLS";

/// Returns what is meant, or why it cannot be used.
fn meant(url: &str) -> String {
    let debug = format!("{:?}", PostgresOptions::new(url));
    let target = debug.split_once("target: ").map_or("", |(_, rest)| rest);
    let end = target.find(", schema: ").unwrap_or(target.len());
    let target = target.get(..end).unwrap_or_default();
    match target.split_once("reason: ") {
        Some((_, reason)) => format!("ERROR {}", reason.trim_end_matches([' ', '}'])),
        None => target.to_owned(),
    }
}

fn check(urls: &str, expected: Expect) {
    let said = urls.lines().map(str::trim).filter(|url| !url.is_empty());
    let table: String = said.map(|url| format!("{url}\n    {}\n", meant(url))).collect();
    expected.assert_eq(&table);
}

#[test]
fn what_a_url_means() {
    check(
        "postgres://me@db.example/work
         postgresql://me:word@db.example:6543/work?sslmode=verify-full
         postgres://me@[2001:db8::1]:7000/work
         postgres://me@%2Fvar%2Frun%2Fpg/work
         postgres:///work?host=/var/run/pg&port=5433
         postgres://me@one,two:6000,[::1]:7000/work
         postgres://me@one:1,two/work?target_session_attrs=prefer-standby&load_balance_hosts=random
         postgres://me@one,two/work?port=7777&connect_timeout=1
         postgres://me@db/work?hostaddr=10.0.0.7
         postgres:///work?hostaddr=10.0.0.7,::1
         postgres://db/a%20b%2Fc
         postgres://me@db/work?sslmode=require&channel_binding=require
         postgres://me@db/work?sslrootcert=system
         postgres://me@db/work?sslmode=verify-ca&sslrootcert=/r.pem&sslcert=/c.pem&sslkey=/k.pem&sslcrl=/l.pem
         postgres://me@db/work?sslmode=require&sslnegotiation=direct
         postgres://me@db/work?ssl=true
         postgres://me@db/work?ssl-mode=require&ssl-ca=/r.pem&statement-cache-capacity=0
         postgres://me@db/work?options[role]=team&options[search_path]=a,b
         postgres://me@db/work?options%5Brole%5D=team
         postgres://me@db/work?notify=on
         postgres://me@db/work?notify=off&gssencmode=disable&client_encoding=UTF8&krbsrvname=x
         postgres://me@db/work?user=you&host=other&dbname=else&password=word",
        expect![[r#"
            postgres://me@db.example/work
                postgres://db.example:5432/work target_session_attrs=any sslmode=prefer
            postgresql://me:word@db.example:6543/work?sslmode=verify-full
                postgres://db.example:6543/work target_session_attrs=any sslmode=verify-full password
            postgres://me@[2001:db8::1]:7000/work
                postgres://[2001:db8::1]:7000/work target_session_attrs=any sslmode=prefer
            postgres://me@%2Fvar%2Frun%2Fpg/work
                postgres://%2Fvar%2Frun%2Fpg:5432/work target_session_attrs=any sslmode=prefer
            postgres:///work?host=/var/run/pg&port=5433
                postgres://%2Fvar%2Frun%2Fpg:5433/work target_session_attrs=any sslmode=prefer
            postgres://me@one,two:6000,[::1]:7000/work
                postgres://one:5432,two:6000,[::1]:7000/work target_session_attrs=read-write sslmode=prefer connect_timeout=2
            postgres://me@one:1,two/work?target_session_attrs=prefer-standby&load_balance_hosts=random
                postgres://one:1,two:5432/work target_session_attrs=prefer-standby sslmode=prefer connect_timeout=2 load_balance_hosts
            postgres://me@one,two/work?port=7777&connect_timeout=1
                postgres://one:7777,two:7777/work target_session_attrs=read-write sslmode=prefer connect_timeout=2
            postgres://me@db/work?hostaddr=10.0.0.7
                postgres://db:5432/work target_session_attrs=any sslmode=prefer
            postgres:///work?hostaddr=10.0.0.7,::1
                postgres://10.0.0.7:5432,[::1]:5432/work target_session_attrs=read-write sslmode=prefer connect_timeout=2
            postgres://db/a%20b%2Fc
                postgres://db:5432/a%20b%2Fc target_session_attrs=any sslmode=prefer
            postgres://me@db/work?sslmode=require&channel_binding=require
                postgres://db:5432/work target_session_attrs=any sslmode=require channel_binding=require
            postgres://me@db/work?sslrootcert=system
                postgres://db:5432/work target_session_attrs=any sslmode=verify-full sslrootcert=system
            postgres://me@db/work?sslmode=verify-ca&sslrootcert=/r.pem&sslcert=/c.pem&sslkey=/k.pem&sslcrl=/l.pem
                postgres://db:5432/work target_session_attrs=any sslmode=verify-ca sslrootcert sslcert sslkey sslcrl
            postgres://me@db/work?sslmode=require&sslnegotiation=direct
                postgres://db:5432/work target_session_attrs=any sslmode=require sslnegotiation=direct
            postgres://me@db/work?ssl=true
                postgres://db:5432/work target_session_attrs=any sslmode=require
            postgres://me@db/work?ssl-mode=require&ssl-ca=/r.pem&statement-cache-capacity=0
                postgres://db:5432/work target_session_attrs=any sslmode=require sslrootcert
            postgres://me@db/work?options[role]=team&options[search_path]=a,b
                postgres://db:5432/work target_session_attrs=any sslmode=prefer options
            postgres://me@db/work?options%5Brole%5D=team
                postgres://db:5432/work target_session_attrs=any sslmode=prefer options
            postgres://me@db/work?notify=on
                postgres://db:5432/work target_session_attrs=any sslmode=prefer notify=on
            postgres://me@db/work?notify=off&gssencmode=disable&client_encoding=UTF8&krbsrvname=x
                postgres://db:5432/work target_session_attrs=any sslmode=prefer notify=off
            postgres://me@db/work?user=you&host=other&dbname=else&password=word
                postgres://other:5432/else target_session_attrs=any sslmode=prefer password
        "#]],
    );
}

#[test]
fn what_cannot_be_used_is_told_without_a_word_of_it() {
    check(
        "db.example/work
         mysql://me@db/work
         postgres://me:s3/cret@db/work
         postgres://me:s3?cret=1@db/work
         postgres://me:s3#cret@db/work
         postgres://me:s3%cret@db/work
         postgres://me:s3%00cret@db/work
         postgres://me:s3%FFcret@db/work
         postgres://me:s3cret
         postgres://s3:cret/db
         postgres://me@db:99999/work
         postgres://me@db:0/work
         postgres://me@[::1/work
         postgres://me@d b/work
         postgres://me@db/work?s3cret
         postgres://me@db/work?S3CRET=1
         postgres://me@db/work?sslmoed=require
         postgres://me@db/work?password=s3&cret=1
         postgres://me@db/work?schema=team
         postgres://me@db/work?sslmode=s3cret
         postgres://me@db/work?connect_timeout=s3cret
         postgres://me@db/work?target_session_attrs=s3cret
         postgres://me@one,two/work?port=1,2,3
         postgres://me@one,two/work?hostaddr=10.0.0.1
         postgres://me@one/work?hostaddr=s3cret
         postgres:///work?hostaddr=10.0.0.1&sslmode=verify-full
         postgres://me@db/work?sslrootcert=system&sslmode=require
         postgres://me@db/work?sslnegotiation=direct
         postgres://me@db/work?gssencmode=require
         postgres://me@db/work?require_auth=scram-sha-256
         postgres://me@db/work?requirepeer=root
         postgres://me@db/work?sslpassword=s3cret
         postgres://me@db/work?sslcrldir=/l
         postgres://me@db/work?sslcertmode=require
         postgres://me@db/work?client_encoding=latin1
         postgres://me@db/work?service=s3cret
         postgres://me@db/work?options[s3 cret]=1",
        expect![[r#"
            db.example/work
                ERROR "it cannot be read; write it like postgres://user@host:5432/database"
            mysql://me@db/work
                ERROR "it cannot be read; write it like postgres://user@host:5432/database"
            postgres://me:s3/cret@db/work
                ERROR "it has an @ behind the host; write @ as %40, and in a user name or a password / as %2F and ? as %3F"
            postgres://me:s3?cret=1@db/work
                ERROR "it has an @ behind the host; write @ as %40, and in a user name or a password / as %2F and ? as %3F"
            postgres://me:s3#cret@db/work
                ERROR "it has a # as it is; write %23 for it"
            postgres://me:s3%cret@db/work
                ERROR "it has a % that no two hexadecimal digits follow; write %25 for it"
            postgres://me:s3%00cret@db/work
                ERROR "it has a %00, for which PostgreSQL has no place"
            postgres://me:s3%FFcret@db/work
                ERROR "what it says is not in UTF-8"
            postgres://me:s3cret
                ERROR "what stands behind a host is no port; in a user name or a password write : as %3A, / as %2F and @ as %40"
            postgres://s3:cret/db
                ERROR "what stands behind a host is no port; in a user name or a password write : as %3A, / as %2F and @ as %40"
            postgres://me@db:99999/work
                ERROR "the parameter `port` takes numbers between 1 and 65535"
            postgres://me@db:0/work
                ERROR "the parameter `port` takes numbers between 1 and 65535"
            postgres://me@[::1/work
                ERROR "an address in brackets has no end"
            postgres://me@d b/work
                ERROR "the parameter `host` has a letter that no name of a host has; in a user name or a password write : as %3A, / as %2F, @ as %40 and , as %2C"
            postgres://me@db/work?s3cret
                ERROR "one of its parameters has no value; write NAME=VALUE"
            postgres://me@db/work?S3CRET=1
                ERROR "one of its parameters is not known; in a password write & as %26"
            postgres://me@db/work?sslmoed=require
                ERROR "the parameter `sslmoed` is not known"
            postgres://me@db/work?password=s3&cret=1
                ERROR "one of its parameters is not known; in a password write & as %26"
            postgres://me@db/work?schema=team
                ERROR "the parameter `schema` is for the command; a library says PostgresOptions::schema"
            postgres://me@db/work?sslmode=s3cret
                ERROR "the parameter `sslmode` takes one of disable, allow, prefer, require, verify-ca, verify-full"
            postgres://me@db/work?connect_timeout=s3cret
                ERROR "the parameter `connect_timeout` takes a whole number"
            postgres://me@db/work?target_session_attrs=s3cret
                ERROR "the parameter `target_session_attrs` takes one of any, read-write, read-only, primary, standby, prefer-standby"
            postgres://me@one,two/work?port=1,2,3
                ERROR "the parameter `port` has to name one port, or as many as there are hosts"
            postgres://me@one,two/work?hostaddr=10.0.0.1
                ERROR "the parameter `host` and the parameter `hostaddr` name a different number of hosts"
            postgres://me@one/work?hostaddr=s3cret
                ERROR "the parameter `hostaddr` takes addresses in numbers"
            postgres:///work?hostaddr=10.0.0.1&sslmode=verify-full
                ERROR "sslmode=verify-full compares the name of the host, and only `hostaddr` is said; add `host`"
            postgres://me@db/work?sslrootcert=system&sslmode=require
                ERROR "the parameter `sslrootcert` is `system`, under which anybody can have a certificate; it takes sslmode=verify-full"
            postgres://me@db/work?sslnegotiation=direct
                ERROR "the parameter `sslnegotiation` is `direct`, which takes sslmode=require or stricter"
            postgres://me@db/work?gssencmode=require
                ERROR "the parameter `gssencmode` asks for what is not supported here; leave it out"
            postgres://me@db/work?require_auth=scram-sha-256
                ERROR "the parameter `require_auth` asks for what is not supported here; leave it out"
            postgres://me@db/work?requirepeer=root
                ERROR "the parameter `requirepeer` asks for what is not supported here; leave it out"
            postgres://me@db/work?sslpassword=s3cret
                ERROR "the parameter `sslpassword` asks for what is not supported here; leave it out"
            postgres://me@db/work?sslcrldir=/l
                ERROR "the parameter `sslcrldir` asks for what is not supported here; leave it out"
            postgres://me@db/work?sslcertmode=require
                ERROR "the parameter `sslcertmode` asks for what is not supported here; leave it out"
            postgres://me@db/work?client_encoding=latin1
                ERROR "the parameter `client_encoding` asks for what is not supported here; leave it out"
            postgres://me@db/work?service=s3cret
                ERROR "the service that is named (`service`, PGSERVICE) stands in no file (PGSERVICEFILE, ~/.pg_service.conf)"
            postgres://me@db/work?options[s3 cret]=1
                ERROR "the parameter `options[…]` names no setting of the server"
        "#]],
    );
}

#[test]
fn the_table_of_another_environment() {
    // Only as a process of its own.
    let Ok(urls) = std::env::var(WANTED) else { return };
    for url in urls.lines() {
        println!("\n= {}", meant(url));
    }
}

fn check_with(variables: &[(&str, &str)], urls: &str, expected: Expect) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "postgres::urls::the_table_of_another_environment", "--nocapture"]);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
        command.env_remove(name);
    }
    let output = command.env(WANTED, urls).envs(variables.iter().copied()).output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let table: String =
        output.lines().filter_map(|line| line.strip_prefix("= ")).map(|line| format!("{line}\n")).collect();
    expected.assert_eq(&table);
}

#[test]
fn what_the_url_does_not_say_is_taken_from_the_environment() {
    let variables = [
        ("PGHOST", "one,two"),
        ("PGPORT", "6000"),
        ("PGDATABASE", "work"),
        ("PGUSER", "me"),
        ("PGPASSWORD", "s3cret"),
        ("PGSSLMODE", "verify-ca"),
        ("PGTARGETSESSIONATTRS", "primary"),
        ("PGCONNECT_TIMEOUT", "7"),
        ("PGCHANNELBINDING", "require"),
    ];
    check_with(
        &variables,
        "postgres://\npostgres://db:7/other?sslmode=disable&target_session_attrs=any&channel_binding=prefer\npostgres://?port=\npostgres://?sslmode=",
        expect![[r#"
            postgres://one:6000,two:6000/work target_session_attrs=primary sslmode=verify-ca channel_binding=require connect_timeout=7 password
            postgres://db:7/other target_session_attrs=any sslmode=disable connect_timeout=7 password
            postgres://one:5432,two:5432/work target_session_attrs=primary sslmode=verify-ca channel_binding=require connect_timeout=7 password
            ERROR "the parameter `sslmode` is empty: say which, or leave it out"
        "#]],
    );
    check_with(
        &[("PGSSLMODE", "")],
        "postgres://db/work\npostgres://db/work?sslmode=prefer",
        expect![[r#"
            ERROR "the variable PGSSLMODE is empty: say which, or unset it"
            postgres://db:5432/work target_session_attrs=any sslmode=prefer
        "#]],
    );
    check_with(
        &[("PGREQUIRESSL", "1")],
        "postgres://db/work\npostgres://db/work?sslmode=prefer",
        expect![[r#"
            postgres://db:5432/work target_session_attrs=any sslmode=require
            postgres://db:5432/work target_session_attrs=any sslmode=prefer
        "#]],
    );
    check_with(
        &[("PGSSLMODE", "s3cret")],
        "postgres://db/work\npostgres://db/work?sslmode=allow",
        expect![[r#"
            ERROR "the variable PGSSLMODE takes one of disable, allow, prefer, require, verify-ca, verify-full"
            postgres://db:5432/work target_session_attrs=any sslmode=allow
        "#]],
    );
}

#[test]
fn a_service_says_what_the_url_leaves_open() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("services");
    let text = "# ours\n[other]\nhost=wrong\n\n[team]\nhost = one,two\nport=6000\ndbname=work\nsslmode=require\n[last]\nhost=wrong\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    check_with(
        &[("PGSERVICEFILE", file), ("PGSSLMODE", "disable"), ("PGUSER", "me")],
        "postgres://?service=team\npostgres://db/?service=team&sslmode=allow\npostgres://?service=none",
        expect![[r#"
            postgres://one:6000,two:6000/work target_session_attrs=read-write sslmode=require connect_timeout=2
            postgres://db:6000/work target_session_attrs=any sslmode=allow
            ERROR "the service that is named (`service`, PGSERVICE) stands in no file (PGSERVICEFILE, ~/.pg_service.conf)"
        "#]],
    );
    check_with(
        &[("PGSERVICEFILE", file), ("PGSERVICE", "last")],
        "postgres://",
        expect![[r#"
        postgres://wrong:5432/ target_session_attrs=any sslmode=prefer
    "#]],
    );
}

#[test]
fn a_password_is_said_once() {
    let options = PostgresOptions::new("postgres://me:s3cret@db/work").password_file("/run/s3cret");
    let debug = format!("{options:?}");
    assert!(debug.contains("the options name another") && !debug.contains("s3cret"), "{debug}");
    let options = PostgresOptions::new("postgres://me@db/work").password_command("s3cret", ["s3cret"]);
    assert!(!format!("{options:?}").contains("s3cret"), "{options:?}");
}

/// What may stand around a password, whether it is written as it should be or not.
fn pieces() -> impl Strategy<Value = String> {
    proptest::string::string_regex(
        "([a-z0-9:/?#@&=%,\\[\\]. +-]|%[0-9A-F]{2}|host=|password=|options\\[){0,12}",
    )
    .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn nothing_secret_comes_out_of_a_url(
        user in "[a-z]{0,4}",
        before in pieces(),
        after in pieces(),
        host in "(db|one:1,two|\\[::1\\]:7|%2Fvar|)",
        rest in "(|/work|/work\\?sslmode=(require|wrong)|/\\?sslmoed=x|\\?port=x)",
        in_query in any::<bool>(),
    ) {
        let secret = "XqSecretqX";
        let url = match in_query {
            false => format!("postgres://{user}:{before}{secret}{after}@{host}{rest}"),
            // `&host=` after a password is a parameter, for libpq as well.
            true => format!("postgres://{user}@{host}/work?password={}{secret}{after}", before.replace("&host=", "")),
        };
        let options = PostgresOptions::new(&url);
        let debug = format!("{options:?}").to_lowercase();
        prop_assert!(!debug.contains("secret"), "{url}: {debug}");
    }
}
