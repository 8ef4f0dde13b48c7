// name: leak-suspects
// title: Leak suspects: what holds a large share of the heap
// mode: read
// param: dump        INTEGER       number of the dump
// param: share       FLOAT = 0.1   of the reachable bytes, from which on something is a suspect
// param: pile_share  FLOAT = 0.7   over 0.5: what a child must hold to be followed
// param: limit       INTEGER = 20  most rows to return
// column: kind            STRING        `single`, or `group` of objects of one type
// column: type            STRING        full name of the type
// column: address         STRING        of the object, or of the largest of the group
// column: object_count    INTEGER       1, or how many are in the group
// column: retained_bytes  INTEGER       what they retain together, bytes
// column: share           FLOAT         of the reachable bytes, 0 to 1
// column: pile_type       STRING        type of the accumulation point below the object
// column: pile_address    STRING        its address; the object itself where it is the point
// column: path            LIST<STRING>  a shortest path from a root to the object, fields in front
// column: why             STRING        all that in a sentence
//
// A single suspect is an object that nothing but the roots dominates and that
// retains at least that share; a group is two or more smaller such objects of one
// type that do so together. The accumulation point is where the bytes stop being
// passed on: from the object down, as long as one dominated child holds pile_share
// of its parent. Open the accumulation point with dominated-by to see what piles up,
// and shortest-root-path to see why it stays. Much memory is not yet a leak: compare
// two dumps to see whether it grows.
MATCH (d:Dump {number: $dump})
WHERE d.reachable_bytes > 0
WITH d, $share * d.reachable_bytes AS enough
CALL (enough) {
  MATCH (o:Object)
  WHERE o.dump = $dump AND o.retained_bytes >= enough
  MATCH (:Dump)-[:DOMINATES]->(o)-[:INSTANCE_OF]->(t:Type)
  RETURN collect({type: t, object: o}) AS singles
}
CALL (enough, singles) {
  UNWIND singles AS single
  RETURN 'single' AS kind, single.type AS t, single.object AS o, 1 AS object_count,
    single.object.retained_bytes AS retained_bytes
  UNION ALL
  MATCH (t:Type)
  WHERE t.dump = $dump AND t.top_count > 1 AND t.top_retained_bytes >= enough
  WITH t, enough, [
    single IN singles WHERE single.type = t | single.object.retained_bytes
  ] AS large
  WITH t, enough, large, t.top_count - size(large) AS object_count,
    t.top_retained_bytes - reduce(sum = 0, bytes IN large | sum + bytes)
      AS retained_bytes
  WHERE object_count > 1 AND retained_bytes >= enough
  CALL (t, large, enough) {
    WITH t, large, enough
    WHERE size(large) = 0
    MATCH (o:Object {dump: $dump, address: t.top_address})-[:INSTANCE_OF]->(t)
    RETURN o
  UNION ALL
    WITH t, large, enough
    WHERE size(large) > 0
    MATCH (o:Object)
    USING INDEX o:Object(dump, retained_bytes)
    WHERE o.dump = $dump AND o.retained_bytes < enough
      AND EXISTS { (o)-[:INSTANCE_OF]->(t) }
      AND EXISTS { (:Dump)-[:DOMINATES]->(o) }
    RETURN o
    ORDER BY o.dump DESC, o.retained_bytes DESC, o.key
    LIMIT 1
  }
  RETURN 'group' AS kind, t, o, object_count, retained_bytes
}
WITH d, kind, t, o, object_count, retained_bytes
ORDER BY retained_bytes DESC, o.key
LIMIT $limit
CALL (o) {
  MATCH p = (o)
    ((a:Object)-[:DOMINATES]->(b:Object)
      WHERE b.retained_bytes >= $pile_share * a.retained_bytes){0,100000}
    (pile:Object)
  WITH pile, min(length(p)) AS depth
  ORDER BY depth DESC, pile.key
  LIMIT 1
  OPTIONAL MATCH (pile)-[:INSTANCE_OF]->(s:Type)
  RETURN pile, coalesce(s.name, pile.type_name) AS pile_type
}
CALL (d, o) {
  OPTIONAL MATCH p = allShortestPaths((d)-[:HAS_ROOT|REFERENCES*..10000]->(o))
  WITH tail(nodes(p)) AS steps, [r IN relationships(p) | r.field] AS fields
  LIMIT 1000
  RETURN steps, fields
  ORDER BY [n IN steps | n.key], fields
  LIMIT 1
}
WITH kind, t, o, object_count, retained_bytes, pile, pile_type,
  1.0 * retained_bytes / d.reachable_bytes AS share,
  [i IN range(0, size(steps) - 1) |
    CASE
      WHEN steps[i]:Root THEN steps[i].name
      ELSE coalesce(fields[i] + ': ', '') + steps[i].type_name + ' ' + steps[i].address
        + coalesce(' "' + left(steps[i].value, 40) + '"', '')
    END
  ] AS path
WITH kind, t, o, object_count, retained_bytes, share, pile, pile_type, path,
  toString(toInteger(round(100 * share))) + '% of the reachable heap alive' AS part
RETURN
  kind,
  t.name AS type,
  o.address AS address,
  object_count,
  retained_bytes,
  share,
  pile_type,
  pile.address AS pile_address,
  path,
  CASE
    WHEN kind = 'group'
      THEN toString(object_count) + ' instances of ' + o.type_name + ' together keep '
        + part
    WHEN pile = o THEN 'One ' + o.type_name + ' keeps ' + part
    ELSE 'One ' + o.type_name + ' keeps ' + part + '; it piles up in one '
      + pile.type_name + ' below it'
  END + '.' AS why
ORDER BY retained_bytes DESC, o.key
LIMIT $limit
