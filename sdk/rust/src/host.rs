//! The one door. In a component it leads to the host; natively to the mock of this thread, so that a connector's own tests
//! need no sandbox.

#[cfg(not(target_family = "wasm"))]
pub(crate) use crate::mock::{log, send};
#[cfg(target_family = "wasm")]
pub(crate) use component::{log, send};

#[cfg(target_family = "wasm")]
mod component {
    use crate::answer::Answer;
    use crate::bindings::oncegate::connector::{http as door, log as lines};
    use crate::http::{SendError, Wire};
    use crate::log::Level;

    pub(crate) fn send(wire: Wire) -> Result<Answer, SendError> {
        let request = door::Request {
            method: wire.method,
            endpoint: wire.endpoint,
            path: wire.path,
            query: wire.query,
            headers: wire.headers,
            body: wire.body.map_or(door::Body::None, door::Body::Bytes),
        };
        match door::send(&request) {
            Ok(door::Response { status, headers, body }) => Ok(Answer { status, headers, body }),
            Err(door::SendError::Denied(why)) => Err(SendError::Denied(why)),
            Err(door::SendError::NothingSent(why)) => Err(SendError::NothingSent(why)),
            Err(door::SendError::MaybeSent(why)) => Err(SendError::MaybeSent(why)),
        }
    }

    pub(crate) fn log(level: Level, message: &str, fields: &[(&str, &str)]) {
        let level = match level {
            Level::Debug => lines::Level::Debug,
            Level::Info => lines::Level::Info,
            Level::Warn => lines::Level::Warn,
            Level::Error => lines::Level::Error,
        };
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        lines::write(level, message, &fields);
    }
}
