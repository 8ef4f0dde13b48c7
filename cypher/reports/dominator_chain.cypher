// name: dominator-chain
// title: Who alone keeps an object alive, up to the roots
// mode: read
// param: dump     INTEGER         number of the dump
// param: address  STRING          of the object, as the dump has it: 0x1c15d2
// param: limit    INTEGER = 1000  most rows to return
// column: domain          INTEGER  ordinal of its domain; null where the dump has one
// column: step            INTEGER  0 is the object itself, then each one's dominator
// column: type            STRING   full name of its type
// column: address         STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes   INTEGER  its own bytes
// column: retained_bytes  INTEGER  what would be freed if it went, bytes
// column: retained_count  INTEGER  objects that would go with it, itself included
//
// Every path from a root to the object passes every row of this answer: free any of
// them and the object goes too. The first row with a type of your own program is
// usually the one to mend. One row only: nothing but the roots, or several holders
// at once, keep it (ask: shared-by, k-shortest-root-paths). No row: no strong root
// reaches it.
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
