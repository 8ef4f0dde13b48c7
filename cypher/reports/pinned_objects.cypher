// name: pinned-objects
// title: Objects that may not be moved
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: type            STRING        full name of its type
// column: address         STRING        hexadecimal, as a debugger prints it
// column: shallow_bytes   INTEGER       its own bytes
// column: retained_bytes  INTEGER       what would be freed if it went, bytes
// column: pin_count       INTEGER       roots that pin it
// column: kinds           LIST<STRING>  kinds of those roots, by name
//
// A pinned object cannot be moved by a compacting collection: many small ones
// scattered over the heap fragment it, and buffers pinned for good are the usual
// cause. Sorted by their own size, for that is what stays in place. Go on with
// gc-handles for who pins by handle, pinned-fragmentation for what lies between them
// in each segment, or referrers-of for an address.
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
