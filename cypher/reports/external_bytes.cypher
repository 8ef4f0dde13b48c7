// name: external-bytes
// title: Objects that own memory outside the heap
// group: Ownership
// needs: external
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type            STRING   full type name
// column: address         STRING   hexadecimal, as a debugger prints it
// column: external_name   STRING   what the memory is used for, as named by the runtime
// column: external_bytes  INTEGER  memory outside the heap, freed with the object, bytes
// column: shallow_bytes   INTEGER  shallow size, bytes
// column: alive           BOOLEAN  whether it is reachable from a root
// column: owner_type      STRING   type of the immediate dominator: freeing it frees the object
// column: owner_address   STRING   address of the immediate dominator
//
// Images, buffers and native handles are small on the heap and large outside it.
// Where alive is false, the memory is freed once the object is collected.
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
