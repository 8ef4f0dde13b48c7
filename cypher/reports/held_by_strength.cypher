// name: held-by-strength
// title: Objects that only soft, weak or other weaker references hold
// group: Roots and paths
// needs: strengths
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: strength         STRING   soft, weak, finalizer or phantom
// column: type             STRING   full type name
// column: object_count     INTEGER  objects that nothing stronger holds
// column: shallow_bytes    INTEGER  their shallow size, bytes
// column: largest_bytes    INTEGER  largest retained size of one of them, bytes
// column: largest_address  STRING   its address
//
// Softly held objects are freed when memory is short: caches, which can fill the heap
// and are no leak. Weakly held ones go with the next collection. Objects of strength
// finalizer wait until their finalizer has run: see java-finalizers.
MATCH (o:Object)
WHERE o.dump = $dump AND o.strength IS NOT NULL
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
WITH o.strength AS strength, coalesce(t.name, o.type_name) AS type, o
ORDER BY o.retained_bytes DESC, o.key
RETURN
  strength,
  type,
  count(o) AS object_count,
  sum(o.shallow_bytes) AS shallow_bytes,
  max(o.retained_bytes) AS largest_bytes,
  collect(o.address)[0] AS largest_address
ORDER BY shallow_bytes DESC, object_count DESC, strength, type
LIMIT $limit
