// The SDK for connectors in JavaScript: one file, nothing beside it. It turns the host's interface (wit/connector.wit) into
// functions that return outputs and throw `Failure`s, and keeps numbers digit by digit. What cannot be handed to the host as
// it is meant is refused here, by name: at the boundary it would be changed in silence, or end the call without a word.

import { send } from "oncegate:connector/http@0.1.0";
import { write } from "oncegate:connector/log@0.1.0";

/** The longest pause that a failure can ask for, in milliseconds: a day. */
const PAUSE_MS_MAX = 86_400_000;

const KINDS = ["rejected", "unauthorized", "temporary", "unsure"];

/** Why an action was not done. Throw it; the host can make it more cautious, never less. */
export class Failure extends Error {
  /** `kind` is `rejected`, `unauthorized`, `temporary` or `unsure`; `code` is short and for programs. */
  constructor(kind, code, message) {
    if (!KINDS.includes(kind)) throw new TypeError(`a failure is of a kind of ${KINDS.join(", ")}; this is ${told(kind)}`);
    super(words(message, "a failure's message"));
    this.problem = { code: words(code, "a failure's code"), message: this.message, fields: [], retryAfterMs: undefined };
    this.payload = { tag: kind, val: this.problem };
  }

  /** Names a part of the input that is at fault, by JSON pointer. */
  field(pointer, message) {
    this.problem.fields.push([words(pointer, "a field's pointer"), words(message, "a field's message")]);
    return this;
  }

  /**
   * Asks for a pause before this step's next try, where the destination said so outside of `Retry-After`. A part of a
   * millisecond is a whole one, less than none is none, more than a day is a day; `undefined` and `null` ask for nothing.
   */
  retryAfter(ms) {
    if (ms !== undefined && ms !== null) {
      const pause = isScalar(ms) && /^[^a-z]*\d/.test(textOf(ms)) ? Number(textOf(ms)) : NaN;
      if (Number.isNaN(pause)) throw new TypeError(`retryAfter takes milliseconds; this is ${told(ms)}`);
      this.problem.retryAfterMs = BigInt(Math.ceil(Math.min(Math.max(pause, 0), PAUSE_MS_MAX)));
    }
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
/** A lookup found the effect: every field that the input asks for is there as asked for. See `matching`. */
export const foundByContent = (output, reference = "") => found(output, reference, "content");
/** The destination answered, and the effect is not there. It can lead to a second request: when in doubt, throw `unsure`. */
export const absent = { tag: "absent" };

const found = (output, reference, matched) => ({
  tag: "found",
  val: { output: stringify(output), reference: reference === null ? "" : words(reference, "a reference"), matched },
});

/**
 * The one of `items` in which every field of `wanted` is there as asked for (see `same`); `undefined` where there is none. For
 * a lookup by content. `null` and what is not there are the same, and a field that `wanted` leaves `undefined` is not asked
 * for. Throws `unsure` where not finding it proves nothing: no item has a field of that name, a value is there in another type
 * (a number as text), several items match, or `items` is no list.
 */
export function matching(items, wanted) {
  const asked = Object.entries(wanted).filter(([, value]) => value !== undefined);
  if (asked.length === 0) throw new TypeError("matching needs a field to compare by");
  if (!Array.isArray(items)) throw unsure("answer_not_understood", `a list is needed to search in; this is ${told(items)}`);
  const nowhere = asked.find(([name, value]) => value !== null && !items.some((item) => item?.[name] !== undefined));
  if (items.length > 0 && nowhere) throw unsure("not_comparable", `nothing that the destination shows has a field ${nowhere[0]}`);
  const fits = (compare) => items.filter((item) => asked.every(([name, value]) => compare(value ?? null, item?.[name] ?? null)));
  const matches = fits(same);
  if (matches.length > 1) throw unsure("not_unique", `${matches.length} records at the destination are as asked for`);
  if (matches.length === 0 && fits(alike).length > 0) {
    throw unsure("not_comparable", "a record at the destination differs from what was asked for in the type of its values alone");
  }
  return matches[0];
}

/**
 * Whether two values of JSON are the same. Numbers are compared by value, to the last digit: `12.30` is `12.3` and `1.0` is
 * `1`, but 9007199254740993 is not 9007199254740992. A number is never the same as a text. Names may be in any order.
 */
export function same(a, b) {
  if (isNumber(a) || isNumber(b)) return isNumber(a) && isNumber(b) && worth(textOf(a)) === worth(textOf(b));
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const names = (of) => Object.keys(of).filter((name) => of[name] !== undefined);
  const own = names(a);
  return own.length === names(b).length && own.every((name) => Object.hasOwn(b, name) && same(a[name], b[name]));
}

/** The same but for the type of a scalar. */
const alike = (a, b) => same(a, b) || (isScalar(a) && isScalar(b) && worth(textOf(a)) === worth(textOf(b)));

/** A number's value, written in one way only: its digits without zeros around them, and a power of ten. */
function worth(text) {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (parts === null) return text;
  const [, sign, whole, fraction = "", power = "0"] = parts;
  const digits = (whole + fraction).replace(/^0+/, "");
  const kept = digits.replace(/0+$/, "");
  return kept === "" ? "0" : `${sign}${kept}e${BigInt(power) - BigInt(fraction.length) + BigInt(digits.length - kept.length)}`;
}

/**
 * JSON text to values. A number comes as its digits (`JSON.rawJSON`), because a JavaScript number would lose some:
 * `stringify` writes it as it came, `textOf` gives its digits, and arithmetic on it throws until you say `numberOf`. Compare
 * with `same`: `===` on it is false and says nothing.
 */
export const parse = (text) =>
  JSON.parse(text, (_name, value, { source }) => (typeof value === "number" ? JSON.rawJSON(source) : value));

/** Values to JSON text, digits as they came. What is no JSON (NaN, a function, a Map, half a character) is refused by name. */
export function stringify(value) {
  return JSON.stringify(value, function (name, item) {
    const refuse = () => {
      throw new TypeError(`${name === "" ? "this" : JSON.stringify(name)} cannot be written as JSON: it is ${told(item)}`);
    };
    if (!name.isWellFormed()) refuse();
    if (typeof item === "bigint") return JSON.rawJSON(String(item));
    if (isNumber(item)) return item;
    if (typeof item === "string") return item.isWellFormed() ? item : refuse();
    // A field without a value is left out; there is no such place in a list.
    if (item === undefined) return name === "" || Array.isArray(this) ? refuse() : item;
    if (typeof item === "boolean" || item === null) return item;
    // Of a Map, a Promise or an Error nothing would be left but `{}`.
    const plain = ["[object Object]", "[object Array]"].includes(Object.prototype.toString.call(item));
    return typeof item === "object" && plain ? item : refuse();
  });
}

/** A number as JSON has them: NaN and the infinities are none. */
const isNumber = (value) => Number.isFinite(value) || typeof value === "bigint" || JSON.isRawJSON(value);
const isScalar = (value) => isNumber(value) || typeof value === "string" || typeof value === "boolean";

/** A text, or the digits of a number, or a boolean, as text. Anything else has none, and is refused. */
export function textOf(value) {
  if (!isScalar(value)) throw new TypeError(`a text or a number is needed; this is ${told(value)}`);
  return JSON.isRawJSON(value) ? value.rawJSON : String(value);
}

/** A number to compute with. What passes through it keeps 15 digits. */
export function numberOf(value) {
  const number = Number(textOf(value));
  if (Number.isNaN(number)) throw new TypeError(`a number is needed; this is ${told(value)}`);
  return number;
}

/** Text for people: half a character in it is replaced, for words matter less than what they are about. */
function words(value, what) {
  if (!isScalar(value)) throw new TypeError(`${what} must be a text; this is ${told(value)}`);
  return textOf(value).toWellFormed();
}

/** What a value is, for people, whatever it is. */
function told(value) {
  if (value === null || value === undefined || typeof value === "number") return String(value);
  if (typeof value === "string" && !value.isWellFormed()) return "a text with half a character";
  if (typeof value === "string") return `the text ${JSON.stringify(value.slice(0, 80))}`;
  if (isScalar(value)) return textOf(value);
  return Array.isArray(value) ? "a list" : `a ${typeof value === "object" ? (value.constructor?.name ?? "thing") : typeof value}`;
}

/** Lines for the operator's log. A line never fails: what has no text is told in words. */
export const log = Object.fromEntries(
  ["debug", "info", "warn", "error"].map((level) => [
    level,
    (message, fields) => {
      const text = (value) => (isScalar(value) ? textOf(value) : value instanceof Error ? String(value) : told(value));
      write(level, text(message), Object.entries(fields ?? {}).map(([name, value]) => [name, text(value)]));
    },
  ]),
);

/**
 * Sends one request to an endpoint of the manifest and gives the whole answer, whatever its status.
 *
 * `path` may hold places such as `/invoices/{id}`, filled from `values` and percent-encoded. In `query` a list is one pair for
 * each of its elements; there and in `headers`, what is `null` or `undefined` is left out. `json` is sent as the body. Throws a
 * `Failure` that says what is true where no answer came.
 */
export function request(method, endpoint, path, { values = {}, query = {}, headers = {}, json } = {}) {
  const given = pairs(headers, "the header").map(([name, value]) => [name.toLowerCase(), value]);
  const defaults = [["accept", "application/json"], ...(json === undefined ? [] : [["content-type", "application/json"]])];
  const body = json === undefined ? { tag: "none" } : { tag: "bytes", val: new TextEncoder().encode(stringify(json)) };
  const asked = {
    method,
    endpoint,
    path: filled(path, values),
    query: Object.entries(query).flatMap(([name, value]) => {
      return [value].flat().flatMap((one) => pairs({ [name]: one }, "the query's"));
    }),
    headers: [...defaults.filter(([name]) => !given.some(([own]) => own === name)), ...given],
    body,
  };
  try {
    return new Answer(send(asked));
  } catch (error) {
    throw NO_ANSWER[error.payload?.tag]?.(error.payload.val) ?? error;
  }
}

const NO_ANSWER = {
  denied: (why) => rejected("denied", why),
  "nothing-sent": (why) => temporary("nothing_sent", why),
  "maybe-sent": (why) => unsure("maybe_sent", why),
};

/** Names with the texts of their values, without those that have none. */
function pairs(named, what) {
  const there = Object.entries(named).filter(([, value]) => value !== undefined && value !== null);
  return there.map(([name, value]) => {
    if (!isScalar(value) || !textOf(value).isWellFormed() || !name.isWellFormed()) {
      throw rejected("request_not_built", `${what} ${name} is ${told(value)}, and no text can be made of it`);
    }
    return [name, textOf(value)];
  });
}

/** A value that would change which path is meant is refused here, where it can still be named. */
function filled(path, values) {
  return path.replace(/\{([^{}]*)\}/g, (_place, name) => {
    const value = isScalar(values[name]) ? textOf(values[name]) : "";
    if (["", ".", ".."].includes(value) || /[/\\\x00-\x1f\x7f-\x9f]/.test(value) || !value.isWellFormed()) {
      throw rejected("request_not_built", `the value for {${name}} is ${told(values[name])}, which is no path segment`);
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

  /** The body as text, without a byte order mark. */
  text() {
    return new TextDecoder().decode(this.body).replace(/^\uFEFF/, "");
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
    const given = firstText(body?.detail, body?.message, body?.error?.message, body?.error, body?.title) ?? this.text();
    const code = firstText(body?.code, body?.error?.code, body?.error) ?? `http_${this.status}`;
    const said = given.replace(/[\s\x00-\x1f\x7f-\x9f]+/g, " ").trim().slice(0, 500);
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
      return reported(NO_PAYLOAD, () => {
        const output = action(call.action).perform(opened(call));
        notAsync(output);
        if (output === undefined) throw new TypeError("perform returned nothing; return the output, or null where there is none");
        return { tag: "completed", val: stringify(output) };
      });
    },
    lookup(call, doubt) {
      const seen = { firstSentMs: Number(doubt.firstSentMs), status: doubt.status };
      try {
        return reported(ENDED, () => {
          const own = action(call.action);
          if (own.lookup === undefined) throw unsure("no_lookup", "this action has no lookup");
          const finding = own.lookup({ ...opened(call), doubt: seen });
          notAsync(finding);
          if (finding === absent || finding?.tag === "found") return finding;
          throw new TypeError(`lookup must return foundByKey(…), foundByContent(…) or absent; it returned ${told(finding)}`);
        });
      } catch (error) {
        if (error instanceof Failure) return { tag: "unsure", val: error.message };
        throw error;
      }
    },
  };
}

function notAsync(result) {
  if (typeof result?.then !== "function") return;
  throw new TypeError("perform and lookup must not be async: `request` waits by itself");
}

/** What the engine prints when an attempt ends: anything else would be words about its own insides. */
const ENDED = "the error above ended the attempt";
/** The same, where the engine asks what is thrown for what it carries, to hand that to the host. */
const NO_PAYLOAD = {
  get payload() {
    throw ENDED;
  },
};

/** The host sees of an unforeseen error only that the component gave up; its words go to the log. */
function reported(ended, work) {
  try {
    return work();
  } catch (error) {
    if (error instanceof Failure) throw error;
    log.error(error, { stack: error?.stack ?? "" });
    throw ended;
  }
}
