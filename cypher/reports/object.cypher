// name: object
// title: What is known of one object
// mode: read
// param: dump     INTEGER       number of the dump
// param: address  STRING        of the object, as the dump has it: 0x1c15d2
// param: limit    INTEGER = 20  most rows to return
// column: domain             INTEGER  ordinal of its domain; null where the dump has one
// column: type               STRING   full name of its type
// column: shallow_bytes      INTEGER  its own bytes
// column: retained_bytes     INTEGER  what would be freed if it went, bytes
// column: retained_count     INTEGER  objects that would go with it, itself included
// column: root_distance      INTEGER  references from the nearest strong root; null for garbage
// column: missing            BOOLEAN  true where it is referred to but not in the dump
// column: reference_count    INTEGER  references that it has, weak ones too
// column: referrer_count     INTEGER  references to it, weak ones too
// column: root_count         INTEGER  roots that hold it, weak ones too
// column: dominator_type     STRING   type of its immediate dominator, or `(roots)`
// column: dominator_address  STRING   its address
// column: value              STRING   text, number or name that it holds
// column: length             INTEGER  elements of a list or map, code units of a string
// column: external_bytes     INTEGER  memory outside the heap that goes with it
// column: identity_hash      INTEGER  equal in two dumps of one process for one object
// column: generation         INTEGER  0, 1 or 2; 3 for large objects, 4 for pinned
// column: segment            INTEGER  ordinal of its segment
// column: born_in_gc         INTEGER  the first collection after its allocation
// column: collections_survived  INTEGER  collections of the trace that left it alive
// column: allocated_ms       INTEGER  the log's clock at its allocation
// column: allocation_stack   STRING   what allocated it, the innermost function first
// column: earlier_addresses  LIST<STRING>  where it was in earlier dumps of the trace
//
// One row for each object of the address: ids are unique within a domain only. Go on
// with references-of, referrers-of, shortest-root-path, dominator-chain or
// dominated-by, which all take the same address.
MATCH (o:Object {dump: $dump, address: $address})
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
OPTIONAL MATCH (i:Dump|Object)-[:DOMINATES]->(o)
OPTIONAL MATCH (i)-[:INSTANCE_OF]->(it:Type)
OPTIONAL MATCH (o)-[:ALLOCATED_AT]->(s:AllocationSite)
RETURN
  o.domain AS domain,
  coalesce(t.name, o.type_name) AS type,
  o.shallow_bytes AS shallow_bytes,
  o.retained_bytes AS retained_bytes,
  o.retained_count AS retained_count,
  o.root_distance AS root_distance,
  coalesce(o.missing, false) AS missing,
  COUNT { (o)-[:REFERENCES|WEAKLY_REFERENCES]->(:Object) } AS reference_count,
  COUNT { (o)<-[:REFERENCES|WEAKLY_REFERENCES]-(:Object) } AS referrer_count,
  COUNT { (o)<-[:REFERENCES|WEAKLY_REFERENCES]-(:Root) } AS root_count,
  CASE WHEN i:Dump THEN '(roots)' ELSE it.name END AS dominator_type,
  i.address AS dominator_address,
  o.value AS value,
  o.length AS length,
  o.external_bytes AS external_bytes,
  o.identity_hash AS identity_hash,
  o.generation AS generation,
  o.segment AS segment,
  o.born_in_gc AS born_in_gc,
  o.collections_survived AS collections_survived,
  o.allocated_ms AS allocated_ms,
  s.stack AS allocation_stack,
  COLLECT {
    MATCH (o)<-[:SURVIVED_AS]-(e:Object)
    MATCH (d:Dump {number: e.dump})
    RETURN d.name + ' ' + e.address
    ORDER BY d.collection_number, d.number
  } AS earlier_addresses
ORDER BY o.key
LIMIT $limit
