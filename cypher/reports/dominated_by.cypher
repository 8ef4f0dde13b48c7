// name: dominated-by
// title: What an object alone keeps alive, one step down
// mode: read
// param: dump     INTEGER       number of the dump
// param: address  STRING        of the object, as the dump has it: 0x1c15d2
// param: limit    INTEGER = 20  most rows to return
// column: domain          INTEGER  ordinal of its domain; null where the dump has one
// column: type            STRING   full name of its type
// column: address         STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes   INTEGER  its own bytes
// column: retained_bytes  INTEGER  what would be freed if it went, bytes
// column: retained_count  INTEGER  objects that would go with it, itself included
//
// The children of the object in the dominator tree: they and all below them go when
// it goes. Their retained bytes and its own bytes add up to what it retains. Follow
// the largest child by asking again with its address, or jump to where the bytes
// pile up with accumulation-points.
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
