// name: roots-by-kind
// title: GC roots by kind
// group: Roots and paths
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: kind            STRING   kind of root
// column: root_count      INTEGER  roots of that kind, including weak ones
// column: weak_count      INTEGER  of those, weak roots
// column: pinned_count    INTEGER  of those, roots that pin their object
// column: object_count    INTEGER  distinct objects that they hold
// column: retained_bytes  INTEGER  sum of their retained sizes, bytes
//
// All roots except weak ones are strong; the finalizer queue keeps its objects alive
// until their finalizers have run. No object that a strong root refers to dominates
// another such object, so the sum counts nothing twice within a row. It leaves out
// what only two of them together keep alive, and an object with roots of two kinds
// is in two rows. Continue with static-roots, gc-handles, pinned-objects,
// finalizer-queue.
MATCH (:Dump {number: $dump})-[:HAS_ROOT]->(r:Root)
OPTIONAL MATCH (r)-[:REFERENCES]->(o:Object)
WITH r.kind AS kind, o, count(r) AS roots,
  sum(CASE WHEN r.weak THEN 1 ELSE 0 END) AS weak,
  sum(CASE WHEN r.pinned THEN 1 ELSE 0 END) AS pinned
RETURN
  kind,
  sum(roots) AS root_count,
  sum(weak) AS weak_count,
  sum(pinned) AS pinned_count,
  count(o) AS object_count,
  sum(coalesce(o.retained_bytes, 0)) AS retained_bytes
ORDER BY retained_bytes DESC, kind
LIMIT $limit
