// name: survivors-of-dump
// title: Objects that survived since an earlier dump of the process, by type
// group: Traces
// needs: siblings
// mode: read
// param: dump     INTEGER        number of the dump
// param: earlier  STRING = null  name of the earlier dump; null for the previous one
// param: limit    INTEGER = 20   maximum number of rows
// column: type           STRING   full type name
// column: object_count   INTEGER  objects that are in both dumps
// column: shallow_bytes  INTEGER  their shallow size, bytes
// column: moved_count    INTEGER  of those, objects whose address has changed
// column: earlier_count  INTEGER  objects of the type in the earlier dump
// column: share          FLOAT    share of those that survived, 0 to 1
// column: earlier        STRING   name of the earlier dump
//
// The objects are followed exactly, not matched by guess: a trace records what each
// collection moved and what survived in place; V8 gives each object an id that lasts
// until the process ends or its inspector is disconnected; of Ruby, address and generation
// identify what was allocated while allocations were traced. Look for types that should be
// short-lived and yet survive; see died-between for objects that were freed and
// born-between for new ones. No rows: no earlier dump of the process is
// loaded (--all-dumps loads those of one file), or it was not recorded with --track.
MATCH (e:Dump {state: 'ready'})-[:CONTINUED_AS]->(d:Dump {number: $dump})
WHERE $earlier IS NULL OR e.name = $earlier
WITH d, e
ORDER BY e.collection_number DESC, e.last_object_id DESC, e.number DESC
LIMIT 1
WITH d.number AS now, e.number AS then, e.name AS earlier
MATCH (b:Object)
WHERE b.dump = now AND b.retained_bytes >= 0
MATCH (a:Object)-[:SURVIVED_AS]->(b)
WHERE a.dump = then
MATCH (b)-[:INSTANCE_OF]->(t:Type)
WITH t.name AS type, then, earlier, count(*) AS object_count,
  sum(b.shallow_bytes) AS shallow_bytes,
  sum(CASE WHEN a.address = b.address THEN 0 ELSE 1 END) AS moved_count
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
  moved_count,
  earlier_count,
  1.0 * object_count / earlier_count AS share,
  earlier
ORDER BY shallow_bytes DESC, object_count DESC, type
LIMIT $limit
