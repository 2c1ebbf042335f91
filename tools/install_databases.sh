#!/usr/bin/env bash
# Install what `make test-sql` needs and Python packages do not bring: PostgreSQL and a Java for Spark. Nothing is done
# where they are there.
set -euo pipefail

missing=()
if ! command -v initdb >/dev/null && ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
  missing+=(postgresql)
fi
if ! compgen -G '/usr/lib/jvm/java-17-*' >/dev/null && ! command -v java >/dev/null; then
  missing+=(openjdk-17-jre-headless)
fi
if ((${#missing[@]} == 0)); then exit 0; fi

as_root=()
if ((EUID != 0)); then as_root=(sudo); fi
echo "installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
