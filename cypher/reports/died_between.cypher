// name: died-between
// title: Objects of an earlier dump of the process freed since then, by type
// group: Traces
// needs: siblings
// mode: read
// param: dump     INTEGER        number of the dump
// param: earlier  STRING = null  name of the earlier dump; null for the previous one
// param: limit    INTEGER = 20   maximum number of rows
// column: type           STRING   full type name
// column: object_count   INTEGER  objects that are no longer in this dump
// column: shallow_bytes  INTEGER  their shallow size, bytes
// column: earlier_count  INTEGER  objects of the type in the earlier dump
// column: share          FLOAT    share of those that were freed, 0 to 1
// column: earlier        STRING   name of the earlier dump
//
// Objects that the program has released. A cache whose entries never appear here
// does not evict; a type of which as many objects are freed as allocated (see
// born-between) is no leak, however many there are. No rows: nothing was freed, no
// earlier dump of the process is loaded (see survivors-of-dump), or a collection in
// between has no survival events, so that it is unknown.
MATCH (e:Dump {state: 'ready'})-[:CONTINUED_AS]->(d:Dump {number: $dump})
WHERE $earlier IS NULL OR e.name = $earlier
WITH d, e
ORDER BY e.collection_number DESC, e.last_object_id DESC, e.number DESC
LIMIT 1
WHERE NOT EXISTS {
  MATCH (d)-[:HAS_COLLECTION]->(c:GarbageCollection)
  WHERE e.collection_number < c.number <= d.collection_number AND NOT c.records_survivors
}
WITH d.number AS now, d.last_object_id IS NOT NULL AS by_id, e.number AS then, e.name AS earlier
MATCH (a:Object)
WHERE a.dump = then AND a.retained_bytes >= 0
  AND (by_id AND a.passing_id IS NULL OR a.known_at IS NOT NULL)
  AND NOT EXISTS { MATCH (a)-[:SURVIVED_AS]->(b:Object) WHERE b.dump = now }
MATCH (a)-[:INSTANCE_OF]->(t:Type)
WITH t.name AS type, earlier, count(*) AS object_count,
  sum(a.shallow_bytes) AS shallow_bytes, then
ORDER BY shallow_bytes DESC, object_count DESC, type
LIMIT $limit
CALL (type, then) {
  OPTIONAL MATCH (t:Type)
  WHERE t.dump = then AND t.name = type
  RETURN sum(t.instance_count) AS earlier_count
}
RETURN
  type,
  object_count,
  shallow_bytes,
  earlier_count,
  1.0 * object_count / earlier_count AS share,
  earlier
ORDER BY shallow_bytes DESC, object_count DESC, type
LIMIT $limit
