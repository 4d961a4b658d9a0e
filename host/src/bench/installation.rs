//! The installation folder of the bench: connections of all four built-in connectors, and a flow for each number of steps.
//! Whatever limits an installation by choice is set so wide that only the machine limits it.

use super::destination::PATH;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// What the connections sign with.
pub const SECRETS: [(&str, &str); 1] = [("ONCEGATE_SECRET_BENCH", "bench-token-not-secret")];

const CONFIG: &str = include_str!("installation/oncegate.toml");
/// The connection that the steps use.
pub const CONNECTION: &str = "bench";
/// Only the first is used; the others are there as in an installation that has them.
const CONNECTIONS: [(&str, &str); 4] = [
    (CONNECTION, include_str!("installation/connections/bench.toml")),
    ("crm", include_str!("installation/connections/crm.toml")),
    ("mail", include_str!("installation/connections/mail.toml")),
    ("chat", include_str!("installation/connections/chat.toml")),
];
const TRIGGER: &str = include_str!("installation/flows/trigger.toml");
const EXAMPLE: &str = include_str!("installation/flows/webhook.example.json");

/// The hook of the flow with so many steps.
pub fn hook(steps: u64) -> String {
    format!("bench-{steps}")
}

/// Writes the folder.
///
/// # Errors
/// It cannot be written.
pub fn write(folder: &Path, destination: &str, steps: &BTreeSet<u64>) -> std::io::Result<()> {
    std::fs::create_dir_all(folder.join("connections"))?;
    std::fs::create_dir_all(folder.join("flows"))?;
    std::fs::write(folder.join("oncegate.toml"), CONFIG)?;
    for (name, text) in CONNECTIONS {
        let text = text.replace("ORIGIN", &format!("http://{destination}"));
        std::fs::write(folder.join("connections").join(name).with_extension("toml"), text)?;
    }
    for steps in steps {
        let name = hook(*steps);
        std::fs::write(folder.join("flows").join(name).with_extension("toml"), flow(*steps))?;
    }
    std::fs::write(folder.join("flows/webhook.example.json"), EXAMPLE)
}

/// The steps follow each other; each but the first uses what the one before it returned.
fn flow(steps: u64) -> String {
    let mut text = TRIGGER.replace("NAME", &hook(steps));
    for step in 1..=steps {
        let more = match step {
            1 => r#"email = "{{ body.email }}", name = "{{ body.name }}""#.to_owned(),
            _ => format!(r#"after = "{{{{ steps.step_{}.output.body.id }}}}""#, step - 1),
        };
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n[[steps]]\nid = \"step_{step}\"\nuse = \"bench.send\"\n[steps.with]\npath = \"{PATH}{step}\"\n\
             body = {{ id = \"{{{{ body.id }}}}\", {more} }}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Flow;

    #[test]
    fn the_flows_are_right_and_have_so_many_steps() {
        for steps in [1, 3, 20] {
            let (flow, _) = Flow::parse(&flow(steps), &|_| Some(EXAMPLE.to_owned())).unwrap();
            assert_eq!(flow.webhook().map(|hook| hook.path.clone()), Some(hook(steps)));
            assert_eq!(flow.steps().len() as u64, steps);
        }
    }
}
