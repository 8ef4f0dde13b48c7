// name: references-of
// title: What an object refers to
// mode: read
// param: dump     INTEGER       number of the dump
// param: address  STRING        of the object, as the dump has it: 0x1c15d2
// param: limit    INTEGER = 20  most rows to return
// column: domain           INTEGER  ordinal of its domain; null where the dump has one
// column: type             STRING   full name of its type
// column: address          STRING   hexadecimal, as a debugger prints it
// column: weak             BOOLEAN  whether the reference keeps it alive: then false
// column: field            STRING   through which it refers; the first, of several
// column: reference_count  INTEGER  how many such references
// column: shallow_bytes    INTEGER  its own bytes
// column: retained_bytes   INTEGER  what would be freed if it went, bytes
// column: dominated        BOOLEAN  whether the object alone keeps it alive
//
// The fields or elements of the object, those that retain most first. What it does
// not dominate it shares with others: see shared-by, referrers-of.
MATCH (o:Object {dump: $dump, address: $address})
MATCH (o)-[r:REFERENCES|WEAKLY_REFERENCES]->(n:Object)
WITH o, n, type(r) = 'WEAKLY_REFERENCES' AS weak, count(r) AS reference_count,
  min(r.field) AS field
ORDER BY o.key, n.retained_bytes DESC, n.key, weak
LIMIT $limit
OPTIONAL MATCH (n)-[:INSTANCE_OF]->(t:Type)
RETURN
  o.domain AS domain,
  coalesce(t.name, n.type_name) AS type,
  n.address AS address,
  weak,
  field,
  reference_count,
  n.shallow_bytes AS shallow_bytes,
  n.retained_bytes AS retained_bytes,
  EXISTS { (o)-[:DOMINATES]->(n) } AS dominated
ORDER BY o.key, n.retained_bytes DESC, n.key, weak
LIMIT $limit
