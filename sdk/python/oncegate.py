"""The SDK for connectors in Python: one file, nothing beside it. It turns the host's interface (wit/connector.wit) into
methods that return outputs and raise `Failure`s, and keeps numbers digit by digit."""

import json as plain_json
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


class Failure(Exception):
    """Why an action was not done. Raise it; the host can make it more cautious, never less."""

    def __init__(self, kind: type, code: str, message: str):
        super().__init__(message)
        self.kind = kind
        self.problem = wit.Problem(code, message, [], None)

    def field(self, pointer: str, message: str) -> "Failure":
        """Names a part of the input that is at fault, by JSON pointer."""
        self.problem.fields.append((pointer, message))
        return self

    def retry_after(self, ms: int) -> "Failure":
        """Asks for a pause before this step's next try, where the destination said so outside of `Retry-After`."""
        self.problem.retry_after_ms = ms
        return self


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

    def __new__(cls, text: str) -> "Number":
        number = super().__new__(cls, text)
        number.text = text
        return number


def loads(text: str | bytes) -> Any:
    """JSON text to values; each number is a `Number`."""
    return plain_json.loads(text, parse_int=Number, parse_float=Number)


def dumps(value: Any) -> str:
    """Values to JSON text, digits as they came."""
    match value:
        case Number():
            return value.text
        case Decimal():
            return format(value, "f")
        case dict():
            return "{" + ",".join(f"{dumps(str(name))}:{dumps(item)}" for name, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ",".join(map(dumps, value)) + "]"
        case _:
            return plain_json.dumps(value, ensure_ascii=False, allow_nan=False)


def text_of(value: Any) -> str:
    """A text, or a number or boolean as JSON writes it, as text."""
    return value if isinstance(value, str) else dumps(value)


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
    """Every field that the input asks for is there as asked for."""
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
        """The body as text."""
        return self.body.decode("utf-8", "replace")

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

    `path` may hold places such as `/invoices/{id}`, filled from `values` and percent-encoded. `json` is sent as the body.
    Raises a `Failure` that says what is true where no answer came.
    """
    sent = {"accept": "application/json"} | ({} if json is None else {"content-type": "application/json"})
    sent |= {name.lower(): text_of(value) for name, value in (headers or {}).items()}
    body = http.Body_None_() if json is None else http.Body_Bytes(dumps(json).encode())
    pairs = [(name, text_of(value)) for name, value in (query or {}).items()]
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


def _filled(path: str, values: dict[str, Any]) -> str:
    """A value that would change which path is meant is refused here, where it can still be named."""

    def segment(place: re.Match) -> str:
        value = text_of(values.get(place[1], ""))
        if value in ("", ".", "..") or _NO_SEGMENT.search(value):
            message = f"the value for {{{place[1]}}} is {value!r}, which is no path segment"
            raise rejected("request_not_built", message)
        return quote(value, safe="")

    return _PLACE.sub(segment, path)


class log:
    """Lines for the operator's log."""

    @staticmethod
    def write(level: wit_log.Level, message: str, **fields: Any) -> None:
        """One line: words, and names and values beside them."""
        wit_log.write(level, message, [(name, text_of(value)) for name, value in fields.items()])

    @staticmethod
    def info(message: str, **fields: Any) -> None:
        """Worth knowing in operation."""
        log.write(wit_log.Level.INFO, message, **fields)

    @staticmethod
    def warn(message: str, **fields: Any) -> None:
        """Something to look at, the step goes on."""
        log.write(wit_log.Level.WARN, message, **fields)


def _stack(error: Exception) -> str:
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
        return actions[call.action], Call(loads(call.input), loads(call.settings), call.key)

    def reported(work):
        """The host sees of an unforeseen error only that the component gave up; its words go to the log."""
        try:
            return work()
        except (Failure, Err):
            raise
        except Exception as error:
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
                    return wit.Finding_Found(wit.Effect(dumps(found.output), text_of(found.reference), found.matched))
                return found

            try:
                return reported(work)
            except Failure as failure:
                return wit.Finding_Unsure(str(failure))

    return Actions
