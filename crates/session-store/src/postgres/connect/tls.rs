//! Sets up TLS from files and words.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use super::certificate::Certificate;
use super::judge::{Asked, Judge};
use super::settings::{File, Mode, Root, Tls};

/// Whether a certificate is judged, and by what.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    No,
    Chain,
    Name,
}

/// Returns what a handshake needs. Files are read here, so that new ones count.
pub(super) fn configuration(tls: &Tls) -> Result<(ClientConfig, Judged), String> {
    // ring, unless the program has chosen something else for all its connections.
    let ring = || Arc::new(rustls::crypto::ring::default_provider());
    let provider = CryptoProvider::get_default().cloned().unwrap_or_else(ring);
    let versions = match (tls.oldest_is_1_3, tls.newest_is_1_2) {
        (false, false) => vec![&TLS13, &TLS12],
        (true, false) => vec![&TLS13],
        (false, true) => vec![&TLS12],
        (true, true) => {
            return Err("ssl_min_protocol_version is newer than ssl_max_protocol_version".to_owned());
        }
    };
    let (asked, judged) = asked(tls, &provider)?;
    let judge = Judge { asked, algorithms: provider.signature_verification_algorithms };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions)
        .map_err(|error| format!("TLS cannot be set up: {error}"))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(judge));
    let mut configuration = match own(tls)? {
        None => builder.with_no_client_auth(),
        Some((certificates, key)) => builder
            .with_client_auth_cert(certificates, key)
            .map_err(|error| format!("sslcert and sslkey do not go together: {error}"))?,
    };
    configuration.enable_sni = tls.names_host;
    if tls.is_direct {
        configuration.alpn_protocols = vec![b"postgresql".to_vec()];
    }
    Ok((configuration, judged))
}

fn asked(tls: &Tls, provider: &Arc<CryptoProvider>) -> Result<(Asked, Judged), String> {
    let file = match &tls.root {
        Root::System => {
            let verifier = Verifier::new(Arc::clone(provider));
            let verifier = verifier.map_err(|error| {
                format!("the certificates that the system trusts cannot be read: {error}")
            })?;
            return Ok((Asked::System(Box::new(verifier)), Judged::Name));
        }
        Root::File(file) => file.as_ref().filter(|file| file.is_named || file.path.exists()),
    };
    let file = match (file, tls.mode) {
        // Judging could only lead to going on without TLS.
        (_, Mode::Disable | Mode::Allow | Mode::Prefer) | (None, Mode::Require) => {
            return Ok((Asked::Nothing, Judged::No));
        }
        (None, mode) => {
            let mode = mode.word();
            return Err(format!(
                "sslmode={mode} needs certificates to trust: name a file by sslrootcert, say sslrootcert=system for those \
                 that the system trusts, or put them into ~/.postgresql/root.crt"
            ));
        }
        // What PostgreSQL's manual says of it: as verify-ca.
        (Some(file), _) => file,
    };
    let roots = certificates(file, "sslrootcert")?;
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    let (mut store, mut is_expired) = (RootCertStore::empty(), false);
    for root in &roots {
        match Certificate::read(root) {
            // webpki takes roots at their word.
            Some(read) if !read.is_valid_at(now) => is_expired = true,
            // A bundle may hold one that is of no use.
            _ => drop(store.add(root.clone())),
        }
    }
    if store.is_empty() {
        let what = if is_expired { "has expired, or is not valid yet" } else { "can be used" };
        return Err(format!("sslrootcert: no certificate of the file {what}")
            .replace("no certificate of the file has", "each certificate of the file has"));
    }
    let mut builder = WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider));
    let lists = tls.lists.as_ref().filter(|lists| lists.is_named || lists.path.exists());
    if let Some(lists) = lists {
        let lists = CertificateRevocationListDer::pem_slice_iter(&contents(lists, "sslcrl")?)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| format!("sslcrl: the file is no list in PEM: {error}"))?;
        builder = builder.with_crls(lists).enforce_revocation_expiration();
    }
    let webpki = builder.build().map_err(|error| format!("sslrootcert or sslcrl cannot be used: {error}"))?;
    let is_named = tls.mode == Mode::VerifyFull;
    let judged = if is_named { Judged::Name } else { Judged::Chain };
    Ok((Asked::Root { webpki, roots, has_lists: lists.is_some(), is_named }, judged))
}

/// Reads our own certificate, if there is one, and its key.
fn own(tls: &Tls) -> Result<Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>, String> {
    let file = tls.certificate.as_ref().filter(|file| file.is_named || file.path.exists());
    let Some(file) = file else { return Ok(None) };
    let certificates = certificates(file, "sslcert")?;
    let Some(key) = &tls.key else { return Err("sslcert is said, and sslkey is not".to_owned()) };
    let bytes = contents(key, "sslkey")?;
    may_be_used(&key.path)?;
    let text = String::from_utf8_lossy(&bytes);
    if text.contains("ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED") {
        return Err("sslkey: the key is encrypted, which is not supported; `openssl pkey -in FILE -out NEW` decrypts it"
            .to_owned());
    }
    let key = match text.contains("-----BEGIN ") {
        true => PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| match error {
            pem::Error::NoItemsFound => "sslkey: the file holds no private key".to_owned(),
            error => format!("sslkey: the file cannot be read: {error}"),
        })?,
        false => {
            PrivateKeyDer::try_from(bytes).map_err(|_| "sslkey: the file holds no private key".to_owned())?
        }
    };
    Ok(Some((certificates, key)))
}

fn certificates(file: &File, name: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates = CertificateDer::pem_slice_iter(&contents(file, name)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| format!("{name}: the file cannot be read: {error}"))?;
    match certificates.is_empty() {
        true => Err(format!("{name}: the file holds no certificate in PEM")),
        false => Ok(certificates),
    }
}

/// Reads a file. Its path is not repeated: it may come from the URL.
fn contents(file: &File, name: &str) -> Result<Vec<u8>, String> {
    std::fs::read(&file.path).map_err(|error| match file.is_named {
        true => format!("{name}: the file cannot be read: {error}"),
        false => {
            let usual = file.path.file_name().unwrap_or_default().to_string_lossy();
            format!("{name}: ~/.postgresql/{usual} cannot be read: {error}")
        }
    })
}

/// Refuses a key that others can read, by libpq's rules.
#[cfg(unix)]
fn may_be_used(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    let about =
        std::fs::metadata(path).map_err(|error| format!("sslkey: the file cannot be read: {error}"))?;
    if !about.is_file() {
        return Err("sslkey: it is no plain file".to_owned());
    }
    // What root owns, the group may read: it is how a machine keeps a key for some of its users.
    let open = if about.uid() == 0 { 0o037 } else { 0o077 };
    match about.mode() & open {
        0 => Ok(()),
        _ => Err("sslkey: others may use the file; it has to be u=rw (0600) or less, or u=rw,g=r (0640) if root owns it"
            .to_owned()),
    }
}

#[cfg(not(unix))]
fn may_be_used(_: &Path) -> Result<(), String> {
    Ok(())
}
