// name: event-handlers
// title: Event handlers by publisher and subscriber
// group: Leaks
// needs: captions
// mode: read
// searched: delegates: types whose names match pattern
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
MATCH (t:Type)
WHERE t.dump = $dump AND t.caption IS NOT NULL
WITH t, t.name =~ $pattern AS is_delegate,
  t.name =~ 'System[.](Object|Delegate)\\[].*' AS is_list,
  t.name STARTS WITH 'System.Reflection.' AS is_method
WITH collect(CASE WHEN is_delegate THEN t END) AS delegate_types,
  collect(CASE WHEN is_delegate THEN t.caption END) AS delegates,
  collect(CASE WHEN is_list THEN t END) AS list_types,
  collect(CASE WHEN is_delegate OR is_list OR is_method THEN t.caption END) AS others
CALL (delegates, list_types) {
  UNWIND list_types AS t
  MATCH (t)<-[:INSTANCE_OF]-(list)<-[:REFERENCES]-(g:Object)
  WHERE g.type_name IN delegates AND g.root_distance IS NOT NULL
  RETURN collect(DISTINCT list) AS lists
}
CALL (delegate_types, delegates, others, lists) {
  UNWIND delegate_types AS s
  MATCH (s)<-[:INSTANCE_OF]-(g)<-[:REFERENCES]-(h:Object|Root)
  WHERE g.root_distance IS NOT NULL AND h <> g AND NOT h IN lists
    AND (h:Root OR h.root_distance IS NOT NULL)
  WITH s.name AS kind, g, coalesce(h.type_name, h.name) AS held_by,
    min(CASE WHEN h:Object THEN h.key END) AS one
  OPTIONAL MATCH (g)-[:REFERENCES]->(list)-[:REFERENCES]->(d)
  WHERE list IN lists AND d.type_name IN delegates
  WITH kind, held_by, coalesce(d, g) AS d, min(one) AS one
  MATCH (d)-[:REFERENCES]->(x)
  WHERE x <> d AND NOT x.type_name IN others
  WITH kind, held_by, one, d, min(x.key) AS first, collect(x) AS found
  WITH kind, held_by, one, d, head([x IN found WHERE x.key = first]) AS x
  WITH kind, held_by, min(one) AS one, x, count(d) AS handlers, sum(d.retained_bytes) AS kept
  RETURN kind, held_by, min(one) AS one, x.type_name AS called,
    sum(handlers) AS handler_count, count(x) AS target_count,
    sum(kept) AS retained_bytes, sum(x.retained_bytes) AS target_bytes,
    max([x.retained_bytes, -x.key]) AS most
}
OPTIONAL MATCH (:Object {key: one})-[:INSTANCE_OF]->(ht:Type)
MATCH (largest:Object {key: -most[1]})
OPTIONAL MATCH (largest)-[:INSTANCE_OF]->(xt:Type)
RETURN
  coalesce(ht.name, held_by) AS holder,
  kind AS delegate_type,
  coalesce(xt.name, called) AS target_type,
  handler_count,
  target_count,
  retained_bytes,
  target_bytes,
  largest.address AS largest_address
ORDER BY retained_bytes DESC, handler_count DESC, holder, delegate_type, target_type
LIMIT $limit
