//! Reads a URL into names and values, by the rules of PostgreSQL's own programs.
//!
//! What could be read in two ways, because a password was written as it is, is refused. No word of a refusal comes from the URL.

/// How such a URL begins.
const SCHEMES: [&str; 2] = ["postgres", "postgresql"];

/// Returns what a URL says, in its order: what stands later counts. Hosts and ports are lists with commas.
pub(super) fn parse(url: &str) -> Result<Vec<(String, String)>, String> {
    let (scheme, rest) = url.split_once("://").ok_or_else(unreadable)?;
    if !SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Err(unreadable());
    }
    if rest.contains('#') {
        return Err("it has a # as it is; write %23 for it".to_owned());
    }
    let (before, query) = rest.split_once('?').map_or((rest, None), |(before, query)| (before, Some(query)));
    let (authority, path) = before.split_once('/').unwrap_or((before, ""));
    // A password may have begun before it.
    if path.contains('@') || query.is_some_and(|query| query.contains('@')) {
        return Err("it has an @ behind the host; write @ as %40, and in a user name or a password / as %2F and ? as %3F"
            .to_owned());
    }
    let mut said = Vec::new();
    let (login, places) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) =
        login.split_once(':').map_or((login, None), |(user, password)| (user, Some(password)));
    if !user.is_empty() {
        said.push(("user".to_owned(), decoded(user)?));
    }
    if let Some(password) = password {
        said.push(("password".to_owned(), decoded(password)?));
    }
    if !places.is_empty() {
        let places = places.split(',').map(host_and_port).collect::<Result<Vec<_>, _>>()?;
        let joined = |parts: Vec<&str>| parts.join(",");
        let hosts = joined(places.iter().map(|(host, _)| *host).collect());
        let ports = joined(places.iter().map(|(_, port)| *port).collect());
        if places.iter().any(|(host, _)| !host.is_empty()) {
            said.push(("host".to_owned(), decoded(&hosts)?));
        }
        if places.iter().any(|(_, port)| !port.is_empty()) {
            said.push(("port".to_owned(), ports));
        }
    }
    if !path.is_empty() {
        said.push(("dbname".to_owned(), decoded(path)?));
    }
    for parameter in query.unwrap_or_default().split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) =
            parameter.split_once('=').ok_or("one of its parameters has no value; write NAME=VALUE")?;
        said.push((decoded(name)?, decoded(value)?));
    }
    Ok(said)
}

/// Returns text as it may stand in a URL.
pub(super) fn encoded(text: &str) -> String {
    let mut whole = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'$' => {
                whole.push(char::from(byte));
            }
            _ => whole.push_str(&format!("%{byte:02X}")),
        }
    }
    whole
}

fn unreadable() -> String {
    "it cannot be read; write it like postgres://user@host:5432/database".to_owned()
}

fn host_and_port(place: &str) -> Result<(&str, &str), String> {
    let (host, after) = match place.strip_prefix('[') {
        Some(inner) => inner.split_once(']').ok_or("an address in brackets has no end")?,
        None => place.find(':').map_or((place, ""), |at| place.split_at(at)),
    };
    let port = match after {
        "" => "",
        after => after.strip_prefix(':').ok_or("a port stands behind a colon")?,
    };
    // Otherwise it is a password that its @ was left out of.
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(
            "what stands behind a host is no port; in a user name or a password write : as %3A, / as %2F \
                    and @ as %40"
                .to_owned(),
        );
    }
    Ok((host, port))
}

fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
        let value = digit().zip(digit()).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(value.ok_or("it has a % that no two hexadecimal digits follow; write %25 for it")?);
    }
    if bytes.contains(&0) {
        return Err("it has a %00, for which PostgreSQL has no place".to_owned());
    }
    String::from_utf8(bytes).map_err(|_| "what it says is not in UTF-8".to_owned())
}
