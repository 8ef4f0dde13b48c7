// name: pending-promises
// title: Functions that wait for promises, and what their contexts retain
// group: JavaScript
// needs: v8, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: function         STRING   name, script, line and column
// column: awaits           BOOLEAN  true for an async function, false for what was given to then or catch
// column: reaction_count   INTEGER  promises that it waits for, each time counted
// column: context_bytes    INTEGER  sum of the retained sizes of the contexts of the functions, bytes
// column: largest_address  STRING   address of the reaction with the largest context
//
// A promise that is not settled holds what was given to then, catch and await, and so all
// that an async function has in its variables while it waits. Many of one line wait for what
// may never come: a request without a timeout, or a lock that nobody frees. What was given
// to finally is called (anonymous). A promise that nobody waits for has no row.
MATCH (t:Type)<-[:INSTANCE_OF]-(x:Object)-[:REFERENCES]->(f:Object)
WHERE t.dump = $dump AND t.name IN ['(system)', 'system / PromiseReaction']
  AND coalesce(x.value, t.name) = 'system / PromiseReaction'
  AND x.root_distance IS NOT NULL
MATCH (f)-[:INSTANCE_OF]->(ft:Type)
WHERE ft.name = 'Function'
OPTIONAL MATCH (f)-[rc:REFERENCES]->(c:Object)
WHERE rc.field = 'context'
OPTIONAL MATCH (c)-[rg:REFERENCES]->(g:Object)-[rw:REFERENCES]->(w:Object)-[:INSTANCE_OF]->(ft)
WHERE rg.field = 'extension' AND rw.field = 'function'
WITH x, coalesce(w.value, f.value) AS function, w IS NOT NULL AS awaits,
  CASE WHEN coalesce(c.value, c.type_name, '') STARTS WITH 'system / NativeContext'
    THEN null ELSE c END AS c
ORDER BY coalesce(c.retained_bytes, 0) DESC, x.key
WITH function, awaits, count(DISTINCT x) AS reaction_count,
  collect(DISTINCT c) AS contexts, collect(x)[0] AS largest
WITH function, awaits, reaction_count, largest,
  reduce(sum = 0, c IN contexts | sum + c.retained_bytes) AS context_bytes
RETURN
  function,
  awaits,
  reaction_count,
  context_bytes,
  largest.address AS largest_address
ORDER BY context_bytes DESC, reaction_count DESC, largest.key, function, awaits
LIMIT $limit
