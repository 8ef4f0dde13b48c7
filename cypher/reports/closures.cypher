// name: closures
// title: Closures by function, and what their contexts retain
// group: Dart
// needs: dart, fields
// mode: read
// param: dump   INTEGER                         number of the dump
// param: type   STRING = "dart:core::_Closure"  full type name of closures
// param: limit  INTEGER = 20                    maximum number of rows
// column: function         STRING   name of the function
// column: declared_in      STRING   name of the class that declares it
// column: closure_count    INTEGER  reachable closures of the function
// column: context_count    INTEGER  distinct contexts of those closures
// column: retained_bytes   INTEGER  sum of the retained sizes of the closures, bytes
// column: context_bytes    INTEGER  sum of the retained sizes of their contexts, bytes
// column: largest_address  STRING   address of the closure whose context has the largest retained size
//
// A closure keeps its context alive, and with it every variable that any closure of
// the same scope captures. Many closures of one function are often listeners that
// were never removed: use why for the largest address, and references-of for the
// variables of its context.
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
