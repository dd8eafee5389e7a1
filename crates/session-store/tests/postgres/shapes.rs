//! What the store sends, held against what a distributed engine plans.
//!
//! Only the kit on such an engine proves it (`citus`). This looks in all statements for what was refused there, so that whoever
//! has none finds out too.

use trunkline_session_store::kit;

use super::wire::Wire;
use super::{Postgres, few, server};

/// What gives another answer each time; a statement that changes a distributed table must not have it.
const VOLATILE: [&str; 6] =
    ["nextval(", "clock_timestamp(", "random(", "gen_random_uuid(", "pg_notify(", "set_config("];

/// Whether a table is spread over shards.
fn is_spread(table: &str) -> bool {
    ["sessions", "records", "bodies", "parts", "keys", "letters", "snapshots"].contains(&table)
}

/// Says what is wrong with a statement, in which `@` stands for the schema.
fn complaint(sql: &str) -> Option<String> {
    let changes = ["UPDATE @", "DELETE FROM @", "INSERT INTO @"];
    let changed = changes.iter().flat_map(|words| sql.split(words).skip(1));
    let is_change = changed.filter_map(|rest| rest.split([' ', '\n']).next()).any(is_spread);
    if is_change && let Some(function) = VOLATILE.iter().find(|function| sql.contains(*function)) {
        return Some(format!("{function}) in a statement that changes a distributed table"));
    }
    let outer = sql.contains("LEFT JOIN @");
    if outer && sql.contains("EXISTS (SELECT 1 FROM @sessions") {
        return Some("EXISTS beside an outer join: join the sessions".to_owned());
    }
    if sql.contains("LEFT JOIN @parts") {
        return Some("parts in an outer join: count what an inner one finds".to_owned());
    }
    // The lists of all sessions, of what is left over and of notes are asked of every shard. They have no argument with a session.
    let names_one = sql.contains("$1::uuid") || sql.contains("session = $1");
    let held = ["s.session = w.session", "l.session = g.session"];
    if held.iter().any(|join| sql.contains(join)) && !sql.contains("= ANY ($1") {
        return Some(
            "an update that finds its rows by a join alone: name the sessions in an argument".to_owned(),
        );
    }
    let subselect = sql.contains("ORDER BY seq LIMIT $3");
    if names_one && subselect && (sql.contains("= r.session AND b.") || sql.contains("session = r.session)"))
    {
        return Some("a join with a sub-select by its session: name the session in an argument".to_owned());
    }
    None
}

#[test]
fn a_statement_that_was_refused_is_found() {
    for (sql, what) in [
        ("UPDATE @sessions SET token = nextval('@tokens') WHERE session = $1::uuid", "nextval"),
        ("DELETE FROM @letters WHERE at < extract(epoch FROM clock_timestamp())", "clock_timestamp"),
        ("SELECT 1 FROM x r LEFT JOIN @bodies b ON true WHERE EXISTS (SELECT 1 FROM @sessions s)", "EXISTS"),
        ("SELECT (SELECT 1 FROM generate_series(0, 1) LEFT JOIN @parts p ON true)", "parts"),
        ("UPDATE @sessions s SET head = w.head FROM wanted w WHERE s.session = w.session", "join alone"),
    ] {
        assert!(complaint(sql).is_some_and(|said| said.contains(what)), "{sql}: {:?}", complaint(sql));
    }
    let owners = "DELETE FROM @owners WHERE alive_until < clock_timestamp()";
    assert_eq!(complaint(owners), None, "that table is on one server");
}

#[test]
fn no_statement_is_of_a_kind_that_a_distributed_engine_refuses() {
    let Some(url) = server() else { return };
    let wire = Wire::to(&url);
    let subject = Postgres::by("postgres, listened to", wire.url.clone(), wire.url.clone());
    let mut options = few();
    options.kills = 0;
    let report = kit::run(&subject, &options);
    assert!(report.is_ok(), "{report}");
    let of_store: Vec<String> = wire.statements().iter().map(|sql| at_schema(sql)).collect();
    for words in ["UPDATE @sessions s SET records", "INSERT INTO @letters", "FROM @keys k", "FROM @records r"]
    {
        assert!(of_store.iter().any(|sql| sql.contains(words)), "{words} was not recorded");
    }
    let wrong: Vec<String> =
        of_store.iter().filter_map(|sql| complaint(sql).map(|what| format!("{what}: {sql}"))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Puts `@` in the place of the schema, whichever it is.
fn at_schema(sql: &str) -> String {
    let mut text = String::new();
    for (place, piece) in sql.split("\"test_").enumerate() {
        let rest = if place == 0 { piece } else { piece.split_once("\".").map_or(piece, |(_, rest)| rest) };
        if place > 0 {
            text.push('@');
        }
        text.push_str(rest);
    }
    text
}
