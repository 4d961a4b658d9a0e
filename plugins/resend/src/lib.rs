//! The connector for Resend: one e-mail for each step. Resend remembers the key in `Idempotency-Key`, which the host puts
//! in, for 24 hours and then answers the same request with the same e-mail, so that a lost answer is settled by asking
//! again.
//!
//! <https://resend.com/docs/api-reference/emails/send-email> and, for the key,
//! <https://resend.com/docs/dashboard/emails/idempotency-keys>.

mod address;

use oncegate_sdk::prelude::*;

pub use address::{Address, Addresses};

/// How long a step waits that met a used-up quota: Resend counts it by the day, and a try costs nothing.
const QUOTA_WAIT_MS: u64 = 3_600_000;

/// What a connection says about its account.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Who sends where a step does not say it, such as `Acme <hello@acme.example>`. Its domain is verified at Resend.
    pub from: Option<Address>,
}

/// One e-mail.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Email {
    /// Who sends; left out: the `from` of the connection's settings.
    pub from: Option<Address>,
    /// Who gets it: one address or a list of up to 50.
    pub to: Addresses,
    /// One line.
    pub subject: String,
    /// The plain text. One of `text` and `html` is needed; from `html` alone Resend makes a text as well.
    pub text: Option<String>,
    /// The HTML.
    pub html: Option<String>,
    /// Who gets a copy.
    pub cc: Option<Addresses>,
    /// Who gets a copy that nobody sees.
    pub bcc: Option<Addresses>,
    /// Where answers go.
    pub reply_to: Option<Addresses>,
}

/// An e-mail that Resend has taken.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sent {
    /// Resend's id, by which the dashboard finds it.
    pub id: String,
}

#[derive(Serialize)]
struct Body<'a> {
    from: &'a Address,
    to: &'a Addresses,
    subject: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cc: Option<&'a Addresses>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bcc: Option<&'a Addresses>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<&'a Addresses>,
}

/// Sends one e-mail.
#[derive(Debug)]
pub struct SendEmail;

impl Action for SendEmail {
    const NAME: &'static str = "send-email";
    type Settings = Settings;
    type Input = Email;
    type Output = Sent;

    fn perform(call: &Call<SendEmail>) -> Result<Sent, Failure> {
        let answer = Request::post("api", "/emails")
            .json(&body(&call.input, &call.settings)?)
            .send()?;
        if answer.is_success() {
            answer.json()
        } else {
            Err(failure(&answer))
        }
    }
}

fn body<'a>(email: &'a Email, settings: &'a Settings) -> Result<Body<'a>, Failure> {
    let wrong =
        |field: &str, what: &str, mend: &str| Err(Failure::rejected(field, what).field(format!("/{field}"), mend));
    let Some(from) = email.from.as_ref().or(settings.from.as_ref()) else {
        return wrong(
            "from",
            "nobody sends this e-mail",
            "name the sender here, or as `from` in the connection's settings",
        );
    };
    if email.subject.trim().is_empty() || email.subject.contains(char::is_control) {
        return wrong(
            "subject",
            "the subject is empty or has more than one line",
            "write one line",
        );
    }
    if email.text.is_none() && email.html.is_none() {
        return wrong("text", "the e-mail has no content", "give `text`, `html` or both");
    }
    Ok(Body {
        from,
        to: &email.to,
        subject: &email.subject,
        text: email.text.as_deref(),
        html: email.html.as_deref(),
        cc: email.cc.as_ref(),
        bcc: email.bcc.as_ref(),
        reply_to: email.reply_to.as_ref(),
    })
}

#[derive(Deserialize)]
struct Refusal {
    name: String,
    message: String,
}

/// What Resend's errors mean: <https://resend.com/docs/api-reference/errors>. A `validation_error` is about the e-mail or
/// about the key, as its status and words say.
fn failure(answer: &Answer) -> Failure {
    let Ok(Refusal { name, message }) = answer.json::<Refusal>() else {
        return answer.failure();
    };
    let words = format!("Resend answered {}: {message}", answer.status);
    match (answer.status, name.as_str()) {
        // The first request is still under way, or was another one: either way an e-mail may have gone out.
        (409, _) => Failure::unsure(name, words),
        (429, "daily_quota_exceeded" | "monthly_quota_exceeded") => {
            Failure::temporary(name, words).retry_after_ms(QUOTA_WAIT_MS)
        }
        (429, _) => Failure::temporary(name, words),
        (401, _) | (_, "missing_api_key" | "restricted_api_key" | "invalid_api_key" | "suspended_api_key") => {
            Failure::unauthorized(name, words)
        }
        (400, "validation_error") if message.contains("API key") => Failure::unauthorized(name, words),
        // Among them 403 for a sender whose domain is not verified: that mends no other key.
        (400..=499, _) if answer.status != 408 => Failure::rejected(name, words),
        _ => Failure::unsure(name, words),
    }
}

oncegate_sdk::export!(SendEmail);
