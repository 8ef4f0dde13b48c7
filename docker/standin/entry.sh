#!/bin/sh
# Entry of the stand-in image: what the official image does with its environment.
set -eu
conf=$NEO4J_CONF/neo4j.conf

# NEO4J_db_tx__log_x is db.tx_log.x: one underscore is a dot, two are one.
awk 'BEGIN {
  value["server.default_listen_address"] = "0.0.0.0"
  value["server.directories.data"] = "/data"
  value["server.directories.logs"] = "/logs"
  value["server.memory.heap.initial_size"] = "512m"
  value["server.memory.heap.max_size"] = "512m"
  value["server.memory.pagecache.size"] = "512m"
  for (name in ENVIRON) {
    if (name !~ /^NEO4J_/) continue
    if (name ~ /^NEO4J_(AUTH|HOME|CONF|EDITION|ACCEPT_LICENSE_AGREEMENT)$/) continue
    if (name ~ /^NEO4J_PLUGINS$|_FILE$/) {
      print name ": this stand-in has none of that" > "/dev/stderr"
      exit 1
    }
    key = substr(name, 7)
    gsub(/__/, "%", key); gsub(/_/, ".", key); gsub(/%/, "_", key)
    value[key] = ENVIRON[name]
  }
  for (key in value) print key "=" value[key]
}' > "$conf"

classes="$NEO4J_HOME/plugins/*:$NEO4J_HOME/lib/*"
case ${NEO4J_AUTH:-} in
  '') ;;
  none) echo dbms.security.auth_enabled=false >> "$conf" ;;
  neo4j/?*)
    # Like the official one: where there are users already they keep their passwords.
    if [ ! -e /data/databases/system ]; then
      java -cp "$classes" org.neo4j.cli.AdminTool \
        dbms set-initial-password -- "${NEO4J_AUTH#neo4j/}"
    fi ;;
  *) echo "NEO4J_AUTH: neither none nor neo4j/PASSWORD" >&2; exit 1 ;;
esac

echo "This is a stand-in for the official Neo4j image: no APOC, HTTPS or *_FILE secrets."
initial=$(sed -n 's/^server\.memory\.heap\.initial_size=//p' "$conf")
max=$(sed -n 's/^server\.memory\.heap\.max_size=//p' "$conf")
# In place of this shell, so that docker stop reaches Neo4j.
exec java "@$NEO4J_CONF/java.args" "-Xms$initial" "-Xmx$max" -cp "$classes" \
  "$(cat "$NEO4J_CONF/main")" \
  --home-dir="$NEO4J_HOME" --config-dir="$NEO4J_CONF" --console-mode
