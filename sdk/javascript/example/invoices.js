// A connector for a small invoicing API. What it may send stands in connector.toml, what it takes and gives in schemas.json.

import { absent, connector, foundByKey, rejected, request, textOf, unsure } from "../oncegate.js";

const createInvoice = {
  perform({ input, settings }) {
    const { customer, lines, currency = settings.currency, note } = input;
    if (currency === undefined) {
      throw rejected("no_currency", "neither the step nor the connection says a currency").field("/currency", "is missing");
    }
    // `lines` is only passed on: its amounts arrive digit by digit.
    const answer = request("POST", "api", "/invoices", { json: { customer, currency, lines, note } });
    if (answer.status === 422) throw refusal(answer);
    return invoice(answer.ok().json());
  },

  // The host has put our key into the header of the POST; the API shows an invoice under it.
  lookup({ key }) {
    const answer = request("GET", "api", "/invoices/by-key/{key}", { values: { key } }).unlessMissing();
    if (answer === undefined) return absent;
    const body = answer.json();
    // Found is only what shows our key, whatever was asked for.
    if (body?.key !== key) throw unsure("not_ours", "the invoice that the API shows does not have our key");
    const found = invoice(body);
    return foundByKey(found, found.id);
  },
};

/** What later steps can use. An id may be a number beyond what JavaScript can hold, so it leaves as text. */
function invoice(body) {
  if (!body?.id) throw unsure("answer_not_understood", "the answer names no invoice");
  return { id: textOf(body.id), total: body.total ?? null };
}

/** The API names the fields that it refuses; so can the person who mends the step. */
function refusal(answer) {
  const failure = answer.failure();
  for (const { field, message } of answer.tryJson()?.errors ?? []) {
    failure.field(`/${field.replaceAll(".", "/")}`, message);
  }
  return failure;
}

export const actions = connector({ "create-invoice": createInvoice });
