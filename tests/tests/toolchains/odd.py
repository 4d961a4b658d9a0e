"""Beside the example, in the same component: an action that does what an author may do by mistake, one case by one."""

import xml.etree.ElementTree as xml
from datetime import datetime
from decimal import Decimal

import the_example
from oncegate import ABSENT, Action, Failure, connector, found_by_content, matching, rejected, request, same, temporary


def fail(failure):
    raise failure


def sent(path="/invoices", **options):
    return {"status": request("GET", "api", path, **options).status}


def library(_input):
    return [
        datetime.strptime("2026-11-30", "%Y-%m-%d").year,
        xml.tostring(xml.fromstring("<a>\u00e9</a>")).decode(),
        "\u20ac".encode("cp1252").hex(),
        "b\u00fccher.example".encode("idna").decode(),
        b"\xff\xfea\x00".decode("utf-16"),
    ]


def digits(wanted):
    n = wanted["n"]
    return [n + 0, -n, sum([n, n]), abs(n), round(n, 2)]


CASES = {
    "not_a_number": lambda wanted: {"amount": Decimal("NaN")},
    "no_json": lambda wanted: {"made": {1, 2}},
    "half_a_character": lambda wanted: {"text": "\ud800"},
    "no_plain_object": lambda wanted: {1: "a", "1": "b"},
    "then": lambda wanted: {"then": "later"},
    "words": lambda wanted: fail(rejected(422, wanted["n"]).field(3, True)),
    "no_words": lambda wanted: fail(rejected("code", None)),
    "half_words": lambda wanted: fail(rejected("code", "so \ud800")),
    "pause": lambda wanted: fail(temporary("code", "later").retry_after(wanted["ms"])),
    "query": lambda wanted: sent(query={"a": None, "b": [1, "x", None], "c": True}),
    "query_object": lambda wanted: sent(query={"a": {}}),
    "no_kind": lambda wanted: fail(Failure("broken", "code", "no such kind")),
    "no_method": lambda wanted: request(None, "api", "/invoices"),
    "half_path": lambda wanted: sent("/invoices/{id}", values={"id": "\ud800"}),
    "same": lambda wanted: [same(a, b) for a, b in wanted["pairs"]],
    "library": library,
    "digits": digits,
}


class Odd(Action):
    def perform(self, call):
        return CASES[call.input["case"]](call.input)

    def lookup(self, call, doubt):
        if call.input["case"] == "nothing":
            return None
        item = matching(call.input["items"], call.input["wanted"])
        return ABSENT if item is None else found_by_content(item, item["id"])


OddActions = connector({"odd": Odd()})


class Actions:
    def of(self, call):
        return OddActions() if call.action == "odd" else the_example.Actions()

    def perform(self, call):
        return self.of(call).perform(call)

    def lookup(self, call, doubt):
        return self.of(call).lookup(call, doubt)
