// Beside the example, in the same component: an action that does what an author may do by mistake, one case by one.

import { Failure, absent, connector, foundByContent, matching, rejected, request, same, temporary } from "../oncegate.js";
import { actions as example } from "./the_example.js";

const CASES = {
  not_a_number: () => ({ amount: NaN }),
  no_json: () => ({ made: () => 1 }),
  half_a_character: () => ({ text: "\ud800" }),
  no_plain_object: () => ({ made: new Map([[1, 2]]) }),
  nothing: () => undefined,
  then: () => ({ then: "later" }),
  big: () => ({ whole: 9007199254740993n }),
  words: ({ n }) => fail(rejected(422, n).field(3, true)),
  no_words: () => fail(rejected("code", undefined)),
  half_words: () => fail(rejected("code", "so \ud800")),
  pause: ({ ms }) => fail(temporary("code", "later").retryAfter(ms)),
  query: () => sent({ query: { a: undefined, b: [1, "x", null], c: true, d: null } }),
  query_object: () => sent({ query: { a: {} } }),
  no_kind: () => fail(new Failure("broken", "code", "no such kind")),
  no_method: () => request(undefined, "api", "/invoices"),
  half_path: () => sent({ values: { id: "\ud800" } }, "/invoices/{id}"),
  same: ({ pairs }) => pairs.map(([a, b]) => same(a, b)),
  stray: () => {
    throw "a stray text";
  },
};

const fail = (failure) => {
  throw failure;
};
const sent = (options, path = "/invoices") => ({ status: request("GET", "api", path, options).status });

const odd = connector({
  odd: {
    perform: ({ input }) => CASES[input.case](input),
    lookup({ input }) {
      if (input.case === "nothing") return undefined;
      const item = matching(input.items, input.wanted);
      return item === undefined ? absent : foundByContent(item, item.id);
    },
  },
});

const of = (call) => (call.action === "odd" ? odd : example);
export const actions = { perform: (call) => of(call).perform(call), lookup: (call, doubt) => of(call).lookup(call, doubt) };
