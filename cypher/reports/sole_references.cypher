// name: sole-references
// title: Single references that keep most alive
// group: Leaks
// mode: read
// searched: objects that retain at least $min_bytes bytes
// param: dump       INTEGER        number of the dump
// param: min_bytes  INTEGER = 4096 smallest retained size to list, bytes
// param: limit      INTEGER = 20   maximum number of rows
// column: holder          STRING   type of the object that has the reference; of a root, its kind and static field
// column: holder_address  STRING   its address; null for roots
// column: field           STRING   name of the field; null if not recorded
// column: type            STRING   type of the object that the reference leads to
// column: address         STRING   its address
// column: freed_bytes     INTEGER  bytes freed if only this reference is removed
// column: freed_count     INTEGER  objects freed if only this reference is removed
//
// Each of these objects has one reference that holds it and leads to it from the rest of the
// reachable heap. Remove that reference, and the object is freed with all that it
// retains. References back to it, from objects that it immediately dominates, do not
// count. What several references hold together is not listed: `ingest what-if` finds
// the best ones, and computes exactly what any choice of references frees. The rows of
// one dominator chain nest: never add up their bytes.
MATCH (o:Object)
WHERE o.dump = $dump AND o.retained_bytes >= $min_bytes AND o.root_distance IS NOT NULL
MATCH (n:Object|Root)-[r:REFERENCES]->(o)
WHERE n <> o AND (n:Root OR n.root_distance IS NOT NULL)
  AND NOT EXISTS { (o)-[:DOMINATES]->(n) }
WITH o, collect(n) AS holders, collect(r.field) AS fields
WHERE size(holders) = 1
WITH o, holders[0] AS n, fields
ORDER BY o.retained_bytes DESC, o.key
LIMIT $limit
OPTIONAL MATCH (n)-[:INSTANCE_OF]->(s:Type)
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
RETURN
  CASE WHEN n:Root THEN n.name ELSE coalesce(s.name, n.type_name) END AS holder,
  n.address AS holder_address,
  CASE WHEN n:Root THEN n.field ELSE head(fields) END AS field,
  coalesce(t.name, o.type_name) AS type,
  o.address AS address,
  o.retained_bytes AS freed_bytes,
  o.retained_count AS freed_count
ORDER BY freed_bytes DESC, o.key
LIMIT $limit
