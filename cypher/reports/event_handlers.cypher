// name: event-handlers
// title: Handlers by who holds them and whom they call
// mode: read
// param: dump     INTEGER       number of the dump
// param: pattern STRING = "(?i)[\w.+]*(delegate|eventhandler|callback|\b(action|func))([`<].*[\]>])?(?<!\[])" delegates
// param: limit    INTEGER = 20  most rows to return
// column: holder           STRING   the static field, other root, or type whose object holds the delegates
// column: delegate_type    STRING   full name of the delegates' type
// column: target_type      STRING   full name of the type of whom they call
// column: handler_count    INTEGER  delegates
// column: target_count     INTEGER  different objects that they call
// column: retained_bytes   INTEGER  what the delegates retain, summed: targets that nothing else holds
// column: target_bytes     INTEGER  what the targets retain, summed, whoever holds them
// column: largest_address  STRING   of the targets the one that retains most
//
// Forgotten subscriptions, added up: many handlers of one event, each for another
// object of one type, are objects that subscribed and never unsubscribed. Where
// retained bytes are many, the event alone keeps them; where only target bytes are,
// each has another holder too, often another event. Lists of handlers are looked
// through: an event's delegate refers to an array of delegates, each of which refers
// to its target. Of several objects that a delegate refers to, the first that is
// neither a delegate, nor such a list, nor a method is taken for its target; static
// methods have none and no row. One of `<>c` is made by the compiler for lambdas that
// capture nothing and is no leak, one of `<>c__DisplayClass` has the variables that
// a lambda captures. Only live objects count. Handlers with two holders count for
// both, and targets that keep one another are summed twice. The names of types tell
// which are delegates: change the pattern if yours are called otherwise. Go on with
// delegate-only for the single objects, or k-shortest-root-paths for an address.
MATCH (s:Type)
WHERE s.dump = $dump AND s.name =~ $pattern
WITH collect(s.key) AS kinds, collect(s) AS delegate_types
UNWIND delegate_types AS s
MATCH (s)<-[:INSTANCE_OF]-(g:Object)<-[:REFERENCES]-(h:Object|Root)
WHERE g.root_distance IS NOT NULL AND h <> g
  AND (h:Root OR h.root_distance IS NOT NULL)
OPTIONAL MATCH (h)-[:INSTANCE_OF]->(ht:Type)
WITH kinds, s, g, h, ht.name AS held_by
WHERE held_by IS NULL OR NOT held_by =~ 'System[.](Object|Delegate)\\[].*'
  OR NOT EXISTS {
    MATCH (h)<-[:REFERENCES]-(:Object)-[:INSTANCE_OF]->(mt:Type)
    WHERE mt.key IN kinds
  }
WITH DISTINCT kinds, s, g, coalesce(held_by, h.name) AS holder
CALL (g, kinds) {
  OPTIONAL MATCH (g)-[:REFERENCES]->(list:Object)-[:INSTANCE_OF]->(lt:Type)
  WHERE lt.name =~ 'System[.](Object|Delegate)\\[].*'
  OPTIONAL MATCH (list)-[:REFERENCES]->(d:Object)-[:INSTANCE_OF]->(dt:Type)
  WHERE dt.key IN kinds
  WITH collect(d) AS listed
  UNWIND CASE WHEN listed = [] THEN [g] ELSE listed END AS d
  RETURN d
}
WITH DISTINCT kinds, s.name AS delegate_type, holder, d
CALL (d, kinds) {
  MATCH (d)-[:REFERENCES]->(x:Object)
  WHERE x <> d
  OPTIONAL MATCH (x)-[:INSTANCE_OF]->(xt:Type)
  WITH x, xt, coalesce(xt.name, x.type_name) AS target_type
  WHERE NOT coalesce(xt.key IN kinds, false)
    AND NOT target_type =~ 'System[.]((Object|Delegate)\\[].*|Reflection[.].*)'
  RETURN x, target_type
  ORDER BY x.key
  LIMIT 1
}
WITH holder, delegate_type, target_type, x, count(d) AS handlers,
  sum(d.retained_bytes) AS kept
ORDER BY x.retained_bytes DESC, x.key
RETURN
  holder,
  delegate_type,
  target_type,
  sum(handlers) AS handler_count,
  count(x) AS target_count,
  sum(kept) AS retained_bytes,
  sum(x.retained_bytes) AS target_bytes,
  collect(x.address)[0] AS largest_address
ORDER BY retained_bytes DESC, handler_count DESC, holder, delegate_type, target_type
LIMIT $limit
