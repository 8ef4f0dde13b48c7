// name: thread-statics
// title: What the statics of threads hold
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: field            STRING   the thread static
// column: type             STRING   the type that contains it; null where that is not told
// column: thread_count     INTEGER  roots of it: one for each thread that has set it
// column: object_count     INTEGER  different objects that they hold
// column: retained_bytes   INTEGER  what each of those retains, summed
// column: largest_type     STRING   type of the one that retains most
// column: largest_address  STRING   its address
// column: largest_bytes    INTEGER  what it retains, bytes
//
// A thread static has a value for each thread, which lives as long as the thread: in a
// pool that is for ever. Buffers and caches that are cheap once are there as often as
// there are threads. They are local roots with a field. What a ThreadLocal holds is
// not here, and a .gcdump that tells no fields has its thread statics among all local
// roots: see roots-by-kind. Go on with dominated-by for the largest address.
MATCH (:Dump {number: $dump})-[:HAS_ROOT]->(r:Root)-[:REFERENCES]->(o:Object)
WHERE r.kind = 'local' AND r.field IS NOT NULL
OPTIONAL MATCH (r)-[:STATIC_IN]->(t:Type)
WITH r.field AS field, t, o, count(r) AS roots
ORDER BY o.retained_bytes DESC, o.key
WITH field, t, sum(roots) AS thread_count, count(o) AS object_count,
  sum(o.retained_bytes) AS retained_bytes, collect(o)[0] AS largest
ORDER BY retained_bytes DESC, thread_count DESC, field, t.key
LIMIT $limit
OPTIONAL MATCH (largest)-[:INSTANCE_OF]->(s:Type)
RETURN
  field,
  t.name AS type,
  thread_count,
  object_count,
  retained_bytes,
  coalesce(s.name, largest.type_name) AS largest_type,
  largest.address AS largest_address,
  largest.retained_bytes AS largest_bytes
ORDER BY retained_bytes DESC, thread_count DESC, field, t.key
LIMIT $limit
