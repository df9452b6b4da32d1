//! A stream of QUIC under a transport's own congestion control, as far as it goes for some seconds:
//! what stands next to `TFRC` in `experiments/modern/relatives`.
//!
//! `quic_streams receive ADDRESS` takes what one peer sends; `quic_streams quinn|noq cubic|bbr
//! ADDRESS SECONDS` sends.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

/// Takes any certificate: the two ends are in one emulated network.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// The sender over one of the two libraries, whose interfaces are alike.
macro_rules! sender {
    ($name:ident, $bbr:ident) => {
        async fn $name(control: &str, to: SocketAddr, seconds: u64) -> Result<(), Box<dyn Error>> {
            use $name::congestion::{ControllerFactory, CubicConfig, $bbr};

            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let mut tls = rustls::ClientConfig::builder_with_provider(provider)
                .with_protocol_versions(&[&rustls::version::TLS13])?
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Anybody))
                .with_no_client_auth();
            tls.alpn_protocols = vec![];
            let crypto = $name::crypto::rustls::QuicClientConfig::try_from(tls)?;
            let controller: Arc<dyn ControllerFactory + Send + Sync> = match control {
                "cubic" => Arc::new(CubicConfig::default()),
                "bbr" => Arc::new($bbr::default()),
                other => return Err(format!("no control {other:?}: cubic or bbr").into()),
            };
            let mut transport = $name::TransportConfig::default();
            transport.congestion_controller_factory(controller);
            let mut config = $name::ClientConfig::new(Arc::new(crypto));
            config.transport_config(Arc::new(transport));
            let endpoint = $name::Endpoint::client("0.0.0.0:0".parse()?)?;
            let connection = endpoint.connect_with(config, to, "far")?.await?;
            let mut stream = connection.open_uni().await?;
            let data = vec![7; 65_536];
            let all = async { while stream.write_all(&data).await.is_ok() {} };
            let _ = tokio::time::timeout(Duration::from_secs(seconds), all).await;
            connection.close(0_u32.into(), b"");
            endpoint.wait_idle().await;
            Ok(())
        }
    };
}

sender!(quinn, BbrConfig);
sender!(noq, Bbr3Config);

/// One peer's stream, counted.
async fn receive(at: SocketAddr) -> Result<(), Box<dyn Error>> {
    let made = rcgen::generate_simple_self_signed(vec!["far".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = quinn::ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into())?;
    let endpoint = quinn::Endpoint::server(config, at)?;
    let connection = endpoint.accept().await.ok_or("no peer")?.await?;
    let mut stream = connection.accept_uni().await?;
    let (mut bytes, mut space) = (0, vec![0; 65_536]);
    while let Ok(Some(count)) = stream.read(&mut space).await {
        bytes += count;
    }
    println!("{bytes}");
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["receive", at] => receive(at.parse()?).await,
        ["quinn", control, to, seconds] => quinn(control, to.parse()?, seconds.parse()?).await,
        ["noq", control, to, seconds] => noq(control, to.parse()?, seconds.parse()?).await,
        _ => Err("quic_streams receive ADDRESS, or quinn|noq cubic|bbr ADDRESS SECONDS".into()),
    }
}
