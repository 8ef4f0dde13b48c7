// name: owners-of-type
// title: Owners of the instances of a type
// group: Ownership
// mode: read
// param: dump   INTEGER       number of the dump
// param: type   STRING        full type name, as the runtime spells it
// param: skip STRING = "(?i).*(\[]|list|dictionary|hash|queue|stack|collection).*" collections
// param: limit  INTEGER = 20  maximum number of rows
// column: owner_type      STRING   full type name, `(roots)`, or `(further up)`
// column: owner_count     INTEGER  number of owners of that type
// column: instance_count  INTEGER  instances that they own
// column: shallow_bytes   INTEGER  shallow size of those instances, bytes
// column: largest_owner   STRING   address of the owner of the most bytes
//
// The owner of an instance is its immediate dominator: freeing the owner frees the
// instance. Owners whose short type name matches the regular expression skip are
// replaced by their own owners, so that arrays and collections do not hide what uses
// them; skip=- shows the dominators as they are. `(roots)`: referred to by roots
// directly, or by several owners independently (see shared-by). At most 10 owners in
// a row are skipped for one instance; beyond that the owner is `(further up)`.
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
