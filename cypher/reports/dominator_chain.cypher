// name: dominator-chain
// title: Dominators of an object, up to the roots
// group: Ownership
// mode: read
// param: dump     INTEGER         number of the dump
// param: address  STRING          address of the object, for example 0x1c15d2
// param: limit    INTEGER = 1000  maximum number of rows
// column: domain          INTEGER  ordinal of its domain; null if the dump has only one
// column: step            INTEGER  0 is the object itself, then one dominator after the other
// column: type            STRING   full type name
// column: address         STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes   INTEGER  shallow size, bytes
// column: retained_bytes  INTEGER  retained size, bytes: freed if the object is freed
// column: retained_count  INTEGER  objects freed with it, including itself
//
// Every path from a root to the object passes through every row of this answer: free
// any of them and the object is freed too. The first row with a type of your own
// program is usually the one to fix. Only one row: nothing dominates the object,
// because roots refer to it directly or several referrers keep it alive
// independently (see shared-by, k-shortest-root-paths). No rows: the object is
// unreachable.
MATCH (o:Object {dump: $dump, address: $address})
WHERE o.root_distance IS NOT NULL
MATCH p = (o)<-[:DOMINATES*0..100000]-(n:Object)
WITH o, n, min(length(p)) AS step
ORDER BY o.key, step
LIMIT $limit
OPTIONAL MATCH (n)-[:INSTANCE_OF]->(t:Type)
RETURN
  o.domain AS domain,
  step,
  coalesce(t.name, n.type_name) AS type,
  n.address AS address,
  n.shallow_bytes AS shallow_bytes,
  n.retained_bytes AS retained_bytes,
  n.retained_count AS retained_count
ORDER BY o.key, step
LIMIT $limit
