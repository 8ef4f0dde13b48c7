// name: pending-timers
// title: Timers of JavaScript by function, and what their contexts retain
// group: JavaScript
// needs: v8, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: timer            STRING   full type name of the timers
// column: function         STRING   name, script, line and column of what they call
// column: timer_count      INTEGER  reachable timers
// column: context_bytes    INTEGER  sum of the retained sizes of the contexts of those functions, bytes
// column: largest_address  STRING   address of the timer whose function has the context with the largest retained size
//
// A timer holds what it calls until it has run or is cleared; an interval until it is
// cleared. Many timers of one line are often intervals that nobody cleared. A timer that was
// cleared but is still held calls nothing, and has no row. Continue with why for the address.
CALL () {
  MATCH (t:Type)<-[:INSTANCE_OF]-(timer:Object)-[r:REFERENCES]->(f:Object)
  WHERE t.dump = $dump AND t.name IN ['Timeout', 'Immediate']
    AND timer.root_distance IS NOT NULL AND r.field IN ['_onTimeout', '_onImmediate']
  RETURN t, timer, f
  UNION
  MATCH (t:Type)<-[:INSTANCE_OF]-(timer:Object)-[:REFERENCES]->(action:Object)
  WHERE t.dump = $dump AND t.name = 'DOMTimer' AND timer.root_distance IS NOT NULL
  MATCH (action)-[:INSTANCE_OF]->(at:Type)
  WHERE at.name = 'ScheduledAction'
  MATCH (action)-[:REFERENCES]->(wrapper:Object)-[:INSTANCE_OF]->(wt:Type)
  WHERE wt.name = 'V8Function'
  MATCH (wrapper)-[:REFERENCES]->(f:Object)
  RETURN t, timer, f
}
MATCH (f)-[:INSTANCE_OF]->(ft:Type)
WHERE ft.name = 'Function'
OPTIONAL MATCH (f)-[rc:REFERENCES]->(c:Object)
WHERE rc.field = 'context'
  AND NOT coalesce(c.value, c.type_name, '') STARTS WITH 'system / NativeContext'
WITH t.name AS timer_type, f.value AS function, timer, c
ORDER BY coalesce(c.retained_bytes, 0) DESC, timer.key
WITH timer_type, function, count(DISTINCT timer) AS timer_count,
  collect(DISTINCT c) AS contexts, collect(timer)[0] AS largest
WITH timer_type, function, timer_count, largest,
  reduce(sum = 0, c IN contexts | sum + c.retained_bytes) AS context_bytes
RETURN
  timer_type AS timer,
  function,
  timer_count,
  context_bytes,
  largest.address AS largest_address
ORDER BY context_bytes DESC, timer_count DESC, largest.key, timer, function
LIMIT $limit
