//! Judges the certificate of a server as `sslmode` asks for it.
//!
//! What can be judged by webpki is. Beside that stand three things that people have and PostgreSQL's own programs accept:
//! a certificate that is its own root and says that it is an authority; one of version 1 whose issuer is a root; and one that has
//! its name in its subject alone. PostgreSQL's manual makes all three.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

use super::certificate::Certificate;

/// What is asked of a certificate.
#[derive(Debug)]
pub(super) enum Asked {
    /// Only that the server has its key.
    Nothing,
    /// A root that the system trusts, and the name.
    System(Box<Verifier>),
    /// A root of the file, and the name if it `is_named`.
    Root {
        webpki: Arc<WebPkiServerVerifier>,
        roots: Vec<CertificateDer<'static>>,
        /// Whether lists of revoked certificates are looked at, which only webpki does.
        has_lists: bool,
        is_named: bool,
    },
}

#[derive(Debug)]
pub(super) struct Judge {
    pub(super) asked: Asked,
    pub(super) algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        answer: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let (webpki, roots, has_lists, is_named) = match &self.asked {
            Asked::Nothing => return Ok(ServerCertVerified::assertion()),
            Asked::System(verifier) => {
                return verifier.verify_server_cert(certificate, between, name, answer, now);
            }
            Asked::Root { webpki, roots, has_lists, is_named } => (webpki, roots, *has_lists, *is_named),
        };
        let said = match webpki.verify_server_cert(certificate, between, name, answer, now) {
            // The chain comes first, so this one holds.
            Err(error) if is_other_name(&error) => match is_named {
                true => by_common_name(certificate, name).ok_or(error),
                false => Ok(()),
            },
            Err(error) if !has_lists && self.is_rooted(certificate, roots, now) => match is_named {
                true => by_any_name(certificate, name).ok_or(error),
                false => Ok(()),
            },
            Err(error) => Err(error),
            Ok(_) => Ok(()),
        };
        said.map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match verify_tls12_signature(message, certificate, signed, &self.algorithms) {
            Err(error) if is_unreadable(&error) => self.has_key(message, certificate, signed).ok_or(error),
            said => said,
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match verify_tls13_signature(message, certificate, signed, &self.algorithms) {
            // It has looked at the scheme before it read the certificate.
            Err(error) if is_unreadable(&error) => self.has_key(message, certificate, signed).ok_or(error),
            said => said,
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl Judge {
    /// Returns whether a certificate that webpki does not take has a root all the same.
    fn is_rooted(&self, certificate: &[u8], roots: &[CertificateDer<'_>], now: UnixTime) -> bool {
        let Ok(now) = i64::try_from(now.as_secs()) else { return false };
        let Some(read) = Certificate::read(certificate).filter(|read| read.is_valid_at(now)) else {
            return false;
        };
        let is_own_root =
            read.issuer == read.subject && roots.iter().any(|root| root.as_ref() == certificate);
        // What has extensions may forbid what we do not look for: only webpki judges it.
        is_own_root
            || read.is_version_1
                && roots.iter().filter_map(|root| Certificate::read(root)).any(|root| {
                    root.subject == read.issuer
                        && root.is_valid_at(now)
                        && root.may_issue()
                        && self.has_signed(&root, &read)
                })
    }

    fn has_signed(&self, issuer: &Certificate<'_>, issued: &Certificate<'_>) -> bool {
        self.algorithms.all.iter().any(|algorithm| {
            algorithm.signature_alg_id().as_ref() == issued.algorithm
                && algorithm.public_key_alg_id().as_ref() == issuer.key_kind
                && algorithm.verify_signature(issuer.key, issued.signed, issued.signature).is_ok()
        })
    }

    /// Holds a signature of the handshake against the key of a certificate that webpki does not read.
    fn has_key(
        &self,
        message: &[u8],
        certificate: &[u8],
        signed: &DigitallySignedStruct,
    ) -> Option<HandshakeSignatureValid> {
        let read = Certificate::read(certificate)?;
        let of_scheme = self.algorithms.mapping.iter().filter(|(scheme, _)| *scheme == signed.scheme);
        let holds = of_scheme.flat_map(|(_, algorithms)| algorithms.iter()).any(|algorithm| {
            algorithm.public_key_alg_id().as_ref() == read.key_kind
                && algorithm.verify_signature(read.key, message, signed.signature()).is_ok()
        });
        holds.then(HandshakeSignatureValid::assertion)
    }
}

fn is_other_name(error: &Error) -> bool {
    use CertificateError::{NotValidForName, NotValidForNameContext};
    matches!(error, Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }))
}

/// Returns whether the certificate could not be read, and not: whether its key has not signed.
fn is_unreadable(error: &Error) -> bool {
    match error {
        Error::InvalidCertificate(CertificateError::BadSignature) => false,
        Error::InvalidCertificate(_) => true,
        _ => false,
    }
}

fn by_any_name(certificate: &CertificateDer<'_>, name: &ServerName<'_>) -> Option<()> {
    let parsed = ParsedCertificate::try_from(certificate);
    match parsed.is_ok_and(|parsed| rustls::client::verify_server_name(&parsed, name).is_ok()) {
        true => Some(()),
        false => by_common_name(certificate, name),
    }
}

/// Compares the common name where a certificate has no other name of the kind, as libpq does.
fn by_common_name(certificate: &[u8], name: &ServerName<'_>) -> Option<()> {
    let read = Certificate::read(certificate)?;
    let is_address = matches!(name, ServerName::IpAddress(_));
    let common = read.common_name().filter(|_| !read.has_alternative_names(is_address))?;
    let name = name.to_str();
    let is_same = common.eq_ignore_ascii_case(&name);
    // A star stands for one label, the first, and never for a piece of an address.
    let is_star = !is_address
        && common.strip_prefix("*.").zip(name.split_once('.')).is_some_and(|(rest, (label, parent))| {
            !label.is_empty() && !rest.is_empty() && rest.eq_ignore_ascii_case(parent)
        });
    (is_same || is_star).then_some(())
}
