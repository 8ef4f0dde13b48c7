// name: containers
// title: Objects that refer to the most others
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: type             STRING   full name of its type
// column: address          STRING   hexadecimal, as a debugger prints it
// column: reference_count  INTEGER  strong references that it has, nulls left out
// column: shallow_bytes    INTEGER  its own bytes
// column: retained_bytes   INTEGER  what would be freed if it went, bytes
//
// Arrays, tables of dictionaries, buckets: what has grown. The count is the number
// of filled places, whatever the capacity. Go on with owners of it by
// dominator-chain, and with references-of for the contents. Two references to one
// object count twice. Every object of the dump is looked at, about a second for a
// million.
MATCH (o:Object)
WHERE o.dump = $dump AND o.retained_bytes >= 0
WITH o, COUNT { (o)-[:REFERENCES]->() } AS reference_count
WHERE reference_count > 0
WITH o, reference_count
ORDER BY reference_count DESC, o.key
LIMIT $limit
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
RETURN
  coalesce(t.name, o.type_name) AS type,
  o.address AS address,
  reference_count,
  o.shallow_bytes AS shallow_bytes,
  o.retained_bytes AS retained_bytes
ORDER BY reference_count DESC, o.key
LIMIT $limit
