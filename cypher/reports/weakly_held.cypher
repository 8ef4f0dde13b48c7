// name: weakly-held
// title: Objects that weak roots or references see
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: type                  STRING   full name of its type
// column: address               STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes         INTEGER  its own bytes
// column: retained_bytes        INTEGER  what would be freed if it went, bytes
// column: alive                 BOOLEAN  whether a strong root reaches it as well
// column: weak_root_count       INTEGER  weak roots that see it
// column: weak_reference_count  INTEGER  weak references of other objects to it
//
// Weak references do not keep alive. Where alive is true the object lives by strong
// paths only (ask: shortest-root-path); a cache that was meant to be weak and whose
// objects are all alive is held by something else. Where it is false nothing keeps
// the object: it is garbage that the next collection takes.
CALL () {
  MATCH (:Dump {number: $dump})-[:HAS_ROOT]->(:Root)-[:WEAKLY_REFERENCES]->(o:Object)
  RETURN o, 1 AS by_root, 0 AS by_object
  UNION ALL
  MATCH (o:Object)
  WHERE o.dump = $dump AND o.weakly_referenced = true
  MATCH (:Object)-[:WEAKLY_REFERENCES]->(o)
  RETURN o, 0 AS by_root, 1 AS by_object
}
WITH o, sum(by_root) AS weak_root_count, sum(by_object) AS weak_reference_count
ORDER BY o.retained_bytes DESC, o.shallow_bytes DESC, o.key
LIMIT $limit
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
RETURN
  coalesce(t.name, o.type_name) AS type,
  o.address AS address,
  o.shallow_bytes AS shallow_bytes,
  o.retained_bytes AS retained_bytes,
  o.root_distance IS NOT NULL AS alive,
  weak_root_count,
  weak_reference_count
ORDER BY retained_bytes DESC, shallow_bytes DESC, o.key
LIMIT $limit
