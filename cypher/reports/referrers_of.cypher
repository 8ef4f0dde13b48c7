// name: referrers-of
// title: Referrers of an object
// group: Objects and references
// mode: read
// param: dump     INTEGER       number of the dump
// param: address  STRING        address of the object, for example 0x1c15d2
// param: limit    INTEGER = 20  maximum number of rows
// column: domain           INTEGER  ordinal of its domain; null if the dump has only one
// column: what             STRING   description of the root, or `object`
// column: type             STRING   type of the referrer; for a static root, its declaring type
// column: address          STRING   address of the referrer; null for roots
// column: weak             BOOLEAN  true if the reference does not hold it: something stronger does
// column: strength         STRING   soft, weak, finalizer or phantom; null if strong
// column: field            STRING   name of the referring field; the first, if there are several
// column: reference_count  INTEGER  number of such references
// column: retained_bytes   INTEGER  retained size of the referrer, bytes
// column: root_distance    INTEGER  distance of the referrer: 0 for roots, null if unreachable
//
// Roots first, then the referrers nearest to a root: the first row that is not weak is on a
// shortest path. Referrers further from the roots than the object itself are often
// below it, such as children that refer to their parent.
MATCH (o:Object {dump: $dump, address: $address})
MATCH (o)<-[r:REFERENCES|WEAKLY_REFERENCES]-(n:Object|Root)
WITH o, n, type(r) = 'WEAKLY_REFERENCES' AS weak,
  CASE WHEN n:Root AND n.weak THEN 'weak' ELSE r.strength END AS strength,
  count(r) AS reference_count, min(r.field) AS via,
  CASE WHEN n:Root THEN 0 ELSE n.root_distance END AS root_distance
ORDER BY o.key, root_distance, n.key, weak, strength
LIMIT $limit
OPTIONAL MATCH (n)-[:INSTANCE_OF|STATIC_IN]->(t:Type)
RETURN
  o.domain AS domain,
  CASE WHEN n:Root THEN n.name ELSE 'object' END AS what,
  t.name AS type,
  n.address AS address,
  weak,
  strength,
  CASE WHEN n:Root THEN n.field ELSE via END AS field,
  reference_count,
  n.retained_bytes AS retained_bytes,
  root_distance
ORDER BY o.key, root_distance, n.key, weak, strength
LIMIT $limit
