#!/usr/bin/env bash
# Run tests under what `make test` may inherit from who starts it, one condition after
# the other: make test-matrix ARGS="tests/unit/cli tests/integration/test_commands.py".
# CONDITIONS="mask tz" runs only these. From `folder` on they run in a copy of the
# checkout, with an environment of its own; `user` and `nobody` need root.
set -u
cd "$(dirname "$0")/.." || exit
checkout=$PWD
default="tests/unit tests/integration/test_interrupts.py"
default+=" tests/integration/test_commands.py tests/integration/test_embedded_server.py"
export ARGS="${ARGS:-$default}"  # in one line: make would run the next as a command
scratch=$(mktemp -d)
chmod 755 "$scratch"
trap 'rm -rf "$scratch"' EXIT

# Each of these runs "$@" under its condition.
signals() { (trap '' INT QUIT HUP TERM; "$@"); }
background() { nohup "$@" < /dev/null & wait $!; }
mask() { (umask 077; "$@"); }
home() { env -u HOME -u XDG_CACHE_HOME "$@"; }
lang() { env -u LC_CTYPE LC_ALL=C LANG=C "$@"; }
ascii() { env -u LC_CTYPE LC_ALL=POSIX PYTHONCOERCECLOCALE=0 PYTHONUTF8=0 "$@"; }
term() { env TERM=dumb "$@"; }
terminal() { env -u TERM FORCE_COLOR=1 COLUMNS=40 LINES=10 "$@"; }
tz() { env TZ=Pacific/Kiritimati "$@"; }
stdin() { "$@" <&-; }
folder() { at "Prüf stand" && "$@"; }
user() { at "Prüf stand" && mkdir -p "$scratch/home" && chown -R 65534 "$scratch" &&
  setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$scratch/home" "$@"; }
nobody() { at "Prüf stand" && chown -R 54321 "$scratch" &&
  setpriv --reuid 54321 --regid 54321 --clear-groups env -u HOME "$@"; }
clone() { at heaproots && "$@"; }  # the name that git clone gives it
words() { at ingest/tests/python/site-packages/kernels && mkdir -p "$scratch/garbage" &&
  env TMPDIR="$scratch/garbage" "$@"; }
long() { at "$(printf '%0200d/%0200d' 0 0)" && "$@"; }  # of a socket's name and of `#!`
link() { at real && mkdir -p "$scratch/temporary" && ln -s real "$scratch/link" &&
  ln -s temporary "$scratch/tmp" && cd "$scratch/link" && env TMPDIR="$scratch/tmp" "$@"; }
# Another heaproots, which works nowhere, is what the environment and the PATH have.
beside() { at own && make .venv/.tools && cp -r . ../other && rm -rf ../other/.venv &&
  echo 'raise ImportError("another checkout")' > ../other/ingest/__init__.py &&
  echo '__version__ = "0.0.1"' >> ../other/ingest/__init__.py &&
  .venv/bin/python -m pip install --quiet --no-deps --force-reinstall ../other &&
  env PATH="$PWD/.venv/bin:$PATH" "$@"; }

# Make a copy of the checkout, the only one at a time, and go there.
at() {
  cd "$scratch/$1" 2> /dev/null && return
  find "$scratch" -mindepth 1 -maxdepth 1 -type d -exec rm -rf {} +
  mkdir -p "$scratch/$1" && cd "$scratch/$1" &&
    git -C "$checkout" ls-files -z |
      (cd "$checkout" && tar --create --null --files-from=- .test-cache/maven ingest/kernels) |
      tar --extract
}

status=0
for condition in ${CONDITIONS:-signals background mask home lang ascii term terminal \
    tz stdin folder user nobody clone words long link beside}; do
  log="$scratch/$condition.log"
  begun=$SECONDS
  if ("$condition" make --no-print-directory test) > "$log" 2>&1; then result=ok; else result=FAILED status=1; fi
  printf '%-12s %-7s %4d s  %s\n' "$condition" "$result" $((SECONDS - begun)) \
    "$(tail -n 1 "$log")"
  test $result = ok || grep -E '^(FAILED|ERROR|make)|^E  ' "$log"
  test -z "${LOGS:-}" || cp "$log" "$LOGS/"
done
exit $status
