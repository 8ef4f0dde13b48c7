// name: accumulation-points
// title: Objects below which much piles up in many pieces
// mode: read
// param: dump        INTEGER       number of the dump
// param: share       FLOAT = 0.01  of the reachable bytes, the least that it retains
// param: pile_share  FLOAT = 0.7   of its retained bytes, what no single child may hold
// param: limit       INTEGER = 20  most rows to return
// column: type                 STRING   full name of its type
// column: address              STRING   hexadecimal, as a debugger prints it
// column: retained_bytes       INTEGER  what would be freed if it went, bytes
// column: child_count          INTEGER  objects that it immediately dominates
// column: largest_child_bytes  INTEGER  the most that one of those retains
// column: piled_type           STRING   the type that has most bytes among those
// column: piled_count          INTEGER  how many of those are of that type
// column: piled_bytes          INTEGER  what they retain, bytes
//
// The dominator tree is narrow down to here and broad below: a collection that grew,
// a cache, a buffer of messages. The piled type says what was put in, child_count
// how often. Go on with shortest-root-path for the address, dominated-by for the
// pieces. Unlike leak-suspects this also finds piles inside piles.
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
