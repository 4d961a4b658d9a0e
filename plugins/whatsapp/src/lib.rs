//! The connector for WhatsApp (Meta's Cloud API): one message for each step, a text or a template.
//!
//! WhatsApp knows no key and cannot be asked for a message, so a lost answer is for a person. To help them, the step key
//! goes along as `biz_opaque_callback_data`, which the webhooks about the message's fate repeat.
//!
//! <https://developers.facebook.com/docs/whatsapp/cloud-api/reference/messages>

mod message;
mod refusal;

use oncegate_sdk::prelude::*;

pub use message::{Phone, Template, Text, Word};

/// Who sends.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The id of the sending number, digits, as WhatsApp Manager shows it; not the number itself.
    #[schemars(regex(pattern = "^[0-9]{5,25}$"))]
    pub phone_number_id: String,
    /// The version of the Graph API.
    #[serde(default = "version")]
    #[schemars(regex(pattern = r"^v[0-9]{1,3}\.[0-9]{1,2}$"))]
    pub version: String,
}

fn version() -> String {
    "v23.0".to_owned()
}

/// One message: give `text` or `template`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The recipient's number, with + and the country code.
    pub to: Phone,
    /// A text of your own. WhatsApp delivers it only within 24 hours after the recipient wrote to you.
    pub text: Option<Text>,
    /// Whether the first link of the text is shown with a preview.
    #[serde(default)]
    pub preview_url: bool,
    /// An approved template, which may begin a conversation.
    pub template: Option<Template>,
}

/// A message that WhatsApp has taken. Whether it reached anybody, only the webhooks tell.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Taken {
    /// WhatsApp's id (`wamid.…`), which the webhooks repeat.
    pub id: String,
    /// `accepted`, or `held_for_quality_assessment` where WhatsApp first watches how a new template is received. Told for
    /// templates only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

#[derive(Serialize)]
struct Body<'a> {
    messaging_product: &'static str,
    recipient_type: &'static str,
    to: &'a Phone,
    biz_opaque_callback_data: &'a str,
    #[serde(flatten)]
    content: Content<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content<'a> {
    Text { text: TextBody<'a> },
    Template { template: message::TemplateBody<'a> },
}

#[derive(Serialize)]
struct TextBody<'a> {
    body: &'a Text,
    preview_url: bool,
}

#[derive(Deserialize)]
struct Answered {
    messages: Vec<AnsweredMessage>,
}

#[derive(Deserialize)]
struct AnsweredMessage {
    id: String,
    message_status: Option<String>,
}

/// Sends one message.
#[derive(Debug)]
pub struct SendMessage;

impl Action for SendMessage {
    const NAME: &'static str = "send-message";
    type Settings = Settings;
    type Input = Message;
    type Output = Taken;

    fn perform(call: &Call<SendMessage>) -> Result<Taken, Failure> {
        let body = Body {
            messaging_product: "whatsapp",
            recipient_type: "individual",
            to: &call.input.to,
            biz_opaque_callback_data: &call.key,
            content: content(&call.input)?,
        };
        let request = Request::post("api", "/{version}/{phone_number_id}/messages")
            .value("version", &call.settings.version)
            .value("phone_number_id", &call.settings.phone_number_id);
        let answer = request.json(&body).send()?;
        if !answer.is_success() {
            return Err(refusal::failure(&answer));
        }
        let answered: Answered = answer.json()?;
        match answered.messages.into_iter().next() {
            Some(message) => Ok(Taken {
                id: message.id,
                status: message.message_status,
            }),
            None => Err(Failure::unsure(
                "no_message",
                "WhatsApp answered well and named no message",
            )),
        }
    }
}

fn content(message: &Message) -> Result<Content<'_>, Failure> {
    match (&message.text, &message.template) {
        (Some(body), None) => {
            let preview_url = message.preview_url;
            Ok(Content::Text {
                text: TextBody { body, preview_url },
            })
        }
        (None, Some(template)) => Ok(Content::Template {
            template: template.body(),
        }),
        (Some(_), Some(_)) | (None, None) => {
            let what = "a message is a text or a template";
            Err(Failure::rejected("content", what).field("/text", "give either `text` or `template`"))
        }
    }
}

oncegate_sdk::export!(SendMessage);
