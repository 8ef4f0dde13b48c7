// name: hubs
// title: Objects with the most references to them
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: type            STRING   full name of its type
// column: address         STRING   hexadecimal, as a debugger prints it
// column: referrer_count  INTEGER  strong references and strong roots that lead to it
// column: shallow_bytes   INTEGER  its own bytes
// column: retained_bytes  INTEGER  what would be freed if it went, bytes
//
// Everybody knows these: singletons, type descriptors, shared strings, null objects.
// A hub that should have few friends, such as a window or a session, is a leak's
// trace. Go on with referrers-of and shared-by. Two references of one object count
// twice. Every object of the dump is looked at, about a second for a million.
MATCH (o:Object)
WHERE o.dump = $dump AND o.retained_bytes >= 0
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
