// name: thread-statics
// title: Thread-static fields
// group: .NET
// needs: thread-statics
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: field            STRING   name of the thread-static field
// column: type             STRING   type that declares it; null if not recorded
// column: thread_count     INTEGER  its roots: one for each thread that has set it
// column: object_count     INTEGER  distinct objects that they refer to
// column: retained_bytes   INTEGER  sum of their retained sizes, bytes
// column: largest_type     STRING   type of the one with the largest retained size
// column: largest_address  STRING   its address
// column: largest_bytes    INTEGER  its retained size, bytes
//
// A thread-static field has a value for each thread, which lives as long as the
// thread: in a thread pool, forever. Buffers and caches that are cheap once exist as
// often as there are threads. What a ThreadLocal stores is not listed, and in a .gcdump
// without fields thread-static fields have no names: see roots-by-kind. Continue with
// dominated-by for the largest address.
MATCH (:Dump {number: $dump})-[:HAS_ROOT]->(r:Root)-[:REFERENCES]->(o:Object)
WHERE r.kind = 'thread_static' AND r.field IS NOT NULL
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
