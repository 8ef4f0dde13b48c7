// name: thread-locals
// title: What threads keep in ThreadLocal variables
// group: JVM
// needs: jvm
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: thread          STRING   name of the thread
// column: field           STRING   static field that has the ThreadLocal: `static root in Main.BUFFERS`
// column: local_type      STRING   type of the ThreadLocal; null if it is gone
// column: value_type      STRING   type of the value
// column: value_address   STRING   its address
// column: retained_bytes  INTEGER  retained size of the value, bytes
// column: stale           BOOLEAN  whether nothing holds the ThreadLocal but weak references
//
// A value lives as long as its thread, in a pool forever, unless it is removed. Stale
// entries belong to a ThreadLocal that nobody can read any more; the map of a thread
// drops them only when it happens upon them. A value whose type comes from an
// application that was stopped keeps its class loader alive: see class-loaders.
MATCH (t:Type)
WHERE t.dump = $dump AND t.name = 'java.lang.ThreadLocal$ThreadLocalMap$Entry'
MATCH (e:Object)-[:INSTANCE_OF]->(t)
WHERE e.root_distance IS NOT NULL
MATCH (e)<-[:REFERENCES]-(table:Object)
WHERE table.root_distance IS NOT NULL
WITH DISTINCT e, table
MATCH (table)<-[:REFERENCES {field: 'table'}]-(map:Object)
WHERE map.root_distance IS NOT NULL
WITH DISTINCT e, map
MATCH (map)<-[of:REFERENCES]-(th:Object)
WHERE of.field IN ['threadLocals', 'inheritableThreadLocals']
  AND th.root_distance IS NOT NULL
WITH DISTINCT e, th
MATCH (e)-[:REFERENCES {field: 'value'}]->(v:Object)
WITH DISTINCT e, v, th
ORDER BY v.retained_bytes DESC, v.key, th.key, e.key
LIMIT $limit
OPTIONAL MATCH (v)-[:INSTANCE_OF]->(vt:Type)
OPTIONAL MATCH (e)-[k:REFERENCES|WEAKLY_REFERENCES]->(local:Object)
WHERE k.field = 'referent'
OPTIONAL MATCH (local)-[:INSTANCE_OF]->(lt:Type)
RETURN
  th.value AS thread,
  COLLECT {
    MATCH (r:Root)-[:REFERENCES]->(local)
    WHERE r.kind = 'static'
    RETURN r.name
    ORDER BY r.key
    LIMIT 1
  }[0] AS field,
  lt.name AS local_type,
  vt.name AS value_type,
  v.address AS value_address,
  v.retained_bytes AS retained_bytes,
  local IS NULL OR NOT EXISTS {
    MATCH (local)<-[held:REFERENCES]-(h:Object|Root)
    WHERE h <> local AND NOT EXISTS { (local)-[:DOMINATES]->(h) }
      AND NOT coalesce(held.strength, 'strong') IN ['weak', 'phantom']
      AND (NOT h.weak OR h.root_distance IS NOT NULL)
  } AS stale
ORDER BY retained_bytes DESC, v.key, th.key, e.key
LIMIT $limit
