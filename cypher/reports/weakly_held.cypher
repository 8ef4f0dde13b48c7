// name: weakly-held
// title: Objects with weak roots or references
// group: Roots and paths
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type                  STRING   full type name
// column: address               STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes         INTEGER  shallow size, bytes
// column: retained_bytes        INTEGER  retained size, bytes: freed if the object is freed
// column: alive                 BOOLEAN  whether it is also strongly reachable
// column: strength              STRING   soft, weak, finalizer or phantom if nothing stronger holds it
// column: weak_root_count       INTEGER  weak roots that refer to it
// column: weak_reference_count  INTEGER  references to it from other objects that are weaker than strong
//
// Where alive is true, strong paths keep the object alive (see shortest-root-path); if
// all objects of a cache that was meant to be weak are alive, something else refers to
// them. Where it is false, the next collection frees the object, or, if it is softly
// reachable, one when memory is short.
CALL () {
  MATCH (:Dump {number: $dump})-[:HAS_ROOT]->(w:Root)
  WHERE w.weak
  MATCH (w)-[:REFERENCES|WEAKLY_REFERENCES]->(o:Object)
  RETURN o, 1 AS by_root, 0 AS by_object
  UNION ALL
  MATCH (o:Object)
  WHERE o.dump = $dump AND o.weakly_referenced = true
  MATCH (h:Object)-[r:REFERENCES|WEAKLY_REFERENCES]->(o)
  WHERE r.strength IS NOT NULL AND h.root_distance IS NOT NULL
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
  o.root_distance IS NOT NULL AND o.strength IS NULL AS alive,
  o.strength AS strength,
  weak_root_count,
  weak_reference_count
ORDER BY retained_bytes DESC, shallow_bytes DESC, o.key
LIMIT $limit
