// name: timers
// title: Timers and what their callbacks keep alive
// mode: read
// param: dump      INTEGER       number of the dump
// param: pattern STRING = "System\.(Threading\.(TimerQueueTimer|PeriodicTimer)|Timers\.Timer|Windows\..*Timer)" timers
// param: callback STRING = "[\w.+]*(Delegate|EventHandler|Callback|\b(Action|Func))([`<].*[\]>])?(?<!\[])" delegates
// param: skip STRING = "System\.(Threading\.(Timer|ExecutionContext).*|Object\[].*|Reflection\..*)" their own
// param: limit     INTEGER = 20  most rows to return
// column: timer_type       STRING   full name of the timers' type
// column: held_type        STRING   full name of the type of what they hold
// column: by_callback      BOOLEAN  whether it is whom a callback calls; else the timer's own state
// column: timer_count      INTEGER  live timers that hold such an object
// column: held_count       INTEGER  different objects that they hold
// column: retained_bytes   INTEGER  what those retain, summed
// column: largest_address  STRING   of those the one that retains most
//
// A timer that is armed is held by the runtime's queue, and keeps alive the object
// that its callback calls and the state it was given, until it is disposed of. As
// many timers as there are objects of one of your types means that each made a timer
// and none stopped it. Retained bytes are what each held object retains, whoever else
// holds it: two that keep one another are summed twice. Whether a timer is armed, and
// when it is due, is not in a dump; one that is in no queue lives as long as its
// holder. Timers refer to the next one in their queue, so what a timer itself
// retains says nothing and is not told. Of an event with several handlers they are
// not told either: see event-handlers. Go on with shortest-root-path for the address.
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
