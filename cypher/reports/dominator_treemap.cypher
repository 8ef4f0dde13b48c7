// name: dominator-treemap
// title: The top of the dominator tree, to be drawn or indented
// mode: read
// param: dump   INTEGER         number of the dump
// param: limit  INTEGER = 3000  most rows to return
// column: object          INTEGER  number of the object in the dump, from 0
// column: dominator       INTEGER  number of its immediate dominator; null at the top
// column: type            STRING   full name of its type
// column: namespace       STRING   namespace or library; empty where the type has none
// column: address         STRING   hexadecimal, as a debugger prints it
// column: value           STRING   beginning of the text or name that it holds
// column: shallow_bytes   INTEGER  its own bytes
// column: retained_bytes  INTEGER  what would be freed if it went, bytes
// column: retained_count  INTEGER  objects that would go with it, itself included
// column: root_distance   INTEGER  references from the nearest strong root, 1 at a root
// column: generation      INTEGER  0, 1 or 2; 3 for large objects, 4 for pinned; null if not told
//
// The objects that retain most, each with its dominator. No object retains more than
// its dominator does, so these rows are the top of the tree without holes, parents in
// front of their children. What an object retains is its own bytes, those of its
// children here, and what its smaller children retain, which are left out. Objects
// that retain nothing are no rows. Open one object further with dominated-by.
MATCH (o:Object)
WHERE o.dump = $dump AND o.retained_bytes > 0
WITH o
ORDER BY o.dump DESC, o.retained_bytes DESC, o.retained_count DESC, o.key
LIMIT $limit
OPTIONAL MATCH (o)<-[:DOMINATES]-(p:Object)
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
RETURN
  o.key % 1099511627776 AS object,
  p.key % 1099511627776 AS dominator,
  coalesce(t.name, o.type_name) AS type,
  coalesce(t.namespace, '') AS namespace,
  o.address AS address,
  coalesce(left(o.value, 40), '') AS value,
  o.shallow_bytes AS shallow_bytes,
  o.retained_bytes AS retained_bytes,
  o.retained_count AS retained_count,
  o.root_distance AS root_distance,
  o.generation AS generation
ORDER BY o.retained_bytes DESC, o.retained_count DESC, o.key
LIMIT $limit
