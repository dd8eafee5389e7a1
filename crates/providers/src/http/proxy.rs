//! Which proxy stands between us and a host, by the usual variables.
//!
//! The client goes by the same variables; here they are read once more, so that an error can say whom it is about. This
//! machine is always asked directly: a proxy elsewhere would look for the server on its own.

use std::net::IpAddr;

/// A proxy that requests go through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Proxy {
    /// Its address without user and password, and the variable that names it.
    pub(super) name: String,
    /// Whether it reads what is asked and answered, as it does where nothing is encrypted.
    pub(super) reads: bool,
}

impl Proxy {
    /// Returns the proxy for a host; `env` looks variables up.
    pub(super) fn of(secure: bool, host: &str, env: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let set = |names: [&'static str; 2]| {
            names
                .into_iter()
                .find_map(|name| Some((name, env(name).filter(|value| !value.trim().is_empty())?)))
        };
        let own = match secure {
            true => set(["HTTPS_PROXY", "https_proxy"]),
            // What a server's gateway sets by a request's header is no wish of ours.
            false if env("REQUEST_METHOD").is_some() => None,
            false => set(["HTTP_PROXY", "http_proxy"]),
        };
        let (variable, value) = own.or_else(|| set(["ALL_PROXY", "all_proxy"]))?;
        let none = env("NO_PROXY").or_else(|| env("no_proxy")).unwrap_or_default();
        if is_this_machine(host) || none.split(',').any(|entry| covers(entry.trim(), host)) {
            return None;
        }
        let value = value.trim();
        let (scheme, rest) = value.split_once("://").unwrap_or(("http", value));
        let bare = rest.rsplit('@').next().unwrap_or_default();
        let bare = bare.split(['/', '?', '#']).next().unwrap_or_default();
        let reads = !secure && scheme.starts_with("http");
        Some(Proxy { name: format!("{scheme}://{bare} of {variable}"), reads })
    }
}

/// Returns whether a host is the machine that this runs on.
pub(super) fn is_this_machine(host: &str) -> bool {
    let name = bare(host).to_ascii_lowercase();
    match name.parse::<IpAddr>() {
        // `0.0.0.0`, where a server listens everywhere, leads to this machine as well.
        Ok(address) => address.to_canonical().is_loopback() || address.is_unspecified(),
        Err(_) => name == "localhost" || name.ends_with(".localhost"),
    }
}

/// Returns whether an entry of `NO_PROXY` means this host: a name and all below it, an address, a network, or all.
fn covers(entry: &str, host: &str) -> bool {
    let host = bare(host).to_ascii_lowercase();
    let entry = entry.to_ascii_lowercase();
    if entry == "*" {
        return true;
    }
    if let Ok(address) = host.parse::<IpAddr>() {
        return match entry.split_once('/') {
            Some((network, bits)) => match (bare(network).parse(), bits.parse()) {
                (Ok(network), Ok(bits)) => is_in(address, network, bits),
                _ => false,
            },
            None => bare(&entry).parse() == Ok(address),
        };
    }
    let name = entry.trim_start_matches('.');
    !name.is_empty() && (host == name || host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.')))
}

fn is_in(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    let shared = |one: u128, other: u128, width: u32| {
        bits <= width && (bits == 0 || (one ^ other) >> (width - bits) == 0)
    };
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            shared(u128::from(u32::from(address)), u128::from(u32::from(network)), 32)
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => shared(u128::from(address), u128::from(network), 128),
        _ => false,
    }
}

/// Takes the brackets of an IPv6 address off.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}
