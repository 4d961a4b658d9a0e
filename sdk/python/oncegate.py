"""The SDK for connectors in Python: one file, nothing beside it. It turns the host's interface (wit/connector.wit) into
methods that return outputs and raise `Failure`s, and keeps numbers digit by digit. What cannot be handed to the host as it is
meant is refused here, by name: at the boundary the call would end without a word."""

import codecs
import decimal
import json as plain_json
import math
import random
import re
import traceback
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from componentize_py_types import Err
from wit_world.exports import actions as wit
from wit_world.imports import http
from wit_world.imports import log as wit_log


# Compiled when the component is built. What is left for later is done again in each call, for each has a fresh instance.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NO_SEGMENT = re.compile(r"[/\\\x00-\x1f\x7f-\x9f]")
_PLACE = re.compile(r"\{([^{}]*)\}")
_HALF = re.compile(r"[\ud800-\udfff]")
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")

# Python reads these from files when they are first needed, and in a call there are none: `strptime`, and the codecs that the
# world still uses. Looked up once, they are part of the component.
import _strptime  # noqa: E402, F401

for _codec in ("ascii", "latin-1", "cp1252", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "idna", "punycode",
               "iso8859-15", "cp437", "cp850", "unicode_escape", "raw_unicode_escape", "hex", "base64", "quopri", "rot13"):
    codecs.lookup(_codec)

# Digits of a result: a sum, a product or a rounded number is exact. `decimal` counts 28 by itself.
_DIGITS = decimal.Context(prec=1000)
_PAUSE_MS_MAX = 24 * 60 * 60 * 1000


class Failure(Exception):
    """Why an action was not done. Raise it; the host can make it more cautious, never less."""

    def __init__(self, kind: type, code: str, message: str):
        if kind not in (wit.Failure_Rejected, wit.Failure_Unauthorized, wit.Failure_Temporary, wit.Failure_Unsure):
            raise TypeError(f"{kind!r} is no kind of failure; use rejected, temporary or unsure")
        message = _words(message, "a failure's message")
        super().__init__(message)
        self.kind = kind
        self.problem = wit.Problem(_words(code, "a failure's code"), message, [], None)

    def field(self, pointer: str, message: str) -> "Failure":
        """Names a part of the input that is at fault, by JSON pointer."""
        self.problem.fields.append((_words(pointer, "a field's pointer"), _words(message, "a field's message")))
        return self

    def retry_after(self, ms: Any) -> "Failure":
        """Asks for a pause before this step's next try, where the destination said so outside of `Retry-After`. A part of a
        millisecond is a whole one, less than none is none, more than a day is a day; `None` asks for nothing."""
        if ms is not None:
            self.problem.retry_after_ms = _milliseconds(ms)
        return self


def _milliseconds(ms: Any) -> int:
    try:
        if isinstance(ms, bool) or not isinstance(ms, (str, int, float, Decimal)):
            raise ValueError
        pause = Decimal(ms)
        if not pause.is_finite():
            raise ValueError
    except (ValueError, decimal.InvalidOperation):
        raise TypeError(f"retry_after takes milliseconds; this is {_told(ms)}") from None
    return math.ceil(min(max(pause, Decimal(0)), Decimal(_PAUSE_MS_MAX)))


def rejected(code: str, message: str) -> Failure:
    """This input is refused; the same input would be refused again."""
    return Failure(wit.Failure_Rejected, code, message)


def temporary(code: str, message: str) -> Failure:
    """It was not done now; later it may go."""
    return Failure(wit.Failure_Temporary, code, message)


def unsure(code: str, message: str) -> Failure:
    """It is not known whether it was done. Always safe to say."""
    return Failure(wit.Failure_Unsure, code, message)


class Number(Decimal):
    """A number as it came: computes like a `Decimal`, is written digit by digit."""

    def __new__(cls, text: Any) -> "Number":
        number = super().__new__(cls, text)
        number.text = text if isinstance(text, str) and _JSON_NUMBER.fullmatch(text) else format(number, "f")
        return number


def _came(text: str) -> Number:
    number = Decimal.__new__(Number, text)
    number.text = text
    return number


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def loads(text: str | bytes) -> Any:
    """JSON text to values; each number is a `Number`. A byte order mark before it is passed over."""
    if isinstance(text, (bytes, bytearray)):
        text = text.decode("utf-8")
    text = text.removeprefix("\ufeff")
    return plain_json.loads(text, parse_int=_came, parse_float=_came, parse_constant=_no_number)


def dumps(value: Any) -> str:
    """Values to JSON text, digits as they came. What is no JSON (NaN, a set, half a character) is refused by name."""
    match value:
        case Decimal() if not value.is_finite():
            raise TypeError(f"{value} is no number of JSON")
        case Number():
            return value.text
        case Decimal():
            return format(value, "f")
        case float() if not math.isfinite(value):
            raise TypeError(f"{value} is no number of JSON")
        case str() if not _is_whole(value):
            raise TypeError("a text with half a character (a lone surrogate) cannot be written as JSON")
        case dict():
            return "{" + ",".join(f"{_name(name)}:{dumps(item)}" for name, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ",".join(map(dumps, value)) + "]"
        case str() | int() | float() | None:
            return plain_json.dumps(value, ensure_ascii=False)
        case _:
            raise TypeError(f"{_told(value)} cannot be written as JSON")


def _name(name: Any) -> str:
    # A number and its text would be the same name twice.
    if not isinstance(name, str):
        raise TypeError(f"a name in a JSON object is a text; this is {_told(name)}")
    return dumps(name)


def _is_whole(text: str) -> bool:
    return text.isascii() or not _HALF.search(text)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, bool, int, float, Decimal))


def text_of(value: Any) -> str:
    """A text, or a number or boolean as JSON writes it, as text. Anything else has none, and is refused."""
    if isinstance(value, str):
        return value
    if not _is_scalar(value):
        raise TypeError(f"a text or a number is needed; this is {_told(value)}")
    return dumps(value)


def _words(value: Any, what: str) -> str:
    """Text for people: half a character in it is replaced, for words matter less than what they are about."""
    if not _is_scalar(value):
        raise TypeError(f"{what} must be a text; this is {_told(value)}")
    return text_of(value).encode("utf-8", "replace").decode("utf-8")


def _told(value: Any) -> str:
    """What a value is, for people, whatever it is."""
    kind = "None" if value is None else f"of type {type(value).__name__}"
    return f"{kind}: {ascii(value)[:80]}" if _is_scalar(value) else kind


def same(a: Any, b: Any) -> bool:
    """Whether two values of JSON are the same. Numbers are compared by value, to the last digit: `12.30` is `12.3` and `1.0` is
    `1`, but 9007199254740993 is not 9007199254740992. A number is never the same as a text or a boolean."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def _alike(a: Any, b: Any) -> bool:
    """The same but for the type of a scalar."""
    if same(a, b) or not (_is_scalar(a) and _is_scalar(b)):
        return same(a, b)
    a, b = text_of(a), text_of(b)
    numbers = _JSON_NUMBER.fullmatch(a) and _JSON_NUMBER.fullmatch(b)
    return Decimal(a) == Decimal(b) if numbers else a == b


def matching(items: Any, wanted: dict[str, Any]) -> Any:
    """The one of `items` in which every field of `wanted` is there as asked for (see `same`); `None` where there is none. For a
    lookup by content. `None` and what is not there are the same. Raises `unsure` where not finding it proves nothing: no item
    has a field of that name, a value is there in another type (a number as text), several items match, or `items` is no list.
    """
    if not wanted:
        raise TypeError("matching needs a field to compare by")
    if not isinstance(items, list):
        raise unsure("answer_not_understood", f"a list is needed to search in; this is {_told(items)}")
    items = [item if isinstance(item, dict) else {} for item in items]
    for name, value in wanted.items():
        if items and value is not None and not any(name in item for item in items):
            raise unsure("not_comparable", f"nothing that the destination shows has a field {name}")

    def fits(compare: Any) -> list[Any]:
        return [item for item in items if all(compare(value, item.get(name)) for name, value in wanted.items())]

    matches = fits(same)
    if len(matches) > 1:
        raise unsure("not_unique", f"{len(matches)} records at the destination are as asked for")
    if not matches and fits(_alike):
        message = "a record at the destination differs from what was asked for in the type of its values alone"
        raise unsure("not_comparable", message)
    return matches[0] if matches else None


@dataclass
class Call:
    """One call of an action. `key` is the step key; the host puts it into a header by itself."""

    input: Any
    settings: Any
    key: str


@dataclass
class Found:
    """A lookup found the effect. `reference` is what a person can search for at the destination."""

    output: Any
    reference: str
    matched: wit.Matched


def found_by_key(output: Any, reference: str = "") -> Found:
    """The destination showed our step key."""
    return Found(output, reference, wit.Matched.KEY)


def found_by_content(output: Any, reference: str = "") -> Found:
    """Every field that the input asks for is there as asked for. See `matching`."""
    return Found(output, reference, wit.Matched.CONTENT)


ABSENT = wit.Finding_Absent()
"""The destination answered, and the effect is not there. It can lead to a second request: when in doubt, raise `unsure`."""


class Action:
    """One operation of a connector."""

    def perform(self, call: Call) -> Any:
        """Returns the output or raises a `Failure`. The same call must build the same request."""
        raise NotImplementedError

    def lookup(self, call: Call, doubt: wit.Doubt) -> Found | wit.Finding_Absent:
        """Whether an earlier `perform` of this call took effect, by reads only. A `Failure` counts as *unsure*."""
        raise unsure("no_lookup", "this action has no lookup")


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""

    def ok(self) -> "Answer":
        """The answer itself where it is a 2xx; else raises what its status usually means."""
        if 200 <= self.status < 300:
            return self
        raise self.failure()

    def unless_missing(self) -> "Answer | None":
        """For lookups: `None` on 404 and 410, else as `ok`."""
        return None if self.status in (404, 410) else self.ok()

    def text(self) -> str:
        """The body as text, without a byte order mark."""
        return self.body.decode("utf-8", "replace").removeprefix("\ufeff")

    def json(self) -> Any:
        """The body as values, see `loads`. A body that is no JSON is *unsure*: the destination did something."""
        try:
            return loads(self.body)
        except ValueError as error:
            message = f"the destination answered {self.status} with a body that is no JSON: {error}"
            raise unsure("answer_not_understood", message) from error

    def try_json(self) -> Any:
        """The same, or `None` where the body is no JSON. For answers that did nothing anyway."""
        try:
            return loads(self.body)
        except ValueError:
            return None

    def failure(self) -> Failure:
        """What the status usually means, in the destination's own words as far as it has any."""
        body = self.try_json()
        body = body if isinstance(body, dict) else {}
        error = body.get("error")
        inner = error if isinstance(error, dict) else {}
        words = _first_text(body.get("detail"), body.get("message"), inner.get("message"), error, body.get("title"))
        said = " ".join(_CONTROLS.sub(" ", words or self.text()).split())[:500]
        message = f"the destination answered {self.status}" + (f": {said}" if said else " without a word")
        code = _first_text(body.get("code"), inner.get("code"), error) or f"http_{self.status}"
        return Failure(_meaning(self.status), code[:80], message)


def _meaning(status: int) -> type:
    if status in (401, 403):
        return wit.Failure_Unauthorized
    if status in (425, 429, 503):
        return wit.Failure_Temporary
    return wit.Failure_Rejected if 400 <= status < 500 and status != 408 else wit.Failure_Unsure


def _first_text(*values: Any) -> str | None:
    return next((value for value in values if isinstance(value, str) and value.strip()), None)


def request(
    method: str,
    endpoint: str,
    path: str,
    *,
    values: dict[str, Any] | None = None,
    query: dict[str, Any] | None = None,
    headers: dict[str, Any] | None = None,
    json: Any = None,
) -> Answer:
    """Sends one request to an endpoint of the manifest and gives the whole answer, whatever its status.

    `path` may hold places such as `/invoices/{id}`, filled from `values` and percent-encoded. In `query` a list is one pair for
    each of its elements; there and in `headers`, what is `None` is left out. `json` is sent as the body. Raises a `Failure` that
    says what is true where no answer came.
    """
    sent = {"accept": "application/json"} | ({} if json is None else {"content-type": "application/json"})
    sent |= {name.lower(): value for name, value in _pairs(headers, "the header")}
    for what, word in (("method", method), ("endpoint", endpoint), ("path", path)):
        if not (isinstance(word, str) and _is_whole(word)):
            raise TypeError(f"the {what} of a request must be a text; this is {_told(word)}")
    body = http.Body_None_() if json is None else http.Body_Bytes(dumps(json).encode())
    pairs = _pairs(query, "the query's")
    try:
        answer = http.send(http.Request(method, endpoint, _filled(path, values or {}), pairs, list(sent.items()), body))
    except Err as error:
        match error.value:
            case http.SendError_Denied(why):
                raise rejected("denied", why) from None
            case http.SendError_NothingSent(why):
                raise temporary("nothing_sent", why) from None
            case http.SendError_MaybeSent(why):
                raise unsure("maybe_sent", why) from None
        raise
    return Answer(answer.status, answer.headers, answer.body)


def _pairs(named: dict[str, Any] | None, what: str) -> list[tuple[str, str]]:
    """Names with the texts of their values, without those that have none."""

    def pair(name: Any, value: Any) -> tuple[str, str]:
        if not (isinstance(name, str) and _is_whole(name) and _is_scalar(value) and _is_whole(text_of(value))):
            message = f"{what} {name!a} is {_told(value)}, and no text can be made of it"
            raise rejected("request_not_built", message)
        return name, text_of(value)

    each = [(name, one) for name, value in (named or {}).items() for one in (value if isinstance(value, list) else [value])]
    return [pair(name, value) for name, value in each if value is not None]


def _filled(path: str, values: dict[str, Any]) -> str:
    """A value that would change which path is meant is refused here, where it can still be named."""

    def segment(place: re.Match) -> str:
        given = values.get(place[1])
        value = text_of(given) if _is_scalar(given) else ""
        if value in ("", ".", "..") or _NO_SEGMENT.search(value) or not _is_whole(value):
            message = f"the value for {{{place[1]}}} is {_told(given)}, which is no path segment"
            raise rejected("request_not_built", message)
        return quote(value, safe="")

    return _PLACE.sub(segment, path)


class log:
    """Lines for the operator's log. A line never fails: what has no text is told in words."""

    @staticmethod
    def write(level: wit_log.Level, message: Any, **fields: Any) -> None:
        """One line: words, and names and values beside them."""

        def text(value: Any) -> str:
            return _words(value if _is_scalar(value) else repr(value), "a line")

        wit_log.write(level, text(message), [(text(name), text(value)) for name, value in fields.items()])

    @staticmethod
    def debug(message: Any, **fields: Any) -> None:
        """For the connector's author."""
        log.write(wit_log.Level.DEBUG, message, **fields)

    @staticmethod
    def info(message: Any, **fields: Any) -> None:
        """Worth knowing in operation."""
        log.write(wit_log.Level.INFO, message, **fields)

    @staticmethod
    def warn(message: Any, **fields: Any) -> None:
        """Something to look at, the step goes on."""
        log.write(wit_log.Level.WARN, message, **fields)

    @staticmethod
    def error(message: Any, **fields: Any) -> None:
        """Something went wrong."""
        log.write(wit_log.Level.ERROR, message, **fields)


def _stack(error: BaseException) -> str:
    # Not `format_exc`, which would read the source from files: there are none, and the attempt would end there.
    frames = traceback.walk_tb(error.__traceback__)
    return ", ".join(f"{frame.f_code.co_filename}:{line} in {frame.f_code.co_name}" for frame, line in frames)


def connector(actions: dict[str, Action]) -> type:
    """What a connector exports: `Actions = connector({"create-invoice": CreateInvoice()})` in the module that is built.

    An error that is no `Failure` is logged and ends the attempt.
    """

    def opened(call: wit.Call) -> tuple[Action, Call]:
        if call.action not in actions:
            raise rejected("unknown_action", f"this connector has no action {call.action}")
        # Else `random` would go on where it stood when the component was built: the same numbers in every step.
        random.seed(call.key)
        decimal.setcontext(_DIGITS.copy())
        return actions[call.action], Call(loads(call.input), loads(call.settings), call.key)

    def reported(work):
        """The host sees of an unforeseen error only that the component gave up; its words go to the log."""
        try:
            return work()
        except (Failure, Err):
            raise
        except BaseException as error:
            log.write(wit_log.Level.ERROR, repr(error), stack=_stack(error))
            raise

    class Actions:
        def perform(self, call: wit.Call) -> wit.Done:
            def work() -> wit.Done:
                action, own = opened(call)
                return wit.Done_Completed(dumps(action.perform(own)))

            try:
                return reported(work)
            except Failure as failure:
                raise Err(failure.kind(failure.problem)) from None

        def lookup(self, call: wit.Call, doubt: wit.Doubt) -> wit.Finding:
            def work() -> wit.Finding:
                action, own = opened(call)
                found = action.lookup(own, doubt)
                if isinstance(found, Found):
                    reference = _words("" if found.reference is None else found.reference, "a reference")
                    return wit.Finding_Found(wit.Effect(dumps(found.output), reference, found.matched))
                if isinstance(found, wit.Finding_Absent):
                    return ABSENT
                message = "lookup must return found_by_key(…), found_by_content(…) or ABSENT; it returned"
                raise TypeError(f"{message} {_told(found)}")

            try:
                return reported(work)
            except Failure as failure:
                return wit.Finding_Unsure(str(failure))

    return Actions
