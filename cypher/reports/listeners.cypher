// name: listeners
// title: Event listeners by emitter, event and function
// group: JavaScript
// needs: v8, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: emitter          STRING   full type name of the emitters; null for targets of a page and of EventTarget
// column: event            STRING   name of the event; null for the same
// column: function         STRING   name, script, line and column of the listener
// column: listener_count   INTEGER  listeners
// column: emitter_count    INTEGER  distinct emitters; 0 for the same
// column: context_bytes    INTEGER  sum of the retained sizes of the contexts of the listeners, bytes
// column: largest_address  STRING   address of the listener whose context has the largest retained size
//
// A listener is held until it is removed, and holds its context. Many listeners of one line
// on few emitters are objects that subscribed and never unsubscribed. A listener that was
// added by once is counted with its own line. Listeners of bound functions have no line.
// For those of addEventListener, in pages and in Node.js, a snapshot has no event.
CALL () {
  MATCH (t:Type)
  WHERE t.dump = $dump AND t.fields CONTAINS '_events'
  MATCH (t)<-[:INSTANCE_OF]-(e:Object)-[re:REFERENCES]->(events:Object)
  WHERE e.root_distance IS NOT NULL AND re.field = '_events'
  MATCH (events)-[r:REFERENCES]->(x:Object)-[:INSTANCE_OF]->(xt:Type)
  WHERE NOT r.field IN ['__proto__', 'map', 'properties', 'elements']
    AND xt.name IN ['Function', 'Array']
  WITH DISTINCT t, e, r.field AS event, x, xt.name = 'Function' AS alone
  CALL (x, alone) {
    WITH x, alone
    WHERE alone
    RETURN x AS f
    UNION
    WITH x, alone
    WHERE NOT alone
    MATCH (x)-[ra:REFERENCES]->(f:Object)-[:INSTANCE_OF]->(ft:Type)
    WHERE ra.field STARTS WITH '[' AND ft.name = 'Function'
    RETURN DISTINCT f
  }
  OPTIONAL MATCH (f)-[ro:REFERENCES]->(o:Object)-[:INSTANCE_OF]->(ot:Type)
  WHERE ro.field = 'listener' AND ot.name = 'Function'
  RETURN t.name AS emitter, e.key AS one, event, coalesce(o, f) AS f
  UNION ALL
  MATCH (t:Type)<-[:INSTANCE_OF]-(l:Object)-[r:REFERENCES]->(f:Object)
  WHERE t.dump = $dump AND l.root_distance IS NOT NULL AND (
      (t.name = 'Listener' AND r.field = 'callback')
      OR t.name IN ['V8EventListener', 'V8EventHandlerNonNull'])
  MATCH (f)-[:INSTANCE_OF]->(ft:Type)
  WHERE ft.name = 'Function'
  WITH DISTINCT l, f
  RETURN null AS emitter, null AS one, null AS event, f
}
OPTIONAL MATCH (f)-[rc:REFERENCES]->(c:Object)
WHERE rc.field = 'context'
  AND NOT coalesce(c.value, c.type_name, '') STARTS WITH 'system / NativeContext'
WITH emitter, one, event, f, c
ORDER BY coalesce(c.retained_bytes, 0) DESC, f.key
WITH emitter, event, f.value AS function, count(*) AS listener_count,
  count(DISTINCT one) AS emitter_count, collect(DISTINCT c) AS contexts,
  collect(f)[0] AS largest
WITH emitter, event, function, listener_count, emitter_count, largest,
  reduce(sum = 0, c IN contexts | sum + c.retained_bytes) AS context_bytes
RETURN
  emitter,
  event,
  function,
  listener_count,
  emitter_count,
  context_bytes,
  largest.address AS largest_address
ORDER BY context_bytes DESC, listener_count DESC, largest.key, emitter, event
LIMIT $limit
