#!/usr/bin/env bash
# What drives the service in its tests, where it is missing: a browser, load generators, promtool, nginx and curl.
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=()
for pair in chromium:chromium wrk:wrk h2load:nghttp2-client promtool:prometheus nginx:nginx-light curl:curl; do
  command -v "${pair%%:*}" > /dev/null || [[ -x /usr/sbin/${pair%%:*} ]] || wanted+=("${pair##*:}")
done
if ((${#wanted[@]})); then
  if [[ $(id -u) != 0 ]] || ! command -v apt-get > /dev/null; then
    echo "these programs are missing, and the tests that need them are skipped: ${wanted[*]}"
  else
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${wanted[@]}" fonts-dejavu-core > /dev/null
  fi
fi
