// name: large-objects
// title: Objects in large-object segments
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: type             STRING   full name of its type
// column: address          STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes    INTEGER  its own bytes
// column: retained_bytes   INTEGER  what would be freed if it went, bytes
// column: segment          INTEGER  ordinal of its segment; null if not told
// column: alive            BOOLEAN  whether a strong root reaches it
// column: holder_type      STRING   immediate dominator's type; null where roots hold it
//
// What is 85,000 bytes or more is allocated apart, and nobody moves it: many of
// different sizes that come and go fragment the heap. Go on with why for an address.
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
