// name: k-shortest-root-paths
// title: Shortest root paths of an object, each through a different referrer
// group: Roots and paths
// mode: read
// searched: paths of at most 10,000 references, and 1,000 dominators of the object
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
  MATCH p = (o)<-[:DOMINATES*0..1000]-(n:Object)
  WITH n, min(length(p)) AS step
  ORDER BY step
  WITH collect(n) AS above
  UNWIND range(0, size(above) - 1) AS step
  WITH above, step, above[step] AS a, above[step + 1] AS b
  CALL (a, b) {
    // From other holders up the tree: does one go past the object?
    WITH a, b
    WHERE b IS NOT NULL AND NOT EXISTS { (a)<-[:REFERENCES]-(:Root) }
    MATCH p = (a)<-[:REFERENCES|DOMINATES*1..2147483647]-(top:Object)
    WHERE all(r IN relationships(p) WHERE startNode(r) <> b AND (
        (type(r) = 'REFERENCES' AND endNode(r) = a)
        OR (type(r) = 'DOMINATES' AND endNode(r) <> a)))
      AND top <> a
    WITH DISTINCT b, top
    WHERE EXISTS { (b)-[:DOMINATES]->(top) }
    WITH top
    LIMIT 1
    RETURN count(top) AS others
  }
  WITH above, step, a, others
  WHERE others > 0 OR step = size(above) - 1 OR EXISTS { (a)<-[:REFERENCES]-(:Root) }
  ORDER BY step
  LIMIT 1
  RETURN above[step] AS fork, reverse(above[..step + 1]) AS below
}
CALL (fork) {
  MATCH (fork)<-[:REFERENCES]-(h:Object)
  WHERE h <> fork AND h.root_distance IS NOT NULL
  RETURN count(DISTINCT h) AS many
}
// Below the object is what its part of the tree has: of few up, of many down the tree.
CALL (fork, many) {
  MATCH (fork)<-[:REFERENCES]-(h:Root)
  RETURN DISTINCT h
  UNION ALL
  MATCH (fork)<-[:REFERENCES]-(h:Object)
  WHERE many <= 100 AND h <> fork AND h.root_distance IS NOT NULL
    AND (h.root_distance <= fork.root_distance
      OR h.retained_bytes > fork.retained_bytes - fork.shallow_bytes
      OR NOT EXISTS {
        MATCH q = (h)<-[:DOMINATES*..2147483647]-(top:Object)
        WHERE top = fork
          AND all(n IN nodes(q) WHERE n.root_distance >= fork.root_distance
            AND n.retained_bytes <= fork.retained_bytes)
      })
  RETURN DISTINCT h
  UNION ALL
  CALL (fork, many) {
    MATCH (fork)<-[:REFERENCES]-(h:Object)
    WHERE many > 100 AND h <> fork AND h.root_distance IS NOT NULL
    RETURN DISTINCT h, 0 AS is_below
    UNION ALL
    WITH fork
    WHERE many > 100
    MATCH (fork)-[:DOMINATES*1..2147483647]->(h:Object)
    WITH DISTINCT fork, h
    WHERE EXISTS { (h)-[:REFERENCES]->(fork) }
    RETURN h, 1 AS is_below
  }
  WITH h, max(is_below) AS is_below
  WHERE is_below = 0
  RETURN h
}
WITH DISTINCT d, o, fork, below, h
ORDER BY o.key, coalesce(h.root_distance, 0), h.key
LIMIT $limit
CALL (d, fork, h) {
  MATCH p = allShortestPaths((d)-[:HAS_ROOT|REFERENCES*..10000]->(h))
  WHERE none(n IN nodes(p) WHERE n = fork)
  WITH p
  LIMIT 1001
  RETURN count(p) AS paths, min([n IN tail(nodes(p)) | n.key]) AS some
}
// The first one by its keys; where there are more than a thousand, step by step.
CALL (fork, h, paths, some) {
  WITH some
  WHERE 1 <= paths <= 1000
  RETURN some AS keys
  UNION
  WITH fork, h, paths, some
  WHERE paths > 1000
  CALL (fork, h, some) {
    MATCH p = (h)<-[:REFERENCES*0..10000]-(z:Object)
    WHERE none(n IN nodes(p) WHERE n = fork)
    WITH z, min(length(p)) AS left
    WHERE left < size(some) - 1
    MATCH (z)<-[:REFERENCES]-(y)
    WHERE y <> h
    WITH y:Root AS is_root, y.key AS one, min([left, z.key]) AS next
    ORDER BY next[0] DESC
    RETURN min(CASE WHEN is_root THEN [one, next[1]] END) AS first,
      collect(CASE WHEN NOT is_root THEN [one, next[1]] END) AS nexts
  }
  // In stretches of a hundred: a list of n keys takes n x n bytes to make.
  RETURN reduce(way = first, begin IN range(0, size(nexts), 100) |
    way + tail(reduce(part = [way[-1]], next IN nexts[begin..begin + 100] |
      CASE WHEN next[0] = part[-1] THEN part + next[1] ELSE part END))) AS keys
}
CALL (keys) {
  UNWIND range(1, size(keys) - 1) AS i
  MATCH (n:Object {key: keys[i]})
  WITH i, n
  ORDER BY i
  RETURN collect(n) AS objects
}
MATCH (root:Root {key: keys[0]})
WITH o, [root] + objects + below AS way
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
