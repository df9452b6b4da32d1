//! TLS 1.3 with raw public keys (RFC 7250): each end proves that it has its key, and the other end
//! compares the key's fingerprint. There are no certificates, names, dates or authorities.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use crate::{Fingerprint, Key};

/// The application protocol in the handshake (RFC 7301).
const ALPN: &[u8] = b"tfrc/1";

/// The name in the handshake: ends are known by keys, and an observer learns nothing.
pub(crate) const NAME: &str = "tfrc.invalid";

/// The peers that this end talks to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Peers {
    /// Whoever has a key.
    Any,
    /// The owners of these keys.
    These(Vec<Fingerprint>),
}

/// Compares a peer's key, and keeps the fingerprint of the last one that was refused.
#[derive(Debug)]
pub(crate) struct Verifier {
    peers: Peers,
    algorithms: WebPkiSupportedAlgorithms,
    refused: Mutex<Option<Fingerprint>>,
}

impl Verifier {
    pub(crate) fn new(peers: Peers) -> Self {
        let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
        Self { peers, algorithms, refused: Mutex::default() }
    }

    /// The key that was refused since the last call.
    pub(crate) fn take_refused(&self) -> Option<Fingerprint> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn check(&self, key: &CertificateDer<'_>, more: &[CertificateDer<'_>]) -> Result<(), Error> {
        let seen = Fingerprint::of(key);
        let known = match &self.peers {
            Peers::Any => true,
            Peers::These(known) => known.contains(&seen),
        };
        if known && more.is_empty() {
            return Ok(());
        }
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
        Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
    }

    fn check_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(key.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
    }
}

fn no_tls12() -> Error {
    Error::General("TLS 1.2".to_owned())
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity, intermediates).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity, intermediates).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

/// The library of cryptography lacks what QUIC needs; it does not.
#[derive(Debug)]
pub(crate) struct Unusable(String);

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn unusable(error: impl fmt::Display) -> Unusable {
    Unusable(error.to_string())
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The client's half of a handshake.
pub(crate) fn client(key: &Key, verifier: Arc<Verifier>) -> Result<QuicClientConfig, Unusable> {
    let resolver = rustls::client::AlwaysResolvesClientRawPublicKeys::new(key.certified());
    let mut config = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(unusable)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_client_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = vec![ALPN.to_vec()];
    // Each connection proves both keys anew.
    config.resumption = rustls::client::Resumption::disabled();
    config.enable_sni = false;
    QuicClientConfig::try_from(config).map_err(unusable)
}

/// The server's half of a handshake.
pub(crate) fn server(key: &Key, verifier: Arc<Verifier>) -> Result<QuicServerConfig, Unusable> {
    let resolver = rustls::server::AlwaysResolvesServerRawPublicKeys::new(key.certified());
    let mut config = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(unusable)?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.send_tls13_tickets = 0;
    QuicServerConfig::try_from(config).map_err(unusable)
}
