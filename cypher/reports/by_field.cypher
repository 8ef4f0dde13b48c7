// name: by-field
// title: References through a field, by type
// group: Objects and references
// needs: fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: field  STRING        name of the field; `[i]` for element i
// param: type   STRING = ""   full name of the type that has the field; empty for any
// param: limit  INTEGER = 20  maximum number of rows
// column: type             STRING   full name of the type that has the field
// column: weak             BOOLEAN  true if the reference does not hold it: something stronger does
// column: target_type      STRING   full type name of the objects referred to
// column: reference_count  INTEGER  references of reachable objects through the field
// column: target_count     INTEGER  objects referred to
// column: retained_bytes   INTEGER  sum of the retained sizes of the targets that clearing the field frees, bytes
// column: largest_address  STRING   address of the target with the largest retained size
//
// Which types have a field of this name, what they refer to through it, and what is
// freed if it is cleared: targets that are also reachable in another way, even by
// another field of the same object, count 0. A list of listeners, a cache or a parent that was never
// cleared stands out by its retained bytes. Static fields are roots: see
// static-roots.
MATCH (t:Type)
WHERE t.dump = $dump AND ($type = '' OR t.name = $type)
  AND ($field STARTS WITH '[' OR ' ' + t.fields + ' ' CONTAINS ' ' + $field + ' ')
MATCH (a:Object)-[:INSTANCE_OF]->(t)
MATCH (a)-[r:REFERENCES|WEAKLY_REFERENCES]->(b:Object)
WHERE r.field = $field AND a.root_distance IS NOT NULL
WITH t, a, b, type(r) = 'WEAKLY_REFERENCES' AS weak, count(r) AS reference_count
WITH t, a, b, weak, reference_count,
  EXISTS { (a)-[:DOMINATES]->(b) } AND NOT EXISTS {
    MATCH (a)-[other:REFERENCES]->(b)
    WHERE coalesce(other.field, '') <> $field
  } AS alone
CALL (a, b, alone) {
  // From other holders up the tree: does one go past the target?
  WITH a, b
  WHERE alone
  MATCH p = (b)<-[:REFERENCES|DOMINATES*1..2147483647]-(top:Object)
  WHERE all(s IN relationships(p) WHERE startNode(s) <> a AND (
      (type(s) = 'REFERENCES' AND endNode(s) = b)
      OR (type(s) = 'DOMINATES' AND endNode(s) <> b)))
    AND top <> b
  WITH DISTINCT a, top
  WHERE EXISTS { (a)-[:DOMINATES]->(top) }
  WITH top
  LIMIT 1
  RETURN count(top) AS others
}
WITH t, b, weak, sum(reference_count) AS reference_count,
  max(CASE WHEN alone AND others = 0 THEN b.retained_bytes ELSE 0 END) AS retained_bytes
ORDER BY b.retained_bytes DESC, b.key
OPTIONAL MATCH (b)-[:INSTANCE_OF]->(bt:Type)
WITH t, weak, coalesce(bt.name, b.type_name) AS target_type, b, reference_count,
  retained_bytes
RETURN
  t.name AS type,
  weak,
  target_type,
  sum(reference_count) AS reference_count,
  count(b) AS target_count,
  sum(retained_bytes) AS retained_bytes,
  collect(b.address)[0] AS largest_address
ORDER BY retained_bytes DESC, reference_count DESC, type, target_type, weak
LIMIT $limit
