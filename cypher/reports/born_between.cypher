// name: born-between
// title: Objects allocated since an earlier dump of the process, by type
// group: Traces
// needs: siblings
// mode: read
// param: dump     INTEGER        number of the dump
// param: earlier  STRING = null  name of the earlier dump; null for the previous one
// param: limit    INTEGER = 20   maximum number of rows
// column: type                    STRING   full type name
// column: object_count            INTEGER  objects that are not in the earlier dump
// column: shallow_bytes           INTEGER  their shallow size, bytes
// column: survived_count          INTEGER  of those, objects that survived an earlier collection; null if not recorded
// column: largest_address         STRING   address of the one with the largest retained size
// column: largest_retained_bytes  INTEGER  its retained size, bytes
// column: earlier                 STRING   name of the earlier dump
//
// Only objects known to be new: in a trace those allocated after the collection at
// which the earlier dump was taken, elsewhere those whose ids it does not have. To
// check an operation for leaks, run it once between two dumps: none of its objects
// should be listed here. Continue with why for largest_address. Objects that went
// through a collection without survival events may be new or old and are left out. No
// rows: nothing is new, or no earlier dump of the process is loaded (see
// survivors-of-dump).
MATCH (e:Dump {state: 'ready'})-[:CONTINUED_AS]->(d:Dump {number: $dump})
WHERE $earlier IS NULL OR e.name = $earlier
WITH d, e
ORDER BY e.collection_number DESC, e.last_object_id DESC, e.number DESC
LIMIT 1
WITH d.number AS now, d.last_object_id IS NOT NULL AS by_id, e.number AS then,
  e.collection_number AS gc, e.name AS earlier
MATCH (b:Object)
WHERE b.dump = now AND b.retained_bytes >= 0
  AND (b.born_in_gc > gc
    OR by_id AND b.passing_id IS NULL
    AND NOT EXISTS { MATCH (a:Object)-[:SURVIVED_AS]->(b) WHERE a.dump = then })
MATCH (b)-[:INSTANCE_OF]->(t:Type)
WITH t.name AS type, earlier, count(*) AS object_count,
  sum(b.shallow_bytes) AS shallow_bytes,
  CASE WHEN count(b.collections_survived) > 0
    THEN sum(CASE WHEN b.collections_survived > 1 THEN 1 ELSE 0 END) END AS survived_count,
  max([b.retained_bytes, -b.key]) AS most
ORDER BY shallow_bytes DESC, object_count DESC, type
LIMIT $limit
MATCH (largest:Object {key: -most[1]})
RETURN
  type,
  object_count,
  shallow_bytes,
  survived_count,
  largest.address AS largest_address,
  largest.retained_bytes AS largest_retained_bytes,
  earlier
ORDER BY shallow_bytes DESC, object_count DESC, type
LIMIT $limit
