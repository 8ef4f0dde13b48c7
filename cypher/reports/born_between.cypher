// name: born-between
// title: Objects allocated since an earlier dump of the trace, by type
// group: Traces
// needs: trace, siblings
// mode: read
// param: dump     INTEGER        number of the dump
// param: earlier  STRING = null  name of the earlier dump; null for the previous one
// param: limit    INTEGER = 20   maximum number of rows
// column: type                    STRING   full type name
// column: object_count            INTEGER  objects that are not in the earlier dump
// column: shallow_bytes           INTEGER  their shallow size, bytes
// column: survived_count          INTEGER  of those, objects that survived an earlier collection
// column: largest_address         STRING   address of the one with the largest retained size
// column: largest_retained_bytes  INTEGER  its retained size, bytes
// column: earlier                 STRING   name of the earlier dump
//
// Only objects known to be new: allocated after the collection at which the earlier
// dump was taken. To check an operation for leaks, run it once between two dumps:
// none of its objects should be listed here. Continue with why for largest_address.
// Objects that went through a collection without survival events may be new or old
// and are left out. No rows: nothing is new, or the file has no other dump (see
// survivors-of-dump).
MATCH (d:Dump {number: $dump})
MATCH (e:Dump {trace: d.trace})
WHERE e.collection_number < d.collection_number
  AND e.state = 'ready' AND ($earlier IS NULL OR e.name = $earlier)
WITH d.number AS now, e.collection_number AS gc, e.name AS earlier
ORDER BY gc DESC
LIMIT 1
MATCH (b:Object)
WHERE b.dump = now AND b.born_in_gc > gc
MATCH (b)-[:INSTANCE_OF]->(t:Type)
WITH t.name AS type, earlier, count(*) AS object_count,
  sum(b.shallow_bytes) AS shallow_bytes,
  sum(CASE WHEN b.collections_survived > 1 THEN 1 ELSE 0 END) AS survived_count,
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
