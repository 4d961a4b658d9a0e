//! Where the writer lives: a thread of its own, for SQLite blocks while it flushes, with a runtime of its own, on which its connection
//! to a server is made as well. What the server answers is seen there at once; the threads of the runtime that all share are busy with
//! guests and webhooks, and look at sockets only in between.

use super::writer::Writer;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// See the module's words. The thread ends with its writer, or when none can come any more.
pub(super) struct Home {
    runtime: Handle,
    door: oneshot::Sender<Writer>,
}

impl Home {
    /// # Errors
    /// The system gives no thread, or no more files.
    pub(super) fn new() -> std::io::Result<Home> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (door, comes) = oneshot::channel::<Writer>();
        let thread = std::thread::Builder::new().name("ledger".to_owned());
        thread.spawn(move || {
            runtime.block_on(async {
                if let Ok(writer) = comes.await {
                    writer.run().await;
                }
            });
        })?;
        Ok(Home { runtime: handle, door })
    }

    /// On which connections of the writer are made.
    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// The writer begins to write.
    pub(super) fn take_in(self, writer: Writer) {
        // The thread waits for as long as there is a door. Were it gone, the queue would be as well, and all who send would be told.
        drop(self.door.send(writer));
    }
}
