//! One call of a connector: a fresh store, the guest's function under all limits, and what became of it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use wasmtime::{PoolConcurrencyLimitError, Store, Trap, UpdateDeadline};
use wasmtime_wasi::I32Exit;

use super::bindings::Connector;
use super::bindings::exports::oncegate::connector::actions;
use super::component::Component;
use super::door::{AnyDoor, Door};
use super::engine::{Inner, Runtime};
use super::guest::Guest;
use super::limiter::Limiter;
use super::limits::RuntimeLimits;
use super::log::{LogBudget, fit};
use super::meter::{CpuMeter, CpuSpent, Turn};
use super::outcome::{Call, GuestDoubt, LookupReturn, PerformReturn, Stop};
use super::wasi::Wasi;

/// What is kept of a sentence about a guest that failed, in bytes.
const WHY_BYTES_MAX: usize = 1 << 10;
/// What the engine says, in words alone, about a guest that hands over more than [`RuntimeLimits`] allow.
const HOSTCALL_FUEL_SPENT: &str = "fuel allocated for hostcalls";
/// The same about one that holds too many handles: to things of the host, and to its own.
const HANDLES_SPENT: [&str; 2] = ["resource table has no free keys", "store handle limit exceeded"];

impl Runtime {
    /// Calls `perform` in a fresh instance. The door comes back in every case.
    pub async fn perform<D: Door>(
        &self,
        component: &Component,
        call: Call,
        event_time_ms: i64,
        door: D,
    ) -> (D, Result<PerformReturn, Stop>) {
        let (mut store, meter) = self.0.store(component, &call, event_time_ms, door);
        let call = call.into();
        let returned = self.0.bounded(component, &meter, async {
            let connector = start(&mut store, component).await?;
            connector
                .oncegate_connector_actions()
                .call_perform(&mut store, &call)
                .await
        });
        let returned = returned.await;
        let judged = self
            .0
            .judge(&store, returned)
            .and_then(|returned| PerformReturn::within(&self.0.limits, returned));
        (end(store), judged)
    }

    /// Calls `lookup` in a fresh instance. The door comes back in every case.
    pub async fn lookup<D: Door>(
        &self,
        component: &Component,
        call: Call,
        doubt: GuestDoubt,
        event_time_ms: i64,
        door: D,
    ) -> (D, Result<LookupReturn, Stop>) {
        let (mut store, meter) = self.0.store(component, &call, event_time_ms, door);
        let call = call.into();
        let doubt = actions::Doubt {
            first_sent_ms: doubt.first_sent_ms,
            status: doubt.status,
        };
        let returned = self.0.bounded(component, &meter, async {
            let connector = start(&mut store, component).await?;
            connector
                .oncegate_connector_actions()
                .call_lookup(&mut store, &call, doubt)
                .await
        });
        let returned = returned.await;
        let judged = self
            .0
            .judge(&store, returned)
            .and_then(|returned| LookupReturn::within(&self.0.limits, returned));
        (end(store), judged)
    }
}

impl Inner {
    fn store<D: Door>(
        &self,
        component: &Component,
        call: &Call,
        event_time_ms: i64,
        door: D,
    ) -> (Store<Guest>, Arc<CpuMeter>) {
        let (limits, pool) = (&self.limits, &component.0.pool);
        let meter = Arc::new(pool.ticker.meter(pool.limits.cpu_ms_max));
        let guest = Guest {
            door: Box::new(door),
            wasi: Wasi::new(event_time_ms, &call.key, limits.handles_max, limits.log_bytes_max),
            limiter: Limiter::new(&pool.limits),
            log: LogBudget::new(limits),
            meter: Arc::clone(&meter),
            called: false,
        };
        let mut store = Store::new(&pool.engine, guest);
        store.limiter(|guest| &mut guest.limiter);
        store.set_hostcall_fuel(limits.hostcall_bytes_max);
        store.set_max_component_handles(limits.handles_max);

        let watched = Arc::clone(&meter);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |_| match watched.turn() {
            Turn::GoesOn => Ok(UpdateDeadline::Continue(1)),
            // The others on this thread come first, among them the timer of the wall clock.
            Turn::Over => Ok(UpdateDeadline::Yield(1)),
            Turn::Spent => Err(CpuSpent.into()),
        });
        (store, meter)
    }

    /// Runs a guest until it returns, fails, or has used up its CPU time (an error) or the wall clock (`None`). In the
    /// last case the future is dropped where it stood, and with it whatever it waited for; the store is not.
    async fn bounded<T>(
        &self,
        component: &Component,
        meter: &CpuMeter,
        guest: impl Future<Output = wasmtime::Result<T>>,
    ) -> Option<wasmtime::Result<T>> {
        let _ticks = component.0.pool.ticker.hold();
        let wall_clock = Duration::from_millis(self.limits.wall_clock_ms_max);
        tokio::time::timeout(wall_clock, meter.measure(guest)).await.ok()
    }
}

async fn start(store: &mut Store<Guest>, component: &Component) -> wasmtime::Result<Connector> {
    let connector = component.0.pre.instantiate_async(&mut *store).await?;
    store.data_mut().called = true;
    Ok(connector)
}

impl Inner {
    /// Tells apart why a guest did not return by itself.
    fn judge<T>(&self, store: &Store<Guest>, returned: Option<wasmtime::Result<T>>) -> Result<T, Stop> {
        let guest = store.data();
        match returned {
            None => Err(Stop::WallClock),
            Some(Ok(value)) => Ok(value),
            Some(Err(_)) if guest.limiter.memory_refused() => Err(Stop::Memory),
            Some(Err(error)) if error.is::<CpuSpent>() => Err(Stop::Cpu),
            // Never once the guest's function was called: busy counts as no attempt.
            Some(Err(error)) if !guest.called && error.is::<PoolConcurrencyLimitError>() => Err(Stop::Busy),
            Some(Err(error)) => Err(Stop::Trap(why(&error, &self.limits))),
        }
    }
}

fn why(error: &wasmtime::Error, limits: &RuntimeLimits) -> String {
    if let Some(I32Exit(status)) = error.downcast_ref() {
        return format!("it exited with status {status} instead of returning");
    }
    match error.downcast_ref() {
        Some(Trap::UnreachableCodeReached) => {
            "it gave up (a panic, an abort or a failed assertion in its code)".to_owned()
        }
        Some(Trap::StackOverflow) => "it ran out of stack".to_owned(),
        Some(trap) => trap.to_string(),
        None => match error.root_cause().to_string() {
            words if words.contains(HOSTCALL_FUEL_SPENT) => format!(
                "it handed more than {} MiB to the host in one call (a request with its body, a log line, an output)",
                limits.hostcall_bytes_max >> 20
            ),
            words if HANDLES_SPENT.iter().any(|spent| words.contains(spent)) => format!(
                "it held more than {} handles at the same time (streams and other resources): it must drop what it does not \
                 need any more",
                limits.handles_max
            ),
            words => fit(words, &mut { WHY_BYTES_MAX }),
        },
    }
}

/// Takes the door back, after what the guest printed last and how much of its log is missing.
fn end<D: Door>(store: Store<Guest>) -> D {
    let mut guest = store.into_data();
    guest.log_output(true);
    let Guest { mut door, log, .. } = guest;
    log.end(&mut *door);
    *AnyDoor::into_any(door)
        .downcast()
        .expect("the door is of the type that this call was given")
}
