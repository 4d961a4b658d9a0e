//! WASI 0.2 as connectors of other toolchains import it, served closed: no files, no arguments, no environment, standard
//! input at its end. Clock and randomness are fixed by the event and the step, so that the same step builds the same
//! request on every attempt.
//!
//! `wasi:sockets` and `wasi:http` are not linked at all.

mod clock;
mod output;
mod random;

use wasmtime::component::{HasData, HasSelf, Linker, ResourceTable};
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView};
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, random as wasi_random};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_io::IoView;

use super::guest::Guest;
pub(super) use output::Output;

/// The interfaces that are served, by their names without the version. Kept beside [`add_to_linker`], which must link
/// each of them; a test holds the two together.
pub(super) const SERVED: [&str; 20] = [
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
];

/// What one call sees of WASI.
pub(super) struct Wasi {
    pub(super) table: ResourceTable,
    /// Made when the guest first asks for it: most never do, and it is dear beside a short call.
    context: Option<WasiCtx>,
    clock: clock::StillClock,
    random: random::Seeded,
    output: Output,
}

impl Wasi {
    /// `event_time_ms` is what the wall clock shows; `step_key` seeds the randomness.
    pub(super) fn new(event_time_ms: i64, step_key: &str, handles_max: usize, output_bytes_max: usize) -> Wasi {
        let mut table = ResourceTable::new();
        table.set_max_capacity(handles_max);
        Wasi {
            table,
            context: None,
            clock: clock::StillClock::at(event_time_ms),
            random: random::Seeded::by(step_key),
            output: Output::new(output_bytes_max),
        }
    }

    /// What the guest printed and nobody took yet.
    pub(super) fn output(&self) -> &Output {
        &self.output
    }
}

struct Clocks;

impl HasData for Clocks {
    type Data<'a> = clock::ClockView<'a>;
}

fn clock_of(guest: &mut Guest) -> clock::ClockView<'_> {
    clock::ClockView {
        clock: &guest.wasi.clock,
        table: &mut guest.wasi.table,
    }
}

fn random_of(guest: &mut Guest) -> &mut random::Seeded {
    &mut guest.wasi.random
}

/// Links everything in [`SERVED`], and nothing else.
pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    wasmtime_wasi_io::add_to_linker_async(linker)?;

    clocks::wall_clock::add_to_linker::<Guest, Clocks>(linker, clock_of)?;
    clocks::monotonic_clock::add_to_linker::<Guest, Clocks>(linker, clock_of)?;

    wasi_random::random::add_to_linker::<Guest, HasSelf<random::Seeded>>(linker, random_of)?;
    wasi_random::insecure::add_to_linker::<Guest, HasSelf<random::Seeded>>(linker, random_of)?;
    wasi_random::insecure_seed::add_to_linker::<Guest, HasSelf<random::Seeded>>(linker, random_of)?;

    filesystem::types::add_to_linker::<Guest, WasiFilesystem>(linker, Guest::filesystem)?;
    filesystem::preopens::add_to_linker::<Guest, WasiFilesystem>(linker, Guest::filesystem)?;

    cli::environment::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::exit::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::stdin::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::stdout::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::stderr::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_input::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_output::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_stdin::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_stdout::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_stderr::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    Ok(())
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let Wasi {
            table, context, output, ..
        } = &mut self.wasi;
        let ctx = context.get_or_insert_with(|| {
            WasiCtx::builder()
                .stdout(output.stdout())
                .stderr(output.stderr())
                .build()
        });
        WasiCtxView { ctx, table }
    }
}

impl IoView for Guest {
    fn table(&mut self) -> &mut ResourceTable {
        &mut self.wasi.table
    }
}
