//! `oncegate.toml`: how this installation is reached and how much it takes on. Everything has a default; the file may be
//! missing.

mod retention;

pub use retention::{Keep, Retention};

use crate::egress::Resolver;
use crate::ledger::{Database, LeaseTerm, Room};
use oncegate_domain::limits::EVENT_BODY_BYTES_MAX;
use serde::Deserialize;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// Its name.
const FILE: &str = "oncegate.toml";

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
    /// Which database holds the ledger; SQLite in the data directory unless told otherwise.
    pub database: Database,
    /// How this host shares the ledger with others.
    pub hosts: Hosts,
    /// How much this host takes on.
    pub limits: Limits,
    /// How long what runs held is kept.
    pub retention: Retention,
    /// Where compiled connectors are kept; `None`: `DATA/cache`. Not of the file: for hosts that a command starts for a
    /// while, and whose data directory goes with it.
    #[serde(skip)]
    pub cache: Option<PathBuf>,
    /// Who turns the names of destinations into addresses. Not of the file either.
    #[serde(skip)]
    pub resolver: Resolver,
}

/// Several hosts on one ledger.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hosts {
    /// For how long this host's lease is given, in milliseconds. Others take its work when it was not renewed for so long.
    pub lease_ms: u64,
}

impl Default for Hosts {
    fn default() -> Self {
        Self {
            lease_ms: LeaseTerm::default().ms,
        }
    }
}

impl Hosts {
    fn bounds(&self) -> [(&'static str, u64, u64, u64); 1] {
        [("lease_ms", self.lease_ms, 2_000, 600_000)]
    }
}

/// What one host takes on at once.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Connector calls at the same time.
    pub calls_max: u32,
    /// Of these, calls of large connectors (those that bring an interpreter). Each may use 256 MiB. See
    /// [`Limits::large_calls_max`].
    pub large_calls_max: Option<u32>,
    /// Bytes of one webhook body.
    pub hook_body_bytes_max: usize,
    /// Time in which a webhook body must have arrived, in milliseconds.
    pub hook_body_ms_max: u64,
    /// Open connections at the same time; never more than half of the process's file descriptors. More wait.
    pub connections_max: usize,
    /// Bytes of all webhook bodies that are being taken in; what goes beyond is answered 429.
    pub hook_bodies_bytes_max: usize,
    /// Webhooks whose body is whole, being taken in at the same time; one more is answered 429.
    pub hooks_at_once_max: usize,
    /// With fewer bytes than this free on the disk of the data directory, new events are refused (503), so that the outcomes
    /// of work begun find room.
    pub free_bytes_min: u64,
    /// Bytes of a file in the data directory that is given up when the disk is full all the same.
    pub reserve_bytes: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            public_url: None,
            trusted_proxies: Vec::new(),
            database: Database::Embedded,
            hosts: Hosts::default(),
            limits: Limits::default(),
            retention: Retention::default(),
            cache: None,
            resolver: Resolver::System,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            calls_max: 64,
            large_calls_max: None,
            hook_body_bytes_max: EVENT_BODY_BYTES_MAX,
            hook_body_ms_max: 10_000,
            connections_max: 4_096,
            hook_bodies_bytes_max: 64 << 20,
            hooks_at_once_max: 512,
            free_bytes_min: Room::default().free_bytes_min,
            reserve_bytes: Room::default().reserve_bytes,
        }
    }
}

/// Calls of large connectors where the file says nothing.
const LARGE_CALLS_MAX_DEFAULT: u32 = 16;

impl Limits {
    /// Calls of large connectors at the same time: as the file says, else 16, or `calls_max` where that is less.
    pub fn large_calls_max(&self) -> u32 {
        self.large_calls_max
            .unwrap_or(LARGE_CALLS_MAX_DEFAULT.min(self.calls_max))
    }

    /// Each limit: its name, what it is, and from where to where it may go.
    fn bounds(&self) -> [(&'static str, u64, u64, u64); 9] {
        let wide = |value: usize| u64::try_from(value).unwrap_or(u64::MAX);
        [
            ("calls_max", self.calls_max.into(), 1, 1_024),
            (
                "large_calls_max",
                self.large_calls_max().into(),
                1,
                self.calls_max.into(),
            ),
            (
                "hook_bodies_bytes_max",
                wide(self.hook_bodies_bytes_max),
                1 << 20,
                1 << 40,
            ),
            // One of the largest must have room among all of them.
            (
                "hook_body_bytes_max",
                wide(self.hook_body_bytes_max),
                1_024,
                wide(self.hook_bodies_bytes_max).min(64 << 20),
            ),
            ("hook_body_ms_max", self.hook_body_ms_max, 100, 120_000),
            ("connections_max", wide(self.connections_max), 1, 65_536),
            ("hooks_at_once_max", wide(self.hooks_at_once_max), 1, 65_536),
            ("free_bytes_min", self.free_bytes_min, 4 << 20, 1 << 60),
            ("reserve_bytes", self.reserve_bytes, 1 << 20, 1 << 40),
        ]
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
    /// A limit that no host can keep, or under which it would do nothing.
    #[error("{}: {section}.{name} is {value}; write a whole number from {min} to {max}", path.display())]
    Limit {
        /// The file.
        path: PathBuf,
        /// In which part of the file.
        section: &'static str,
        /// Which limit.
        name: &'static str,
        /// What stands there.
        value: u64,
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
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
        let path = folder.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(ConfigError::Unreadable { path, source }),
        };
        Self::parse(&text, &path)
    }

    /// Whether the folder holds one.
    pub fn is_in(folder: &Path) -> bool {
        folder.join(FILE).exists()
    }

    fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text).map_err(|source| ConfigError::Invalid {
            path: path.to_owned(),
            source,
        })?;
        let limits = config.limits.bounds().map(|bounds| ("limits", bounds));
        let hosts = config.hosts.bounds().map(|bounds| ("hosts", bounds));
        for (section, (name, value, min, max)) in limits.into_iter().chain(hosts) {
            if !(min..=max).contains(&value) {
                let path = path.to_owned();
                return Err(ConfigError::Limit {
                    path,
                    section,
                    name,
                    value,
                    min,
                    max,
                });
            }
        }
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

    #[test]
    fn large_calls_are_some_of_the_calls() {
        let large = |text: &str| parse(&format!("[limits]\n{text}")).map(|config| config.limits.large_calls_max());
        assert_eq!((large(""), large("calls_max = 8")), (Ok(16), Ok(8)));
        assert_eq!(large("calls_max = 8\nlarge_calls_max = 8"), Ok(8));
        let error = large("calls_max = 8\nlarge_calls_max = 9").unwrap_err();
        assert!(error.contains("from 1 to 8"), "{error}");
    }

    #[test]
    fn the_page_names_every_limit_with_its_default() {
        let page = include_str!("../../docs/host.md");
        for (name, default, ..) in Limits::default().bounds() {
            assert!(page.contains(&format!("| `{name}` | {default} |")), "{name}");
        }
    }

    #[test]
    fn a_lease_is_neither_too_short_to_be_renewed_nor_too_long_to_wait_for() {
        let lease = |ms: u64| parse(&format!("[hosts]\nlease_ms = {ms}"));
        assert!(lease(2_000).is_ok() && lease(600_000).is_ok());
        assert!(lease(1_999).unwrap_err().contains("hosts.lease_ms is 1999"));
        assert!(lease(600_001).is_err());
        assert_eq!(Config::default().hosts.lease_ms, 15_000);
    }

    #[test]
    fn every_limit_has_bounds_on_both_sides() {
        let defaults = Limits::default();
        for (name, value, min, max) in defaults.bounds() {
            assert!((min..=max).contains(&value), "{name}");
            for (number, right) in [(min, true), (max, true), (min - 1, false), (max + 1, false)] {
                let said = parse(&format!("[limits]\n{name} = {number}"));
                assert_eq!(said.is_ok(), right, "{name} = {number}: {said:?}");
            }
        }
    }
}
