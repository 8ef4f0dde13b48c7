// name: large-objects
// title: Objects on the large object heap
// group: Segments and generations
// needs: generations
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type            STRING   full type name
// column: address         STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes   INTEGER  shallow size, bytes
// column: retained_bytes  INTEGER  retained size, bytes: freed if the object is freed
// column: segment         INTEGER  ordinal of its segment; null if not recorded
// column: alive           BOOLEAN  whether it is reachable from a root
// column: holder_type     STRING   type of the immediate dominator; null if only roots dominate it
//
// Objects of 85,000 bytes or more are allocated on the LOH, which is normally not
// compacted: allocating and freeing many objects of varying sizes fragments it.
// Continue with why for an address.
MATCH (o:Object)
WHERE o.dump = $dump AND o.generation = 3
WITH o
ORDER BY o.shallow_bytes DESC, o.key
LIMIT $limit
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
OPTIONAL MATCH (h:Object)-[:DOMINATES]->(o)
OPTIONAL MATCH (h)-[:INSTANCE_OF]->(ht:Type)
RETURN
  t.name AS type,
  o.address AS address,
  o.shallow_bytes AS shallow_bytes,
  o.retained_bytes AS retained_bytes,
  o.segment AS segment,
  o.root_distance IS NOT NULL AS alive,
  ht.name AS holder_type
ORDER BY o.shallow_bytes DESC, o.key
LIMIT $limit
