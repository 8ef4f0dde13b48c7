// name: closures
// title: Closures by function, and what their contexts keep
// mode: read
// param: dump   INTEGER                       number of the dump
// param: type   STRING = "dart:core::_Closure"  full name of the closures' type
// param: limit  INTEGER = 20                  most rows to return
// column: function         STRING   name of the function
// column: declared_in      STRING   name of the class that declares it
// column: closure_count    INTEGER  reachable closures of it
// column: context_count    INTEGER  contexts of theirs, each once
// column: retained_bytes   INTEGER  retained by the closures, summed
// column: context_bytes    INTEGER  retained by their contexts, summed
// column: largest_address  STRING   of the closures the one whose context retains most
//
// A closure keeps its context, and so every variable that any closure of that scope
// uses. Many closures of one function are often listeners that were never removed:
// ask why for the largest address, and references-of for its context's variables.
MATCH (:Type {dump: $dump, name: $type})<-[:INSTANCE_OF]-(c:Object)
WHERE c.root_distance IS NOT NULL
OPTIONAL MATCH (c)-[rf:REFERENCES]->(f:Object)
WHERE rf.field = 'function_'
OPTIONAL MATCH (f)-[ro:REFERENCES]->(owner:Object)
WHERE ro.field = 'owner_'
OPTIONAL MATCH (c)-[rc:REFERENCES]->(x:Object)
WHERE rc.field = 'context_'
WITH c, f, owner, x
ORDER BY coalesce(x.retained_bytes, 0) DESC, c.key
WITH f, owner, collect(c) AS closures, collect(DISTINCT x) AS contexts
WITH f, owner, closures, contexts,
  reduce(sum = 0, c IN closures | sum + c.retained_bytes) AS retained_bytes,
  reduce(sum = 0, x IN contexts | sum + x.retained_bytes) AS context_bytes
RETURN
  f.value AS function,
  owner.value AS declared_in,
  size(closures) AS closure_count,
  size(contexts) AS context_count,
  retained_bytes,
  context_bytes,
  closures[0].address AS largest_address
ORDER BY context_bytes DESC, closure_count DESC, closures[0].key
LIMIT $limit
