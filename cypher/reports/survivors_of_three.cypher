// name: survivors-of-three
// title: Objects allocated between two earlier dumps of the process and still there, by type
// group: Traces
// needs: siblings
// mode: read
// param: dump    INTEGER        number of the dump
// param: first   STRING = null  name of the dump before their allocation; null for the one before second
// param: second  STRING = null  name of the dump after it; null for the previous one
// param: limit   INTEGER = 20   maximum number of rows
// column: type                    STRING   full type name, in the second dump
// column: object_count            INTEGER  objects that are in the second dump and in this one, not in the first
// column: shallow_bytes           INTEGER  their shallow size, bytes
// column: allocated_count         INTEGER  objects of the type in the second dump that are not in the first
// column: share                   FLOAT    share of those that are still there, 0 to 1
// column: largest_address         STRING   address of the one with the largest retained size
// column: largest_retained_bytes  INTEGER  its retained size, bytes
// column: first                   STRING   name of the first dump
// column: second                  STRING   name of the second dump
//
// The three-snapshot technique: take a dump, run an operation, take another one, run it
// again or wait, and take a third. What the operation has allocated should be gone by then;
// what is listed here is still held, and what was there from the start is not. Continue with
// why for largest_address. Works for dumps of any program whose objects are followed. No
// rows: nothing was kept, or fewer than two earlier dumps of the process are loaded.
MATCH (m:Dump {state: 'ready'})-[:CONTINUED_AS]->(d:Dump {number: $dump})
WHERE $second IS NULL OR m.name = $second
MATCH (f:Dump {state: 'ready'})-[:CONTINUED_AS]->(m)
WHERE $first IS NULL OR f.name = $first
WITH d, m, f
ORDER BY m.collection_number DESC, m.last_object_id DESC, m.number DESC,
  f.collection_number DESC, f.last_object_id DESC, f.number DESC
LIMIT 1
WITH d.number AS now, d.last_object_id IS NOT NULL AS by_id, m.number AS middle, f.number AS then,
  f.collection_number AS gc, f.name AS first, m.name AS second
MATCH (b:Object)
WHERE b.dump = middle AND b.retained_bytes >= 0
  AND (b.born_in_gc > gc
    OR by_id AND b.passing_id IS NULL
    AND NOT EXISTS { MATCH (a:Object)-[:SURVIVED_AS]->(b) WHERE a.dump = then })
MATCH (b)-[:INSTANCE_OF]->(t:Type)
OPTIONAL MATCH (b)-[:SURVIVED_AS]->(c:Object)
WHERE c.dump = now
WITH t.name AS type, first, second, count(c) AS object_count,
  sum(c.shallow_bytes) AS shallow_bytes, count(*) AS allocated_count,
  max(CASE WHEN c IS NOT NULL THEN [c.retained_bytes, -c.key] END) AS most
WHERE object_count > 0
WITH *
ORDER BY shallow_bytes DESC, object_count DESC, type
LIMIT $limit
MATCH (largest:Object {key: -most[1]})
RETURN
  type,
  object_count,
  shallow_bytes,
  allocated_count,
  1.0 * object_count / allocated_count AS share,
  largest.address AS largest_address,
  largest.retained_bytes AS largest_retained_bytes,
  first,
  second
ORDER BY shallow_bytes DESC, object_count DESC, type
LIMIT $limit
