//! The limits and defaults that the design names, and those that several rooms share, each with its unit in its name. What a
//! connection, flow or installation may set is the default here; what nobody may set is the limit itself. A limit of one room
//! alone stands where it is kept.

// --- Keys (DESIGN section 6) ---------------------------------------------------------------------------------------

/// An event key, in bytes of UTF-8.
pub const EVENT_KEY_BYTES_MAX: usize = 512;
/// A step key carries at least this many bits, however short a destination wants it.
pub const STEP_KEY_BITS_MIN: usize = 128;
/// Of a key window only this share is used, in per cent: two clocks are never quite alike.
pub const KEY_WINDOW_USED_PERCENT: u64 = 90;
/// How long after the first intent a natural repeat is allowed, unless the connection says otherwise.
pub const REPEAT_WITHIN_MS_DEFAULT: u64 = 10 * MINUTE_MS;
/// What a connection may ask for: a natural repeat an hour later may undo what somebody else did meanwhile.
pub const REPEAT_WITHIN_MS_MAX: u64 = HOUR_MS;

// --- Attempts and waiting (DESIGN section 4) -----------------------------------------------------------------------

/// Counted attempts of a step; lookups have the same bound of their own.
pub const ATTEMPTS_DEFAULT: u32 = 8;
/// What a flow may ask for.
pub const ATTEMPTS_MAX: u32 = 100;
/// Delay before the second attempt.
pub const RETRY_FIRST_MS_DEFAULT: u64 = 2 * SECOND_MS;
/// Each further delay is this many times the one before.
pub const RETRY_FACTOR_DEFAULT: f64 = 2.0;
/// No delay of our own is longer.
pub const RETRY_LONGEST_MS_DEFAULT: u64 = 10 * MINUTE_MS;
/// Permanent refusals before a person is asked.
pub const REFUSALS_DEFAULT: u32 = 1;
/// Jitter of our own delays, in per cent to either side.
pub const JITTER_PERCENT: u64 = 10;
/// No wait is longer.
pub const WAIT_LONGEST_MS_DEFAULT: u64 = 24 * HOUR_MS;
/// From ready to sent in all.
pub const SENT_WITHIN_MS_DEFAULT: u64 = 72 * HOUR_MS;
/// Different steps in a row (unknown, unsent or 5xx) that open a breaker.
pub const BREAKER_STEPS_DEFAULT: u32 = 3;
/// How often a blocked connection is probed.
pub const PROBE_EVERY_MS: u64 = MINUTE_MS;
/// Different runs in a row refused with 401 that block a connection without a probe.
pub const UNAUTHORIZED_RUNS_MAX: u32 = 3;

// --- One exchange (DESIGN section 2, CONNECTORS.md) ----------------------------------------------------------------

/// `send_by` is at most this long after the intent.
pub const SEND_BY_MS_MAX: u64 = 5 * SECOND_MS;
/// Time limit of one exchange, unless the connection says otherwise.
pub const REQUEST_TIMEOUT_MS_DEFAULT: u64 = 10 * SECOND_MS;
/// What a connection may ask for.
pub const REQUEST_TIMEOUT_MS_MAX: u64 = 2 * MINUTE_MS;
/// An idle connection older than this carries no write without key or lookup.
pub const REUSE_UNPROTECTED_IDLE_MS_MAX: u64 = 2 * SECOND_MS;
/// Reading requests of one attempt or lookup.
pub const READS_PER_ATTEMPT_MAX: u32 = 16;
/// A secret: a shorter one could not be masked without masking innocent text.
pub const SECRET_BYTES_MIN: usize = 8;
/// A secret.
pub const SECRET_BYTES_MAX: usize = 16 * KIB;

// --- Connectors (CONNECTORS.md) ------------------------------------------------------------------------------------

/// A manifest.
pub const MANIFEST_BYTES_MAX: usize = 256 * KIB;
/// Names of connectors, actions and connections: `[a-z][a-z0-9-]{1,39}`.
pub const NAME_BYTES_MIN: usize = 2;
/// The longest, see [`NAME_BYTES_MIN`].
pub const NAME_BYTES_MAX: usize = 40;
/// A title, in characters.
pub const TITLE_CHARS_MAX: usize = 120;
/// A component, in a folder and as it is loaded.
pub const COMPONENT_BYTES_MAX: usize = 32 * MIB;
/// Nesting of a schema or of JSON from outside.
pub const JSON_DEPTH_MAX: usize = 64;
/// Output of an action, as JSON text, whether a connector gives it or a person.
pub const OUTPUT_BYTES_MAX: usize = MIB;

// --- Events and flows (DESIGN section 9, FLOWS.md) -----------------------------------------------------------------

/// The body of an event as it arrives.
pub const EVENT_BODY_BYTES_MAX: usize = MIB;
/// The body of an event after expansion.
pub const EVENT_BODY_EXPANDED_BYTES_MAX: usize = 8 * MIB;
/// A flow's source.
pub const FLOW_BYTES_MAX: usize = 256 * KIB;
/// Steps of a flow.
pub const STEPS_MAX: usize = 200;
/// A template's source.
pub const TEMPLATE_BYTES_MAX: usize = 16 * KIB;
/// What a template renders to, and a step's input in all.
pub const INPUT_BYTES_MAX: usize = MIB;
/// What an expression may cost.
pub const TEMPLATE_FUEL_MAX: u64 = 100_000;
/// A context value, in bytes.
pub const CONTEXT_VALUE_BYTES_MAX: usize = 512;
/// A reason that a person gives.
pub const REASON_BYTES_MAX: usize = 2 * KIB;
/// What a person would search for at the destination, whether a connector names it or a person.
pub const REFERENCE_BYTES_MAX: usize = KIB;

const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;
