// name: retained-objects
// title: Objects with the largest retained sizes
// group: Ownership
// mode: read
// searched: objects that retain at least $min_bytes bytes
// param: dump       INTEGER       number of the dump
// param: min_bytes  INTEGER = 0   smallest retained size to list, bytes
// param: limit      INTEGER = 20  maximum number of rows
// column: type            STRING   full type name
// column: address         STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes   INTEGER  shallow size, bytes
// column: retained_bytes  INTEGER  retained size, bytes: freed if the object is freed
// column: retained_count  INTEGER  objects freed with it, including itself
// column: root_distance   INTEGER  references from the nearest root; 1 if a root refers to it directly
// column: value           STRING   text, number or name stored in the object
//
// A good place to start. A small object that retains much is a container: a cache, a
// list of listeners, a static map. Continue with shortest-root-path or
// dominator-chain for an address, or down the tree with dominated-by. Retained sizes
// nest: never add up two rows of one dominator chain.
MATCH (d:Dump {number: $dump})
CALL (d) {
  MATCH (o:RetainsMost)
  WHERE o.dump = d.number AND o.retained_bytes >= $min_bytes
    AND o.root_distance IS NOT NULL
  WITH o
  LIMIT $limit
  RETURN count(o) = $limit AS are_enough
}
CALL (are_enough) {
  MATCH (o:RetainsMost)
  WHERE are_enough AND o.dump = $dump AND o.retained_bytes >= $min_bytes
    AND o.root_distance IS NOT NULL
  RETURN o
  ORDER BY o.dump DESC, o.retained_bytes DESC, o.key
  LIMIT $limit
  UNION ALL
  MATCH (o:Object)
  WHERE NOT are_enough AND o.dump = $dump AND o.retained_bytes >= $min_bytes
    AND o.root_distance IS NOT NULL
  RETURN o
  ORDER BY o.dump DESC, o.retained_bytes DESC, o.key
  LIMIT $limit
}
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
