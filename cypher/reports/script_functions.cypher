// name: script-functions
// title: Functions by script location, and what their contexts retain
// group: JavaScript
// needs: v8, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: function         STRING   name, script, line and column
// column: closure_count    INTEGER  reachable closures of the function
// column: context_count    INTEGER  distinct contexts of those closures
// column: context_bytes    INTEGER  sum of the retained sizes of their contexts, bytes
// column: largest_address  STRING   address of the closure whose context has the largest retained size
//
// A closure keeps its context alive, and with it every variable that any closure of the same
// scope uses. Many closures from one line, each with a context of its own, are often
// listeners or timers that were never removed. The native context, which all functions of
// the language itself have, does not count. Continue with why for the address.
MATCH (t:Type)<-[:INSTANCE_OF]-(c:Object)
WHERE t.dump = $dump AND t.name = 'Function' AND c.root_distance IS NOT NULL
OPTIONAL MATCH (c)-[r:REFERENCES]->(x:Object)
WHERE r.field = 'context'
  AND NOT coalesce(x.value, x.type_name, '') STARTS WITH 'system / NativeContext'
WITH c, x
ORDER BY coalesce(x.retained_bytes, 0) DESC, c.key
WITH c.value AS function, collect(DISTINCT c) AS closures, collect(DISTINCT x) AS contexts
WITH function, closures, contexts,
  reduce(sum = 0, x IN contexts | sum + x.retained_bytes) AS context_bytes
RETURN
  function,
  size(closures) AS closure_count,
  size(contexts) AS context_count,
  context_bytes,
  closures[0].address AS largest_address
ORDER BY context_bytes DESC, closure_count DESC, closures[0].key
LIMIT $limit
