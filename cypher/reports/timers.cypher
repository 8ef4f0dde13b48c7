// name: timers
// title: Timers and what their callbacks keep alive
// group: .NET
// needs: dotnet
// mode: read
// searched: timers: types whose names match pattern
// param: dump      INTEGER       number of the dump
// param: pattern STRING = "System\.(Threading\.(TimerQueueTimer|PeriodicTimer)|Timers\.Timer|Windows\..*Timer)" timers
// param: callback STRING = "[\w.+]*(Delegate|EventHandler|Callback|\b(Action|Func))([`<].*[\]>])?(?<!\[])" delegates
// param: skip STRING = "System\.(Threading\.(Timer|ExecutionContext).*|Object\[].*|Reflection\..*)" internals
// param: limit     INTEGER = 20  maximum number of rows
// column: timer_type       STRING   full type name of the timers
// column: held_type        STRING   full type name of the objects that they keep alive
// column: by_callback      BOOLEAN  true for the target of a callback, false for the state of the timer
// column: timer_count      INTEGER  reachable timers that keep such an object alive
// column: held_count       INTEGER  distinct objects that they keep alive
// column: retained_bytes   INTEGER  sum of the retained sizes of those objects, bytes
// column: largest_address  STRING   address of the one with the largest retained size
//
// An active timer is in the queue of the runtime, and keeps the target of its
// callback and its state object alive until it is disposed of. As many timers as
// there are objects of one of your types means that each started a timer and none
// stopped it. Retained bytes count what each object retains, whatever else keeps it
// alive: two objects that keep one another alive are summed twice. A dump does not
// record whether a timer is active or when it is due; one that is in no queue lives
// as long as its referrers. Timers refer to the next timer in their queue, so the
// retained size of a timer itself means nothing and is not shown. Timers of an event
// with several handlers are not listed: see event-handlers. Continue with
// shortest-root-path for the address.
MATCH (s:Type)
WHERE s.dump = $dump AND s.name =~ $callback
WITH collect(s.key) AS kinds
MATCH (t:Type)
WHERE t.dump = $dump AND t.name =~ $pattern
MATCH (t)<-[:INSTANCE_OF]-(timer:Object)-[:REFERENCES]->(a:Object)
WHERE timer.root_distance IS NOT NULL AND a <> timer
OPTIONAL MATCH (a)-[:INSTANCE_OF]->(at:Type)
WITH kinds, t.name AS timer_type, timer, a, at,
  coalesce(at.key IN kinds, false) AS by_callback
CALL (a, at, by_callback) {
  WITH a, at, by_callback
  WHERE NOT by_callback
  RETURN a AS x, coalesce(at.name, a.type_name) AS held_type
  UNION
  WITH a, by_callback
  WHERE by_callback
  MATCH (a)-[:REFERENCES]->(x:Object)
  WHERE x <> a
  OPTIONAL MATCH (x)-[:INSTANCE_OF]->(xt:Type)
  RETURN x, coalesce(xt.name, x.type_name) AS held_type
}
WITH timer_type, timer, x, held_type, by_callback
WHERE x <> timer AND NOT held_type =~ $skip
WITH timer_type, held_type, by_callback, x, collect(DISTINCT timer.key) AS timers
ORDER BY x.retained_bytes DESC, x.key
WITH timer_type, held_type, by_callback, collect(timers) AS by_object,
  count(x) AS held_count, sum(x.retained_bytes) AS retained_bytes,
  collect(x.address)[0] AS largest_address
CALL (by_object) {
  UNWIND by_object AS timers
  UNWIND timers AS timer
  RETURN count(DISTINCT timer) AS timer_count
}
RETURN
  timer_type,
  held_type,
  by_callback,
  timer_count,
  held_count,
  retained_bytes,
  largest_address
ORDER BY retained_bytes DESC, timer_count DESC, timer_type, held_type, by_callback
LIMIT $limit
