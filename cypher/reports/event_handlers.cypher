// name: event-handlers
// title: Event handlers by publisher and subscriber
// group: Leaks
// mode: read
// param: dump     INTEGER       number of the dump
// param: pattern STRING = "(?i)[\w.+]*(delegate|eventhandler|callback|\b(action|func))([`<].*[\]>])?(?<!\[])" delegates
// param: limit    INTEGER = 20  maximum number of rows
// column: holder           STRING   static field, other root, or type of the object that stores the delegates
// column: delegate_type    STRING   full type name of the delegates
// column: target_type      STRING   full type name of the objects that they call
// column: handler_count    INTEGER  delegates
// column: target_count     INTEGER  distinct objects that they call
// column: retained_bytes   INTEGER  sum of the retained sizes of the delegates, bytes
// column: target_bytes     INTEGER  sum of the retained sizes of the targets, bytes
// column: largest_address  STRING   address of the target with the largest retained size
//
// Forgotten event subscriptions, added up: many handlers of one event, each for
// another object of one type, are objects that subscribed and never unsubscribed.
// Where retained_bytes is large, only the event keeps them alive; where only
// target_bytes is, each has another referrer too, often another event. Invocation
// lists are looked through: the delegate of an event refers to an array of
// delegates, each of which refers to its target. If a delegate refers to several
// objects, the first that is neither a delegate, nor such an array, nor a method
// counts as its target; delegates of static methods have no target and no row. A
// target of type `<>c` is made by the compiler for lambdas that capture nothing and
// is no leak; one of type `<>c__DisplayClass` stores the variables that a lambda
// captures. Only reachable objects count. Handlers with two referrers count for
// both, and targets that keep one another alive are summed twice. Delegates are
// recognised by their type names: change pattern if yours are named differently.
// Continue with delegate-only for single objects, or with k-shortest-root-paths for
// an address.
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
