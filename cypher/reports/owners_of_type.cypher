// name: owners-of-type
// title: Owners of the instances of a type
// group: Ownership
// needs: captions
// mode: read
// param: dump   INTEGER       number of the dump
// param: type   STRING        full type name, as the runtime spells it
// param: skip STRING = "(?i).*(\[]|list|dictionary|hash|queue|stack|collection).*|dict|tuple|set|map|array" collections
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
MATCH (t:Type)
WHERE t.dump = $dump AND t.caption =~ $skip
WITH collect(t.caption) AS skipped
CALL (skipped) {
  MATCH (t:Type {dump: $dump, name: $type})<-[:INSTANCE_OF]-(o)<-[:DOMINATES]-(above)
  WHERE t.caption IS NOT NULL
  WITH above, count(o) AS instances, sum(o.shallow_bytes) AS bytes
  OPTIONAL MATCH (above)
    (()<-[:DOMINATES]-(between:Object WHERE between.type_name IN skipped)){0,9}
    ()<-[:DOMINATES]-(further:Dump|Object)
  WHERE above.type_name IN skipped AND (further:Dump OR NOT further.type_name IN skipped)
  WITH CASE WHEN above.type_name IN skipped THEN further ELSE above END AS owner,
    sum(instances) AS instances, sum(bytes) AS bytes
  RETURN
    owner.type_name AS kind,
    CASE WHEN owner IS NULL THEN '(further up)' WHEN owner:Dump THEN '(roots)' END AS no_object,
    count(owner.key) AS owner_count, sum(instances) AS instance_count,
    sum(bytes) AS shallow_bytes, max([bytes, -owner.key]) AS most
}
OPTIONAL MATCH (largest:Object {key: -most[1]})-[:INSTANCE_OF]->(t:Type)
RETURN
  coalesce(no_object, t.name) AS owner_type,
  owner_count,
  instance_count,
  shallow_bytes,
  largest.address AS largest_owner
ORDER BY shallow_bytes DESC, owner_type
LIMIT $limit
