// name: delegate-only
// title: Objects kept alive only by a delegate or event handler
// group: Leaks
// mode: read
// searched: delegates: types whose names match pattern
// param: dump     INTEGER       number of the dump
// param: pattern STRING = "(?i)[^`<\[]*(delegate|eventhandler|callback|closure|\baction|\bfunc)([`<].*[^\[,].)?" types
// param: limit    INTEGER = 20  maximum number of rows
// column: type              STRING   full type name
// column: address           STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes     INTEGER  shallow size, bytes
// column: retained_bytes    INTEGER  retained size, bytes: freed if the object is freed
// column: delegate_type     STRING   full type name of the delegate
// column: delegate_address  STRING   address of the delegate
// column: referrer_type     STRING   type of the first reachable object that refers to the delegate
// column: referrer_address  STRING   address of that object
//
// Forgotten event subscriptions: objects that are no longer used, but still
// subscribed to an event. Each row is an object whose immediate dominator is an
// instance of a type that matches pattern; unsubscribing frees its retained bytes.
// The referrer is what refers to the delegate, usually the invocation list of an
// event; follow it with shortest-root-path for the address of the delegate. An
// object subscribed to several events is kept alive by none of them alone and is not
// listed: event-handlers adds up all handlers by publisher and subscriber.
MATCH (s:Type)
WHERE s.dump = $dump AND s.name =~ $pattern
MATCH (s)<-[:INSTANCE_OF]-(g:Object)-[:DOMINATES]->(o:Object)
WITH s, g, o
ORDER BY o.retained_bytes DESC, o.key
LIMIT $limit
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
CALL (g) {
  OPTIONAL MATCH (g)<-[:REFERENCES]-(h:Object)
  WHERE h.root_distance IS NOT NULL AND h <> g
  WITH h
  ORDER BY h.key
  LIMIT 1
  OPTIONAL MATCH (h)-[:INSTANCE_OF]->(ht:Type)
  RETURN h, ht.name AS referrer_type
}
RETURN
  coalesce(t.name, o.type_name) AS type,
  o.address AS address,
  o.shallow_bytes AS shallow_bytes,
  o.retained_bytes AS retained_bytes,
  s.name AS delegate_type,
  g.address AS delegate_address,
  referrer_type,
  h.address AS referrer_address
ORDER BY retained_bytes DESC, o.key
LIMIT $limit
