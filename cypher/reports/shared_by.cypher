// name: shared-by
// title: Objects that several referrers keep alive independently
// group: Ownership
// mode: read
// searched: objects that retain at least $min_bytes bytes
// param: dump       INTEGER         number of the dump
// param: min_bytes  INTEGER = 1024  smallest retained size to list, bytes
// param: limit      INTEGER = 20    maximum number of rows
// column: type               STRING        full type name
// column: address            STRING        hexadecimal, as a debugger prints it
// column: shallow_bytes      INTEGER       shallow size, bytes
// column: retained_bytes     INTEGER       retained size, bytes: freed if the object is freed
// column: root_count         INTEGER       strong roots that refer to it
// column: holder_count       INTEGER       reachable objects that refer to it, not counting itself
// column: holder_types       LIST<STRING>  short type names of those, at most five, sorted
// column: dominator          STRING        type of the immediate dominator of it and all its referrers, or `(roots)`
// column: dominator_address  STRING        address of that dominator
//
// An object is shared if two or more strong roots or reachable objects refer to it
// and none of them alone keeps it alive; referrers that are only reachable through
// it do not count. Its bytes are part of the retained size of the dominator only,
// which is why an owner can look smaller than it is. To free such an object, all its
// referrers must release it: referrers-of lists them. The objects come from the
// index on retained bytes, largest first, and the search ends when the limit is
// reached.
MATCH (o:Object)
WHERE o.dump = $dump AND o.retained_bytes >= $min_bytes
MATCH (i:Dump|Object)-[:DOMINATES]->(o)
WITH o, i, COUNT { (o)<-[:REFERENCES]-(:Root) } AS root_count
CALL (o, i, root_count) {
  // From other holders up the tree: does one go past the object?
  WITH o
  WHERE i:Dump AND root_count = 1
  MATCH p = (o)<-[:REFERENCES|DOMINATES*1..2147483647]-(top:Object)
  WHERE all(r IN relationships(p) WHERE
      (type(r) = 'REFERENCES' AND endNode(r) = o)
      OR (type(r) = 'DOMINATES' AND endNode(r) <> o))
    AND top <> o
  WITH DISTINCT top
  WHERE EXISTS { (:Dump)-[:DOMINATES]->(top) }
  WITH top
  LIMIT 1
  RETURN count(top) AS others
}
WITH o, i, root_count, others
WHERE CASE
  WHEN i:Object THEN NOT EXISTS { (i)-[:REFERENCES]->(o) }
  ELSE root_count <> 1 OR others > 0
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
