// name: static-roots
// title: Static fields by declaring type
// group: Roots and paths
// needs: statics
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type             STRING   type that declares the static fields; the field itself if no type is recorded
// column: root_count       INTEGER  static roots of the type
// column: object_count     INTEGER  distinct objects that they refer to
// column: retained_bytes   INTEGER  sum of their retained sizes, bytes
// column: largest_type     STRING   type of the one with the largest retained size
// column: largest_address  STRING   its address
// column: largest_bytes    INTEGER  its retained size, bytes
//
// A static field lives as long as its domain: what it refers to is freed only by
// code that clears it. No object that a root refers to dominates another such
// object, so the sum counts nothing twice; what only two static fields of the type
// together keep alive is in neither, so clearing all of them frees at least this
// much. Continue with dominated-by for the largest address.
MATCH (:Dump {number: $dump})-[:HAS_ROOT]->(r:Root)-[:REFERENCES]->(o:Object)
WHERE r.kind = 'static'
OPTIONAL MATCH (r)-[:STATIC_IN]->(t:Type)
WITH t, CASE WHEN t IS NULL THEN coalesce(r.field, '(unknown)') END AS field, o,
  count(r) AS roots
ORDER BY o.retained_bytes DESC, o.key
WITH t, field, sum(roots) AS root_count, count(o) AS object_count,
  sum(o.retained_bytes) AS retained_bytes, collect(o)[0] AS largest
ORDER BY retained_bytes DESC, t.key, field
LIMIT $limit
OPTIONAL MATCH (largest)-[:INSTANCE_OF]->(s:Type)
RETURN
  coalesce(t.name, field) AS type,
  root_count,
  object_count,
  retained_bytes,
  coalesce(s.name, largest.type_name) AS largest_type,
  largest.address AS largest_address,
  largest.retained_bytes AS largest_bytes
ORDER BY retained_bytes DESC, t.key, field
LIMIT $limit
