//! TLS settings: the certificates of the machine, where wanted one more root; no early data and no sessions kept from which
//! early data could be sent.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use super::place::{Host, Place};

/// Distinct extra roots whose settings are kept.
const KEPT_MAX: usize = 64;

/// The settings for every place.
pub(super) struct Settings {
    roots: RootCertStore,
    made: Mutex<HashMap<Option<Vec<u8>>, Arc<ClientConfig>>>,
}

impl Settings {
    /// Reads the certificates of the machine.
    pub fn new() -> Self {
        let mut roots = RootCertStore::empty();
        let native = rustls_native_certs::load_native_certs();
        for error in &native.errors {
            tracing::warn!(%error, "a root certificate of this machine cannot be read");
        }
        roots.add_parsable_certificates(native.certs);
        if roots.is_empty() {
            tracing::warn!("this machine has no root certificates: https works only with a `ca` of its own");
        }
        Self {
            roots,
            made: Mutex::default(),
        }
    }

    /// The settings for `place`.
    pub fn for_place(&self, place: &Place) -> Result<Arc<ClientConfig>, String> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = made.get(&place.ca) {
            return Ok(config.clone());
        }
        let mut roots = self.roots.clone();
        if let Some(ca) = &place.ca {
            let ca = CertificateDer::from(ca.clone());
            roots
                .add(ca)
                .map_err(|error| format!("the extra root certificate of the connection cannot be used: {error}"))?;
        }
        let config = Arc::new(config(roots).map_err(|error| error.to_string())?);
        if made.len() >= KEPT_MAX {
            made.clear();
        }
        made.insert(place.ca.clone(), config.clone());
        Ok(config)
    }
}

fn config(roots: RootCertStore) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.resumption = Resumption::disabled();
    config.enable_early_data = false;
    Ok(config)
}

/// The name that the certificate must be for.
pub(super) fn server_name(host: &Host) -> Result<ServerName<'static>, String> {
    match host {
        Host::Name(name) => ServerName::try_from(name.clone()).map_err(|error| error.to_string()),
        Host::Address(IpAddr::V4(address)) => Ok(ServerName::from(IpAddr::V4(*address))),
        Host::Address(IpAddr::V6(address)) => Ok(ServerName::from(IpAddr::V6(*address))),
    }
}
