//! What a guest prints. It is kept, bounded, until the call's log takes it line by line; what is beyond the bound is
//! swallowed, since an error from standard output makes most languages abort.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// What one write may carry; also bounds what `write-zeroes` makes the host allocate.
const WRITE_BYTES_MAX: usize = 64 << 10;

/// Standard output and standard error of one call.
pub(in super::super) struct Output {
    stdout: Printed,
    stderr: Printed,
}

impl Output {
    pub(super) fn new(bytes_max: usize) -> Output {
        Output {
            stdout: Printed::new(bytes_max),
            stderr: Printed::new(bytes_max),
        }
    }

    pub(super) fn stdout(&self) -> impl StdoutStream + use<> {
        self.stdout.clone()
    }

    pub(super) fn stderr(&self) -> impl StdoutStream + use<> {
        self.stderr.clone()
    }

    /// Whole lines of standard output; with `rest`, also the last one that has no end yet.
    pub(in super::super) fn take_stdout(&self, rest: bool) -> Vec<String> {
        self.stdout.take(rest)
    }

    /// The same of standard error.
    pub(in super::super) fn take_stderr(&self, rest: bool) -> Vec<String> {
        self.stderr.take(rest)
    }
}

#[derive(Clone)]
struct Printed {
    buffer: Arc<Mutex<Buffer>>,
}

struct Buffer {
    waiting: Vec<u8>,
    bytes_left: usize,
}

impl Printed {
    fn new(bytes_max: usize) -> Printed {
        Printed {
            buffer: Arc::new(Mutex::new(Buffer {
                waiting: Vec::new(),
                bytes_left: bytes_max,
            })),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, rest: bool) -> Vec<String> {
        let mut buffer = self.lock();
        let end = match buffer.waiting.iter().rposition(|byte| *byte == b'\n') {
            _ if rest => buffer.waiting.len(),
            Some(newline) => newline + 1,
            None => return Vec::new(),
        };
        let whole: Vec<u8> = buffer.waiting.drain(..end).collect();
        String::from_utf8_lossy(&whole).lines().map(str::to_owned).collect()
    }
}

impl IsTerminal for Printed {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Printed {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    /// Of WASI 0.3, which is not served.
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }
}

impl OutputStream for Printed {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let mut buffer = self.lock();
        let kept = bytes.len().min(buffer.bytes_left);
        buffer.bytes_left -= kept;
        buffer.waiting.extend_from_slice(&bytes[..kept]);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_BYTES_MAX)
    }
}

#[async_trait]
impl Pollable for Printed {
    async fn ready(&mut self) {}
}
