//! Schemes whose sender gives each event an id of its own and signs it: they know the good key (DESIGN section 6), so a
//! flow may leave `key` out.

use super::super::super::expression::Use;
use super::super::super::fields::Fields;
use super::super::super::names::Names;
use super::super::super::path::{Path, Root, Segment};
use super::super::super::problem::Problems;
use super::super::super::template::Template;
use super::super::super::text::Text;
use super::verify;

/// A scheme that names the event in a header which its signature covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preset {
    /// `webhook-id`: "it remains the same no matter how many times a webhook that has failed is retried".
    StandardWebhooks,
}

impl Preset {
    /// The preset that the trigger's `verify` names, whatever else may be wrong there.
    pub(super) fn of(trigger: &Fields<'_>) -> Option<Preset> {
        let scheme = trigger.get("verify")?.get_ref().get("scheme")?;
        (scheme.get_ref().as_str()? == verify::STANDARD_WEBHOOKS).then_some(Preset::StandardWebhooks)
    }

    fn header(self) -> &'static str {
        match self {
            Preset::StandardWebhooks => "webhook-id",
        }
    }

    /// The header's value as a template.
    fn template(self) -> &'static str {
        match self {
            Preset::StandardWebhooks => "{{ headers[\"webhook-id\"] }}",
        }
    }

    /// The key where the flow writes none.
    pub(super) fn key(self, at: usize, names: &Names<'_>, problems: &mut Problems<'_>) -> Option<Vec<Template>> {
        let text = Text::new(self.template(), at..at, problems.source());
        Some(vec![Template::parse(&text, names, problems)?])
    }

    /// Whether the sender's id is a part of the key. Then the same key is the same event by the sender's own word, and
    /// its content need not be compared.
    pub(super) fn names_event(self, key: &[Template]) -> bool {
        key.iter().any(|part| match part {
            Template::Value(expression) => expression
                .only_path()
                .is_some_and(|path| is_header(path, self.header())),
            Template::Text(_) => false,
        })
    }

    /// What a designer easily gets wrong about the header.
    pub(super) fn check(self, key: &[Template], problems: &mut Problems<'_>) {
        let slip = self.header().replace('-', "_");
        let slips = |used: &&Use| is_header(&used.path, &slip);
        for used in key.iter().flat_map(Template::uses).filter(slips) {
            let mend = format!(
                "leave `key` out: it is {} then; or write {}",
                self.header(),
                self.template()
            );
            problems.error(used.at, format!("no delivery has a header {slip:?}"), mend);
        }
    }
}

fn is_header(path: &Path, header: &str) -> bool {
    path.root == Root::Headers && matches!(path.rest.as_slice(), [Segment::Field(name)] if name == header)
}
