// name: external-bytes
// title: Objects that hold memory outside the heap
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: type             STRING   full name of its type
// column: address          STRING   hexadecimal, as a debugger prints it
// column: external_name    STRING   what the memory is, as the runtime says
// column: external_bytes   INTEGER  memory outside the heap that goes with it
// column: shallow_bytes    INTEGER  its own bytes
// column: alive            BOOLEAN  whether a strong root reaches it
// column: owner_type       STRING   immediate dominator: lets go of it, and it goes
// column: owner_address    STRING   its address
//
// Pictures, buffers and native handles weigh little in the heap and much outside it.
// Where alive is false the memory goes when the collector finds the object.
MATCH (o:Object)
WHERE o.dump = $dump AND o.external_bytes > 0
WITH o
ORDER BY o.external_bytes DESC, o.key
LIMIT $limit
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
OPTIONAL MATCH (i:Object)-[:DOMINATES]->(o)
OPTIONAL MATCH (i)-[:INSTANCE_OF]->(it:Type)
RETURN
  t.name AS type,
  o.address AS address,
  o.external_name AS external_name,
  o.external_bytes AS external_bytes,
  o.shallow_bytes AS shallow_bytes,
  o.root_distance IS NOT NULL AS alive,
  it.name AS owner_type,
  i.address AS owner_address
ORDER BY external_bytes DESC, o.key
LIMIT $limit
