#!/usr/bin/env bash
# Run tests under what `make test` may inherit from who starts it, one condition after
# the other: make test-matrix ARGS="tests/unit/cli tests/integration/test_commands.py".
# CONDITIONS="mask tz" runs only these. The last three run in a copy of the checkout,
# with an environment of its own; `user` and `nobody` need root.
set -u
cd "$(dirname "$0")/.." || exit
checkout=$PWD
default="tests/unit tests/integration/test_interrupts.py"
default+=" tests/integration/test_commands.py tests/integration/test_embedded_server.py"
export ARGS="${ARGS:-$default}"  # in one line: make would run the next as a command
scratch=$(mktemp -d)
chmod 755 "$scratch"
trap 'rm -rf "$scratch"' EXIT
copy="$scratch/Prüf stand"

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
folder() { copied && cd "$copy" && "$@"; }
user() { copied && chown -R 65534 "$scratch" && cd "$copy" &&
  setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$scratch/home" "$@"; }
nobody() { copied && chown -R 54321 "$scratch" && cd "$copy" &&
  setpriv --reuid 54321 --regid 54321 --clear-groups env -u HOME "$@"; }

copied() {
  test -d "$copy" && return
  mkdir -p "$copy" "$scratch/home" &&
    git -C "$checkout" ls-files -z |
      (cd "$checkout" && tar --create --null --files-from=- .test-cache/maven) |
      tar --extract --directory "$copy"
}

status=0
for condition in ${CONDITIONS:-signals background mask home lang ascii term terminal \
    tz stdin folder user nobody}; do
  log="$scratch/$condition.log"
  begun=$SECONDS
  if ("$condition" make test) > "$log" 2>&1; then result=ok; else result=FAILED status=1; fi
  printf '%-12s %-7s %4d s  %s\n' "$condition" "$result" $((SECONDS - begun)) \
    "$(tail -n 1 "$log")"
  test $result = ok || grep -E '^(FAILED|ERROR|make)|^E  ' "$log"
  test -z "${LOGS:-}" || cp "$log" "$LOGS/"
done
exit $status
