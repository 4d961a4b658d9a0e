//! The connector for any destination that speaks JSON over HTTP. It knows no provider: which requests it may send, how they
//! are signed, where the step key goes and how an effect is looked up, the connection says.

mod exchange;
mod input;
mod lookup;
mod settings;

use oncegate_sdk::prelude::*;

pub use exchange::Output;
pub use input::{Input, Query, RequestInput, Scalar};
pub use settings::{Lookup, Settings};

/// One request that may change something.
#[derive(Debug)]
pub struct Send;

/// One request that only reads.
#[derive(Debug)]
pub struct Read;

impl Action for Send {
    const NAME: &'static str = "send";
    type Settings = Settings;
    type Input = Input;
    type Output = Output;

    fn perform(call: &Call<Send>) -> Result<Output, Failure> {
        let request = &call.input.request;
        let body = exchange::body_with_key(request, &call.settings, &call.key)?;
        exchange::run("POST", request, body.as_ref(), &call.settings)
    }

    fn lookup(call: &Call<Send>, _doubt: &Doubt) -> Result<Finding<Output>, Failure> {
        match &call.settings.lookup {
            Some(lookup) => lookup::run(lookup, &call.input.raw, &call.key),
            None => Ok(Finding::unsure("the connection's settings describe no lookup")),
        }
    }
}

impl Action for Read {
    const NAME: &'static str = "read";
    type Settings = Settings;
    type Input = Input;
    type Output = Output;

    fn perform(call: &Call<Read>) -> Result<Output, Failure> {
        let request = &call.input.request;
        exchange::run("GET", request, request.body.as_ref(), &call.settings)
    }
}

oncegate_sdk::export!(Send, Read);
