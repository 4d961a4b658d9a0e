//! `oncegate.toml`: how this installation is reached and how much it takes on. Everything has a default; the file may be
//! missing.

use serde::Deserialize;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// The settings of one installation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where to listen. Loopback unless told otherwise.
    pub listen: SocketAddr,
    /// The address under which the outside world reaches this host; its name is accepted in `Host`.
    pub public_url: Option<String>,
    /// Addresses of reverse proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpAddr>,
    /// How much this host takes on.
    pub limits: Limits,
}

/// What one host takes on at once.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Connector calls at the same time.
    pub calls_max: u32,
    /// Bytes of one webhook body.
    pub hook_body_bytes_max: usize,
    /// Time in which a webhook body must have arrived, in milliseconds.
    pub hook_body_ms_max: u64,
    /// Webhooks being taken in at the same time; one more is answered 429.
    pub hooks_at_once_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            public_url: None,
            trusted_proxies: Vec::new(),
            limits: Limits::default(),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            calls_max: 64,
            hook_body_bytes_max: 1 << 20,
            hook_body_ms_max: 10_000,
            hooks_at_once_max: 512,
        }
    }
}

/// Why `oncegate.toml` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It is there and cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not what it should be; the text names line and column.
    #[error("{}: {source}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: toml::de::Error,
    },
    /// `public_url` names no host.
    #[error("{}: public_url {url:?} names no host; write it like \"https://hooks.example.com\"", path.display())]
    PublicUrl {
        /// The file.
        path: PathBuf,
        /// What stands there.
        url: String,
    },
}

impl Config {
    /// Reads `oncegate.toml` in `folder`; a missing file means all defaults.
    ///
    /// # Errors
    /// It cannot be read, is not valid, or names no usable public address.
    pub fn read(folder: &Path) -> Result<Self, ConfigError> {
        let path = folder.join("oncegate.toml");
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(ConfigError::Unreadable { path, source }),
        };
        Self::parse(&text, &path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text).map_err(|source| ConfigError::Invalid {
            path: path.to_owned(),
            source,
        })?;
        match &config.public_url {
            Some(url) if config.public_host().is_none() => Err(ConfigError::PublicUrl {
                path: path.to_owned(),
                url: url.clone(),
            }),
            Some(_) | None => Ok(config),
        }
    }

    /// The host (with its port, if it has one) of `public_url`, in lower case.
    pub fn public_host(&self) -> Option<String> {
        let uri: http::Uri = self.public_url.as_deref()?.parse().ok()?;
        uri.scheme()?;
        Some(uri.authority()?.as_str().to_ascii_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("oncegate.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_file_means_all_defaults_on_loopback() {
        let config = parse("").unwrap();
        assert_eq!(config, Config::default());
        assert!(config.listen.ip().is_loopback());
    }

    #[test]
    fn an_unknown_name_is_refused_with_its_place() {
        let error = parse("listen = \"127.0.0.1:1\"\nlisen = 1").unwrap_err();
        assert!(error.contains("line 2") && error.contains("lisen"), "{error}");
    }

    #[test]
    fn a_public_url_must_name_a_host() {
        assert_eq!(
            parse("public_url = \"https://Hooks.example.com:8443\"")
                .unwrap()
                .public_host()
                .as_deref(),
            Some("hooks.example.com:8443")
        );
        assert!(parse("public_url = \"hooks\"").unwrap_err().contains("names no host"));
    }
}
