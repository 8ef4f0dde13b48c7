// name: object
// title: Details of an object
// group: Objects and references
// mode: read
// param: dump     INTEGER       number of the dump
// param: address  STRING        address of the object, for example 0x1c15d2
// param: limit    INTEGER = 20  maximum number of rows
// column: domain                INTEGER       ordinal of its domain; null if the dump has only one
// column: type                  STRING        full type name
// column: shallow_bytes         INTEGER       shallow size, bytes
// column: retained_bytes        INTEGER       retained size, bytes: freed if the object is freed
// column: retained_count        INTEGER       objects freed with it, including itself
// column: root_distance         INTEGER       references from the nearest root; null if unreachable
// column: strength              STRING        soft, weak, finalizer or phantom if nothing stronger holds it
// column: missing               BOOLEAN       true if it is referred to but not in the dump
// column: reference_count       INTEGER       outgoing references, including weak ones
// column: referrer_count        INTEGER       incoming references, including weak ones and those of unreachable objects
// column: root_count            INTEGER       roots that refer to it, including weak ones
// column: dominator_type        STRING        type of its immediate dominator, or `(roots)`
// column: dominator_address     STRING        address of its immediate dominator
// column: value                 STRING        text, number or name stored in the object
// column: length                INTEGER       elements of a list or map, UTF-16 code units of a string
// column: external_bytes        INTEGER       memory outside the heap, freed with the object, bytes
// column: identity_hash         INTEGER       identity hash code: the same in two dumps of one process
// column: generation            INTEGER       0, 1 or 2; 3 is the LOH, 4 the POH
// column: segment               INTEGER       ordinal of its segment
// column: born_in_gc            INTEGER       first collection after its allocation
// column: collections_survived  INTEGER       collections of the trace that it survived
// column: allocated_ms          INTEGER       time of its allocation by the clock of the log, milliseconds
// column: allocation_stack      STRING        call stack of its allocation, innermost function first
// column: earlier_addresses     LIST<STRING>  its addresses in earlier dumps of the process
//
// One row for each object with the address: addresses are unique only within a
// domain. Continue with references-of, referrers-of, shortest-root-path,
// dominator-chain or dominated-by, which all take the same address.
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
  o.strength AS strength,
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
    ORDER BY d.collection_number, d.last_object_id, d.number
  } AS earlier_addresses
ORDER BY o.key
LIMIT $limit
