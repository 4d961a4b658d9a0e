#!/bin/sh
# Builds the example connector: example/component.wasm, for `oncegate connector pack`.
set -eu
cd "$(dirname "$0")"
exec componentize-py --quiet -d ../../wit -w connector componentize --stub-wasi -p . -p example -o example/component.wasm invoices
