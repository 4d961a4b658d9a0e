//! `oncegate demo`.

use crate::demo::{self, DemoOptions};
use clap::Args;

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Leave everything up afterwards, with commands to try.
    #[arg(long)]
    keep: bool,
    /// Print one line of JSON instead of a table.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &DemoArgs) -> anyhow::Result<bool> {
    demo::run(DemoOptions {
        keep: args.keep,
        json: args.json,
    })
}
