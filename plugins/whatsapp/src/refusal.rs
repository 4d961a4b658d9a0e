//! What WhatsApp's error codes mean: <https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes/>.
//! The page asks to go by the code and not by words or statuses, so this does, except that a 5xx is never a refusal.

use oncegate_sdk::prelude::*;

/// What an error says about the message.
enum Meaning {
    /// It is refused, and would be again.
    Refused(&'static str),
    /// The token is not accepted, or may not do this.
    Credentials(&'static str),
    /// Not now; after so many milliseconds where that is known.
    Later(&'static str, Option<u64>),
    /// Nobody knows.
    Unclear,
}

use Meaning::{Credentials, Later, Refused, Unclear};

#[derive(Deserialize)]
struct Told {
    error: Error,
}

#[derive(Deserialize)]
struct Error {
    code: u32,
    message: String,
    error_data: Option<ErrorData>,
}

#[derive(Deserialize)]
struct ErrorData {
    details: Option<String>,
}

pub(crate) fn failure(answer: &Answer) -> Failure {
    let Ok(Told { error }) = answer.json::<Told>() else {
        return answer.failure();
    };
    let details = error.error_data.and_then(|data| data.details);
    let words = match details {
        Some(details) if !error.message.contains(&details) => format!("{} ({details})", error.message),
        Some(_) | None => error.message,
    };
    let code = error.code.to_string();
    let told = |advice: &str| format!("{advice} WhatsApp answered {}, code {code}: {words}", answer.status);
    if answer.status >= 500 {
        return Failure::unsure(&code, told("The message may have gone out, or not."));
    }
    match meaning(error.code) {
        Refused(advice) => Failure::rejected(&code, told(advice)),
        Credentials(advice) => Failure::unauthorized(&code, told(advice)),
        Later(advice, None) => Failure::temporary(&code, told(advice)),
        Later(advice, Some(ms)) => Failure::temporary(&code, told(advice)).retry_after_ms(ms),
        Unclear => Failure::unsure(&code, told("Meta does not say whether the message went out.")),
    }
}

fn meaning(code: u32) -> Meaning {
    match code {
        0 | 190 => Credentials("The access token has expired or was withdrawn: make a new one for the system user."),
        3 | 10 | 200..=299 | 131005 => {
            Credentials("The access token lacks a permission: it needs `whatsapp_business_messaging` for this number.")
        }
        // "Invalid request or possible server error", and "an unknown error".
        1 | 131000 => Unclear,
        2 | 131016 | 133004 => Later("WhatsApp is down or overloaded.", None),
        131057 => Later(
            "The business account is in maintenance, which takes some minutes.",
            Some(60_000),
        ),
        4 | 80007 | 130429 => Later(
            "More messages than WhatsApp takes at a time: give the connection a `rate`.",
            None,
        ),
        131056 => Later("Too many messages to this one number in a short time.", Some(6_000)),
        131048 => Refused("Recipients have marked too many messages as spam: see the quality of the number."),
        131047 => Refused("The recipient has not written for 24 hours: now only a template may be sent."),
        131026 => Refused("This number cannot be reached: no WhatsApp, an old app, or its owner does not want it."),
        131021 => Refused("Sender and recipient are the same number."),
        131030 => Refused("A test number sends only to the numbers on its list."),
        131049 => Refused("Meta does not deliver this, so that the recipient is not flooded: wait a day or more."),
        131050 => Refused("The recipient has opted out of your marketing messages."),
        130472 => Refused("The recipient is part of an experiment of Meta's and gets no marketing templates."),
        131042 => Refused("Something is wrong with the payment method of the business account."),
        368 | 131031 | 130497 => Refused("Meta has restricted the business account."),
        132000 | 132012 => Refused("The parameters are not those of the template, in number or kind."),
        132001 => Refused("There is no approved template of this name in this language."),
        132015 | 132016 => Refused("Meta has paused or disabled the template for its quality."),
        33 => {
            Refused("The sending number does not exist any more: see `phone_number_id` in the connection's settings.")
        }
        131045 | 133010 => Refused("The sending number is not registered for the Cloud API."),
        _ => Refused("The message was refused."),
    }
}
