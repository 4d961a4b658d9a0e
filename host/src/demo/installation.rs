//! The demo's installation folder: three connections to the scripted destination and one flow.

use crate::destination::Destination;
use std::io;
use std::path::Path;

const FLOW: &str = include_str!("installation/flows/website-lead.toml");
const EXAMPLE: &str = include_str!("installation/flows/lead.example.json");
/// A connection's name, its file, and the service of the destination behind it.
const CONNECTIONS: [(&str, &str, &str); 3] = [
    ("crm", include_str!("installation/connections/crm.toml"), "crm"),
    ("mail", include_str!("installation/connections/mail.toml"), "mailer"),
    ("chat", include_str!("installation/connections/chat.toml"), "chat"),
];

/// Writes the folder, with the places where the destination listens.
pub fn write(folder: &Path, destination: &Destination) -> io::Result<()> {
    std::fs::create_dir_all(folder.join("connections"))?;
    std::fs::create_dir_all(folder.join("flows"))?;
    for (name, text, service) in CONNECTIONS {
        let text = text.replace("ORIGIN", &destination.origin(service));
        std::fs::write(folder.join("connections").join(name).with_extension("toml"), text)?;
    }
    std::fs::write(folder.join("flows/website-lead.toml"), FLOW)?;
    std::fs::write(folder.join("flows/lead.example.json"), EXAMPLE)
}
