// name: dominated-by
// title: Objects that an object immediately dominates
// group: Ownership
// mode: read
// param: dump     INTEGER       number of the dump
// param: address  STRING        address of the object, for example 0x1c15d2
// param: limit    INTEGER = 20  maximum number of rows
// column: domain          INTEGER  ordinal of its domain; null if the dump has only one
// column: type            STRING   full type name
// column: address         STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes   INTEGER  shallow size, bytes
// column: retained_bytes  INTEGER  retained size, bytes: freed if the object is freed
// column: retained_count  INTEGER  objects freed with it, including itself
//
// The children of the object in the dominator tree: they and everything below them
// are freed with it. Their retained sizes and its shallow size add up to its
// retained size. Run the query again with the address of the largest child to go
// down, or go straight to the accumulation point with accumulation-points.
MATCH (o:Object {dump: $dump, address: $address})-[:DOMINATES]->(n:Object)
WITH o, n
ORDER BY o.key, n.retained_bytes DESC, n.key
LIMIT $limit
OPTIONAL MATCH (n)-[:INSTANCE_OF]->(t:Type)
RETURN
  o.domain AS domain,
  coalesce(t.name, n.type_name) AS type,
  n.address AS address,
  n.shallow_bytes AS shallow_bytes,
  n.retained_bytes AS retained_bytes,
  n.retained_count AS retained_count
ORDER BY o.key, n.retained_bytes DESC, n.key
LIMIT $limit
