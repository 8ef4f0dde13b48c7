// name: owners-of-type
// title: Who owns the instances of a type
// mode: read
// param: dump   INTEGER                       number of the dump
// param: type   STRING                        full name of the type, as the runtime spells it
// param: skip   STRING = "(?i).*(\[]|list|dictionary|hash|queue|stack|collection).*"  whom to look through
// param: limit  INTEGER = 20                  most rows to return
// column: owner_type      STRING   full name, `(roots)`, or `(further up)`
// column: owner_count     INTEGER  how many owners of that type
// column: instance_count  INTEGER  instances that those own
// column: shallow_bytes   INTEGER  bytes of those instances
// column: largest_owner   STRING   address of the owner of most of those bytes
//
// The owner of an instance is its immediate dominator: when the owner goes, so does
// the instance. Owners whose short type name matches the regular expression skip are
// looked through, and their own owner counts, so that arrays and collections do not
// hide who uses them; skip=- takes the dominators as they are. `(roots)`: held by
// roots directly, or by several owners at once (ask: shared-by). At most 10 owners
// are looked through for one instance; beyond that the owner is `(further up)`.
MATCH (:Type {dump: $dump, name: $type})<-[:INSTANCE_OF]-(o:Object)
WHERE o.root_distance IS NOT NULL
OPTIONAL MATCH (o)
  (()<-[:DOMINATES]-(between:Object WHERE between.type_name =~ $skip)){0,10}
  ()<-[:DOMINATES]-(owner)
WHERE owner:Dump OR NOT owner.type_name =~ $skip
WITH owner, count(o) AS instances, sum(o.shallow_bytes) AS bytes
ORDER BY bytes DESC, owner.key
OPTIONAL MATCH (owner)-[:INSTANCE_OF]->(t:Type)
WITH
  CASE
    WHEN owner IS NULL THEN '(further up)'
    WHEN owner:Dump THEN '(roots)'
    ELSE t.name
  END AS owner_type,
  count(t) AS owner_count, sum(instances) AS instance_count,
  sum(bytes) AS shallow_bytes, collect(owner.address)[0] AS largest_owner
RETURN owner_type, owner_count, instance_count, shallow_bytes, largest_owner
ORDER BY shallow_bytes DESC, owner_type
LIMIT $limit
