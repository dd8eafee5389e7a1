//! URLs of databases: what is meant for the server, what is ours, and what may be shown.
//!
//! Whatever could be read in two ways, because a password was written as it is, is refused: to guess wrong is to print
//! a part of the password, or to work in another store. No word of a refusal comes from the URL.

/// How the URL of a PostgreSQL database begins.
const SCHEMES: [&str; 2] = ["postgres", "postgresql"];
/// What a URL may say beside the host and the database that is no secret.
const SHOWN: [&str; 29] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "fallback_application_name",
    "gssencmode",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "load_balance_hosts",
    "notify",
    "options",
    "port",
    "schema",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcert",
    "sslcrl",
    "sslkey",
    "sslmode",
    "sslnegotiation",
    "sslrootcert",
    "sslsni",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];
/// Our own parameter: the schema that the tables are in, so that one database can have many stores.
const SCHEMA: &str = "schema";

/// The URL of a database, whose password is for its server alone.
pub(crate) struct Url {
    /// As people may see it.
    pub(crate) shown: String,
    /// What is meant for the server: our own parameter is taken out.
    pub(crate) server: String,
    pub(crate) schema: Option<String>,
    /// Whether something of it is not shown.
    pub(crate) is_secret: bool,
}

/// Why a URL cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// It has a character where that has another meaning than its writer can have had in mind.
    NotEncoded,
    /// It names the schema more than once.
    ManySchemas,
}

/// Returns whether what was named is meant to be the URL of a PostgreSQL database; it may still be none that can be used.
pub(crate) fn is_url(named: &str) -> bool {
    named.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme))
}

/// Returns whether what was named can be meant to reach a database though it is no URL: nobody calls a file so.
pub(crate) fn is_nearly_url(named: &str) -> bool {
    let begins = named.trim_start().split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme.trim_end()));
    let named = named.to_ascii_lowercase();
    // `host=db password = s3cret`, as PostgreSQL's own programs also take it.
    let mut after = named.split("password").skip(1);
    !is_url(&named) && (begins || after.any(|after| after.trim_start().starts_with('=')))
}

impl Url {
    /// Reads what [`is_url`] holds for one, by the rules for URLs.
    pub(crate) fn parse(whole: &str) -> Result<Self, Unusable> {
        let (scheme, rest) = whole.split_once("://").ok_or(Unusable::NotEncoded)?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        let (path, query) = tail.split_once('?').map_or((tail, None), |(path, query)| (path, Some(query)));
        let parameters: Vec<&str> = query.into_iter().flat_map(|query| query.split('&')).collect();
        let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        // A `#` would hide the parameters after it from whoever connects.
        let is_read_otherwise = rest.contains('#')
            || path.contains('@')
            || !host.split(',').all(has_port)
            || !parameters.iter().all(|parameter| is_name(name(parameter)));
        if is_read_otherwise {
            return Err(Unusable::NotEncoded);
        }
        let is_ours = |parameter: &&str| name(parameter).eq_ignore_ascii_case(SCHEMA);
        let (ours, others): (Vec<&str>, Vec<&str>) =
            parameters.iter().partition(|parameter| is_ours(parameter));
        let schema = match ours.as_slice() {
            [] => None,
            [one] => Some(one.split_once('=').map_or("", |(_, value)| value).to_owned()),
            _ => return Err(Unusable::ManySchemas),
        };
        let server = format!("{scheme}://{authority}{path}{}", joined(&others));
        let shown = match tail.contains('@') {
            // A password may have begun before it.
            true => format!("{scheme}://…"),
            false => {
                let user = login.split(':').next().unwrap_or_default();
                let at = if user.is_empty() { "" } else { "@" };
                // What follows a secret can be the rest of one that has a `&`.
                let is_known = |parameter: &&&str| SHOWN.contains(&name(parameter));
                let known: Vec<&str> = parameters.iter().take_while(is_known).copied().collect();
                format!("{scheme}://{user}{at}{host}{path}{}", joined(&known))
            }
        };
        Ok(Url { is_secret: shown != whole, shown, server, schema })
    }
}

impl std::fmt::Debug for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.shown.fmt(f)
    }
}

fn is_scheme(word: &str) -> bool {
    SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Returns whether what follows the name of one host is a port: otherwise it is a password that its `@` was left out of.
fn has_port(host: &str) -> bool {
    // The address in brackets has colons of its own.
    let after = host.rsplit_once(']').map_or(host, |(_, after)| after);
    after.split_once(':').is_none_or(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn name(parameter: &str) -> &str {
    parameter.split_once('=').map_or(parameter, |(name, _)| name)
}

fn is_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.[]".contains(&byte))
}

fn joined(parameters: &[&str]) -> String {
    match parameters {
        [] => String::new(),
        some => format!("?{}", some.join("&")),
    }
}
