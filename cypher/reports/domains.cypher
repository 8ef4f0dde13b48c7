// name: domains
// title: The domains of the dump
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: ordinal          INTEGER  its place in the dump, from 0
// column: name             STRING   as the dump spells it
// column: object_count     INTEGER  objects in it
// column: shallow_bytes    INTEGER  bytes of those
// column: reachable_bytes  INTEGER  of those, what a strong root reaches
// column: type_count       INTEGER  types that it declares
// column: duration_ms      INTEGER  how long its part of the dump took, where known
// column: complete         BOOLEAN  whether the dump closed it
//
// A domain that is not complete was cut off: its numbers are too small, see
// warnings. Several domains of one name are usually one program that was started
// again and not unloaded.
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
