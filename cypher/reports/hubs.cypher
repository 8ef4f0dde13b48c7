// name: hubs
// title: Objects with the most incoming references
// group: Objects and references
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type            STRING   full type name
// column: address         STRING   hexadecimal, as a debugger prints it
// column: referrer_count  INTEGER  references of roots and reachable objects that hold it
// column: shallow_bytes   INTEGER  shallow size, bytes
// column: retained_bytes  INTEGER  retained size, bytes: freed if the object is freed
//
// Objects that everything refers to: singletons, type descriptors, shared strings,
// null objects. An object that should have few referrers, such as a window or a
// session, points to a leak. Continue with referrers-of and shared-by. Two
// references from one object count twice. The 10,000 objects with the most were
// counted at load time; with a higher limit every object is examined.
MATCH (d:Dump {number: $dump})
WITH $limit <= 10000 AND EXISTS {
    MATCH (o:Object)
    WHERE o.dump = d.number AND o.referrer_count > 0
  } AS is_counted
CALL (is_counted) {
  MATCH (o:Object)
  WHERE is_counted AND o.dump = $dump AND o.referrer_count > 0
  RETURN o, o.referrer_count AS referrer_count
  ORDER BY referrer_count DESC, o.key
  LIMIT $limit
  UNION ALL
  MATCH (o:Object)
  WHERE NOT is_counted
    AND o.key >= $dump * 1099511627776 AND o.key < ($dump + 1) * 1099511627776
  WITH o, COUNT {
    MATCH (o)<-[:REFERENCES]-(h:Object|Root)
    WHERE h:Root OR h.root_distance IS NOT NULL
  } AS referrer_count
  WHERE referrer_count > 0
  RETURN o, referrer_count
  ORDER BY referrer_count DESC, o.key
  LIMIT $limit
}
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
RETURN
  coalesce(t.name, o.type_name) AS type,
  o.address AS address,
  referrer_count,
  o.shallow_bytes AS shallow_bytes,
  o.retained_bytes AS retained_bytes
ORDER BY referrer_count DESC, o.key
LIMIT $limit
