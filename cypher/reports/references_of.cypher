// name: references-of
// title: Objects that an object refers to
// group: Objects and references
// mode: read
// param: dump     INTEGER       number of the dump
// param: address  STRING        address of the object, for example 0x1c15d2
// param: limit    INTEGER = 20  maximum number of rows
// column: domain           INTEGER  ordinal of its domain; null if the dump has only one
// column: type             STRING   full type name
// column: address          STRING   hexadecimal, as a debugger prints it
// column: weak             BOOLEAN  true if the reference does not hold it: something stronger does
// column: strength         STRING   soft, weak, finalizer or phantom; null if strong
// column: field            STRING   name of the referring field; the first, if there are several
// column: reference_count  INTEGER  number of such references
// column: shallow_bytes    INTEGER  shallow size, bytes
// column: retained_bytes   INTEGER  retained size, bytes: freed if the object is freed
// column: dominated        BOOLEAN  whether the object alone keeps it alive
//
// The objects in the fields or elements of the object, by retained size. Those that
// it does not dominate are shared with other referrers: see shared-by, referrers-of.
MATCH (o:Object {dump: $dump, address: $address})
MATCH (o)-[r:REFERENCES|WEAKLY_REFERENCES]->(n:Object)
WITH o, n, type(r) = 'WEAKLY_REFERENCES' AS weak, r.strength AS strength,
  count(r) AS reference_count, min(r.field) AS field
ORDER BY o.key, n.retained_bytes DESC, n.key, weak, strength
LIMIT $limit
OPTIONAL MATCH (n)-[:INSTANCE_OF]->(t:Type)
RETURN
  o.domain AS domain,
  coalesce(t.name, n.type_name) AS type,
  n.address AS address,
  weak,
  strength,
  field,
  reference_count,
  n.shallow_bytes AS shallow_bytes,
  n.retained_bytes AS retained_bytes,
  EXISTS { (o)-[:DOMINATES]->(n) } AS dominated
ORDER BY o.key, n.retained_bytes DESC, n.key, weak, strength
LIMIT $limit
