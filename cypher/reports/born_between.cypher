// name: born-between
// title: Objects that are new since an earlier dump of the trace, by type
// mode: read
// param: dump     INTEGER        number of the dump
// param: earlier  STRING = null  name of the earlier dump; null: the one before
// param: limit    INTEGER = 20   most rows to return
// column: type                    STRING   full name of their type
// column: object_count            INTEGER  objects that the earlier dump does not have
// column: shallow_bytes           INTEGER  bytes of those
// column: survived_count          INTEGER  of those, objects that outlived a collection before
// column: largest_address         STRING   the one of them that retains most
// column: largest_retained_bytes  INTEGER  what would be freed if that one went, bytes
// column: earlier                 STRING   name of the earlier dump
//
// Known to be new: allocated behind the collection that the earlier dump is of. What a
// stretch of work has left behind: of one operation, done once between two dumps,
// nothing of its own should be here. Go on with why for largest_address. What went
// through a collection that did not tell what it kept may be new or old, and is left
// out. No row: nothing is new, or the file has no other dump (see survivors-of-dump).
MATCH (d:Dump {number: $dump})
WITH d, split(d.sha256, '+')[0] + '+' AS trace
MATCH (e:Dump)
WHERE e.sha256 STARTS WITH trace AND e.collection_number < d.collection_number
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
