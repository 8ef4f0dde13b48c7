// name: k-shortest-root-paths
// title: Shortest root paths of an object, each through a different referrer
// group: Roots and paths
// mode: read
// param: dump     INTEGER       number of the dump
// param: address  STRING        address of the object, for example 0x1c15d2
// param: limit    INTEGER = 20  maximum number of rows
// column: domain          INTEGER        ordinal of its domain; null if the dump has only one
// column: length          INTEGER        references from the root to the object
// column: root            STRING         the root, with the declaring type of a static field
// column: steps           LIST<STRING>   field, short type name, address and value of each object
// column: types           LIST<STRING>   full type name of each of those
// column: addresses       LIST<STRING>   address of each
// column: retained_bytes  LIST<INTEGER>  retained size of each, bytes
// column: fields          LIST<STRING>   name of the field that refers to each
// column: values          LIST<STRING>   start of the text or name stored in each
//
// The first row is the shortest path; each other row is the shortest path through
// another referrer, nearest to the roots first: another reason why the object is
// alive. The referrers are those of the object itself or, as long as there is only
// one, those of that one: then the last steps of all rows are the same, and cutting
// there frees the object. Referrers that are unreachable, or reachable only through
// the object, are left out. What all paths have in common, these and longer ones, is
// shown by dominator-chain. Paths are followed up to 10,000 steps.
MATCH (d:Dump {number: $dump})
MATCH (o:Object {dump: $dump, address: $address})
WHERE o.root_distance IS NOT NULL
CALL (o) {
  MATCH (o)
    ((a:Object)<-[:DOMINATES]-(b:Object)
      WHERE NOT EXISTS {
        MATCH (a)<-[:REFERENCES]-(x:Object|Root)
        WHERE x <> a AND x <> b AND (x:Root OR x.root_distance IS NOT NULL)
          AND (x:Root OR x.root_distance <= a.root_distance
            OR x.retained_bytes > a.retained_bytes - a.shallow_bytes
            OR NOT EXISTS {
              MATCH q = (x)<-[:DOMINATES*..1000000]-(top:Object)
              WHERE top = a
                AND all(n IN nodes(q) WHERE n.root_distance >= a.root_distance
                  AND n.retained_bytes <= a.retained_bytes)
            })
      }){0,1000}
    (fork:Object)
  WITH fork, b
  ORDER BY size(b) DESC
  LIMIT 1
  RETURN fork, reverse(b) + [o] AS below
}
MATCH (fork)<-[:REFERENCES]-(h:Object|Root)
WHERE h <> fork AND (h:Root OR h.root_distance IS NOT NULL)
  AND (h:Root OR h.root_distance <= fork.root_distance
    OR h.retained_bytes > fork.retained_bytes - fork.shallow_bytes
    OR NOT EXISTS {
      MATCH q = (h)<-[:DOMINATES*..1000000]-(top:Object)
      WHERE top = fork
        AND all(n IN nodes(q) WHERE n.root_distance >= fork.root_distance
          AND n.retained_bytes <= fork.retained_bytes)
    })
WITH DISTINCT d, o, fork, below, h
ORDER BY o.key, coalesce(h.root_distance, 0), h.key
LIMIT $limit
CALL (d, fork, h) {
  MATCH p = allShortestPaths((d)-[:HAS_ROOT|REFERENCES*..10000]->(h))
  WHERE none(n IN nodes(p) WHERE n = fork)
  WITH tail(nodes(p)) AS above
  LIMIT 1000
  RETURN above
  ORDER BY [n IN above | n.key]
  LIMIT 1
}
WITH o, above + below AS way
CALL (way) {
  UNWIND range(1, size(way) - 1) AS i
  WITH i, way[i - 1] AS x, way[i] AS y
  MATCH (x)-[r:REFERENCES]->(y)
  WITH i, min(r.field) AS field
  ORDER BY i
  RETURN collect(coalesce(field, '')) AS fields
}
RETURN
  o.domain AS domain,
  size(way) - 1 AS length,
  way[0].name AS root,
  [i IN range(1, size(way) - 1) |
    CASE fields[i - 1] WHEN '' THEN '' ELSE fields[i - 1] + ': ' END
      + way[i].type_name + ' ' + way[i].address
      + coalesce(' "' + left(way[i].value, 40) + '"', '')
  ] AS steps,
  [n IN tail(way) |
    coalesce(head([(n)-[:INSTANCE_OF]->(t:Type) | t.name]), n.type_name)
  ] AS types,
  [n IN tail(way) | n.address] AS addresses,
  [n IN tail(way) | n.retained_bytes] AS retained_bytes,
  fields,
  [n IN tail(way) | coalesce(left(n.value, 40), '')] AS values
ORDER BY o.key, length, [n IN way | n.key]
LIMIT $limit
