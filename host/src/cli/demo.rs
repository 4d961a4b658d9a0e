//! `oncegate demo`.

use crate::demo::{self, DemoOptions, Scene};
use clap::Args;

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Leave everything up afterwards, with commands to try.
    #[arg(long)]
    keep: bool,
    /// Print one line of JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Send the leads through the connectors for HubSpot, Resend and WhatsApp, against scripted ones.
    #[arg(long)]
    providers: bool,
}

pub fn run(args: &DemoArgs) -> anyhow::Result<bool> {
    demo::run(DemoOptions {
        keep: args.keep,
        json: args.json,
        scene: if args.providers { Scene::Providers } else { Scene::Plain },
    })
}
