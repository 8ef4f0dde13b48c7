// name: accumulation-points
// title: Objects below which many small objects accumulate
// group: Leaks
// mode: read
// searched: objects that retain at least $share of the reachable bytes
// param: dump        INTEGER       number of the dump
// param: share       FLOAT = 0.01  smallest retained size to list, as a share of the reachable bytes
// param: pile_share  FLOAT = 0.7   an object is listed if each of its children retains less than this share of it
// param: limit       INTEGER = 20  maximum number of rows
// column: type                 STRING   full type name
// column: address              STRING   hexadecimal, as a debugger prints it
// column: retained_bytes       INTEGER  retained size, bytes: freed if the object is freed
// column: child_count          INTEGER  number of objects that it immediately dominates
// column: largest_child_bytes  INTEGER  largest retained size among those, bytes
// column: piled_type           STRING   the type with the most bytes among those
// column: piled_count          INTEGER  how many of those are of that type
// column: piled_bytes          INTEGER  sum of their retained sizes, bytes
//
// The dominator tree is narrow down to this object and wide below it: a collection
// that has grown, a cache, a buffer of messages. The piled type says what was added,
// child_count how often. Continue with shortest-root-path for the address, and with
// dominated-by for the pieces. Unlike leak-suspects this also finds accumulation
// points inside larger ones.
MATCH (d:Dump {number: $dump})
WITH $share * d.reachable_bytes AS enough
MATCH (o:Object)
WHERE o.dump = $dump AND o.retained_bytes >= enough AND o.retained_bytes > 0
WITH o, COUNT { (o)-[:DOMINATES]->() } AS child_count
WHERE child_count > 1
CALL (o) {
  MATCH (o)-[:DOMINATES]->(c:Object)
  RETURN max(c.retained_bytes) AS largest_child_bytes
}
WITH o, child_count, largest_child_bytes
WHERE largest_child_bytes < $pile_share * o.retained_bytes
WITH o, child_count, largest_child_bytes
ORDER BY o.retained_bytes DESC, o.key
LIMIT $limit
CALL (o) {
  MATCH (o)-[:DOMINATES]->(c:Object)-[:INSTANCE_OF]->(s:Type)
  WITH s, count(c) AS piled_count, sum(c.retained_bytes) AS piled_bytes
  ORDER BY piled_bytes DESC, s.key
  LIMIT 1
  RETURN s.name AS piled_type, piled_count, piled_bytes
}
MATCH (o)-[:INSTANCE_OF]->(t:Type)
RETURN
  t.name AS type,
  o.address AS address,
  o.retained_bytes AS retained_bytes,
  child_count,
  largest_child_bytes,
  piled_type,
  piled_count,
  piled_bytes
ORDER BY retained_bytes DESC, o.key
LIMIT $limit
