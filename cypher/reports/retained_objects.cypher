// name: retained-objects
// title: Objects that retain the most memory
// mode: read
// param: dump       INTEGER       number of the dump
// param: min_bytes  INTEGER = 0   smallest retained size to show, bytes
// param: limit      INTEGER = 20  most rows to return
// column: type            STRING   full name of its type
// column: address         STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes   INTEGER  its own bytes
// column: retained_bytes  INTEGER  what would be freed if it went, bytes
// column: retained_count  INTEGER  objects that would go with it, itself included
// column: root_distance   INTEGER  references from the nearest strong root, 1 at a root
// column: value           STRING   text, number or name that it holds
//
// Start here. A small object that retains much is a holder: a cache, a list of
// listeners, a static map. Go on with shortest-root-path or dominator-chain for an
// address of this answer, or down with dominated-by. Retained sizes nest: never add
// up two rows of one dominator chain.
MATCH (o:Object)
WHERE o.dump = $dump AND o.retained_bytes >= $min_bytes
  AND o.root_distance IS NOT NULL
WITH o
ORDER BY o.dump DESC, o.retained_bytes DESC, o.key
LIMIT $limit
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
RETURN
  coalesce(t.name, o.type_name) AS type,
  o.address AS address,
  o.shallow_bytes AS shallow_bytes,
  o.retained_bytes AS retained_bytes,
  o.retained_count AS retained_count,
  o.root_distance AS root_distance,
  o.value AS value
ORDER BY o.retained_bytes DESC, o.key
LIMIT $limit
