#!/usr/bin/env bash
# docker/test.sh PYTHON: the tests that need Docker; PYTHON must have the test tools and
# heaproots[embedded] installed.
#
# 1. the integration tests on a container of Neo4j, by testcontainers;
# 2. docker/compose.yaml: up, load and query with the tool, down without losing data;
# 3. docker/Dockerfile: build the image of the tool and run it with that Neo4j.
#
# A running Docker engine is used. Without one, root on Debian starts a temporary one:
# packages from apt, everything else in a folder that is removed at the end, unless
# HEAPROOTS_DOCKER=given. The image of Neo4j is HEAPROOTS_NEO4J_IMAGE, or else the
# official one of the tool's version, which is pulled unless the engine has it.
#
# Exit 0: all passed. Exit 3: there is no engine or image, nothing ran. Otherwise: failed.
set -euo pipefail
python=${1:?usage: test.sh PYTHON}
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

work=$(mktemp -d /tmp/heaproots-docker.XXXXXX) # a socket's path must be short
project=heaproots-test-$$
test_image=heaproots/test-$$
engine_pid=
had_bridge=

say() { echo "test-docker: $*" >&2; }
loud() { printf '\n**** test-docker: %s ****\n\n' "$*" >&2; }
fail() { loud "FAILED: $*"; exit 1; }

cleanup() {
  status=$?
  trap - EXIT
  set +e
  if [ -s "$work/up" ]; then
    compose down --volumes --remove-orphans --timeout 60 > /dev/null 2>&1
  fi
  # A killed test leaves its container, and the reaper image of testcontainers may be
  # unavailable. Ours are recognised by an image name that nobody else uses.
  if [ -s "$work/image" ]; then
    docker ps --all --filter label=org.testcontainers=true --format '{{.ID}} {{.Image}}' |
      awk -v image="$test_image" '$2 == image || $2 == image ":latest" { print $1 }' |
      xargs -r docker rm --force --volumes > /dev/null 2>&1
    docker rmi "$test_image" > /dev/null 2>&1
  fi
  docker rmi "$test_image-tool" > /dev/null 2>&1
  [ -z "$engine_pid" ] || stop_engine
  rm -rf "$work"
  exit "$status"
}

answers() { timeout 15 docker version --format '{{.Server.Version}}' 2> /dev/null; }

install_packages() {
  local wanted=(docker.io) log=$work/apt.log
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends)
  command -v dockerd > /dev/null && command -v docker > /dev/null && compose_found &&
    command -v iptables > /dev/null && return
  say "installing Debian's Docker packages"
  "${apt[@]}" update > "$log" 2>&1 || return
  # Since Debian 13 the client is a separate package.
  ! apt-cache show docker-cli > /dev/null 2>&1 || wanted+=(docker-cli)
  "${apt[@]}" install "${wanted[@]}" iptables docker-compose >> "$log" 2>&1 ||
    { tail -n 20 "$log" >&2; return 1; }
}

start_engine() {
  export DOCKER_HOST=unix://$work/docker.sock
  unset DOCKER_CONTEXT DOCKER_TLS_VERIFY DOCKER_CERT_PATH
  [ ! -e /sys/class/net/docker0 ] || had_bridge=yes
  echo '{}' > "$work/daemon.json"
  # Ports are forwarded by docker-proxy, so the firewall is not changed. In a separate
  # session, so that Ctrl-C does not end it before its containers are removed.
  setsid dockerd --host "$DOCKER_HOST" --config-file "$work/daemon.json" \
    --data-root "$work/data" --exec-root "$work/exec" --pidfile "$work/docker.pid" \
    --iptables=false --ip-forward=false --ip-masq=false --cgroup-parent "/$project" \
    > "$work/dockerd.log" 2>&1 < /dev/null &
  engine_pid=$!
  for _ in $(seq 120); do
    answers > /dev/null && return
    kill -0 "$engine_pid" 2> /dev/null || break
    sleep 0.5
  done
  say "dockerd did not start:"
  tail -n 20 "$work/dockerd.log" >&2
  return 1
}

stop_engine() {
  kill -TERM "$engine_pid" 2> /dev/null
  for _ in $(seq 60); do
    kill -0 "$engine_pid" 2> /dev/null || break
    sleep 0.5
  done
  kill -KILL "$engine_pid" 2> /dev/null
  wait "$engine_pid" 2> /dev/null
  awk -v work="$work/" 'index($2, work) == 1 { print $2 }' /proc/self/mounts | sort -r |
    while read -r mounted; do umount "$mounted"; done
  [ -n "$had_bridge" ] || ip link delete docker0 2> /dev/null
  find /sys/fs/cgroup -mindepth 1 -maxdepth 3 -depth -type d -path "*/$project*" \
    -exec rmdir {} + 2> /dev/null
}

find_engine() {
  if command -v docker > /dev/null && answers > /dev/null; then
    say "using the engine that answers"
    return
  fi
  [ "${HEAPROOTS_DOCKER:-}" != given ] || return
  [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null || return
  install_packages && start_engine &&
    say "started an engine of our own, $(answers)"
}

compose_found() {
  docker compose version > /dev/null 2>&1 || command -v docker-compose > /dev/null
}

compose() {
  local command=(docker compose)
  docker compose version > /dev/null 2>&1 || command=(docker-compose)
  "${command[@]}" --project-name "$project" --file docker/compose.yaml "$@"
}

find_image() {
  image=${HEAPROOTS_NEO4J_IMAGE:-neo4j:$("$python" -c 'from ingest.system.settings import Settings; print(Settings().neo4j_version)')}
  docker image inspect "$image" > /dev/null 2>&1 ||
    timeout 600 docker pull --quiet "$image" > "$work/pull.log" 2>&1 ||
    { loud "the Docker tests did NOT run: the engine has no image $image, and it cannot
be pulled: $(tail -n 1 "$work/pull.log")"; exit 3; }
  docker tag "$image" "$test_image"
  echo "$image" > "$work/image"
}

free_port() {
  "$python" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

up() {
  echo up > "$work/up"
  compose up --detach neo4j > "$work/compose.log" 2>&1 || { cat "$work/compose.log" >&2; fail "compose up"; }
  local container health
  container=$(compose ps --quiet neo4j)
  for _ in $(seq 180); do
    health=$(docker inspect --format '{{.State.Status}} {{.State.Health.Status}}' "$container")
    case $health in
      "running healthy") return ;;
      running*) sleep 1 ;;
      *) break ;;
    esac
  done
  docker logs --tail 40 "$container" >&2
  fail "Neo4j of docker/compose.yaml is $health"
}

ingest() { "$python" -m ingest "$@"; }

test_with_testcontainers() {
  say "1. integration tests on $image"
  # The test of the embedded server needs no Docker; make test runs it.
  INGEST_TEST_NEO4J=testcontainers INGEST_TEST_IMAGE=$test_image \
    TESTCONTAINERS_RYUK_DISABLED=true \
    "$python" -m pytest -m server tests/integration tests/cypher \
    --ignore=tests/integration/test_embedded_server.py
}

test_compose() {
  say "2. docker/compose.yaml on $image"
  local bolt http answer code
  bolt=$(free_port) http=$(free_port)
  NEO4J_PASSWORD=$("$python" -c 'import secrets; print(secrets.token_hex(16))')
  export NEO4J_PASSWORD HEAPROOTS_BOLT_PORT=$bolt HEAPROOTS_HTTP_PORT=$http \
    HEAPROOTS_NEO4J_IMAGE=$test_image HEAPROOTS_HEAP=512m HEAPROOTS_PAGECACHE=128m
  up
  export NEO4J_URI=bolt://127.0.0.1:$bolt
  ingest example "$work/example.gclog"
  ingest load "$work/example.gclog" --name from-here
  answer=$(ingest query type-histogram --dump from-here --param limit=5 --format csv)
  echo "$answer"
  [ "$(wc -l <<< "$answer")" = 6 ] || fail "not a heading and 5 rows"

  code=0
  NEO4J_PASSWORD=wrong-$NEO4J_PASSWORD ingest list || code=$?
  [ "$code" = 7 ] || fail "a wrong password gives exit code $code, not 7"

  "$python" - "http://127.0.0.1:$http/" ":$bolt" << 'END' || fail "HTTP"
import json, sys, urllib.request
found = json.load(urllib.request.urlopen(sys.argv[1], timeout=10))
assert found["neo4j_edition"] == "community", found
assert found["bolt_direct"].endswith(sys.argv[2]), found  # the address that Browser connects to
END

  compose down > /dev/null 2>&1
  up
  answer=$(ingest list)
  echo "$answer"
  grep -q from-here <<< "$answer" || fail "down and up again lost the dump"
}

test_tool_image() {
  local answer base=${HEAPROOTS_PYTHON_IMAGE:-python:3.12-slim}
  if ! docker image inspect "$base" > /dev/null 2>&1 &&
    ! timeout 600 docker pull --quiet "$base" > "$work/pull.log" 2>&1; then
    loud "docker/Dockerfile was NOT tested: $base cannot be pulled"
    return
  fi
  say "3. docker/Dockerfile on $base"
  mkdir -m 755 "$work/dumps"
  mv "$work/example.gclog" "$work/dumps"
  # The network of the host: the temporary engine gives containers no network.
  docker build --network host --build-arg "PYTHON_IMAGE=$base" --tag "$test_image-tool" \
    --file docker/Dockerfile . > "$work/build.log" 2>&1 ||
    { tail -n 40 "$work/build.log" >&2; fail "docker/Dockerfile"; }
  export HEAPROOTS_TOOL_IMAGE=$test_image-tool HEAPROOTS_DUMPS=$work/dumps
  compose run --rm ingest load --name from-image --replace /dumps/example.gclog \
    > "$work/run.log" 2>&1 || { cat "$work/run.log" >&2; fail "the tool's image"; }
  answer=$(ingest list)
  echo "$answer"
  grep -q from-image <<< "$answer" || fail "the tool's image loaded nothing"
}

trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if ! find_engine || ! compose_found; then
  loud "the Docker tests did NOT run: no engine with compose can be had here"
  exit 3
fi

# Separate homes: tests must not use the settings, cache and database of the user.
unset NEO4J_URI NEO4J_USERNAME NEO4J_PASSWORD NEO4J_DATABASE INGEST_NEO4J_VERSION
"$python" -c 'import sys; from pathlib import Path; from tests.conftest import share_jars; share_jars(Path(sys.argv[1]))' "$work/home"
export INGEST_HOME=$work/home NUMBA_CACHE_DIR=$PWD/.test-cache/kernels

find_image
code=0
test_with_testcontainers || code=$?
test_compose
test_tool_image
[ "$code" = 0 ] || fail "integration tests on $image: pytest's exit code is $code"
say "all passed on $image"
