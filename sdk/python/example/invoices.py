"""A connector for a small invoicing API. What it may send stands in connector.toml, what it takes and gives in
schemas.json."""

from typing import Any

from oncegate import ABSENT, Action, Answer, Call, Failure
from oncegate import connector, found_by_key, rejected, request, text_of, unsure


class CreateInvoice(Action):
    def perform(self, call: Call) -> Any:
        wanted = call.input
        currency = wanted.get("currency", call.settings.get("currency"))
        if currency is None:
            message = "neither the step nor the connection says a currency"
            raise rejected("no_currency", message).field("/currency", "is missing")
        # `lines` is only passed on: its amounts arrive digit by digit.
        body = {"customer": wanted["customer"], "currency": currency, "lines": wanted["lines"]}
        if "note" in wanted:
            body["note"] = wanted["note"]
        answer = request("POST", "api", "/invoices", json=body)
        if answer.status == 422:
            raise refusal(answer)
        return invoice(answer.ok().json())

    def lookup(self, call: Call, doubt: Any) -> Any:
        # The host has put our key into the header of the POST; the API shows an invoice under it.
        answer = request("GET", "api", "/invoices/by-key/{key}", values={"key": call.key}).unless_missing()
        if answer is None:
            return ABSENT
        body = answer.json()
        found = invoice(body)
        # Found is only what shows our key, whatever was asked for.
        if body.get("key") != call.key:
            raise unsure("not_ours", "the invoice that the API shows does not have our key")
        return found_by_key(found, found["id"])


def invoice(body: Any) -> Any:
    """What later steps can use."""
    if not isinstance(body, dict) or not body.get("id"):
        raise unsure("answer_not_understood", "the answer names no invoice")
    return {"id": text_of(body["id"]), "total": body.get("total")}


def refusal(answer: Answer) -> Failure:
    """The API names the fields that it refuses; so can the person who mends the step."""
    failure = answer.failure()
    for error in (answer.try_json() or {}).get("errors", []):
        failure.field("/" + error["field"].replace(".", "/"), error["message"])
    return failure


Actions = connector({"create-invoice": CreateInvoice()})
