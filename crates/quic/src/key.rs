//! Keys of this end, and the fingerprints by which ends know each other.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::Ed25519KeyPair;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

use crate::base64;
use crate::trusted::{self, Trusted};

/// SHA-256 of a public key, as SubjectPublicKeyInfo in DER: that of Ed25519 has 44 bytes (RFC 8410
/// §4). Written as OpenSSH writes its own: `SHA256:` and 43 characters of base64.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

/// A text is not a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected SHA256: and 43 letters, as `tfrc recv --quic` prints it")]
pub struct FingerprintError;

/// The private key of this end, Ed25519.
#[derive(Clone)]
pub struct Key {
    certified: Arc<CertifiedKey>,
    fingerprint: Fingerprint,
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file cannot be read or made.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is not a key.
    #[error("{path}: not a private key of Ed25519 as this program writes them (PKCS #8 in PEM)",
        path = path.display())]
    Content {
        /// The file.
        path: PathBuf,
    },
    /// Others than the owner may read or write the file.
    #[error("{path}: others than its owner may use it (mode {mode:03o})", path = path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The system gives no random numbers.
    #[error("no key can be made: the system gives no random numbers")]
    Random,
}

/// A key that was read or made.
#[derive(Debug)]
pub struct Loaded {
    /// The key.
    pub key: Key,
    /// True if there was none, and its file has been made.
    pub is_new: bool,
    /// True if the file belongs to another user, who is not root.
    pub is_of_another: bool,
}

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----\n";
const END: &str = "-----END PRIVATE KEY-----\n";
/// Characters of base64 in a line (RFC 7468 §2).
const LINE: usize = 64;
/// A key file is far shorter.
const LONGEST: u64 = 4096;

impl Fingerprint {
    /// That of a public key, SubjectPublicKeyInfo in DER.
    #[must_use]
    pub fn of(public_key: &[u8]) -> Self {
        let mut bytes = [0; 32];
        bytes.iter_mut().zip(digest(&SHA256, public_key).as_ref()).for_each(|(to, from)| *to = *from);
        Self(bytes)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SHA256:{}", base64::encode(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let bytes = text.strip_prefix("SHA256:").and_then(base64::decode).ok_or(FingerprintError)?;
        bytes.try_into().map(Self).map_err(|_| FingerprintError)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.fingerprint)
    }
}

impl Key {
    /// Reads the key of this file, or makes the file, with a new key in it that its owner alone may
    /// read (mode 0600), and the folders above it (0700).
    ///
    /// # Errors
    /// [`KeyError`]; a file that others may read is refused.
    pub fn load_or_make(path: &Path) -> Result<Loaded, KeyError> {
        if let Some(loaded) = Self::load(path)? {
            return Ok(loaded);
        }
        let failed = |source| KeyError::File { path: path.to_owned(), source };
        let pkcs8 = generate()?;
        if let Some(folder) = path.parent() {
            make_folder(folder).map_err(failed)?;
        }
        let content = || KeyError::Content { path: path.to_owned() };
        match write(path, &pem(&pkcs8)) {
            Ok(()) => {}
            // Another process has made one meanwhile.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Self::load(path)?.ok_or_else(content);
            }
            Err(error) => return Err(failed(error)),
        }
        let key = Self::from_pkcs8(&pkcs8).ok_or_else(content)?;
        Ok(Loaded { key, is_new: true, is_of_another: false })
    }

    /// A new key that no file has.
    ///
    /// # Errors
    /// [`KeyError::Random`].
    pub fn temporary() -> Result<Self, KeyError> {
        Self::from_pkcs8(&generate()?).ok_or(KeyError::Random)
    }

    /// The fingerprint of the public half.
    #[must_use]
    pub const fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The public half of one key with the private half of another.
    #[cfg(test)]
    pub(crate) fn claiming(public: &Self, private: &Self) -> Self {
        let chain = public.certified.cert.clone();
        let certified = Arc::new(CertifiedKey::new(chain, Arc::clone(&private.certified.key)));
        Self { certified, fingerprint: public.fingerprint }
    }

    pub(crate) fn certified(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.certified)
    }

    /// Reads the key of this file; `None` if there is no file.
    ///
    /// # Errors
    /// [`KeyError`]; a file that others may read is refused.
    pub fn load(path: &Path) -> Result<Option<Loaded>, KeyError> {
        let failed = |source| KeyError::File { path: path.to_owned(), source };
        #[cfg(unix)]
        if let Ok(there) = path.metadata() {
            use std::os::unix::fs::PermissionsExt;
            let mode = there.permissions().mode() & 0o777;
            if there.is_file() && mode & 0o077 != 0 {
                return Err(KeyError::Open { path: path.to_owned(), mode });
            }
        }
        let Some(Trusted { text, is_of_another }) = trusted::read(path, LONGEST).map_err(failed)? else {
            return Ok(None);
        };
        let pkcs8 = PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes()).ok();
        let key = pkcs8.and_then(|pkcs8| Self::from_pkcs8(pkcs8.secret_pkcs8_der()));
        let content = || KeyError::Content { path: path.to_owned() };
        Ok(Some(Loaded { key: key.ok_or_else(content)?, is_new: false, is_of_another }))
    }

    /// Makes a new key in the place of the one in this file, if there is one.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn renew(path: &Path) -> Result<Self, KeyError> {
        let failed = |source| KeyError::File { path: path.to_owned(), source };
        let (pkcs8, real) = (generate()?, trusted::behind_links(path).map_err(failed)?);
        if let Some(folder) = real.parent() {
            make_folder(folder).map_err(failed)?;
        }
        replace(&real, &pem(&pkcs8)).map_err(failed)?;
        Self::from_pkcs8(&pkcs8).ok_or(KeyError::Random)
    }

    fn from_pkcs8(pkcs8: &[u8]) -> Option<Self> {
        let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pkcs8.to_vec()));
        let signing = rustls::crypto::ring::sign::any_eddsa_type(&match der {
            PrivateKeyDer::Pkcs8(der) => der,
            _ => return None,
        })
        .ok()?;
        let public = signing.public_key()?.to_vec();
        let fingerprint = Fingerprint::of(&public);
        let chain = vec![CertificateDer::from(public)];
        Some(Self { certified: Arc::new(CertifiedKey::new(chain, signing)), fingerprint })
    }
}

fn generate() -> Result<Vec<u8>, KeyError> {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| KeyError::Random)?;
    Ok(document.as_ref().to_vec())
}

fn pem(der: &[u8]) -> String {
    let mut digits = base64::encode(der);
    while !digits.len().is_multiple_of(4) {
        digits.push('=');
    }
    let mut text = BEGIN.to_owned();
    let mut rest = digits.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(LINE));
        text.push_str(line);
        text.push('\n');
        rest = more;
    }
    text + END
}

/// Writes a file whole or not at all, for its owner alone. One that is there stays.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = std::fs::remove_file(path);
    }
    written
}

/// Writes a file for its owner alone in the place of another one: a reader has the old one whole or
/// the new one. One process writes it at a time.
///
/// # Errors
/// The error of the system.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.to_owned().into_os_string();
    name.push(format!(".{}", std::process::id()));
    let name = PathBuf::from(name);
    // One that a process of the same number has left.
    let _ = std::fs::remove_file(&name);
    write(&name, text)?;
    let done = std::fs::rename(&name, path);
    if done.is_err() {
        let _ = std::fs::remove_file(&name);
    }
    // The name is on the disk with its folder; systems without that keep it in their own way.
    if let Some(folder) = path.parent().and_then(|folder| File::open(folder).ok()) {
        let _ = folder.sync_all();
    }
    done
}

/// Makes a folder, and those above it, for their owner alone.
///
/// # Errors
/// The error of the system.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
