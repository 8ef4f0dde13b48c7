// name: referrers-of
// title: Who refers to an object
// mode: read
// param: dump     INTEGER       number of the dump
// param: address  STRING        of the object, as the dump has it: 0x1c15d2
// param: limit    INTEGER = 20  most rows to return
// column: domain           INTEGER  ordinal of its domain; null where the dump has one
// column: what             STRING   the root in words, or `object`
// column: type             STRING   type of the object; of a static root, the type that contains it
// column: address          STRING   of the object that refers to it; null for roots
// column: weak             BOOLEAN  true where the reference does not keep it alive
// column: field            STRING   through which it refers; the first, of several
// column: reference_count  INTEGER  how many such references
// column: retained_bytes   INTEGER  what the referrer retains, bytes
// column: root_distance    INTEGER  of the referrer: 0 for roots, null for garbage
//
// Roots first, then the referrers nearest to a root: the first strong row is the one
// that a shortest path takes. Referrers that are further from the roots than the
// object itself are often below it, such as children that know their parent.
MATCH (o:Object {dump: $dump, address: $address})
MATCH (o)<-[r:REFERENCES|WEAKLY_REFERENCES]-(n:Object|Root)
WITH o, n, type(r) = 'WEAKLY_REFERENCES' AS weak, count(r) AS reference_count,
  min(r.field) AS via, CASE WHEN n:Root THEN 0 ELSE n.root_distance END AS root_distance
ORDER BY o.key, root_distance, n.key, weak
LIMIT $limit
OPTIONAL MATCH (n)-[:INSTANCE_OF|STATIC_IN]->(t:Type)
RETURN
  o.domain AS domain,
  CASE WHEN n:Root THEN n.name ELSE 'object' END AS what,
  t.name AS type,
  n.address AS address,
  weak,
  CASE WHEN n:Root THEN n.field ELSE via END AS field,
  reference_count,
  n.retained_bytes AS retained_bytes,
  root_distance
ORDER BY o.key, root_distance, n.key, weak
LIMIT $limit
