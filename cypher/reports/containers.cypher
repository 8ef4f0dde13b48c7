// name: containers
// title: Objects with the most outgoing references
// group: Objects and references
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type             STRING   full type name
// column: address          STRING   hexadecimal, as a debugger prints it
// column: reference_count  INTEGER  references from the object that hold their target, without nulls
// column: shallow_bytes    INTEGER  shallow size, bytes
// column: retained_bytes   INTEGER  retained size, bytes: freed if the object is freed
//
// Arrays, hash tables, buckets: reachable collections that have grown. The count is the number
// of used slots, not the capacity. Two references to one object count twice.
// Continue with dominator-chain for the owners, and with references-of for the
// contents. The 10,000 objects with the most were counted at load time; with a higher
// limit every object is examined.
MATCH (d:Dump {number: $dump})
WITH $limit <= 10000 AND EXISTS {
    MATCH (o:Object)
    WHERE o.dump = d.number AND o.reference_count > 0
  } AS is_counted
CALL (is_counted) {
  MATCH (o:Object)
  WHERE is_counted AND o.dump = $dump AND o.reference_count > 0
  RETURN o, o.reference_count AS reference_count
  ORDER BY reference_count DESC, o.key
  LIMIT $limit
  UNION ALL
  MATCH (o:Object)
  WHERE NOT is_counted
    AND o.key >= $dump * 1099511627776 AND o.key < ($dump + 1) * 1099511627776
    AND o.root_distance IS NOT NULL
  WITH o, COUNT { (o)-[:REFERENCES]->() } AS reference_count
  WHERE reference_count > 0
  RETURN o, reference_count
  ORDER BY reference_count DESC, o.key
  LIMIT $limit
}
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
RETURN
  coalesce(t.name, o.type_name) AS type,
  o.address AS address,
  reference_count,
  o.shallow_bytes AS shallow_bytes,
  o.retained_bytes AS retained_bytes
ORDER BY reference_count DESC, o.key
LIMIT $limit
