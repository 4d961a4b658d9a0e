//! What the leads are sent through: a destination, the trouble it makes, and an installation folder that fits it. The trouble
//! is the same on every run: it depends on a seed and on the lead.

use super::leads::REFUSED_DOMAIN;
use crate::destination::{Behaviour, Chances, Destination, Rule, Service};
use std::io;
use std::path::Path;

const EXAMPLE: &str = include_str!("installation/flows/lead.example.json");

/// Where the leads go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scene {
    /// A CRM, a mailer and a chat that speak plain JSON, through the `http` connector.
    #[default]
    Plain,
    /// HubSpot, Resend and WhatsApp, through the connectors for them.
    Providers,
}

/// A connection's name, its file, and the service of the destination behind it.
type Connection = (&'static str, &'static str, &'static str);

const PLAIN: [Connection; 3] = [
    ("crm", include_str!("installation/connections/crm.toml"), "crm"),
    ("mail", include_str!("installation/connections/mail.toml"), "mailer"),
    ("chat", include_str!("installation/connections/chat.toml"), "chat"),
];
const PROVIDERS: [Connection; 3] = [
    ("crm", include_str!("providers/connections/crm.toml"), "hubspot"),
    ("mail", include_str!("providers/connections/mail.toml"), "resend"),
    ("chat", include_str!("providers/connections/chat.toml"), "whatsapp"),
];

impl Scene {
    /// What is about to be seen.
    pub fn says(self) -> &'static str {
        match self {
            Scene::Plain => {
                "A host on an embedded ledger, and a destination with a CRM, a mailer and a chat that lose answers."
            }
            Scene::Providers => {
                "A host on an embedded ledger, and a scripted HubSpot, Resend and WhatsApp that lose answers."
            }
        }
    }

    /// Three services, and how often each misbehaves.
    pub fn services(self, seed: u64) -> Vec<Service> {
        let trouble = |lost_answer, rate_limited, unavailable| Chances {
            seed,
            lost_answer,
            rate_limited,
            unavailable,
            silence_ms: 3_000,
            ..Chances::default()
        };
        let [crm, mailer, chat] = match self {
            Scene::Plain => [
                Service::crm().identity(&["/lead"]),
                Service::mailer().identity(&["/to", "/text"]),
                Service::chat().identity(&["/lead"]),
            ],
            Scene::Providers => [Service::hubspot(), Service::resend(), Service::whatsapp()],
        };
        vec![
            crm.chances(trouble(0.08, 0.02, 0.05)),
            mailer.chances(trouble(0.08, 0.02, 0.05)),
            chat.chances(trouble(0.04, 0.02, 0.05)),
        ]
    }

    /// What the CRM never takes.
    pub fn rules(self) -> Vec<Rule> {
        let (service, status, body) = match self {
            Scene::Plain => ("crm", 422, r#"{"error":"this address cannot receive mail"}"#),
            Scene::Providers => {
                let body =
                    r#"{"status":"error","message":"Property values were not valid","category":"VALIDATION_ERROR"}"#;
                ("hubspot", 400, body)
            }
        };
        vec![Rule::always(service, Behaviour::status_with(status, &[], body)).text(REFUSED_DOMAIN)]
    }

    /// Writes the installation folder, with the places where the destination listens.
    pub fn write(self, folder: &Path, destination: &Destination) -> io::Result<()> {
        let (connections, flow) = match self {
            Scene::Plain => (PLAIN, include_str!("installation/flows/website-lead.toml")),
            Scene::Providers => (PROVIDERS, include_str!("providers/flows/website-lead.toml")),
        };
        std::fs::create_dir_all(folder.join("connections"))?;
        std::fs::create_dir_all(folder.join("flows"))?;
        for (name, text, service) in connections {
            let text = text.replace("ORIGIN", &destination.origin(service));
            std::fs::write(folder.join("connections").join(name).with_extension("toml"), text)?;
        }
        std::fs::write(folder.join("flows/website-lead.toml"), flow)?;
        std::fs::write(folder.join("flows/lead.example.json"), EXAMPLE)
    }
}
