// name: shared-by
// title: Objects that several holders keep alive independently
// mode: read
// param: dump       INTEGER         number of the dump
// param: min_bytes  INTEGER = 1024  smallest retained size to show, bytes
// param: limit      INTEGER = 20    most rows to return
// column: type               STRING        full name of its type
// column: address            STRING        hexadecimal, as a debugger prints it
// column: shallow_bytes      INTEGER       its own bytes
// column: retained_bytes     INTEGER       what would be freed if it went, bytes
// column: root_count         INTEGER       strong roots that hold it
// column: holder_count       INTEGER       reachable objects that refer to it, itself left out
// column: holder_types       LIST<STRING>  short type names of those, five at most, by name
// column: dominator          STRING        type of what keeps it and all its holders, or `(roots)`
// column: dominator_address  STRING        its address
//
// Shared means: two or more strong roots or reachable objects refer to it, and none
// of them alone keeps it alive; who refers to it only from below it does not count.
// Its bytes are in nobody's retained size but the dominator's, which is why an owner
// can look smaller than it is. To free such an object all its holders must let go:
// referrers-of lists them. The objects come from the index by retained bytes, the
// largest first, and the search ends when the limit is full.
MATCH (o:Object)
WHERE o.dump = $dump AND o.retained_bytes >= $min_bytes
MATCH (i:Dump|Object)-[:DOMINATES]->(o)
WITH o, i, COUNT { (o)<-[:REFERENCES]-(:Root) } AS root_count
WHERE CASE
  WHEN i:Object THEN NOT EXISTS { (i)-[:REFERENCES]->(o) }
  WHEN root_count <> 1 THEN true
  ELSE EXISTS {
    MATCH (o)<-[:REFERENCES]-(h:Object)
    WHERE h <> o AND h.root_distance IS NOT NULL
      AND NOT EXISTS { (h)<-[:DOMINATES*1..100000]-(o) }
  }
END
WITH o, i, root_count
ORDER BY o.dump DESC, o.retained_bytes DESC, o.key
LIMIT $limit
CALL (o) {
  OPTIONAL MATCH (o)<-[:REFERENCES]-(h:Object)
  WHERE h <> o AND h.root_distance IS NOT NULL
  WITH DISTINCT h
  ORDER BY h.type_name
  RETURN count(h) AS holder_count, collect(DISTINCT h.type_name)[..5] AS holder_types
}
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
OPTIONAL MATCH (i)-[:INSTANCE_OF]->(it:Type)
RETURN
  coalesce(t.name, o.type_name) AS type,
  o.address AS address,
  o.shallow_bytes AS shallow_bytes,
  o.retained_bytes AS retained_bytes,
  root_count,
  holder_count,
  holder_types,
  coalesce(it.name, '(roots)') AS dominator,
  i.address AS dominator_address
ORDER BY o.retained_bytes DESC, o.key
LIMIT $limit
