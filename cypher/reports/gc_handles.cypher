// name: gc-handles
// title: GC handles by the type of their objects
// group: .NET
// needs: handles
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type            STRING   full type name of the objects
// column: handle_count    INTEGER  handles to objects of the type
// column: strong_count    INTEGER  of those, neither weak nor pinned
// column: pinned_count    INTEGER  of those, pinned and not weak
// column: weak_count      INTEGER  of those, weak
// column: object_count    INTEGER  distinct objects that the handles refer to
// column: retained_bytes  INTEGER  sum of the retained sizes of those with a strong or pinned handle, bytes
//
// Handles are how native code and the runtime refer to managed objects. A strong
// handle that is never freed is a leak without any managed referrer; it shows as a
// count that grows from dump to dump. Continue with referrers-of or
// shortest-root-path for an object of the type (objects-of-type).
MATCH (:Dump {number: $dump})-[:HAS_ROOT]->(r:Root)
WHERE r.kind = 'handle'
MATCH (r)-[:REFERENCES|WEAKLY_REFERENCES]->(o:Object)
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
WITH t, o, count(r) AS handles,
  sum(CASE WHEN r.weak OR r.pinned THEN 0 ELSE 1 END) AS strong,
  sum(CASE WHEN r.pinned AND NOT r.weak THEN 1 ELSE 0 END) AS pinned,
  sum(CASE WHEN r.weak THEN 1 ELSE 0 END) AS weak
WITH t, coalesce(t.name, o.type_name) AS type, sum(handles) AS handle_count,
  sum(strong) AS strong_count, sum(pinned) AS pinned_count, sum(weak) AS weak_count,
  count(o) AS object_count,
  sum(CASE WHEN handles > weak THEN o.retained_bytes ELSE 0 END) AS retained_bytes
RETURN
  type,
  handle_count,
  strong_count,
  pinned_count,
  weak_count,
  object_count,
  retained_bytes
ORDER BY retained_bytes DESC, handle_count DESC, t.key
LIMIT $limit
