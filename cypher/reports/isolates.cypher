// name: isolates
// title: Isolates or threads, and what their roots retain
// group: Dart
// needs: owners
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: owner            STRING   name of the isolate or thread
// column: root_count       INTEGER  strong roots
// column: static_count     INTEGER  of those, static fields
// column: object_count     INTEGER  distinct objects that they refer to
// column: retained_bytes   INTEGER  sum of the retained sizes of those that no other object dominates, bytes
// column: largest_type     STRING   type of the one of these with the largest retained size
// column: largest_address  STRING   its address
//
// Isolates of one group share a heap: an object that two of them refer to counts for
// both. Roots that belong to no isolate are those of the runtime: see roots-by-kind.
MATCH (d:Dump {number: $dump})-[:HAS_ROOT]->(r:Root)-[:REFERENCES]->(o:Object)
WHERE r.owner IS NOT NULL
WITH d, r.owner AS owner, o, count(r) AS roots,
  sum(CASE WHEN r.kind = 'static' THEN 1 ELSE 0 END) AS statics
WITH owner, o, roots, statics,
  CASE WHEN EXISTS { (d)-[:DOMINATES]->(o) } THEN o.retained_bytes ELSE 0 END AS held
ORDER BY held DESC, o.key
WITH owner, sum(roots) AS root_count, sum(statics) AS static_count,
  count(o) AS object_count, sum(held) AS retained_bytes, collect(o)[0] AS largest
OPTIONAL MATCH (largest)-[:INSTANCE_OF]->(t:Type)
RETURN
  owner,
  root_count,
  static_count,
  object_count,
  retained_bytes,
  t.name AS largest_type,
  largest.address AS largest_address
ORDER BY retained_bytes DESC, owner
LIMIT $limit
