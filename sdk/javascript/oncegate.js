// The SDK for connectors in JavaScript: one file, nothing beside it. It turns the host's interface (wit/connector.wit) into
// functions that return outputs and throw `Failure`s, and keeps numbers digit by digit.

import { send } from "oncegate:connector/http@0.1.0";
import { write } from "oncegate:connector/log@0.1.0";

/** Why an action was not done. Throw it; the host can make it more cautious, never less. */
export class Failure extends Error {
  /** `kind` is `rejected`, `unauthorized`, `temporary` or `unsure`; `code` is short and for programs. */
  constructor(kind, code, message) {
    super(message);
    this.problem = { code, message, fields: [], retryAfterMs: undefined };
    this.payload = { tag: kind, val: this.problem };
  }

  /** Names a part of the input that is at fault, by JSON pointer. */
  field(pointer, message) {
    this.problem.fields.push([pointer, message]);
    return this;
  }

  /** Asks for a pause before this step's next try, where the destination said so outside of `Retry-After`. */
  retryAfter(ms) {
    this.problem.retryAfterMs = BigInt(ms);
    return this;
  }
}

/** This input is refused; the same input would be refused again. */
export const rejected = (code, message) => new Failure("rejected", code, message);
/** It was not done now; later it may go. */
export const temporary = (code, message) => new Failure("temporary", code, message);
/** It is not known whether it was done. Always safe to say. */
export const unsure = (code, message) => new Failure("unsure", code, message);

/** A lookup found the effect: the destination showed our step key. `reference` is what a person can search for there. */
export const foundByKey = (output, reference = "") => found(output, reference, "key");
/** A lookup found the effect: every field that the input asks for is there as asked for. */
export const foundByContent = (output, reference = "") => found(output, reference, "content");
/** The destination answered, and the effect is not there. It can lead to a second request: when in doubt, throw `unsure`. */
export const absent = { tag: "absent" };

const found = (output, reference, matched) => ({
  tag: "found",
  val: { output: stringify(output), reference: textOf(reference), matched },
});

/**
 * JSON text to values. A number comes as its digits (`JSON.rawJSON`), because a JavaScript number would lose some:
 * `stringify` writes it as it came, `textOf` gives its digits, and arithmetic on it throws until you say `numberOf`.
 */
export const parse = (text) =>
  JSON.parse(text, (_name, value, { source }) => (typeof value === "number" ? JSON.rawJSON(source) : value));

/** Values to JSON text, digits as they came. */
export const stringify = (value) => JSON.stringify(value) ?? "null";

/** A text, or the digits of a number, as text. */
export const textOf = (value) => (JSON.isRawJSON(value) ? value.rawJSON : String(value));

/** A number to compute with. What passes through it keeps 15 digits. */
export const numberOf = (value) => Number(textOf(value));

/** Lines for the operator's log. */
export const log = Object.fromEntries(
  ["debug", "info", "warn", "error"].map((level) => [
    level,
    (message, fields = {}) => write(level, String(message), Object.entries(fields).map(([name, value]) => [name, textOf(value)])),
  ]),
);

/**
 * Sends one request to an endpoint of the manifest and gives the whole answer, whatever its status.
 *
 * `path` may hold places such as `/invoices/{id}`, filled from `values` and percent-encoded. `json` is sent as the body.
 * Throws a `Failure` that says what is true where no answer came.
 */
export function request(method, endpoint, path, { values = {}, query = {}, headers = {}, json } = {}) {
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), textOf(value)]);
  const defaults = [["accept", "application/json"], ...(json === undefined ? [] : [["content-type", "application/json"]])];
  const body = json === undefined ? { tag: "none" } : { tag: "bytes", val: new TextEncoder().encode(stringify(json)) };
  try {
    const answer = send({
      method,
      endpoint,
      path: filled(path, values),
      query: Object.entries(query).map(([name, value]) => [name, textOf(value)]),
      headers: [...defaults.filter(([name]) => !given.some(([own]) => own === name)), ...given],
      body,
    });
    return new Answer(answer);
  } catch (error) {
    throw NO_ANSWER[error.payload?.tag]?.(error.payload.val) ?? error;
  }
}

const NO_ANSWER = {
  denied: (why) => rejected("denied", why),
  "nothing-sent": (why) => temporary("nothing_sent", why),
  "maybe-sent": (why) => unsure("maybe_sent", why),
};

/** A value that would change which path is meant is refused here, where it can still be named. */
function filled(path, values) {
  return path.replace(/\{([^{}]*)\}/g, (_place, name) => {
    const value = values[name] === undefined ? "" : textOf(values[name]);
    if (["", ".", ".."].includes(value) || /[/\\\x00-\x1f\x7f-\x9f]/.test(value)) {
      throw rejected("request_not_built", `the value for {${name}} is ${JSON.stringify(value)}, which is no path segment`);
    }
    return encodeURIComponent(value).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  });
}

/** What came back. */
export class Answer {
  constructor({ status, headers, body }) {
    this.status = status;
    this.headers = headers;
    this.body = body;
  }

  /** The answer itself where it is a 2xx; else throws what its status usually means. */
  ok() {
    if (this.status >= 200 && this.status < 300) return this;
    throw this.failure();
  }

  /** For lookups: `undefined` on 404 and 410, else as `ok`. */
  unlessMissing() {
    return this.status === 404 || this.status === 410 ? undefined : this.ok();
  }

  text() {
    return new TextDecoder().decode(this.body);
  }

  /** The body as values, see `parse`. A body that is no JSON is *unsure*: the destination did something. */
  json() {
    try {
      return parse(this.text());
    } catch (error) {
      throw unsure("answer_not_understood", `the destination answered ${this.status} with a body that is no JSON: ${error.message}`);
    }
  }

  /** The same, or `undefined` where the body is no JSON. For answers that did nothing anyway. */
  tryJson() {
    try {
      return parse(this.text());
    } catch {
      return undefined;
    }
  }

  /** What the status usually means, in the destination's own words as far as it has any. */
  failure() {
    const body = this.tryJson();
    const words = firstText(body?.detail, body?.message, body?.error?.message, body?.error, body?.title) ?? this.text();
    const code = firstText(body?.code, body?.error?.code, body?.error) ?? `http_${this.status}`;
    const said = words.replace(/[\s\x00-\x1f\x7f-\x9f]+/g, " ").trim().slice(0, 500);
    const message = `the destination answered ${this.status}${said ? `: ${said}` : " without a word"}`;
    return new Failure(meaning(this.status), code.slice(0, 80), message);
  }
}

function meaning(status) {
  if (status === 401 || status === 403) return "unauthorized";
  if (status === 425 || status === 429 || status === 503) return "temporary";
  return status >= 400 && status < 500 && status !== 408 ? "rejected" : "unsure";
}

const firstText = (...values) => values.find((value) => typeof value === "string" && value.trim() !== "");

/**
 * What a connector exports: `export const actions = connector({ "create-invoice": { perform, lookup } })`.
 *
 * `perform({ input, settings, key })` returns the output or throws a `Failure`. `lookup({ input, settings, key, doubt })`
 * returns `foundByKey(…)`, `foundByContent(…)` or `absent`; a `Failure` thrown there counts as *unsure*. Any other error is
 * logged and ends the attempt. Both are plain functions: `request` waits by itself, so there is nothing to `await`.
 */
export function connector(actions) {
  const action = (name) => {
    if (Object.hasOwn(actions, name)) return actions[name];
    throw rejected("unknown_action", `this connector has no action ${name}`);
  };
  const opened = ({ input, settings, key }) => ({ input: parse(input), settings: parse(settings), key });
  return {
    perform(call) {
      const output = reported(() => action(call.action).perform(opened(call)));
      return { tag: "completed", val: stringify(output) };
    },
    lookup(call, doubt) {
      const seen = { firstSentMs: Number(doubt.firstSentMs), status: doubt.status };
      try {
        return reported(() => action(call.action).lookup({ ...opened(call), doubt: seen }));
      } catch (error) {
        if (error instanceof Failure) return { tag: "unsure", val: error.message };
        throw error;
      }
    },
  };
}

/** The host sees of an unforeseen error only that the component gave up; its words go to the log. */
function reported(work) {
  try {
    const result = work();
    if (result?.then) throw new TypeError("perform and lookup must not be async: `request` waits by itself");
    return result;
  } catch (error) {
    if (!(error instanceof Failure)) log.error(error, { stack: error?.stack ?? "" });
    throw error;
  }
}
