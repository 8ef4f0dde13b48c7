// name: pinned-objects
// title: Pinned objects
// group: .NET
// needs: pinned
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type            STRING        full type name
// column: address         STRING        hexadecimal, as a debugger prints it
// column: shallow_bytes   INTEGER       shallow size, bytes
// column: retained_bytes  INTEGER       retained size, bytes: freed if the object is freed
// column: pin_count       INTEGER       roots that pin it
// column: kinds           LIST<STRING>  kinds of those roots, sorted
//
// A compacting collection cannot move a pinned object: many small ones scattered
// over the heap fragment it, and buffers that are pinned permanently are the usual
// cause. Sorted by shallow size, because that is what stays in place. Continue with
// gc-handles for pins by handle, with pinned-fragmentation for the gaps between
// pinned objects in each segment, or with referrers-of for an address.
MATCH (:Dump {number: $dump})-[:HAS_ROOT]->(r:Root)
WHERE r.pinned
MATCH (r)-[:REFERENCES|WEAKLY_REFERENCES]->(o:Object)
WITH o, r
ORDER BY r.kind
WITH o, count(r) AS pin_count, collect(DISTINCT r.kind) AS kinds
ORDER BY o.shallow_bytes DESC, o.key
LIMIT $limit
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
RETURN
  coalesce(t.name, o.type_name) AS type,
  o.address AS address,
  o.shallow_bytes AS shallow_bytes,
  o.retained_bytes AS retained_bytes,
  pin_count,
  kinds
ORDER BY shallow_bytes DESC, o.key
LIMIT $limit
