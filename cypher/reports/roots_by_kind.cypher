// name: roots-by-kind
// title: Roots by kind, and what they hold
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: kind            STRING   kind of root
// column: root_count      INTEGER  roots of that kind, weak ones too
// column: weak_count      INTEGER  of those, roots that keep nothing alive
// column: pinned_count    INTEGER  of those, roots whose object may not be moved
// column: object_count    INTEGER  different objects that the strong ones hold
// column: retained_bytes  INTEGER  what each of those retains, summed
//
// Strong are all kinds but weak ones; the finalizer queue keeps its objects alive
// until their finalizer has run. No object that a strong root holds dominates
// another such object, so the sum counts nothing twice within one row. It leaves out
// what two of them keep together, and an object held by roots of two kinds is in two
// rows. Go on with static-roots, gc-handles, pinned-objects, finalizer-queue.
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
