// name: domains
// title: Application domains of the dump
// group: Overview
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: ordinal          INTEGER  position in the dump, from 0
// column: name             STRING   name as written in the dump
// column: object_count     INTEGER  objects in it
// column: shallow_bytes    INTEGER  their shallow size, bytes
// column: reachable_bytes  INTEGER  shallow size of the reachable objects, bytes
// column: type_count       INTEGER  types that the domain declares
// column: duration_ms      INTEGER  time taken to dump the domain, if known
// column: complete         BOOLEAN  whether the dump contains the end of the domain
//
// A domain that is not complete was truncated: its numbers are too small, see
// warnings. Several domains of one name are usually one program that was restarted
// without being unloaded.
MATCH (:Dump {number: $dump})-[:HAS_DOMAIN]->(m:Domain)
RETURN
  m.ordinal AS ordinal,
  m.name AS name,
  m.object_count AS object_count,
  m.shallow_bytes AS shallow_bytes,
  m.reachable_bytes AS reachable_bytes,
  COUNT {
    MATCH (t:Type)
    WHERE t.dump = $dump AND t.domain = m.ordinal
  } AS type_count,
  m.duration_ms AS duration_ms,
  m.complete AS complete
ORDER BY ordinal
LIMIT $limit
