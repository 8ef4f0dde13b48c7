// name: delegate-only
// title: Objects that only a delegate or event handler keeps alive
// mode: read
// param: dump     INTEGER                       number of the dump
// param: pattern  STRING = "(?i)(.*(delegate|eventhandler|callback|closure)|system.(action|func)\b).*"  full type names
// param: limit    INTEGER = 20                  most rows to return
// column: type              STRING   full name of its type
// column: address           STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes     INTEGER  its own bytes
// column: retained_bytes    INTEGER  what would be freed if it went, bytes
// column: delegate_type     STRING   full name of the delegate's type
// column: delegate_address  STRING   its address
// column: referrer_type     STRING   type of the first reachable object that refers to it
// column: referrer_address  STRING   address of that one
//
// The forgotten subscription: an object that nobody uses any more and that an event
// still calls. Each row is an object whose immediate dominator is an instance of a
// type that matches the regular expression pattern; unsubscribe, and its retained
// bytes go. The referrer is who holds the delegate, mostly the list of an event's
// subscribers; follow it with shortest-root-path for the delegate's address. An object
// that several events call is held by none of them alone and is not here: event-handlers
// adds up all handlers by who holds them and whom they call.
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
