//! Why a host could not be used, in words for the one who must act.

use std::error::Error as _;
use std::fmt;

use rustls::{AlertDescription, CertificateError};

use super::settings::{Host, Mode, Tls};
use super::tls::Judged;
use crate::StoreError;
use crate::postgres::fault::{Fault, FaultKind, RIGHTS};

/// Why one host could not be used.
pub(super) struct Trouble {
    pub(super) cause: Cause,
    reason: String,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// Nobody answers, or not to the end.
    Away,
    /// The server says that it takes nobody now.
    Later,
    /// The server answers and is not the one that is wanted.
    Behind,
    /// No handshake, or no TLS at all.
    Unsecured,
    /// We are not let in over a connection that is encrypted so, or not at all.
    Encryption,
    /// We are not let in.
    Login,
    /// The server cannot give what is asked for.
    Refused,
    /// What was said cannot be done.
    Setting,
}

impl Cause {
    /// Returns whether the next host cannot help.
    pub(super) fn is_final(self) -> bool {
        matches!(self, Cause::Login | Cause::Encryption | Cause::Setting)
    }

    /// Returns whether `allow` and `prefer` go on the other way.
    pub(super) fn asks_for_other_encryption(self) -> bool {
        matches!(self, Cause::Unsecured | Cause::Encryption)
    }
}

impl Trouble {
    pub(super) fn new(cause: Cause, reason: String) -> Self {
        Trouble { cause, reason }
    }

    /// Adds what may be behind it.
    pub(super) fn with(mut self, more: &str) -> Self {
        self.reason.push_str("; ");
        self.reason.push_str(more);
        self
    }

    /// Says what became of a connection whose wire was made.
    pub(super) fn of(error: &tokio_postgres::Error, secured: bool, has_password: bool) -> Self {
        if let Some(said) = error.as_db_error() {
            return Trouble::of_server(said.code().code(), said.message(), secured);
        }
        let cause = error.source();
        if let Some(error) = cause.and_then(|cause| cause.downcast_ref::<std::io::Error>()) {
            // With TLS 1.3 the server looks at our certificate after we have gone on.
            return match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                Some(rustls::Error::AlertReceived(alert)) => Trouble::new(Cause::Login, of_alert(*alert)),
                _ if error.kind() == std::io::ErrorKind::InvalidInput => {
                    Trouble::new(Cause::Setting, first_line(error))
                }
                _ => Trouble::new(Cause::Away, first_line(error)),
            };
        }
        if error.is_closed() {
            return Trouble::new(Cause::Away, "the server closed the connection".to_owned());
        }
        let reason = cause.map(first_line).unwrap_or_default();
        let reason = match reason.as_str() {
            "password missing" => {
                "the server asks for a password: put it into ~/.pgpass, or name a file or a command that has it".to_owned()
            }
            "server did not use channel binding" if !secured => {
                "channel_binding=require needs TLS, and the connection has none; add sslmode=require".to_owned()
            }
            "server did not use channel binding" => {
                "the server does not bind SCRAM to the connection, as channel_binding=require asks; it may keep the \
                 password as MD5, or something between us speaks TLS for it"
                    .to_owned()
            }
            "" => first_line(error),
            reason => format!("{error}: {reason}"),
        };
        // Another password may be taken; what cannot be bound or is not spoken will not be.
        let is_login = !has_password || reason.starts_with("authentication error");
        let cause = if is_login { Cause::Login } else { Cause::Setting };
        Trouble::new(cause, reason)
    }

    fn of_server(code: &str, message: &str, secured: bool) -> Self {
        let reason = first_line(&message);
        // postgresql.org/docs/15/errcodes-appendix.html
        match (code.get(..2).unwrap_or_default(), code) {
            // Its own words name the user.
            ("28", "28P01") => Trouble::new(
                Cause::Login,
                "the server does not let us in: look at user and password".to_owned(),
            ),
            ("28", _) if message.contains("certificate") => Trouble::new(
                Cause::Login,
                "the server does not let us in without a certificate that it knows: sslcert and sslkey name one".to_owned(),
            ),
            ("28", _) => {
                let (without, with) = ("the server does not let us in without TLS", "the server does not let us in with TLS");
                let other = match secured {
                    false if message.contains("no encryption") => format!("{without}: sslmode=require asks for it"),
                    true if message.contains("SSL encryption") => {
                        format!("{with}, or not at all: look at what pg_hba.conf allows; sslmode=prefer goes on without")
                    }
                    _ => "the server does not let us in: look at user and password of the URL and at what pg_hba.conf \
                          allows"
                        .to_owned(),
                };
                Trouble::new(Cause::Encryption, other)
            }
            (_, "57P03" | "53300" | "53200" | "53400" | "57P01" | "57P02") => Trouble::new(Cause::Later, reason),
            // PgBouncer has one code for all that it says itself.
            (_, "08P01") if message.contains("authentication failed") || message.contains("no such user") => Trouble::new(
                Cause::Login,
                "the pooler does not let us in: look at user and password of the URL and at the users that the pooler knows".to_owned(),
            ),
            (_, "08P01") if message.contains("does not exist") || message.contains("no such database") => {
                Trouble::new(Cause::Refused, reason)
            }
            (_, "42501") => Trouble::new(Cause::Refused, format!("{reason}; {RIGHTS}")),
            ("08", _) if !message.contains("startup parameter") => Trouble::new(Cause::Later, reason),
            ("08", _) => Trouble::new(
                Cause::Setting,
                "what stands before the server refuses a parameter that a connection begins with: leave `options` out".to_owned(),
            ),
            _ => Trouble::new(Cause::Refused, reason),
        }
    }

    pub(super) fn of_handshake(error: &std::io::Error, tls: &Tls, judged: Judged) -> Self {
        let said = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let unjudged = match tls.mode {
            Mode::Require => "without sslrootcert and ~/.postgresql/root.crt it is not judged",
            _ => "under sslmode=require it is not judged",
        };
        let reason = match said {
            Some(rustls::Error::InvalidCertificate(bad)) if judged != Judged::No => {
                let what = of_certificate(bad);
                match bad {
                    CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                        format!("{what}; sslmode=verify-ca does not compare the name")
                    }
                    _ => format!("{what}; {unjudged}"),
                }
            }
            Some(rustls::Error::AlertReceived(alert)) => of_alert(*alert),
            Some(rustls::Error::InvalidCertificate(bad)) => of_certificate(bad),
            Some(error) => format!("no TLS with this server: {}", first_line(error)),
            None => format!("the server broke off the handshake: {}", first_line(error)),
        };
        Trouble::new(Cause::Unsecured, reason)
    }
}

/// Makes one error of what became of all hosts.
pub(super) fn fault(place: &str, troubles: &[(&Host, Trouble)]) -> Fault {
    let place = place.to_owned();
    let has = |wanted: &[Cause]| troubles.iter().any(|(_, trouble)| wanted.contains(&trouble.cause));
    let reason = match troubles {
        [(_, trouble)] => trouble.reason.clone(),
        several => {
            let told = several.iter().map(|(host, trouble)| format!("{}: {}", host.shown(), trouble.reason));
            told.collect::<Vec<_>>().join("; ")
        }
    };
    let io = |reason, kind| Fault { error: StoreError::Io { place: place.clone(), reason }, kind };
    if has(&[Cause::Login, Cause::Encryption, Cause::Setting]) {
        return Fault { error: StoreError::Database { place, reason }, kind: FaultKind::Refused };
    }
    // A server that takes over says so until it has; others may be away meanwhile.
    if has(&[Cause::Behind, Cause::Later]) {
        let reason = match has(&[Cause::Behind]) {
            true if troubles.len() > 1 => {
                format!("no host is what target_session_attrs asks for yet: {reason}")
            }
            true => format!("the host is not what target_session_attrs asks for: {reason}"),
            false => reason,
        };
        return io(reason, FaultKind::Unreachable);
    }
    match has(&[Cause::Unsecured, Cause::Refused]) {
        true => io(reason, FaultKind::Refused),
        // Nobody answers: who has patience tries again.
        false => io(reason, FaultKind::Lost),
    }
}

/// Returns what something says, on one line.
pub(super) fn first_line(text: &(impl fmt::Display + ?Sized)) -> String {
    text.to_string().split(['\n', '\r']).next().unwrap_or_default().chars().take(300).collect()
}

fn of_certificate(bad: &CertificateError) -> String {
    match bad {
        CertificateError::UnknownIssuer => {
            "the server's certificate is issued by none of those that sslrootcert names".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the server's certificate has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the server's certificate is not valid yet".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "the server's certificate is for another name".to_owned()
        }
        CertificateError::Revoked => "the server's certificate is revoked".to_owned(),
        CertificateError::UnknownRevocationStatus | CertificateError::ExpiredRevocationList | CertificateError::ExpiredRevocationListContext { .. } => {
            "sslcrl does not say of the server's certificate whether it is revoked".to_owned()
        }
        CertificateError::Other(other) if other.to_string().contains("UnsupportedCertVersion") => {
            "the server's certificate is of version 1, and no certificate of sslrootcert has issued it directly; one of \
             version 3 can have others between"
                .to_owned()
        }
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "the server's certificate is that of an authority, and does not stand in sslrootcert itself".to_owned()
        }
        bad => format!("the server's certificate cannot be used: {bad}"),
    }
}

fn of_alert(alert: AlertDescription) -> String {
    use AlertDescription as Alert;
    match alert {
        Alert::CertificateRequired => {
            "the server asks for a certificate of ours: sslcert and sslkey name it".to_owned()
        }
        Alert::UnknownCA | Alert::BadCertificate | Alert::CertificateUnknown | Alert::CertificateExpired | Alert::CertificateRevoked | Alert::UnsupportedCertificate => {
            "the server does not take our certificate (sslcert)".to_owned()
        }
        Alert::ProtocolVersion => {
            "the server speaks no version of TLS that is allowed; it has to speak 1.2 or 1.3".to_owned()
        }
        Alert::HandshakeFailure => {
            "the server has no cipher or key that is known here; it needs ECDHE, and a key of RSA with 2048 bits or more, \
             P-256, P-384 or Ed25519"
                .to_owned()
        }
        alert => format!("the server broke off the handshake ({alert:?})"),
    }
}
