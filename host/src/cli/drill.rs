//! `oncegate drill`.

use super::terminal::{escape, say};
use crate::catalog::{BUILTIN, ConnectionSpec, section};
use crate::drill::{self, Report, Subject};
use crate::runtime::{RuntimeLimits, Size, check_size};
use anyhow::{Context, anyhow};
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["connector", "connection"]))]
pub struct DrillArgs {
    /// The connector to drill; its manifest's proposals are taken as approved.
    #[arg(long, value_name = "FILE.wasm")]
    connector: Option<PathBuf>,
    /// The connection to drill, with what it says about its destination. Its connector is looked for among the built-in
    /// ones and in the folder `connectors` beside its own, unless --connector names it.
    #[arg(long, value_name = "FILE.toml")]
    connection: Option<PathBuf>,
    /// Print a list of all cases as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &DrillArgs) -> anyhow::Result<bool> {
    let subject = subject(args)?;
    if !args.json {
        eprintln!("{}", begins(&subject));
    }
    let report = drill::run(&subject)?;
    if args.json {
        say(&format!("{}\n", serde_json::to_string(&report.lines)?));
    } else {
        say(&told(&report));
    }
    Ok(report.is_good())
}

/// What is said before it begins, for it takes its time.
fn begins(subject: &Subject) -> String {
    let takes = match check_size(&subject.bytes, &RuntimeLimits::default()) {
        Ok(Size::Large) => format!(
            "this takes one to three minutes, most of which compiles the connector ({} MB) where that was not done before",
            subject.bytes.len().div_ceil(1_000_000)
        ),
        Ok(Size::Small) | Err(_) => "this takes about 20 seconds".to_owned(),
    };
    format!("Playing every case against a scripted destination; {takes} …")
}

fn subject(args: &DrillArgs) -> anyhow::Result<Subject> {
    let connection = args.connection.as_deref().map(read_connection).transpose()?;
    let (named, bytes) = match (&args.connector, &connection, &args.connection) {
        (Some(file), _, _) => (file.display().to_string(), read(file)?),
        (None, Some((_, spec)), Some(file)) => (spec.connector.clone(), connector_of(spec, file)?),
        (None, _, _) => anyhow::bail!("name what to drill with --connector or --connection"),
    };
    let description = section::read(&bytes).with_context(|| format!("{named} cannot be drilled"))?;
    Ok(Subject {
        digest: crate::catalog::digest_of(&bytes),
        bytes,
        description,
        connection,
        cache: super::cache::folder(),
    })
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()))
}

fn read_connection(file: &Path) -> anyhow::Result<(toml::Table, ConnectionSpec)> {
    let bytes = read(file)?;
    let source = String::from_utf8(bytes).with_context(|| format!("{} is no text", file.display()))?;
    let spec = ConnectionSpec::parse(&source).map_err(|problems| {
        let said = problems.iter().map(|problem| format!("{}:{problem}", file.display()));
        anyhow!(said.collect::<Vec<_>>().join("\n"))
    })?;
    Ok((source.parse()?, spec))
}

fn connector_of(spec: &ConnectionSpec, file: &Path) -> anyhow::Result<Vec<u8>> {
    if let Some(connector) = BUILTIN.iter().find(|connector| connector.name == spec.connector) {
        return Ok(connector.bytes.to_vec());
    }
    let folder = file.parent().unwrap_or(Path::new(".")).join("../connectors");
    let beside = folder.join(&spec.connector).with_extension("wasm");
    std::fs::read(&beside).with_context(|| {
        format!(
            "the connector {:?} is not built in and not {}; name its file with --connector",
            spec.connector,
            beside.display()
        )
    })
}

/// The report for people.
fn told(report: &Report) -> String {
    let mut told = format!("{}\n", escape(&report.title));
    let mut action = "";
    for line in &report.lines {
        if line.action != action {
            told += &format!("\n  {}\n", escape(&line.action));
            action = &line.action;
        }
        let verdict = if line.pass { "pass" } else { "FAIL" };
        let effects = if line.effects == 1 { "effect" } else { "effects" };
        told += &format!(
            "    {verdict}  {:<20}{:>2} {effects:<9}{}\n",
            line.case, line.effects, line.step
        );
        for more in line.why.iter().flat_map(|why| why.lines()) {
            told += &format!("          {}\n", escape(more));
        }
    }
    let failed = report.lines.iter().filter(|line| !line.pass).count();
    told + &match (report.lines.len(), failed) {
        (0, _) => "\nThere is nothing to play.\n".to_owned(),
        (all, 0) => format!("\nAll {all} cases passed: one record per key, and nothing lost.\n"),
        (all, failed) => format!("\n{failed} of {all} cases FAILED.\n"),
    }
}
