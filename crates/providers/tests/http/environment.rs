//! Proxies and certificates by the usual variables.
//!
//! Variables belong to a process, so each case is this test program once more with others set, running the one test that
//! asks whom it is told to ask.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use trunkline_providers::{HttpProvider, OpenAiChat, RetryPolicy};

use super::{Act, answer, ask, listen, origin, read_request, words};

const ASK: &str = "TRUNKLINE_TEST_ASK";
const VARIABLES: [&str; 10] = [
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

// An authority and a server on this machine and at `models.example` that it vouches for, both made for this test, good
// until 2119. The key is worth nothing.
const AUTHORITY: &str = "
MIIBizCCATGgAwIBAgIUU82QPrYJkVZPsQFBFXHvCHbDoCowCgYIKoZIzj0EAwIwEjEQMA4GA1UEAwwHdGVzdCBDQTAgFw0yNjExMjYx
NjA5MTNaGA8yMTI2MTEwMjE2MDkxM1owEjEQMA4GA1UEAwwHdGVzdCBDQTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABGGH6xsCuGua
KMaH1UeYWzqlXMZOW6vsli/M0HMrXDdEasnCOxJXf+vslzg0ij2s3oKrmdZZkmj3XAPxb2N8t+mjYzBhMB0GA1UdDgQWBBTHG9Du0QeT
F7O5rhpZCTQbIycd8zAfBgNVHSMEGDAWgBTHG9Du0QeTF7O5rhpZCTQbIycd8zAPBgNVHRMBAf8EBTADAQH/MA4GA1UdDwEB/wQEAwIB
BjAKBggqhkjOPQQDAgNIADBFAiAAuCaGuxnoNjkU2cQ0xeQHKmeo9ekVlhaKaOStf0V1gQIhAMWXySHHp0h5KCFctA/URxz917sGyDkp
1LvebAhGuco1";
const SERVER: &str = "
MIIBvDCCAWOgAwIBAgIUUTWzU67upX8CuTx6E0l3Fw70GsAwCgYIKoZIzj0EAwIwEjEQMA4GA1UEAwwHdGVzdCBDQTAgFw0yNjExMjYx
NjA5MTNaGA8yMTE5MTIyOTE2MDkxM1owFDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAELcnkrFec
QkrXDEcQ1Uw1BulBEjPvF+3lZKR1FksS8ZeYMSWmDUsLPjvEzSyml3w5Sec4SInKEzKFjkmVVb1oWKOBkjCBjzAqBgNVHREEIzAhggls
b2NhbGhvc3SHBH8AAAGCDm1vZGVscy5leGFtcGxlMAwGA1UdEwEB/wQCMAAwEwYDVR0lBAwwCgYIKwYBBQUHAwEwHQYDVR0OBBYEFDzP
aQGGpgulM5D1jzEac5ZIWhz1MB8GA1UdIwQYMBaAFMcb0O7RB5MXs7muGlkJNBsjJx3zMAoGCCqGSM49BAMCA0cAMEQCICsWjVbk/xl6
k30u/RiLHr+fuaPVwHuu7A7jb9qtRsFVAiBMfBCPVfgE4i/6aIdh9YdY8NcVlmp0GieaOpF2y/dXyw==";
const SERVER_KEY: &str = "
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgM9C60MyAntY8lC2KodqnEUPUC8yv/OGO8qC/lpQEfhShRANCAAQtyeSs
V5xCStcMRxDVTDUG6UESM+8X7eVkpHUWSxLxl5gxJaYNSws+O8TNLKaXfDlJ5zhIicoTMoWOSZVVvWhY";

/// Not a test but the other half of them: asks where the variable says.
#[test]
fn a_process_that_is_told_whom_to_ask_asks() {
    let Ok(base) = std::env::var(ASK) else { return };
    let base = base.parse().expect("a base URL");
    let provider = match HttpProvider::new(Box::new(OpenAiChat::default()), base, None, origin()) {
        Ok(provider) => provider.with_retry(RetryPolicy::never()),
        Err(error) => panic!("({error})"),
    };
    match ask(&provider) {
        (events, Ok(())) => assert_eq!(words(&events).as_deref(), Some("hello")),
        (_, Err(error)) => panic!("({error})"),
    }
}

/// Asks at `base` in a process with these variables; returns what went wrong.
fn ask_with(base: &str, variables: &[(&str, &str)]) -> Result<(), String> {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "http::environment::a_process_that_is_told_whom_to_ask_asks"]).env(ASK, base);
    VARIABLES.iter().for_each(|name| {
        command.env_remove(name);
    });
    let output = command.envs(variables.iter().copied()).output().expect("it runs");
    if output.status.success() {
        return Ok(());
    }
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let error = text.lines().find_map(|line| line.strip_prefix('(')?.strip_suffix(')'));
    Err(error.map(str::to_owned).unwrap_or(text))
}

/// Answers everything, as a proxy for plain requests and as a server; tells the first line of each request.
fn plain() -> (u16, Receiver<String>) {
    let (listener, _) = listen();
    let port = listener.local_addr().expect("an address").port();
    let (tell, told) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let request = read_request(&mut stream);
            let _ = tell.send(request.lines().next().unwrap_or_default().to_owned());
            answer().iter().for_each(|act| super::perform(act, &mut stream));
        }
    });
    (port, told)
}

/// Lets connections through to `port`, whatever host they are meant for; tells the first line of each request.
fn tunnel(port: u16) -> (u16, Receiver<String>) {
    let (listener, _) = listen();
    let own = listener.local_addr().expect("an address").port();
    let (tell, told) = channel();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let request = read_request(&mut client);
            let _ = tell.send(request.lines().next().unwrap_or_default().to_owned());
            let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)) else { return };
            let _ = client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n");
            let mut back = (server.try_clone().expect("a copy"), client.try_clone().expect("a copy"));
            thread::spawn(move || std::io::copy(&mut back.0, &mut back.1));
            let _ = std::io::copy(&mut client, &mut server);
        }
    });
    (own, told)
}

/// A SOCKS proxy that answers by itself; tells whom each connection was meant for.
fn socks() -> (u16, Receiver<String>) {
    let (listener, _) = listen();
    let port = listener.local_addr().expect("an address").port();
    let (tell, told) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // Version, one method, which is none; then version, connect, reserved, a name and its length.
            let (mut greeting, mut wanted) = ([0; 3], [0; 5]);
            let _ = stream.read_exact(&mut greeting).and_then(|()| stream.write_all(&[5, 0]));
            let _ = stream.read_exact(&mut wanted);
            let mut host = vec![0; usize::from(wanted[4]) + 2];
            let _ =
                stream.read_exact(&mut host).and_then(|()| stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
            let _ = tell.send(String::from_utf8_lossy(&host[..host.len() - 2]).into_owned());
            read_request(&mut stream);
            answer().iter().for_each(|act| super::perform(act, &mut stream));
        }
    });
    (port, told)
}

/// Speaks TLS with the certificate of the test.
fn secure() -> u16 {
    let server =
        CertificateDer::from_pem_slice(pem("CERTIFICATE", SERVER).as_bytes()).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(pem("PRIVATE KEY", SERVER_KEY).as_bytes()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![server], key)
        .expect("they belong together");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).expect("a session");
            let mut stream = rustls::StreamOwned::new(connection, stream);
            // The head and a small body come in one piece.
            if matches!(stream.read(&mut [0; 16 * 1024]), Ok(1..)) {
                for act in answer() {
                    if let Act::Send(bytes) = act {
                        let _ = stream.write_all(&bytes);
                    }
                }
            }
        }
    });
    port
}

fn pem(what: &str, body: &str) -> String {
    format!("-----BEGIN {what}-----{body}\n-----END {what}-----\n")
}

#[test]
fn plain_requests_go_through_the_proxy_that_is_named_for_them() {
    let (port, told) = plain();
    let proxy = format!("http://127.0.0.1:{port}");
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        assert_eq!(ask_with("http://models.example", &[(variable, &proxy)]), Ok(()));
        assert_eq!(told.recv().as_deref(), Ok("POST http://models.example/v1/chat/completions HTTP/1.1"));
    }
}

#[test]
fn a_socks_proxy_is_one_too() {
    let (port, told) = socks();
    let proxy = format!("socks5h://127.0.0.1:{port}");
    assert_eq!(ask_with("http://models.example", &[("ALL_PROXY", &proxy)]), Ok(()));
    assert_eq!(told.recv().as_deref(), Ok("models.example"));
}

#[test]
fn this_machine_needs_no_proxy() {
    let (port, told) = plain();
    let nobody = "http://127.0.0.1:1";
    for host in ["127.0.0.1", "localhost"] {
        let base = format!("http://{host}:{port}");
        for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
            assert_eq!(ask_with(&base, &[(variable, nobody)]), Ok(()), "{base}");
            assert_eq!(told.recv().as_deref(), Ok("POST /v1/chat/completions HTTP/1.1"));
        }
    }
}

#[test]
fn a_host_that_needs_no_proxy_is_not_told_as_a_proxy() {
    let none = "models.invalid,10.0.0.0/8";
    let variables = [("HTTP_PROXY", "http://127.0.0.1:1"), ("NO_PROXY", none)];
    for base in ["http://models.invalid", "http://a.models.invalid"] {
        let error = ask_with(base, &variables).expect_err("no such host");
        assert!(error.starts_with(&format!("cannot reach {base}: ")), "{error}");
    }
}

#[test]
fn a_proxy_that_cannot_be_reached_is_told_as_a_proxy() {
    for (scheme, variable) in [("http", "HTTP_PROXY"), ("https", "HTTPS_PROXY"), ("https", "ALL_PROXY")] {
        let base = format!("{scheme}://models.example");
        let error =
            ask_with(&base, &[(variable, "http://me:se%20cret@127.0.0.1:1")]).expect_err("nobody there");
        let begin = format!("cannot reach {base} through the proxy http://127.0.0.1:1 of {variable}: ");
        assert!(error.starts_with(&begin) && error.contains("NO_PROXY"), "{error}");
        assert!(!error.contains("cret") && !error.contains("me:"), "{error}");
    }
}

/// A proxy that answers everything by itself.
fn refusing(answer: &'static str) -> String {
    let (listener, _) = listen();
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            read_request(&mut stream);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    format!("http://127.0.0.1:{port}")
}

#[test]
fn a_proxy_that_refuses_is_told_as_a_proxy() {
    let pages = [
        "HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-type: text/html\r\n\r\n<html>no</html>",
        "HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\n\r\n<html>gone</html>",
        "HTTP/1.1 407 Proxy Authentication Required\r\nconnection: close\r\n\r\nwho are you?",
    ];
    for page in pages {
        let proxy = refusing(page);
        let status = &page[9..12];
        let error = ask_with("http://models.example", &[("HTTP_PROXY", &proxy)]).expect_err("refused");
        let begin = format!("cannot reach http://models.example through the proxy {proxy} of HTTP_PROXY: ");
        assert!(error.starts_with(&begin) && error.contains(status), "{error}");
        let error = ask_with("https://models.example", &[("HTTPS_PROXY", &proxy)]).expect_err("refused");
        let begin = format!("cannot reach https://models.example through the proxy {proxy} of HTTPS_PROXY: ");
        assert!(error.starts_with(&begin), "{error}");
    }
    // What the service itself says, it says through a proxy too.
    let proxy =
        refusing("HTTP/1.1 401 No\r\nconnection: close\r\n\r\n{\"error\":{\"message\":\"wrong key\"}}");
    let error = ask_with("http://models.example", &[("HTTP_PROXY", &proxy)]).expect_err("refused");
    assert_eq!(error, "authentication (status 401): wrong key");
}

#[test]
fn a_certificate_of_ones_own_is_trusted_where_the_variable_names_it_and_nowhere_else() {
    let base = format!("https://localhost:{}", secure());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("authority.pem");
    std::fs::write(&file, pem("CERTIFICATE", AUTHORITY)).expect("written");
    let file = file.to_str().expect("text");
    assert_eq!(ask_with(&base, &[("SSL_CERT_FILE", file)]), Ok(()));
    let distrusted = ask_with(&base, &[]).expect_err("not trusted");
    assert!(distrusted.starts_with(&format!("cannot reach {base}: ")), "{distrusted}");
    let absent = ask_with(&base, &[("SSL_CERT_FILE", "/nowhere/authority.pem")]).expect_err("no such file");
    assert!(absent.contains("SSL_CERT_FILE /nowhere/authority.pem: "), "{absent}");

    // Through a proxy the handshake is with the server, and the proxy sees its name only.
    let (proxy, told) = tunnel(base.rsplit_once(':').expect("a port").1.parse().expect("a number"));
    let variables = [("SSL_CERT_FILE", file), ("HTTPS_PROXY", &format!("http://127.0.0.1:{proxy}"))];
    assert_eq!(ask_with("https://models.example", &variables), Ok(()));
    assert_eq!(told.recv().as_deref(), Ok("CONNECT models.example:443 HTTP/1.1"));
}

#[test]
fn a_machine_without_certificates_can_talk_to_itself() {
    let (port, _told) = plain();
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().to_str().expect("text");
    let base = format!("http://127.0.0.1:{port}");
    assert_eq!(ask_with(&base, &[("SSL_CERT_DIR", empty)]), Ok(()));
    assert_eq!(ask_with(&base, &[("SSL_CERT_FILE", "/nowhere/authority.pem")]), Ok(()));
}
