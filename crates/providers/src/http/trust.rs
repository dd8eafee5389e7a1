//! Whom the client trusts, and what does the cryptography.
//!
//! That is ring, which takes a fraction of the time to compile that the others do, unless the program has chosen something else for
//! all its connections.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::Verifier;

/// Trusts whom the system trusts, and `certificates`.
pub(super) fn system_and(certificates: Vec<CertificateDer<'static>>) -> Result<ClientConfig, String> {
    let verifier = verifier(certificates, provider()).map_err(|error| error.to_string())?;
    let trusting = versions()?.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    Ok(spoken(trusting.with_no_client_auth()))
}

/// Trusts no server, so that all connections are without TLS.
pub(super) fn no_server() -> Result<ClientConfig, String> {
    Ok(spoken(versions()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth()))
}

/// The certificates in `SSL_CERT_FILE`.
///
/// On Linux the platform's verifier reads it by itself, as it does `SSL_CERT_DIR`; on other systems it asks the keychain
/// only. Read here it counts everywhere, and a file that cannot be read is told.
pub(super) fn extra_certificates() -> Result<Vec<CertificateDer<'static>>, String> {
    let Some(path) = std::env::var_os("SSL_CERT_FILE").filter(|path| !path.is_empty()) else {
        return Ok(Vec::new());
    };
    let fault = |reason: String| format!("SSL_CERT_FILE {}: {reason}", path.to_string_lossy());
    let pem = std::fs::read(&path).map_err(|error| fault(error.to_string()))?;
    CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| fault(format!("invalid certificate encoding: {error}")))
}

#[cfg(not(target_os = "android"))]
fn verifier(
    certificates: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
) -> Result<Verifier, rustls::Error> {
    Verifier::new_with_extra_roots(certificates, provider)
}

#[cfg(target_os = "android")]
fn verifier(
    certificates: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
) -> Result<Verifier, rustls::Error> {
    if certificates.is_empty() {
        return Verifier::new(provider);
    }
    Err(rustls::Error::General("certificates beside the system's cannot be added on Android".to_owned()))
}

fn provider() -> Arc<CryptoProvider> {
    let ring = || Arc::new(rustls::crypto::ring::default_provider());
    CryptoProvider::get_default().cloned().unwrap_or_else(ring)
}

fn versions() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, String> {
    let builder = ClientConfig::builder_with_provider(provider());
    builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())
}

/// Offers both versions of HTTP, as the client does when it sets up TLS by itself.
fn spoken(mut config: ClientConfig) -> ClientConfig {
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config
}
