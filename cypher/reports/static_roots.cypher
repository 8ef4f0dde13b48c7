// name: static-roots
// title: What the statics of each type hold
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: type             STRING   the type that contains the static fields; the field itself where no type is told
// column: root_count       INTEGER  static roots in it
// column: object_count     INTEGER  different objects that they hold
// column: retained_bytes   INTEGER  what each of those retains, summed
// column: largest_type     STRING   type of the one that retains most
// column: largest_address  STRING   its address
// column: largest_bytes    INTEGER  what it retains, bytes
//
// A static field lives as long as its domain: what it holds is freed only by code
// that clears it. No object that a root holds dominates another such object, so the
// sum counts nothing twice; what two statics of the type keep only together is in
// neither, so emptying all of them frees at least this. Go on with dominated-by for
// the largest address.
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
