// name: hubs
// title: Objects with the most incoming references
// group: Objects and references
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type            STRING   full type name
// column: address         STRING   hexadecimal, as a debugger prints it
// column: referrer_count  INTEGER  strong references and strong roots that refer to it
// column: shallow_bytes   INTEGER  shallow size, bytes
// column: retained_bytes  INTEGER  retained size, bytes: freed if the object is freed
//
// Objects that everything refers to: singletons, type descriptors, shared strings,
// null objects. An object that should have few referrers, such as a window or a
// session, points to a leak. Continue with referrers-of and shared-by. Two
// references from one object count twice. Examines every object of the dump: about
// one second per million objects.
MATCH (o:Object)
WHERE o.key >= $dump * 1099511627776 AND o.key < ($dump + 1) * 1099511627776
WITH o, COUNT { (o)<-[:REFERENCES]-() } AS referrer_count
WHERE referrer_count > 0
WITH o, referrer_count
ORDER BY referrer_count DESC, o.key
LIMIT $limit
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
RETURN
  coalesce(t.name, o.type_name) AS type,
  o.address AS address,
  referrer_count,
  o.shallow_bytes AS shallow_bytes,
  o.retained_bytes AS retained_bytes
ORDER BY referrer_count DESC, o.key
LIMIT $limit
